"""Models of ncps.torch: modules, state-dicts, and files that are read without executing them."""

import json
import os
import pickle
import random as python_random
import subprocess
import sys
import warnings
import zipfile

import elegans
import numpy as np
import pytest
from elegans import _torch_files

torch = pytest.importorskip("torch")
ncps = pytest.importorskip("ncps.torch")
from ncps import wirings  # noqa: E402


def random(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype("float32")


def own():
    wiring = wirings.Wiring(5)
    wiring.set_output_dim(2)
    wiring.build(3)
    for source, destination, polarity in ((4, 1, 1), (3, 0, -1), (2, 1, -1), (1, 1, 1)):
        wiring.add_synapse(source, destination, polarity)
    for source, destination, polarity in ((0, 4, 1), (1, 3, -1), (2, 2, 1)):
        wiring.add_sensory_synapse(source, destination, polarity)
    return wiring


MODULES = {
    "cfc": lambda: ncps.CfC(3, 7),
    "cfc_pure": lambda: ncps.CfC(3, 7, mode="pure", backbone_units=9, activation="relu"),
    "cfc_no_gate": lambda: ncps.CfC(3, 7, mode="no_gate", backbone_layers=0, batch_first=False),
    "cfc_dropout": lambda: ncps.CfC(3, 7, backbone_units=6, backbone_layers=3, backbone_dropout=0.4, activation="gelu"),
    "cfc_two": lambda: ncps.CfC(3, 7, backbone_units=6, backbone_layers=2, backbone_dropout=0.4, activation="silu"),
    "cfc_mixed": lambda: ncps.CfC(3, 7, mixed_memory=True, proj_size=4, return_sequences=False, activation="tanh"),
    "cfc_wired": lambda: ncps.CfC(3, wirings.AutoNCP(16, 4, seed=7)),
    "cfc_ncp": lambda: ncps.CfC(3, wirings.NCP(5, 4, 2, 2, 2, 3, 2, seed=9), mode="pure", mixed_memory=True),
    "cfc_random": lambda: ncps.CfC(3, wirings.Random(8, 8, 0.5), mode="no_gate", proj_size=2),
    "cfc_own": lambda: ncps.CfC(3, own()),
    "ltc": lambda: ncps.LTC(3, 6),
    "ltc_wired": lambda: ncps.LTC(3, wirings.AutoNCP(16, 4, 0.3), ode_unfolds=3, epsilon=1e-3),
    "ltc_none": lambda: ncps.LTC(3, wirings.NCP(5, 4, 2, 2, 2, 3, 2), input_mapping=None, output_mapping=None),
    "ltc_linear": lambda: ncps.LTC(3, wirings.AutoNCP(9, 2), output_mapping="linear", mixed_memory=True),
    "ltc_explicit": lambda: ncps.LTC(3, wirings.AutoNCP(9, 2), implicit_param_constraints=False),
    "ltc_own": lambda: ncps.LTC(3, own(), return_sequences=False),
}
ARGUMENTS = {  # what no tensor tells
    "cfc_pure": dict(activation="relu"),
    "cfc_no_gate": dict(mode="no_gate"),
    "cfc_dropout": dict(activation="gelu", backbone_dropout=0.4),
    "cfc_two": dict(activation="silu", backbone_dropout=0.4),
    "cfc_mixed": dict(activation="tanh"),
    "cfc_random": dict(mode="no_gate"),
    "ltc_wired": dict(ode_unfolds=3, epsilon=1e-3),
    "ltc_none": dict(output_dim=2),
    "ltc_explicit": dict(implicit_param_constraints=False),
}


def made(name):
    torch.manual_seed(3)
    module = MODULES[name]().eval()
    with torch.no_grad():  # not as a seed would make it
        for key, value in module.named_parameters():
            if "mask" not in key:
                value.mul_(1 + 0.1 * torch.rand_like(value))
    return module


def check(model, module, tolerance=1e-5):
    x, spans = random(7, 3), np.random.default_rng(1).uniform(0.2, 2, 7).astype("float32")
    with torch.no_grad():
        expected, end = module(torch.from_numpy(x), timespans=torch.from_numpy(spans)[:, None])
    y, state = model(x, timespans=spans, return_sequences=module.return_sequences)
    np.testing.assert_allclose(y, expected, atol=tolerance)
    for a, b in zip(*(s if isinstance(s, tuple) else [s] for s in (state, end))):
        np.testing.assert_allclose(a, b, atol=tolerance)
    batch = random(4, 6, 3)
    with torch.no_grad():
        expected, _ = module(torch.from_numpy(batch))
    y, _ = model(batch, return_sequences=module.return_sequences, batch_first=module.batch_first)
    np.testing.assert_allclose(y, expected, atol=tolerance)


@pytest.mark.parametrize("name", MODULES)
def test_a_module_becomes_a_model(name):
    module = made(name)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a module tells everything
        model = elegans.from_torch(module)
    assert type(model).__name__ == type(module).__name__ and model.name == f"ncps.torch.{type(module).__name__}"
    assert model.return_sequences == module.return_sequences and model.batch_first == module.batch_first
    check(model, module)
    for key, value in module.state_dict().items():
        np.testing.assert_array_equal(model.state_dict()[key], value, err_msg=key)
    kind = model.layers()[0]["wiring"]
    named = {"AutoNCP": "autoncp", "Random": "random", "FullyConnected": "full"}
    wiring = getattr(module, "_wiring", getattr(module, "wiring", None))
    if type(wiring).__name__ in named:
        assert kind == named[type(wiring).__name__]


@pytest.mark.parametrize("name", MODULES)
@pytest.mark.parametrize("form", ["dict", "zip", "legacy", "protocol 4"])
def test_a_state_dict_becomes_a_model(name, form, tmp_path):
    module = made(name)
    source, path = module.state_dict(), tmp_path / "values.pt"
    if form != "dict":
        options = dict(_use_new_zipfile_serialization=False) if form == "legacy" else {}
        torch.save(source, path, pickle_protocol=4 if form == "protocol 4" else 2, **options)
        source = path
    defaults = dict(ode_unfolds=6, epsilon=1e-8, implicit_param_constraints=True)
    if name.startswith("cfc"):
        defaults = {} if "pure" in name or "ncp" in name else dict(mode="default")
        if name == "cfc":
            defaults["activation"] = "lecun_tanh"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = elegans.from_torch(source, {**defaults, **ARGUMENTS.get(name, {})})
    check(model, module)
    assert model.name == ("state_dict" if form == "dict" else str(path))


def test_what_is_assumed_is_told():
    with pytest.warns(UserWarning, match="mode='default', activation='lecun_tanh'"):
        check(elegans.from_torch(made("cfc").state_dict()), made("cfc"))
    with pytest.warns(UserWarning, match="ode_unfolds=6, epsilon=1e-08, implicit_param_constraints=True"):
        check(elegans.from_torch(made("ltc").state_dict()), made("ltc"))


def test_cells_alone():
    x, h = random(4, 3), random(4, 16, seed=1)
    for cell in (
        ncps.LTCCell(wirings.AutoNCP(16, 4), 3),
        ncps.WiredCfCCell(3, wirings.AutoNCP(16, 4)),
        ncps.CfCCell(3, 16),
    ):
        model = elegans.from_torch(cell)
        expected, state = cell(torch.from_numpy(x), torch.from_numpy(h), 0.3)
        y, end = model.rnn_cell(x, h, 0.3)
        np.testing.assert_allclose(y, expected.detach(), atol=1e-5)
        np.testing.assert_allclose(end, state.detach(), atol=1e-5)


def test_a_wiring_that_was_drawn_again():
    wiring = wirings.AutoNCP(16, 4)
    first = ncps.LTC(3, wiring)
    second = ncps.CfC(3, wiring)  # ncps draws more synapses into the same wiring
    check(elegans.from_torch(first), first)
    check(elegans.from_torch(second), second)
    assert elegans.from_torch(second).layers()[0]["wiring"] == "edges"


class Larger(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Linear(5, 3)
        self.rnn = ncps.CfC(3, wirings.AutoNCP(12, 3))
        self.head = torch.nn.Linear(3, 2)


def test_a_layer_of_a_larger_module(tmp_path):
    module = Larger()
    with pytest.raises(ValueError, match=r"tensors of other layers: conv.bias, .*prefix='rnn'"):
        elegans.from_torch(module.state_dict(), {"mode": "default"})
    check(elegans.from_torch(module, prefix="rnn"), module.rnn)
    torch.save({"epoch": 3, "state_dict": module.state_dict(), "optimizer": torch.optim.Adam(module.parameters()).state_dict()},
               tmp_path / "checkpoint.ckpt")  # fmt: skip
    check(elegans.from_torch(tmp_path / "checkpoint.ckpt", '{"mode": "default"}', prefix="rnn"), module.rnn)
    two = torch.nn.ModuleDict({"a": ncps.CfC(3, 4), "b": ncps.LTC(3, 4)})
    with pytest.raises(ValueError, match=r"several layers, \['a.rnn_cell.', 'b.rnn_cell.'\]"):
        elegans.from_torch(two.state_dict())
    with pytest.raises(ValueError, match="no tensor begins with 'c.'"):
        elegans.from_torch(two.state_dict(), prefix="c")


def test_numbers_of_other_types(tmp_path):
    module = made("cfc_wired")
    for kind, tolerance in ((torch.float64, 1e-5), (torch.float16, 5e-3), (torch.bfloat16, 5e-2)):
        torch.save({key: value.to(kind) for key, value in module.state_dict().items()}, tmp_path / "other.pt")
        check(elegans.from_torch(tmp_path / "other.pt", {"mode": "default"}), module, tolerance)
        expected = {key: value.to(kind).float().numpy() for key, value in module.state_dict().items()}
        for key, value in _torch_files.read_state_dict(tmp_path / "other.pt").items():
            np.testing.assert_array_equal(value, expected[key])


def test_layouts(tmp_path):
    whole = torch.arange(24, dtype=torch.float32).reshape(4, 6)
    values = {
        "turned": whole.t(), "part": whole[1:3, 2:4], "one": whole[2, 3], "row": whole[1], "none": whole[:0],
        "long": torch.arange(5), "flags": torch.tensor([True, False]), "parameter": torch.nn.Parameter(whole),
    }  # fmt: skip
    for options in ({}, dict(_use_new_zipfile_serialization=False)):
        torch.save(values, tmp_path / "layouts.pt", **options)
        read = _torch_files.read_state_dict(tmp_path / "layouts.pt")
        assert set(read) == set(values)
        for key, value in values.items():
            np.testing.assert_array_equal(read[key], value.detach().float().numpy())
            assert read[key].shape == tuple(value.shape) and read[key].dtype == np.float32


@pytest.mark.parametrize(
    "config, text",
    [
        (None, "'output_dim'"),
        ({"output_dim": 2, "wirring": 1}, "wirring"),
        ({"output_dim": 99}, "99"),
        ({"wiring": {"kind": "AutoNCP", "args": {"units": 11, "output_size": 2}}}, "contradicts"),
        ({"output_dim": 2, "mixed_memory": True}, "lstm"),
    ],
)
def test_what_is_missing_or_wrong_is_named(config, text):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises((ValueError, elegans.Error), match=text):
            elegans.from_torch(made("ltc_none").state_dict(), config)


def test_wirings_as_config():
    module = made("ltc_none")
    wiring = elegans.wirings.NCP(5, 4, 2, 2, 2, 3, 2)
    config = dict(wiring=wiring, ode_unfolds=6, epsilon=1e-8, implicit_param_constraints=True)
    check(elegans.from_torch(module.state_dict(), config), module)
    whole = elegans.from_torch(module)
    again = elegans.from_torch(module.state_dict(), json.loads(whole.config()))
    assert type(again) is elegans.Model
    check(again, module)


# ---- files that would do something
class Evil:
    def __reduce__(self):
        return os.system, ("touch %s" % Evil.path,)


@pytest.mark.parametrize("legacy", [False, True])
def test_nothing_is_executed(tmp_path, legacy):
    Evil.path = tmp_path / "executed"
    options = dict(_use_new_zipfile_serialization=False) if legacy else {}
    path = tmp_path / "evil.pt"
    torch.save(Evil(), path, **options)
    with pytest.raises(ValueError, match=r"(posix|nt|os).system.*state_dict\(\) instead"):
        elegans.from_torch(path)
    torch.save({"state_dict": made("cfc_wired").state_dict(), "evil": Evil()}, path, **options)
    check(elegans.from_torch(path, {"mode": "default"}), made("cfc_wired"))
    torch.save(made("cfc"), path, **options)
    with pytest.raises(ValueError, match="ncps.torch.cfc.CfC"):
        elegans.from_torch(path)
    assert not Evil.path.exists()


def raw(tmp_path, program, storages=None, compression=zipfile.ZIP_STORED):
    path = tmp_path / "raw.pt"
    with zipfile.ZipFile(path, "w", compression) as archive:
        archive.writestr("archive/data.pkl", program)
        for key, data in (storages or {"0": bytes(64)}).items():
            archive.writestr(f"archive/data/{key}", data)
    return path


def tensor(offset, size, stride, count=16):
    """The program of {"a": a tensor with this layout}."""

    def number(n):
        return pickle.dumps(n, 2)[2:-1]

    pid = b"(X\x07\0\0\0storagectorch\nFloatStorage\nX\x01\0\0\x000X\x03\0\0\0cpu" + number(count) + b"tQ"
    shape = b"(" + b"".join(map(number, size)) + b"t(" + b"".join(map(number, stride)) + b"t"
    body = b"ctorch._utils\n_rebuild_tensor_v2\n(" + pid + number(offset) + shape + b"\x89}tR"
    return b"\x80\x02}X\x01\0\0\0a" + body + b"s."


def test_layouts_stay_within_their_storages(tmp_path):
    good = _torch_files.read_state_dict(raw(tmp_path, tensor(4, (2, 3), (6, 1))))
    assert good["a"].shape == (2, 3)
    for layout in (
        (16, (1,), (1,)),
        (0, (17,), (1,)),
        (0, (4,), (6,)),
        (0, (1 << 40,), (0,)),
        (0, (17,), (0,)),
        (-1, (2,), (1,)),
        (1, (2,), (-1,)),
        (0, (-2,), (1,)),
        (0, (2, 2), (1,)),
        (0, (1,) * 9, (1,) * 9),
        (0, (1 << 62, 1 << 62, 0), (1, 1, 1)),
    ):
        with pytest.raises(ValueError):
            _torch_files.read_state_dict(raw(tmp_path, tensor(*layout)))
    with pytest.raises(ValueError, match="too short"):
        _torch_files.read_state_dict(raw(tmp_path, tensor(0, (17,), (1,), 17)))


@pytest.mark.parametrize(
    "program",
    [
        b"",
        b"\x80\x02.",
        b"\x80\x02h\x07.",
        b"\x80\x02(((t.",
        b"\x80\x02}(]]s.",
        b"\x80\x02)R.",
        b"\x80\x02cos\nsystem\nX\x02\0\0\0ls\x85R.",
        b"(S'ls'\nios\nsystem\n.",
        b"\x80\x02\x82\x01.",
        b"\x80\x02]q\0h\0a.",  # a list that is in itself
        b"\x80\x02" + b"(" * 5000 + b"t" * 5000 + b".",
        b"\x80\x04" + b")\x94" + b"h\0h\0\x86q\0" * 200 + b"h\0Nsh\0\x93.",  # a name that has 2**200 characters
        b"\x80\x02}" + b")q\0" + b"h\0h\0\x86q\0" * 200 + b"Ns.",  # a key whose hash takes 2**200 steps
        b"\x80\x02}" + b")" + b"\x85" * 100000 + b"Ns.",  # and one that overflows the stack of C
        b"\x80\x02ccollections\nOrderedDict\n](]" + b")" + b"\x85" * 100000 + b"aNetR.",
        b"\x80\x02\x8a\xff" + b"\xff" * 255 + b".",
        b"I" + b"9" * 100000 + b"\n.",
        b"\x80\x02X\xff\xff\xff\xffabc.",
    ],
)
def test_programs_of_others_are_refused(program, tmp_path):
    with pytest.raises(ValueError):
        _torch_files.read_state_dict(raw(tmp_path, program))
    (tmp_path / "plain.pt").write_bytes(program)
    with pytest.raises(ValueError):
        _torch_files.read_state_dict(tmp_path / "plain.pt")


def test_other_files_are_refused_by_name(tmp_path):
    path = tmp_path / "other.pt"
    with pytest.raises(FileNotFoundError):
        elegans.from_torch(tmp_path / "nowhere.pt")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it is deprecated
        torch.jit.script(torch.nn.Linear(2, 2)).save(str(path))
    with pytest.raises(ValueError, match="TorchScript"):
        elegans.from_torch(path)
    np.savez(path.with_suffix(".npz"), a=random(2))
    with pytest.raises(ValueError, match="without data.pkl"):
        elegans.from_torch(path.with_suffix(".npz"))
    with pytest.raises(ValueError, match="compressed"):
        elegans.from_torch(raw(tmp_path, tensor(0, (16,), (1,)), {"0": bytes(1 << 20)}, zipfile.ZIP_DEFLATED))
    import tarfile

    with tarfile.open(path, "w") as archive:
        archive.add(__file__, "storages")
    with pytest.raises(ValueError, match="tar archive"):
        elegans.from_torch(path)
    for text in (b"", b"nothing", pickle.dumps({"a": 1})):
        path.write_bytes(text)
        with pytest.raises(ValueError):
            elegans.from_torch(path)
    torch.save([1, 2], path)
    with pytest.raises(ValueError, match="a list, not a state-dict"):
        elegans.from_torch(path)
    torch.save({"a": 1}, path)
    with pytest.raises(ValueError, match="no tensors"):
        elegans.from_torch(path)
    torch.save({"a": torch.ones(2, dtype=torch.complex64)}, path)
    with pytest.raises(ValueError, match="ComplexFloatStorage"):
        elegans.from_torch(path)
    with pytest.raises(TypeError, match="expected a module, a state-dict or a path"):
        elegans.from_torch(3)
    with pytest.raises(ValueError, match="no CfC or LTC"):
        elegans.from_torch(torch.nn.Linear(2, 2))


@pytest.mark.parametrize("legacy", [False, True])
def test_damaged_files_are_refused_or_read(tmp_path, legacy):
    """Every file is read or refused with a ValueError: no other exception, no crash, no execution."""
    options = dict(_use_new_zipfile_serialization=False) if legacy else {}
    torch.save(made("cfc_wired").state_dict(), tmp_path / "good.pt", **options)
    good = (tmp_path / "good.pt").read_bytes()
    path, chance = tmp_path / "damaged.pt", python_random.Random(4)
    refused = 0
    for trial in range(600):
        data = bytearray(good)
        for _ in range(chance.choice((1, 1, 2, 8))):
            place = chance.randrange(len(data))
            how = chance.randrange(4)
            if how == 0:
                data[place] = chance.randrange(256)
            elif how == 1:
                data[place] ^= 1 << chance.randrange(8)
            elif how == 2:
                del data[place : place + chance.randrange(1, 40)]
            else:
                data[place:place] = bytes(chance.randrange(256) for _ in range(chance.randrange(1, 10)))
        if not legacy and trial % 2:  # past the checksums: the program itself
            with zipfile.ZipFile(tmp_path / "good.pt") as archive:
                program = bytearray(archive.read("good/data.pkl"))
            program[chance.randrange(len(program))] = chance.randrange(256)
            data = None
            path = raw(tmp_path, bytes(program), {str(i): bytes(400) for i in range(30)})
        else:
            path = tmp_path / "damaged.pt"
            path.write_bytes(bytes(data[: chance.randrange(len(data))] if trial % 7 == 0 else data))
        try:
            _torch_files.read_state_dict(path)
        except ValueError:
            refused += 1
    assert refused > 200


def test_files_need_no_torch(tmp_path):
    torch.save(made("cfc_wired").state_dict(), tmp_path / "values.pt")
    program = (
        "import sys\nsys.modules['torch'] = None\nimport elegans, numpy\n"
        f"model = elegans.from_torch({str(tmp_path / 'values.pt')!r}, dict(mode='default'))\n"
        "print(float(model(numpy.ones((1, 1, 3), 'float32'))[0][0, 0, 0]))"
    )
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    expected = made("cfc_wired")(torch.ones(1, 1, 3))[0][0, 0, 0].item()
    assert float(out) == pytest.approx(expected, abs=1e-5)
