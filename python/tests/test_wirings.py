"""Wirings: those of ncps bit for bit, one's own, configurations, files and pictures."""

import json
import pickle
import xml.etree.ElementTree

import elegans
import numpy as np
import pytest
from elegans import wirings

CIRCUITS = [
    ("AutoNCP", dict(units=28, output_size=4)),
    ("AutoNCP", dict(units=64, output_size=16, sparsity_level=0.3, seed=7)),
    ("AutoNCP", dict(units=9, output_size=1, sparsity_level=0.9, seed=4294967295)),
    ("NCP", dict(zip(("inter_neurons", "command_neurons", "motor_neurons"), (10, 10, 8)), sensory_fanout=6,
                 inter_fanout=6, recurrent_command_synapses=4, motor_fanin=6)),  # fmt: skip
    ("NCP", dict(zip(("inter_neurons", "command_neurons", "motor_neurons"), (5, 4, 1)), sensory_fanout=1,
                 inter_fanout=1, recurrent_command_synapses=0, motor_fanin=1, seed=3)),  # fmt: skip
]
OTHERS = [
    ("FullyConnected", dict(units=6)),
    ("FullyConnected", dict(units=7, output_dim=3, erev_init_seed=5, self_connections=False)),
    ("Random", dict(units=12, sparsity_level=0.5)),
    ("Random", dict(units=9, output_dim=2, sparsity_level=0.123456789, random_seed=99)),
]


@pytest.mark.parametrize("kind, arguments", CIRCUITS + OTHERS)
@pytest.mark.parametrize("inputs", [1, 6, 17])
def test_ncps_draws_the_same(kind, arguments, inputs):
    theirs = getattr(pytest.importorskip("ncps.wirings"), kind)(**arguments)
    ours = getattr(wirings, kind)(**arguments)
    for attribute in ("units", "output_dim", "input_dim", "num_layers"):
        assert getattr(ours, attribute) == getattr(theirs, attribute)
    assert ours.adjacency_matrix.dtype == np.int32 and not ours.is_built() and ours.sensory_adjacency_matrix is None
    np.testing.assert_array_equal(ours.adjacency_matrix, theirs.adjacency_matrix)
    theirs.build(inputs)
    ours.build(inputs)
    ours.build(inputs)  # harmless
    assert ours.is_built() and ours.input_dim == inputs
    for matrix in ("adjacency_matrix", "sensory_adjacency_matrix"):
        assert getattr(ours, matrix).dtype == np.int32
        np.testing.assert_array_equal(getattr(ours, matrix), getattr(theirs, matrix))
    for layer in range(ours.num_layers):
        assert ours.get_neurons_of_layer(layer) == theirs.get_neurons_of_layer(layer)
    for neuron in range(ours.units):
        assert ours.get_type_of_neuron(neuron) == theirs.get_type_of_neuron(neuron)
    assert ours.synapse_count == theirs.synapse_count
    assert ours.sensory_synapse_count == theirs.sensory_synapse_count
    np.testing.assert_array_equal(ours.erev_initializer(), theirs.erev_initializer())
    np.testing.assert_array_equal(ours.sensory_erev_initializer(), theirs.sensory_erev_initializer())
    if kind != "NCP":  # whose configuration ncps itself cannot read
        assert ours.get_config() == theirs.get_config()
    again = type(ours).from_config(ours.get_config())
    again.build(inputs)
    np.testing.assert_array_equal(again.adjacency_matrix, ours.adjacency_matrix)
    with pytest.raises(ValueError, match=f"built for {inputs} inputs, given {inputs + 1}"):
        ours.build(inputs + 1)


@pytest.mark.parametrize("kind, arguments", CIRCUITS + OTHERS)
def test_the_library_counts_what_numpy_counts(kind, arguments):
    wiring = getattr(wirings, kind)(**arguments)
    wiring.build(5)
    counted, a, s = wiring.statistics(), wiring.adjacency_matrix, wiring.sensory_adjacency_matrix
    assert counted["synapses"] == np.abs(a).sum() and counted["sensory_synapses"] == np.abs(s).sum()
    assert counted["inhibitory"] == (a < 0).sum() and counted["sensory_excitatory"] == (s > 0).sum()
    assert counted["self"] == np.count_nonzero(np.diag(a))
    into = np.abs(a).sum(0)
    assert counted["in"] == {"least": into.min(), "most": into.max(), "mean": pytest.approx(into.mean())}


def custom():
    wiring = wirings.Wiring(4)
    wiring.set_output_dim(2)
    wiring.build(3)
    wiring.add_sensory_synapse(0, 3, -1)
    wiring.add_sensory_synapse(2, 2, 1)
    for source, destination, polarity in ((3, 1, 1), (2, 0, -1), (1, 1, -1)):
        wiring.add_synapse(source, destination, polarity)
    return wiring


def test_custom_wirings_go_into_files_and_back(tmp_path):
    wiring = custom()
    path = tmp_path / "own.json"
    wiring.save(path)
    document = json.loads(path.read_text())
    assert sorted(document["synapses"]) == [[1, 1, -1], [2, 0, -1], [3, 1, 1]]
    assert sorted(document["sensory"]) == [[0, 3, -1], [2, 2, 1]]
    for again in (
        wirings.Wiring.load(path),
        wirings.Wiring.from_config(wiring.get_config()),
        pickle.loads(pickle.dumps(wiring)),
    ):
        assert (again.units, again.input_dim, again.output_dim) == (4, 3, 2)
        np.testing.assert_array_equal(again.adjacency_matrix, wiring.adjacency_matrix)
        np.testing.assert_array_equal(again.sensory_adjacency_matrix, wiring.sensory_adjacency_matrix)
    with pytest.raises(FileNotFoundError):
        wirings.Wiring.load(tmp_path / "nowhere.json")
    path.write_text(path.read_text()[:-3])
    with pytest.raises(elegans.Error):
        wirings.Wiring.load(path)


def test_a_synapse_more_is_not_drawn_any_more():
    wiring = wirings.AutoNCP(12, 3)
    wiring.build(4)
    assert wiring.architecture()["kind"] == "AutoNCP"
    free = np.argwhere(wiring.adjacency_matrix == 0)[0]
    wiring.add_synapse(*free, 1)
    changed = wiring.architecture()
    assert changed["kind"] == "Edges" and [*map(int, free), 1] in changed["args"]["synapses"]
    assert [len(layer) for layer in changed["args"]["layers"]] == [
        len(wiring.get_neurons_of_layer(i)) for i in range(3)
    ]
    assert wiring.statistics()["synapses"] == wiring.synapse_count
    model = elegans.CfC(4, wiring)  # along all of these
    assert model.layers()[0]["wiring"] == "edges"


class Sub(wirings.AutoNCP):
    pass


def test_subclasses_are_what_they_are():
    wiring = Sub(12, 3)
    wiring.build(4)
    assert wiring.architecture()["kind"] == "AutoNCP"


@pytest.mark.parametrize(
    "make, kind, text",
    [
        (lambda: wirings.AutoNCP(8, 7), ValueError, "7"),
        (lambda: wirings.AutoNCP(28, 4, sparsity_level=1.1), ValueError, "1.1"),
        (lambda: wirings.AutoNCP(28, 4, sparsity_level=0.0), ValueError, "0"),
        (lambda: wirings.AutoNCP(28.5, 4), TypeError, "units: expected an integer"),
        (lambda: wirings.AutoNCP(0, 4), ValueError, "units: expected an integer of at least 1, given 0"),
        (lambda: wirings.AutoNCP(28, 4, seed=1 << 40), ValueError, "seed"),
        (lambda: wirings.AutoNCP(28, 4, seed=-1), ValueError, "seed"),
        (lambda: wirings.NCP(3, 3, 2, 4, 1, 1, 1), ValueError, "4"),
        (lambda: wirings.Random(5, sparsity_level=1.0), ValueError, "1"),
        (lambda: wirings.Random(5, sparsity_level=float("nan")), elegans.Error, "nan"),
        (lambda: wirings.FullyConnected(5, 9), ValueError, "9"),
        (lambda: wirings.FullyConnected(1 << 15), ValueError, "32768"),
        (lambda: custom().add_synapse(4, 0, 1), ValueError, "src: expected 0 to 3, given 4"),
        (lambda: custom().add_synapse(0, -1, 1), ValueError, "dest: expected 0 to 3, given -1"),
        (lambda: custom().add_synapse(0, 1, 2), ValueError, "polarity: expected -1 or 1, given 2"),
        (lambda: custom().add_sensory_synapse(3, 1, 1), ValueError, "src: expected 0 to 2"),
        (lambda: wirings.Wiring(3).add_sensory_synapse(0, 1, 1), ValueError, "call build"),
        (lambda: wirings.Wiring(3).statistics(), ValueError, "call build"),
        (lambda: elegans._core.Wiring(), TypeError, "open"),
        (lambda: elegans._core.Wiring.open("full:3"), ValueError, "in=N"),
        (lambda: elegans._core.Wiring.from_json("{}"), elegans.Error, "units"),
        (lambda: elegans._core.Wiring.from_json(b"{}"), TypeError, "expected a str"),
    ],
)
def test_refusals_name_what_was_given(make, kind, text):
    with pytest.raises(kind, match=text):
        make()


def test_no_seed_is_another_seed():
    drawn = [wirings.AutoNCP(28, 4, seed=None) for _ in range(2)]
    assert drawn[0].get_config()["seed"] != drawn[1].get_config()["seed"]


def test_pictures():
    wiring = wirings.AutoNCP(12, 3)
    assert wiring._repr_svg_() is None
    wiring.build(4)
    picture = xml.etree.ElementTree.fromstring(wiring._repr_svg_())
    assert picture.tag.endswith("svg")
    text = wiring.svg("a <title> & more")
    assert "a <title> & more" in "".join(xml.etree.ElementTree.fromstring(text).itertext())
    xml.etree.ElementTree.fromstring(custom()._repr_svg_())


def test_graphs_are_those_of_ncps():
    pytest.importorskip("networkx")
    theirs = pytest.importorskip("ncps.wirings").AutoNCP(12, 3)
    ours = wirings.AutoNCP(12, 3)
    theirs.build(4), ours.build(4)
    a, b = ours.get_graph(), theirs.get_graph()
    assert dict(a.nodes(data=True)) == dict(b.nodes(data=True))
    assert sorted(a.edges(data="polarity")) == sorted(b.edges(data="polarity"))
    assert len(ours.get_graph(include_sensory_neurons=False)) == 12
