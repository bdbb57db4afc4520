"""Graphs and programs against numpy and torch."""

from __future__ import annotations

import math
import shutil
import subprocess
import threading

import numpy as np
import pytest

import elegans

RANDOM = np.random.default_rng(1)


def values(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape, dtype=np.float32)


def close(a, b, tolerance=1e-5):
    a = np.asarray(a)
    assert a.shape == np.shape(b)
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def evaluate(build, *arrays):
    """What build(graph, *nodes) computes of these arrays."""
    graph = elegans.Graph()
    nodes = [graph.input(f"x{i}", a.shape, a.dtype) for i, a in enumerate(arrays)]
    return elegans.compile(graph, build(graph, *nodes))(*arrays)


erf = np.vectorize(math.erf, otypes=[np.float32])
UNARY = {
    "neg": np.negative,
    "abs": np.abs,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "exp": np.exp,
    "log": np.log,
    "tanh": np.tanh,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "softplus": lambda x: np.log1p(np.exp(x)),
    "erf": erf,
    "gelu": lambda x: x * (1 + erf(x / math.sqrt(2))) / 2,
    "silu": lambda x: x / (1 + np.exp(-x)),
    "relu": lambda x: np.maximum(x, 0),
    "sin": np.sin,
    "cos": np.cos,
    "round_f16": lambda x: x.astype(np.float16).astype(np.float32),
    "round_bf16": None,
}
BINARY = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "min": np.minimum,
    "max": np.maximum,
    "pow": np.power,
    "lt": np.less,
    "le": np.less_equal,
    "eq": np.equal,
    "ne": np.not_equal,
}


@pytest.mark.parametrize("name", UNARY)
def test_unary(name):
    x = values(3, 17)
    if name in ("sqrt", "rsqrt", "log"):
        x = np.abs(x) + 0.1
    y = evaluate(lambda g, node: getattr(g, name)(node), x)
    if name == "round_bf16":
        bits = x.view(np.uint32)
        wanted = ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).view(np.float32)
        assert np.array_equal(y, wanted)
    else:
        close(y, UNARY[name](x))


@pytest.mark.parametrize("name", BINARY)
def test_binary_broadcasts(name):
    a, b = np.round(np.abs(values(4, 1, 5)), 1) + 1, np.round(np.abs(values(3, 1)), 1) + 1
    close(evaluate(lambda g, x, y: getattr(g, name)(x, y), a, b), BINARY[name](a, b).astype(np.float32))


def test_operators():
    a, b = np.abs(values(3, 4)) + 1, values(3, 4)
    table = {
        "a + b": a + b,
        "1 - a": 1 - a,
        "a * 2.5": a * 2.5,
        "2 / a": 2 / a,
        "a ** 2": a**2,
        "-a": -a,
        "+a": a,
        "abs(b)": abs(b),
        "a @ transpose(b)": a @ b.T,
        "a < b": (a < b).astype("f"),
        "a >= 2": (a >= 2).astype("f"),
        "2 > a": (2 > a).astype("f"),
        "a == a": np.ones_like(a),
        "a != b": (a != b).astype("f"),
        "array * a": np.arange(4) * a,
        "a + array": a + np.arange(4),
        "a[1]": a[1],
        "a[-1, 1:3]": a[-1, 1:3],
        "a[..., 2]": a[..., 2],
        "a[:, -2:]": a[:, -2:],
        "a[1:1]": a[1:1],
        "a[index]": a[[2, 0, 2]],
    }
    graph = elegans.Graph()
    scope = {
        "a": graph.input("a", (3, 4)),
        "b": graph.input("b", (3, 4)),
        "index": graph.constant([2, 0, 2]),
        "array": np.arange(4, dtype=np.float32),
        "transpose": graph.transpose,
        "abs": abs,
    }
    nodes = {text: eval(text, scope) for text in table}
    empty = nodes.pop("a[1:1]")
    assert empty.shape == (0, 4)
    for text, y in elegans.compile(graph, nodes)(a=a, b=b).items():
        close(y, table[text])


def test_movement():
    x, index = values(4, 3, 2), np.array([[1, 3], [3, 0]], np.int32)
    close(evaluate(lambda g, n: g.reshape(n, (2, -1)), x), x.reshape(2, -1))
    close(evaluate(lambda g, n: g.transpose(n), x), x.transpose())
    close(evaluate(lambda g, n: g.transpose(n, (1, -1, 0)), x), x.transpose(1, 2, 0))
    close(evaluate(lambda g, n: g.slice(n, -2, 1, 2), x), x[:, 1:])
    close(evaluate(lambda g, n: g.concat([n, n], axis=-1), x), np.concatenate([x, x], -1))
    close(evaluate(lambda g, n: g.broadcast(n, (5, 4, 3, 2)), x), np.broadcast_to(x, (5, 4, 3, 2)))
    close(evaluate(lambda g, n: g.pad(n, 1, 1, 2, 7), x), np.pad(x, ((0, 0), (1, 2), (0, 0)), constant_values=7))
    close(evaluate(lambda g, n, i: g.gather(n, i), x, index), x[index])
    wanted = np.zeros((6, 2), np.float32)
    rows = values(2, 2, 2)
    np.add.at(wanted, index, rows)
    close(evaluate(lambda g, n, i: g.scatter_add(n, i, 6), rows, index), wanted)


def test_reductions_and_norms():
    x = values(4, 3, 5)
    for name, function in (("sum", np.sum), ("mean", np.mean), ("reduce_max", np.max)):
        for axis in (None, 1, -1, (0, 2)):
            for keep in (False, True):
                y = evaluate(lambda g, n: getattr(g, name)(n, axis, keepdims=keep), x)
                close(y, function(x, axis=axis, keepdims=keep))
    assert np.array_equal(evaluate(lambda g, n: g.argmax(n), x), x.argmax(-1))
    shifted = np.exp(x - x.max(-1, keepdims=True))
    close(evaluate(lambda g, n: g.softmax(n), x), shifted / shifted.sum(-1, keepdims=True))
    close(evaluate(lambda g, n: g.log_softmax(n), x), np.log(shifted / shifted.sum(-1, keepdims=True)))
    variance = x.var(-1, keepdims=True)
    close(evaluate(lambda g, n: g.layer_norm(n, 1e-3), x), (x - x.mean(-1, keepdims=True)) / np.sqrt(variance + 1e-3))
    close(evaluate(lambda g, n: g.rms_norm(n), x), x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5))
    s = evaluate(lambda g, n: g.sum_squares(n), x).astype(float)
    assert s[:3].sum() * 2 ** s[3] == pytest.approx((x.astype(float) ** 2).sum(), rel=1e-14)


def test_select_and_cast():
    a, b = values(3, 4), values(3, 4)
    close(evaluate(lambda g, x, y: g.select(x < y, x, 0), a, b), np.where(a < b, a, 0))
    half = evaluate(lambda g, x: g.cast(x, "float16"), a)
    assert half.dtype == np.float16 and np.array_equal(half, a.astype(np.float16))
    with pytest.raises(TypeError, match="bfloat16"):
        evaluate(lambda g, x: g.cast(x, "bfloat16"), a)


def test_matmul_flags():
    a, b = values(2, 4, 3), values(4, 5)
    close(evaluate(lambda g, x, y: g.matmul(x, y, transpose_a=True), a, b), a.transpose(0, 2, 1) @ b)


def test_against_torch():
    torch = pytest.importorskip("torch")
    f = torch.nn.functional
    t = torch.from_numpy
    x, w = values(2, 4, 9, 8), values(6, 2, 3, 2)
    wanted = f.conv2d(t(x), t(w), stride=(2, 1), padding=(1, 0), dilation=(1, 2), groups=2)
    node = lambda g, a, b: g.conv(a, b, stride=(2, 1), padding=(1, 0), dilation=(1, 2), groups=2)
    close(evaluate(node, x, w), wanted.numpy())
    x, w = values(2, 3, 9), values(5, 3, 4)
    wanted = f.conv1d(f.pad(t(x), (3, 0)), t(w))
    close(evaluate(lambda g, a, b: g.conv(a, b, padding=[(3, 0)]), x, w), wanted.numpy())
    q, k, v = values(2, 5, 12), values(2, 7, 6), values(2, 7, 6)
    heads = lambda a, n: t(a).reshape(2, a.shape[1], n, -1).transpose(1, 2)
    wide = lambda a: heads(a, 2).repeat_interleave(2, 1)
    mask = np.where(np.arange(7) < 5, 0, -1e30).astype("f") + np.zeros((5, 7), "f")
    scores = heads(q, 4) @ wide(k).transpose(2, 3) / heads(q, 4).shape[-1] ** 0.5 + t(mask)
    wanted = (scores.softmax(-1) @ wide(v)).transpose(1, 2).reshape(2, 5, 12)
    close(evaluate(lambda g, *n: g.attention(*n, heads=4, kv_heads=2), q, k, v, mask), wanted.numpy())
    lengths = np.array([5, 5], np.int32)
    close(
        evaluate(lambda g, a, b, c, l: g.attention(a, b, c, lengths=l, heads=4, kv_heads=2), q, k, v, lengths),
        wanted.numpy(),
    )


def test_rotary():
    x = values(1, 6, 8)
    angles = np.arange(6)[:, None] * 100.0 ** (-2 * np.arange(2) / 4)
    out = x.reshape(6, 2, 4).astype(float).copy()
    a, b = out[..., :2].copy(), out[..., 2:].copy()
    cos, sin = np.cos(angles)[:, None], np.sin(angles)[:, None]
    out[..., :2], out[..., 2:] = a * cos - b * sin, b * cos + a * sin
    close(evaluate(lambda g, n: g.rotary(n, d=4, base=100), x), out.reshape(1, 6, 8).astype("f"))


def test_synapses():
    v, weight, middle, slope, reversal = values(3, 4), *(values(6) for _ in range(4))
    source, target = np.array([0, 1, 2, 3, 0, 2], np.int32), np.array([0, 0, 1, 1, 2, 2], np.int32)
    a = weight / (1 + np.exp(-slope * (v[:, source] - middle)))
    wanted = np.zeros((3, 6), np.float32)
    for i, t in enumerate(target):
        wanted[:, t] += a[:, i] * reversal[i]
        wanted[:, 3 + t] += a[:, i]
    close(evaluate(lambda g, x: g.synapses(x, weight, middle, slope, reversal, source, target, 3), v), wanted)


# ---- scans, states, gradients
def rnn(graph, length=6, batch=3, inputs=4, units=5, reverse=False):
    x = graph.input("x", (length, batch, inputs))
    w, u = graph.parameter("w", (inputs, units)), graph.parameter("u", (units, units))
    loop = graph.scan(length, reverse)
    h = loop.carry(np.zeros((batch, units), np.float32))
    loop.update(h, graph.tanh(loop.step(x) @ w + h @ u))
    return x, w, u, loop, h


@pytest.mark.parametrize("reverse", [False, True])
def test_scan(reverse):
    graph = elegans.Graph()
    x, w, u, loop, h = rnn(graph, reverse=reverse)
    program = elegans.compile(graph, {"y": loop.stack(h), "sum": loop.sum(h), "last": loop.last(h)})
    array = values(6, 3, 4)
    program.parameters.update(w=values(4, 5), u=values(5, 5))
    y = program(x=array)
    state = np.zeros((3, 5), np.float32)
    before = []
    for step in array[::-1] if reverse else array:
        before.append(state)
        state = np.tanh(step @ program.parameters["w"] + state @ program.parameters["u"])
    close(y["last"], state)
    close(y["sum"], np.sum(before, 0))
    close(y["y"], np.stack(before[::-1] if reverse else before))


def test_scan_lengths_and_shorter_runs():
    graph = elegans.Graph()
    x = graph.input("x", (4, 2, 1))
    loop = graph.scan(4)
    loop.lengths(graph.input("lengths", 2))
    h = loop.carry(np.zeros((2, 1), np.float32))
    loop.update(h, h + loop.step(x))
    program = elegans.compile(graph, loop.last(h))
    ones = np.ones((4, 2, 1), np.float32)
    close(program(x=ones, lengths=[1, 3]), [[1], [3]])
    (y,) = program.run({"x": ones[:2], "lengths": np.array([1, 3], np.float32)}, length=2)
    close(y, [[1], [2]])


def test_gradient_like_torch():
    torch = pytest.importorskip("torch")
    graph = elegans.Graph()
    x, w, u, loop, h = rnn(graph)
    loss = graph.mean(loop.last(h) ** 2)
    gw, gu, gx = graph.gradient(loss, [w, u, x], every=2)
    program = elegans.compile(graph, (loss, gw, gu, gx, graph.gradient(loss, w)))
    arrays = values(6, 3, 4), values(4, 5), values(5, 5)
    program.parameters.update(w=arrays[1], u=arrays[2])
    results = program(arrays[0])
    tx, tw, tu = (torch.from_numpy(a).requires_grad_() for a in arrays)
    state = torch.zeros(3, 5)
    for step in tx:
        state = torch.tanh(step @ tw + state @ tu)
    wanted = (state**2).mean()
    wanted.backward()
    for y, t in zip(results, (wanted, tw.grad, tu.grad, tx.grad, tw.grad)):
        close(y, t.detach().numpy())


def test_gradient_by_differences():
    graph = elegans.Graph()
    a, b = graph.input("a", (3, 4)), graph.input("b", (4, 3))
    loss = graph.sum(graph.log_softmax(graph.gelu(a @ b)) * graph.sigmoid(graph.transpose(b[:, :3]) @ b))
    program = elegans.compile(graph, (loss, *graph.gradient(loss, (a, b))))
    arrays = [values(3, 4), values(4, 3)]
    _, *gradients = program(*arrays)
    for which, gradient in enumerate(gradients):
        for at in np.ndindex(gradient.shape):
            ends = []
            for h in (1e-2, -1e-2):
                moved = [x.copy() for x in arrays]
                moved[which][at] += h
                ends.append(float(program(*moved)[0]))
            assert (ends[0] - ends[1]) / 2e-2 == pytest.approx(gradient[at], rel=2e-2, abs=2e-3)


def test_states():
    graph = elegans.Graph()
    count = graph.state("count", 2)
    graph.update(count, count + graph.input("x", 2))
    program = elegans.compile(graph, count * 1)
    one = np.ones(2, np.float32)
    assert [program(x=one)[0] for _ in range(3)] == [0, 1, 2]
    close(program.states["count"], [3, 3])
    program.states["count"] = np.array([5, 7], np.float32)
    close(program(x=one), [5, 7])
    program.reset()
    close(program.states["count"], [0, 0])
    with pytest.raises(KeyError, match="no state 'other'"):
        program.states["other"]


def test_an_updated_input_is_written_in_place():
    graph = elegans.Graph()
    x = graph.input("x", 3)
    graph.update(x, x * 2)
    program = elegans.compile(graph, {"y": x + 0})
    array = np.array([1, 2, 3], np.float32)
    program(x=array)
    close(array, [2, 4, 6])
    frozen = array.copy()
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="cannot be written"):
        program(x=frozen)


def test_training_of_a_line():
    """Plain gradient descent in Python over the compiled gradient finds a line."""
    graph = elegans.Graph()
    x, y = graph.input("x", (64, 1)), graph.input("y", (64, 1))
    w, b = graph.parameter("w", (1, 1)), graph.parameter("b", 1)
    loss = graph.mean((x @ w + b - y) ** 2)
    step = elegans.compile(graph, {"loss": loss, **dict(zip("wb", graph.gradient(loss, (w, b))))}, training=True)
    predict = elegans.compile(graph, x @ w + b, share=step)
    data = values(64, 1)
    for _ in range(200):
        result = step(x=data, y=3 * data - 1)
        for name in "wb":
            step.parameters[name] = step.parameters[name] - 0.1 * result[name]
    assert result["loss"] < 1e-6
    close(predict(x=data), 3 * data - 1, 1e-3)


def test_dropout_follows_the_seed():
    graph = elegans.Graph()
    y = graph.dropout(graph.input("x", 1000), 0.25)
    x = np.ones(1000, np.float32)
    close(elegans.compile(graph, y)(x=x), x)
    program = elegans.compile(graph, {"y": y}, training=True)
    runs = [program.run({"x": x}, seed=seed)[0] for seed in (1, 1, 2)]
    assert np.array_equal(runs[0], runs[1]) and not np.array_equal(runs[0], runs[2])
    assert set(np.unique(runs[0])) == {0, np.float32(1 / 0.75)} and 650 < np.count_nonzero(runs[0]) < 850


# ---- programs
def test_results_have_the_form_that_was_asked_for():
    graph = elegans.Graph()
    x = graph.input("x", 2)
    arrays = np.ones(2, np.float32)
    assert isinstance(elegans.compile(graph, x + 1)(arrays), np.ndarray)
    assert [a[0] for a in elegans.compile(graph, [x + 1, x + 2])(arrays)] == [2, 3]
    assert list(elegans.compile(graph, {"b": x + 1, "a": x + 2})(x=arrays)) == ["b", "a"]


def test_inputs_that_are_not_needed():
    graph = elegans.Graph()
    x, y = graph.input("x", 2), graph.input("y", 2)
    one = np.ones(2, np.float32)
    program = elegans.compile(graph, {"y": x + 1})
    assert program(x=one)["y"][0] == program(x=one, y=one)["y"][0] == 2
    assert list(program.leaves()["outputs"]) == ["y_"]
    with pytest.raises(TypeError, match="needs the input 'y'"):
        elegans.compile(graph, {"z": y})(x=one)


def test_arrays_are_not_copied():
    graph = elegans.Graph()
    program = elegans.compile(graph, {"y": graph.input("x", (2, 3)) + 1})
    out = np.zeros((2, 3), np.float32)
    (given,) = program.run({"x": np.ones((2, 3), np.float32)}, out={"y": out})
    assert given is out and out[0, 0] == 2
    close(program(x=np.ones((3, 2), np.float32).T)["y"], np.full((2, 3), 2))  # strides: copied
    with pytest.raises(ValueError, match="contiguous"):
        program.run({"x": out}, out={"y": np.zeros((3, 2), np.float32).T})


def test_tensors_of_torch():
    torch = pytest.importorskip("torch")
    graph = elegans.Graph()
    x = graph.input("x", (2, 3), torch.bfloat16)
    program = elegans.compile(graph, graph.cast(x, "float32") + 1)
    y = program(x=torch.full((2, 3), 1.5, dtype=torch.bfloat16))
    assert isinstance(y, torch.Tensor) and bool((y == 2.5).all())


def test_products_of_halves():
    a, b = values(8, 64), values(64, 8)
    graph = elegans.Graph()
    node = graph.input("a", a.shape) @ graph.input("b", b.shape)
    y = elegans.compile(graph, node, dtype="float16")(a=a, b=b)
    close(y, a.astype(np.float16).astype("f") @ b.astype(np.float16).astype("f"))
    assert np.abs(y - a @ b).max() > 1e-5


def test_passes_do_not_change_results():
    graph = elegans.Graph()
    x, w, u, loop, h = rnn(graph)
    y = loop.stack(h)
    fast, plain = elegans.compile(graph, y), elegans.compile(graph, y, passes="none")
    assert plain.info()["steps"] > fast.info()["steps"] > 0
    given = values(4, 5), values(5, 5)
    for program in (fast, plain):
        program.parameters.update(w=given[0], u=given[1])
    x = values(6, 3, 4)
    close(fast(x), plain(x))
    assert "fuse" in elegans.Program.passes()
    with pytest.raises(elegans.Error, match="fuze"):
        elegans.compile(graph, y, passes="all,-fuze")


def test_steps_and_figures():
    graph = elegans.Graph()
    program = elegans.compile(graph, graph.input("a", (32, 64)) @ graph.input("b", (64, 16)))
    steps = program.steps()
    assert len(steps) == program.info()["steps"]
    product = [step for step in steps if step["work"] == "gemm"]
    assert len(product) == 1 and product[0]["flops"] == 2 * 32 * 64 * 16
    assert program.info()["flops"] == 2 * 32 * 64 * 16
    assert program.leaves()["inputs"] == {"a": ((32, 64), "float32"), "b": ((64, 16), "float32")}
    assert "a: float32 (32, 64)" in repr(program)


@pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler")
def test_export(tmp_path):
    graph = elegans.Graph()
    program = elegans.compile(graph, {"y": graph.tanh(graph.input("x", 3) * graph.parameter("w", 3))})
    program.parameters["w"] = np.array([1, 2, 3], np.float32)
    figures = program.export_c(tmp_path, "small")
    assert figures["weight_bytes"] >= 12
    main = '#include "small.h"\n#include <stdio.h>\nint main(void) { static small s; float x[3] = {1, 1, 1}, y[3];'
    main += 'small_init(&s); small_step(&s, x, y); printf("%.9g %.9g %.9g", y[0], y[1], y[2]); return 0; }'
    (tmp_path / "main.c").write_text(main)
    subprocess.run(["cc", "main.c", "small.c", "-lm", "-o", "run"], cwd=tmp_path, check=True)
    said = subprocess.run([tmp_path / "run"], capture_output=True, text=True, check=True).stdout
    close(np.array(said.split(), float), np.tanh([1, 2, 3]))


def test_files(tmp_path):
    graph = elegans.Graph()
    graph.tanh(graph.input("x", (2, 3)) @ np.ones((3, 1), np.float32))
    graph.save(tmp_path / "graph.json")
    read = elegans.Graph.load(tmp_path / "graph.json")
    assert len(read) == len(graph) and read["x"].shape == (2, 3)
    last = read.nodes()[-1]
    assert (last.operation, [n.operation for n in last.inputs]) == ("tanh", ["matmul"])
    close(elegans.compile(read, last)(x=np.ones((2, 3), "f")), np.tanh(np.full((2, 1), 3)))
    with pytest.raises(FileNotFoundError):
        elegans.Graph.load(tmp_path / "none.json")
    with pytest.raises(KeyError):
        read["none"]


# ---- mistakes
def test_mistakes_raise_at_once_and_spoil_nothing():
    graph = elegans.Graph()
    x = graph.input("x", (2, 3))
    other = elegans.Graph().input("x", (2, 3))
    for match, kind, mistake in (
        (r"cannot multiply \[2, 3\] by \[2, 3\]", ValueError, lambda: x @ x),
        ("taken", ValueError, lambda: graph.input("x", 3)),
        ("another graph", ValueError, lambda: x + other),
        ("expected a Node", TypeError, lambda: graph.add(x, object())),
        ("unsupported operand", TypeError, lambda: x + object()),
        ("no axis 2", ValueError, lambda: graph.sum(x, 2)),
        ("at most 6", ValueError, lambda: graph.input("y", [1] * 7)),
        ("expected an integer", TypeError, lambda: graph.input("y", [1.5])),
        ("at least 0", ValueError, lambda: graph.input("y", -1)),
        ("expected a type", TypeError, lambda: graph.input("y", 1, "float33")),
        ("expected a str", TypeError, lambda: graph.input(3, 1)),
        ("no argument 'foo'", TypeError, lambda: graph.sum(x, foo=1)),
        ("loss", ValueError, lambda: graph.gradient(x, x)),
        ("int32 does not hold", ValueError, lambda: graph.constant([2**40])),
        ("no carry", ValueError, lambda: graph.scan_update(x, x)),
        ("heads", TypeError, lambda: graph.attention(x, x, x)),
        ("comes from", TypeError, lambda: elegans.Node()),
        ("no value", TypeError, lambda: bool(x == x)),
        ("iterated", TypeError, lambda: list(x)),
        ("step 2", ValueError, lambda: x[::2]),
        ("axis of 2", IndexError, lambda: x[2]),
        ("3 indices", IndexError, lambda: x[0, 0, 0]),
        ("outputs", TypeError, lambda: elegans.compile(graph, {"y": 3})),
        ("another graph", ValueError, lambda: elegans.compile(graph, other)),
    ):
        with pytest.raises(kind, match=match):
            mistake()
    assert elegans.compile(graph, x + 1)(np.zeros((2, 3), "f"))[0, 0] == 1
    assert (x == "text") is False and x is not None and len({x, x}) == 1


def test_wrong_arrays_are_refused():
    graph = elegans.Graph()
    program = elegans.compile(graph, graph.input("x", (2, 3)) @ graph.parameter("w", (3, 1)))
    good = np.zeros((2, 3), np.float32)
    for match, kind, call in (
        ("needs the input 'x', an array of float32", TypeError, lambda: program()),
        ("no input 'z'", TypeError, lambda: program(x=good, z=1)),
        ("expected an array of float32, given float64", TypeError, lambda: program(x=good.astype(float))),
        (r"shape \(2, 3\), given \(3, 2\)", ValueError, lambda: program(x=good.T)),
        ("twice", TypeError, lambda: program(good, x=good)),
        ("takes 1 inputs, 2 given", TypeError, lambda: program(good, good)),
        ("no output 'w'", TypeError, lambda: program.run({"x": good}, out={"w": good})),
        ("dict", TypeError, lambda: program.run([good])),
        ("no parameter 'v'", KeyError, lambda: program.set_parameter("v", good)),
        (r"w: expected .* \(3, 1\)", ValueError, lambda: program.set_parameter("w", good)),
        ("compile", TypeError, lambda: elegans.Program()),
    ):
        with pytest.raises(kind, match=match):
            call()
    assert program(good).shape == (2, 1)


# ---- threads
def test_threads_run_at_once():
    graph = elegans.Graph()
    a = graph.input("a", (256, 256))
    program = elegans.compile(graph, a @ a)
    arrays = [values(256, 256) for _ in range(4)]
    wrong = []

    def work(array):
        for _ in range(5):
            if not np.allclose(program(array), array @ array, atol=1e-3):
                wrong.append(1)

    threads = [threading.Thread(target=work, args=(array,)) for array in arrays]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_nothing_is_held_afterwards():
    def once():
        graph = elegans.Graph()
        x = graph.input("x", (2, 3))
        with pytest.raises(ValueError):
            x @ x
        program = elegans.compile(graph, graph.tanh(x) @ np.ones((3, 2), "f"))
        program(np.ones((2, 3), "f"))

    once()
    before = elegans.memory()["all"]["current"]
    for _ in range(50):
        once()
    assert elegans.memory()["all"]["current"] == before
