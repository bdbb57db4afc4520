"""Layers and cells with ncps' names: the same values, outputs and states; late inputs; dropout."""

import copy
import gc
import pickle
import weakref

import elegans
import numpy as np
import pytest
from elegans import wirings


def random(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype("float32")


def auto(module):
    return module.AutoNCP(16, 4, seed=3)


LAYERS = [  # ncps' class, and its arguments after input_size
    ("CfC", dict(units=12)),
    ("CfC", dict(units=12, mode="pure", backbone_units=20, backbone_layers=2, activation="silu")),
    ("CfC", dict(units=12, mode="no_gate", backbone_layers=0)),
    ("CfC", dict(units=12, backbone_units=9, backbone_layers=3, backbone_dropout=0.3, activation="gelu")),
    ("CfC", dict(units=12, proj_size=5, mixed_memory=True)),
    ("CfC", dict(units=auto)),
    ("CfC", dict(units=auto, mode="pure", mixed_memory=True)),
    ("CfC", dict(units=auto, mode="no_gate", proj_size=3)),
    ("CfC", dict(units=lambda module: module.Random(10, 4, 0.5), return_sequences=False)),
    ("LTC", dict(units=8)),
    ("LTC", dict(units=auto, ode_unfolds=3, epsilon=1e-3)),
    ("LTC", dict(units=auto, input_mapping=None, output_mapping="linear", implicit_param_constraints=False)),
    ("LTC", dict(units=lambda module: module.NCP(4, 3, 2, 2, 2, 3, 2), mixed_memory=True)),
    ("LTC", dict(units=lambda module: module.FullyConnected(6, 2, self_connections=False), batch_first=False)),
]


def both(kind, arguments, seed=5, inputs=3):
    torch, ncps = pytest.importorskip("torch"), pytest.importorskip("ncps.torch")
    import ncps.wirings as theirs

    def filled(module):
        return {key: value(module) if callable(value) else value for key, value in arguments.items()}

    torch.manual_seed(seed)
    their = getattr(ncps.torch if hasattr(ncps, "torch") else ncps, kind)(inputs, **filled(theirs)).eval()
    return their, getattr(elegans, kind)(inputs, **filled(wirings), seed=seed)


def arrays(states):
    return [
        np.asarray(s.detach() if hasattr(s, "detach") else s)
        for s in (states if isinstance(states, tuple) else [states])
    ]


@pytest.mark.parametrize("kind, arguments", LAYERS)
def test_the_same_seed_is_the_same_module(kind, arguments):
    their, our = both(kind, arguments)
    ours, theirs = our.state_dict(), their.state_dict()
    assert set(ours) == set(theirs)
    for name, value in theirs.items():
        if name == "lstm.recurrent_map.weight":  # orthogonal by LAPACK there
            np.testing.assert_allclose(ours[name].T @ ours[name], np.eye(our.state_size), atol=1e-5)
            continue
        np.testing.assert_array_equal(ours[name], value.numpy(), err_msg=name)


@pytest.mark.parametrize("kind, arguments", LAYERS)
def test_the_same_outputs_and_states(kind, arguments):
    torch = pytest.importorskip("torch")
    their, our = both(kind, arguments)
    our.load_state_dict({name: value.numpy() for name, value in their.state_dict().items()})
    x, spans = random(4, 7, 3), np.random.default_rng(1).uniform(0.2, 2, (4, 7)).astype("float32")
    if not our.batch_first:
        x, spans = np.ascontiguousarray(x.swapaxes(0, 1)), np.ascontiguousarray(spans.T)
    one = np.full_like(spans, 0.7)
    hidden = [random(4, our.state_size, seed=i) for i in (3, 4)]
    given = tuple(hidden) if our.use_mixed else hidden[0]
    told = tuple(map(torch.from_numpy, hidden)) if our.use_mixed else torch.from_numpy(hidden[0])
    calls = [
        (our(x), their(torch.from_numpy(x))),
        (our(x, given), their(torch.from_numpy(x), told)),
    ]
    for ours, theirs in calls:
        np.testing.assert_allclose(ours[0], theirs[0].detach(), atol=1e-5)
        for a, b in zip(arrays(ours[1]), arrays(theirs[1])):
            np.testing.assert_allclose(a, b, atol=1e-5)
    tensors, _ = our(torch.from_numpy(x), told, timespans=torch.from_numpy(one))
    assert isinstance(tensors, torch.Tensor)
    np.testing.assert_array_equal(tensors, our(x, given, 0.7)[0])
    # with spans of their own: ncps computes these for one sample at a time alone
    y, _ = our(x, given, spans)
    axis = 0 if our.batch_first else 1
    for i in range(4):
        alone = np.ascontiguousarray(x.take(i, axis))
        states = tuple(torch.from_numpy(h[i]) for h in hidden)
        theirs, end = their(
            torch.from_numpy(alone),
            states if our.use_mixed else states[0],
            torch.from_numpy(np.ascontiguousarray(spans.take(i, axis)))[:, None],
        )
        np.testing.assert_allclose(y.take(i, 0 if not our.return_sequences else axis), theirs.detach(), atol=1e-5)
        again, state = our(alone, tuple(h[i] for h in hidden) if our.use_mixed else hidden[0][i], spans.take(i, axis))
        np.testing.assert_allclose(again, theirs.detach(), atol=1e-5)
        for a, b in zip(arrays(state), arrays(end)):
            assert a.shape == b.shape


def test_cells_are_those_of_ncps():
    torch, ncps = pytest.importorskip("torch"), pytest.importorskip("ncps.torch")
    from ncps.wirings import AutoNCP

    wiring, foreign = wirings.AutoNCP(16, 4), AutoNCP(16, 4)
    wiring.build(3), foreign.build(3)
    cells = [
        (elegans.CfCCell(3, 8, "no_gate", "relu", 11, 2), ncps.CfCCell(3, 8, "no_gate", "relu", 11, 2)),
        (elegans.CfCCell(3, 8, seed=1), ncps.CfCCell(3, 8)),
        (elegans.WiredCfCCell(3, wirings.AutoNCP(16, 4)), ncps.WiredCfCCell(3, AutoNCP(16, 4))),
        (elegans.CfCCell(wirings.AutoNCP(16, 4)), ncps.WiredCfCCell(3, AutoNCP(16, 4))),
        (elegans.LTCCell(wirings.AutoNCP(16, 4), 3), ncps.LTCCell(AutoNCP(16, 4), 3)),
        (elegans.LTCCell(wiring, ode_unfolds=2), ncps.LTCCell(foreign, ode_unfolds=2)),
        (elegans.LTCCell(AutoNCP(16, 4), 3), ncps.LTCCell(AutoNCP(16, 4), 3)),
    ]
    x = random(5, 3)
    for ours, theirs in cells:
        ours.build(3)
        ours.load_state_dict({name: value.numpy() for name, value in theirs.state_dict().items()})
        h = random(5, ours.state_size, seed=2)
        for ts in (1.0, 0.3, random(5, 1, seed=3) ** 2 + 0.1):
            y, end = ours(x, h, ts)
            told = torch.from_numpy(ts) if isinstance(ts, np.ndarray) else ts
            expected, state = theirs(torch.from_numpy(x), torch.from_numpy(h), told)
            np.testing.assert_allclose(y, expected.detach(), atol=1e-5)
            np.testing.assert_allclose(end, state.detach(), atol=1e-5)
            again, _ = ours(x, h, ts[:, 0] if isinstance(ts, np.ndarray) else ts)
            np.testing.assert_array_equal(again, y)
        assert set(ours.state_dict()) == set(theirs.state_dict())
        assert ours.output_size == y.shape[1] and ours.state_size == end.shape[1]
        with pytest.raises(KeyError, match="missing.*unknown.*nothing"):
            ours.load_state_dict({"nothing": x})


def test_the_form_of_mlx():
    wiring = wirings.AutoNCP(units=32, output_size=8)
    cell = elegans.CfCCell(wiring, backbone_units=[64, 64], backbone_layers=2, backbone_dropout=0.1)
    model = elegans.CfC(cell=cell, return_sequences=True)
    assert not model.is_open and isinstance(model, elegans.Model) and "not known" in repr(model)
    with pytest.raises(ValueError, match="build"):
        model.info()
    x = random(4, 6, 5)
    y, state = model(x, training=True)
    assert y.shape == (4, 6, 8) and state.shape == (4, 32) and model.layers()[0]["backbone"] == (64, 64)
    assert model.cell is cell and cell.model is model and wiring.is_built() and wiring.input_dim == 5
    one, h = cell(x[:, 0], np.zeros((4, 32), "float32"), 1.0)
    np.testing.assert_allclose(one, model(x)[0][:, 0], atol=1e-6)
    with pytest.raises(ValueError, match="5 features"):
        model(x[..., :4])
    with pytest.raises(ValueError, match="5 inputs, given 4"):
        model.build(4)
    assert elegans.CfC(units=8)(x)[0].shape == (4, 6, 8) == elegans.CfC(8)(x)[0].shape
    assert elegans.LTC(wirings.AutoNCP(12, 3))(x, time_delta=np.ones((4, 6, 1), "float32"))[0].shape == (4, 6, 3)
    double = elegans.CfC(cell=elegans.CfCCell(wiring=wirings.AutoNCP(12, 3), activation="tanh"), bidirectional=True)
    assert double(x)[0].shape == (4, 6, 6)
    assert elegans.CfC(5, 8, bidirectional=True, merge_mode="sum")(x)[0].shape == (4, 6, 8)
    late = elegans.LTC(cell=elegans.LTCCell(wirings.AutoNCP(12, 3)))
    late.build((None, None, 7))
    assert late.input_size == 7
    tokens = elegans.CfC(3)
    assert tokens([[[1.0, 2.0]]])[0].shape == (1, 1, 3)


def test_a_cell_that_was_used_keeps_its_values():
    cell = elegans.CfCCell(units=6, seed=9)
    x = random(2, 3)
    before, _ = cell(x, np.zeros((2, 6), "float32"))
    cell.load_state_dict({name: value * 2 for name, value in cell.state_dict().items()})
    changed, _ = cell(x, np.zeros((2, 6), "float32"))
    layer = elegans.CfC(cell=cell)
    np.testing.assert_allclose(layer(x[:, None])[0][:, 0], changed, atol=1e-6)
    assert not np.allclose(before, changed)


def test_dropout_is_that_of_ncps():
    torch = pytest.importorskip("torch")
    their, our = both("CfC", dict(units=6, backbone_units=16, backbone_layers=2, backbone_dropout=0.4))
    x = np.repeat(random(1, 2, 3), 20000, axis=0)
    plain, _ = our(x)
    first, _ = our(x, training=True, seed=1)
    np.testing.assert_array_equal(first, our(x, training=True, seed=1)[0])
    assert not np.array_equal(first, our(x, training=True, seed=2)[0])
    assert not np.array_equal(our(x, training=True)[0], our(x, training=True)[0])  # each call draws anew
    np.testing.assert_array_equal(plain, our(x)[0])
    torch.manual_seed(0)
    with torch.no_grad():
        theirs = their.train()(torch.from_numpy(x))[0].numpy()
    assert np.ptp(plain, 0).max() == 0 and theirs.std(0).min() > 1e-3
    error = theirs.std(0) / np.sqrt(len(x))
    assert (np.abs(first.mean(0) - theirs.mean(0)) < 7 * error).all()
    np.testing.assert_allclose(first.std(0), theirs.std(0), rtol=0.05)


@pytest.mark.parametrize("kind, arguments", LAYERS)
def test_copies(kind, arguments):
    _, model = both(kind, arguments)
    x = random(4, 5, 3)
    for again in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert type(again) is type(model) and again.return_sequences == model.return_sequences
        np.testing.assert_array_equal(again(x)[0], model(x)[0])
        assert (
            again.state_size == model.state_size
            and again.rnn_cell.wiring is not None
            or not callable(arguments["units"])
        )
    late = pickle.loads(pickle.dumps(getattr(elegans, kind)(wirings.AutoNCP(12, 3))))
    assert late(x)[0].shape == (4, 5, 3)
    cell = pickle.loads(pickle.dumps(late.rnn_cell))
    np.testing.assert_array_equal(cell(x[:, 0])[0], late.rnn_cell(x[:, 0])[0])


def test_files_are_layers(tmp_path):
    _, model = both("CfC", dict(units=auto, mode="pure"))
    model.save(tmp_path / "layer.safetensors")
    x = random(2, 5, 3)
    again = elegans.CfC.load(tmp_path / "layer.safetensors")
    np.testing.assert_array_equal(again(x)[0], model(x)[0])
    assert again.rnn_cell.model is again and again.wiring.output_dim == 4 and again.rnn_cell.mode == "pure"
    np.testing.assert_array_equal(again.rnn_cell(x[:, 0])[0], model.rnn_cell(x[:, 0])[0])


@pytest.mark.parametrize(
    "make, kind, text",
    [
        (lambda: elegans.CfC(), TypeError, "needs units"),
        (lambda: elegans.LTC(), TypeError, "needs units"),
        (lambda: elegans.CfCCell(), TypeError, "needs units"),
        (lambda: elegans.CfC(3, [8]), TypeError, "units: expected an integer or a wiring"),
        (lambda: elegans.CfC(3, 8, mode="fast"), elegans.Error, "mode"),
        (lambda: elegans.CfC(3, 8, cell=elegans.CfCCell(8)), TypeError, "not both"),
        (lambda: elegans.CfC(cell=elegans.LTCCell(8)), TypeError, "expected a CfCCell"),
        (lambda: elegans.CfC(3, 8, backbone_dropout=1.5), ValueError, "dropout"),
        (lambda: elegans.CfC(3, 0), elegans.Error, "unit"),
        (lambda: elegans.CfCCell(3, 8, sparsity_mask=np.ones((11, 8))), ValueError, "wiring"),
        (lambda: elegans.CfCCell(3, 8)(np.zeros(3, "float32")), ValueError, r"\[batch, features\]"),
        (lambda: elegans.CfCCell(8).model, ValueError, "not known yet"),
        (lambda: elegans.CfC(8).stream(), ValueError, "not know"),
        (lambda: elegans.CfC(8).state_dict(), ValueError, "not know"),
        (lambda: elegans.CfC(8).save("nowhere"), ValueError, "not know"),
        (lambda: elegans.CfC(8).run(np.zeros((1, 1, 1), "float32")), ValueError, "not know"),
        (lambda: elegans.CfC(8)._fill("{}"), elegans.Error, "model"),
    ],
)
def test_refusals_name_what_was_given(make, kind, text):
    with pytest.raises(kind, match=text):
        make()


def test_a_model_is_not_filled_twice():
    model = elegans.CfC(3, 8)
    with pytest.raises(ValueError, match="open already"):
        model._fill(model.config())
    assert model(random(1, 1, 3))[0].shape == (1, 1, 8)


def test_layers_and_their_cells_end():
    model = elegans.CfC(3, wirings.AutoNCP(12, 3))
    end = weakref.ref(model)
    del model
    gc.collect()
    assert end() is None
