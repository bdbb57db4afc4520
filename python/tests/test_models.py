"""Models and streams: values, arrays without copies, refusals by name, threads, forks, Ctrl-C."""

import base64
import gc
import html.parser
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree

import elegans
import numpy as np
import pytest

SPECS = [
    "cfc:8,in=3,seed=1",
    "cfc:autoncp:16:4,in=3,seed=2",
    "ltc:autoncp:16:4,in=3,seed=3",
    "cfc:8,in=3,mixed=1,seed=4",
    "cfc:8,in=3,seed=5/ltc:4",
    "cfc:6,in=3,seed=6,bidirectional=concat",
]


def random(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype("float32")


@pytest.mark.parametrize("spec", SPECS)
def test_a_batch_is_its_samples(spec):
    model = elegans.open(spec)
    x, spans = random(4, 7, 3), np.random.default_rng(1).uniform(0.1, 2, (4, 7)).astype("float32")
    y, _ = model(x, spans)
    assert y.shape == (4, 7, model.info()["outputs"])
    for i in range(4):
        alone, _ = model(x[i], spans[i])
        np.testing.assert_allclose(alone, y[i], atol=2e-6)
    turned, _ = model(np.ascontiguousarray(x.swapaxes(0, 1)), np.ascontiguousarray(spans.T), batch_first=False)
    np.testing.assert_allclose(turned.swapaxes(0, 1), y, atol=2e-6)
    if "bidirectional" in spec:  # the last output of its backward half is that of the first step
        return
    last, _ = model(x, spans, return_sequences=False)
    np.testing.assert_allclose(last, y[:, -1], atol=2e-6)


@pytest.mark.parametrize("spec", SPECS[:5])
def test_states_continue(spec):
    model = elegans.open(spec)
    x = random(2, 8, 3)
    whole, end = model(x, 0.5)
    first, middle = model(x[:, :5], 0.5)
    second, again = model(x[:, 5:], 0.5, state=middle)
    np.testing.assert_allclose(np.concatenate([first, second], 1), whole, atol=2e-6)
    for a, b in zip(end if isinstance(end, tuple) else [end], again if isinstance(again, tuple) else [again]):
        np.testing.assert_allclose(a, b, atol=2e-6)


@pytest.mark.parametrize("spec", SPECS[:5])
def test_streams_are_runs(spec):
    model = elegans.open(spec)
    x, spans = random(9, 3), np.linspace(0.1, 1, 9).astype("float32")
    y, _ = model(x, spans)
    stream = model.stream()
    for t in range(9):
        np.testing.assert_allclose(stream.step(x[t], spans[t]), y[t], atol=2e-6)
    kept = stream.state
    after = stream.step(x[0], 1.0)
    stream.state = kept
    assert (stream.step(x[0], 1.0) == after).all()
    stream.reset()
    assert not stream.state.any()
    out = np.empty(model.info()["outputs"], "float32")
    assert stream.step(x[0], out=out) is out


def test_lengths():
    model = elegans.open(SPECS[1])
    x = random(3, 6, 3)
    y, state = model(x, lengths=[6, 2, 4])
    short, end = model(x[1:2, :2])
    np.testing.assert_allclose(y[1, :2], short[0], atol=2e-6)
    np.testing.assert_allclose(state[1], end[0], atol=2e-6)


def test_values_round_trip(tmp_path):
    model = elegans.open(SPECS[2])
    values = model.state_dict()
    other = elegans.Model.create(model.config(), seed=77)
    x = random(2, 5, 3)
    assert not np.array_equal(other(x)[0], model(x)[0])
    stream_before = other.stream()
    other.load_state_dict(values)
    assert np.array_equal(other(x)[0], model(x)[0])
    assert not np.array_equal(stream_before.step(x[0, 0]), other.stream().step(x[0, 0]))
    assert sum(v.size for v in model.parameters()) == model.info()["parameters"]
    path = tmp_path / "m.safetensors"
    model.save(path)
    assert np.array_equal(elegans.open(path)(x)[0], model(x)[0])
    assert np.array_equal(pickle.loads(pickle.dumps(model))(x)[0], model(x)[0])
    quantized = elegans.open(path)
    quantized.quantize("i8")
    assert 0 < np.abs(quantized(x)[0] - model(x)[0]).max() < 0.1
    with pytest.raises(ValueError, match="read-only"):
        quantized.load_state_dict(values)
    figures = model.export_c(tmp_path, "robot")
    assert figures["code_lines"] > 10 and (tmp_path / "robot.c").exists()


def test_transformers_take_tokens():
    model = elegans.open("llama:2:64,vocab=96")
    tokens = np.arange(10, dtype="int32").reshape(2, 5)
    y, state = model(tokens)
    assert y.shape == (2, 5, 96) and state == ()
    np.testing.assert_allclose(model(tokens[1:])[0][0], y[1], atol=1e-5)
    with pytest.raises(TypeError, match="tokens: expected an array of int32, given float32"):
        model(random(2, 5))


def test_memory_is_used_where_it_lies():
    model = elegans.open(SPECS[0])
    x = random(2, 5, 3)
    seen = []

    class Watched:
        """Tells who asks for its memory."""

        def __dlpack_device__(self):
            return (1, 0)

        def __dlpack__(self, **how):
            seen.append(x.ctypes.data)
            return x.__dlpack__()

    assert np.array_equal(model.run(Watched())[0], model.run(x)[0]) and seen == [x.ctypes.data]
    for other in (np.asfortranarray(x), np.repeat(x, 2, 2)[:, :, ::2]):
        assert np.array_equal(model(other)[0], model(x)[0])
    assert np.array_equal(model(memoryview(x))[0], model(x)[0])
    assert np.array_equal(model(x.tolist())[0], model(x)[0])


@pytest.mark.parametrize(
    "call, kind, text",
    [
        (lambda m: m(random(2, 5, 4)), ValueError, r"expected 3 features in the last axis, given shape \(2, 5, 4\)"),
        (lambda m: m(random(3)), ValueError, r"given shape \(3,\)"),
        (lambda m: m(random(2, 0, 3)), ValueError, "empty"),
        (lambda m: m(random(2, 5, 3).astype("float64")), TypeError, "expected an array of float32, given float64"),
        (lambda m: m(random(2, 5, 3).astype(">f4")), TypeError, "given >f"),
        (lambda m: m("x"), TypeError, "given <class 'str'>"),
        (lambda m: m(None), TypeError, "needs 'x'"),
        (lambda m: m(random(2, 5, 3), random(5, 2)), ValueError, r"timespans: expected .* \(2, 5\), given \(5, 2\)"),
        (lambda m: m(random(2, 5, 3), -1.0), ValueError, "sample"),
        (lambda m: m(random(2, 5, 3), lengths=[1]), ValueError, "expected 2"),
        (lambda m: m(random(2, 5, 3), lengths=[1, 9]), ValueError, "sample 1 is not an integer from 0 to 5"),
        (lambda m: m(random(2, 5, 3), state=random(2, 9)), ValueError, r"h0: expected .* \(2, 8\), given \(2, 9\)"),
        (lambda m: m(random(2, 5, 3), state=[]), ValueError, "expected 1 arrays, given 0"),
        (lambda m: m.run(random(2, 5, 3), spans=1), TypeError, "no argument 'spans'"),
        (lambda m: m.stream().step(random(4)), ValueError, r"x: expected an array of shape \(3,\), given \(4,\)"),
        (lambda m: m.stream().step(random(3), float("nan")), ValueError, "nan"),
        (lambda m: m.stream().step(random(3), out=random(16)[::2]), ValueError, "contiguous"),
        (lambda m: m.stream().check(np.full(3, np.nan, "f4")), ValueError, "input"),
        (lambda m: m.read(1000), IndexError, "1000"),
        (lambda m: m.write(0, random(1)), ValueError, "expected an array of shape"),
        (lambda m: m.load_state_dict({"x": random(1)}), KeyError, "unknown"),
        (lambda m: m.quantize("i9"), elegans.Error, "i9"),
        (lambda m: elegans.open("cfc:8,in=3,inn=4"), ValueError, "inn"),
        (lambda m: elegans.open("nowhere.safetensors"), FileNotFoundError, "nowhere"),
        (lambda m: elegans.open(3), TypeError, "expected a str or a path"),
        (lambda m: elegans.open("a\0b"), ValueError, "null"),
        (lambda m: elegans.open("cfc:1000000,in=1000000,backbone=4096"), MemoryError, "need"),
        (lambda m: elegans.Model(), TypeError, "open"),
        (lambda m: elegans.configure(threads=1000), ValueError, "256"),
        (lambda m: elegans.configure(isa="z80"), elegans.Error, "z80"),
    ],
)
def test_refusals_name_what_is_wrong(call, kind, text):
    with pytest.raises(kind, match=text):
        call(elegans.open(SPECS[0]))


def test_errors_have_a_status():
    with pytest.raises(elegans.Error) as refusal:
        elegans.open("nowhere.safetensors")
    assert refusal.value.status.startswith("EG_ERR_")


def test_threads_at_once():
    model = elegans.open(SPECS[1])
    x = random(64, 200, 3)
    expected = model(x)[0]
    wrong = []

    def work():
        for _ in range(5):
            if not np.array_equal(model(x)[0], expected):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_nothing_leaks():
    model, x = elegans.open(SPECS[1]), random(2, 5, 3)
    stream = model.stream()

    def work(count):
        for i in range(count):
            model(x, 0.5)
            stream.step(x[0, 0])
            model.info(), model.config(), model.layers(), model.tensors(), model.read(0)
            for wrong in (x[:, :, :2], "x", x.astype("f8")):
                with pytest.raises((TypeError, ValueError)):
                    model(wrong)

    work(20)
    gc.collect()
    blocks, held = sys.getallocatedblocks(), elegans.memory()["all"]["current"]
    work(1000)
    gc.collect()
    assert sys.getallocatedblocks() - blocks < 500
    assert elegans.memory()["all"]["current"] == held
    before = elegans.memory()["all"]["current"]
    for _ in range(50):
        elegans.open(SPECS[0])(x)
    assert elegans.memory()["all"]["current"] == before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_after_a_fork():
    code = """
import os, warnings, numpy as np, elegans
warnings.simplefilter("ignore")
elegans.configure(threads=2)
model = elegans.open("cfc:8,in=3"); x = np.zeros((1, 2, 3), "f4"); model(x)
child = os.fork()
if not child:
    try:
        model(x)
    except RuntimeError as refusal:
        assert "fork" in str(refusal)
        elegans.open("cfc:8,in=3")(x)
        os._exit(0)
    os._exit(1)
assert os.waitpid(child, 0)[1] == 0
model(x)
"""
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


def test_control_c_stops_a_long_call():
    code = """
import os, signal, threading, time, numpy as np, elegans
model = elegans.open("cfc:512,in=3,backbone=1024"); x = np.zeros((64, 2000, 3), "f4")
threading.Timer(1.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
begin = time.monotonic()
try:
    while time.monotonic() - begin < 100:
        model(x)
except KeyboardInterrupt:
    print("stopped")
    model(x[:1, :2])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=90)
    assert done.stdout.strip() == "stopped", done.stderr


def test_import_is_light():
    code = "import sys, elegans; print([m for m in ('torch', 'pandas', 'sklearn', 'matplotlib') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True).stdout == "[]\n"


class Page(html.parser.HTMLParser):
    """Cells of tables, and images, of a page whose elements are closed in order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.rows, self.images = [], [], []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attributes):
        if tag == "img":
            self.images.append(dict(attributes)["src"])
            return
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in ("td", "th"):
            self.rows[-1][-1] += data


def test_pages_and_pictures():
    page = Page(elegans.open("cfc:autoncp:16:4,in=3,mode=pure/ltc:autoncp:9:2/cfc:5,mixed=1,proj=2")._repr_html_())
    head, first, second, third = page.rows
    assert first[head.index("cell")] == "cfc pure" and second[head.index("unfolds")] == "6"
    assert [row[head.index("units")] for row in (first, second, third)] == ["16", "9", "5"]
    assert third[head.index("backbone")] == "128 lecun_tanh" and third[head.index("projection")] == "2"
    assert first[head.index("backbone")] == "" and third[head.index("memory")] == "mixed"
    assert len(page.images) == 2
    for image in page.images:
        kind, _, data = image.partition(",")
        assert kind == "data:image/svg+xml;base64"
        assert xml.etree.ElementTree.fromstring(base64.b64decode(data)).tag.endswith("svg")
    xml.etree.ElementTree.fromstring(elegans.open("ltc:autoncp:9:2,in=3")._repr_svg_())
    plain = elegans.open("cfc:5,in=3")
    assert plain._repr_svg_() is None and not Page(plain._repr_html_()).images
    assert not Page(elegans.open("llama:1:32,vocab=64")._repr_html_()).rows
    late = elegans.CfC(elegans.wirings.AutoNCP(12, 3))
    assert late._repr_svg_() is None and "not known yet" in late._repr_html_()
