"""Nothing is lost per call: 100,000 calls of each function of the extension leave memory and reference counts as they were.

A function has a row in CALLS (one without fails the test) and is called with these arguments and with wrong ones. A row ends
after 100,000 calls or after SECONDS of processor time, whichever comes first: opening a model costs a thousand times what
reading a figure does, and what is lost per call shows after some hundred calls, because bytes are counted, not pages.
ELEGANS_LEAK_SECONDS=60 takes all 100,000 of nearly all rows.
"""

import ctypes
import gc
import inspect
import os
import resource
import sys
import time

import numpy as np
import pytest

import elegans
from elegans import _core

SECONDS = float(os.environ.get("ELEGANS_LEAK_SECONDS", "0.05"))
MOST, LEAST, WARM = 100_000, 100, 20


@pytest.fixture(autouse=True)
def _records_nothing():
    """Whatever was called, with whatever arguments: the tests after this one are not recorded."""
    yield
    _core.record(False)
    _core.record_take()


# ---- what is counted
class _Mallinfo(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()]


try:
    _mallinfo = ctypes.CDLL(None).mallinfo2
    _mallinfo.restype = _Mallinfo
except (AttributeError, OSError):  # not glibc, or an old one: pages still tell
    _mallinfo = None


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def counts(watched):
    """Blocks of Python, bytes of malloc, bytes of the library, references to what calls are given and give."""
    gc.collect()
    info = _mallinfo() if _mallinfo else None
    return (
        sys.getallocatedblocks(),
        info.uordblks + info.hblkhd if info else 0,
        _core.memory()["all"]["current"],
        *map(sys.getrefcount, watched),
    )


def lost(function, watched, seconds=SECONDS):
    """How often it was called, and what grew per call."""
    for _ in range(WARM):
        function()
    before, calls, end = counts(watched), 0, time.process_time() + seconds
    while calls < MOST and (calls < LEAST or time.process_time() < end):
        for _ in range(50):
            function()
        calls += 50
    after = counts(watched)
    # a block of malloc is 32 bytes or more; texts of other lengths may move it by less
    names = (("blocks", 0.25), ("bytes of malloc", 16), ("bytes of the library", 1), *((repr(w), 0.25) for w in watched))
    return calls, {name: b - a for (name, per_call), a, b in zip(names, before, after) if b - a >= calls * per_call}


# ---- what is called
def random(*shape):
    return np.random.default_rng(0).standard_normal(shape, dtype="float32")


class Elsewhere:
    """Memory that only DLPack shows."""

    def __init__(self, array):
        self.array = array

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **how):
        return self.array.__dlpack__()


def swallow(function, *args, **keywords):
    try:
        return function(*args, **keywords)
    except Exception:
        return None


def table(folder):
    """Calls by the name of the function, and of the type where it is a method."""
    calls = {}
    x, row = random(1, 2, 3), random(3)
    model = elegans.open("cfc:4,in=3,backbone=4,seed=1")
    spec = "cfc:4,in=3,backbone=4,seed=1"
    config, path, odd = model.config(), str(folder / "m.safetensors"), "nowhere.safetensors"
    model.save(path)
    Model = _core.Model

    def add(kind, **rows):
        for name, call in rows.items():
            calls[f"{kind}.{name}" if kind else name] = call

    # ---- models and streams
    late = [None]

    def fill():
        late[0] = Model._unopened()
        late[0]._fill(config)

    add(
        "Model",
        open=lambda: Model.open(spec),
        load=lambda: Model.load(path),
        create=lambda: Model.create(config),
        _unopened=Model._unopened,
        _fill=fill,
        name=lambda: model.name,
        is_open=lambda: model.is_open,
        run=lambda: (model.run(x, 0.5), model.run(Elsewhere(x)), model.run(x, np.ones((1, 2), "f4"), [2], random(1, 4))),
        stream=model.stream,
        info=model.info,
        layers=model.layers,
        config=model.config,
        note=lambda: model.note("elegans.history"),
        tensors=model.tensors,
        read=lambda: model.read(0),
        write=lambda values=model.read(0): model.write(0, values),
        save=lambda: model.save(path),
        export_c=lambda: model.export_c(str(folder)),
        quantize=lambda: Model.open(spec).quantize("i8"),
    )
    stream, out = model.stream(), np.zeros(4, "f4")

    def state():
        stream.state = stream.state

    add(
        "Stream",
        state=state,
        model=lambda: stream.model,
        step=lambda: (stream.step(row), stream.step(row, 0.5, out), stream.step(Elsewhere(row))),
        check=lambda: stream.check(row),
        reset=stream.reset,
    )
    wiring = _core.Wiring.open("autoncp:8:2,in=3")
    wiring_path = str(folder / "w.json")
    wiring.save(wiring_path)
    with open(wiring_path) as file:
        wiring_json = file.read()
    add(
        "Wiring",
        open=lambda: _core.Wiring.open("autoncp:8:2,in=3"),
        from_json=lambda: _core.Wiring.from_json(wiring_json),
        info=wiring.info,
        adjacency_matrix=wiring.adjacency_matrix,
        sensory_adjacency_matrix=wiring.sensory_adjacency_matrix,
        layers=wiring.layers,
        statistics=wiring.statistics,
        save=lambda: wiring.save(wiring_path),
        svg=wiring.svg,
    )

    # ---- graphs: they grow with every node, so that each call has one of its own
    def on_graph(build):
        def call():
            g = _core.Graph()
            return build(g, g.input("a", [2, 4]))

        return call

    def on_scan(build):
        def call():
            g = _core.Graph()
            scan = g.scan_begin(3)
            carry = g.scan_carry(scan, g.constant(np.zeros((2, 4), "f4")))
            build(g, scan, carry, g.scan_step(scan, g.input("s", [3, 2, 4])))
            g.scan_update(carry, carry)
            return g.scan_last(carry)

        return call

    def gradient(g, a):
        w = g.parameter("w", [4, 4])
        loss = g.sum(g.matmul(a, w))
        return g.gradient(loss, w), g.gradient(loss, [w])

    graph_path = str(folder / "g.json")
    stable = _core.Graph()
    node = stable.input("a", [2, 4])
    stable.save(graph_path)
    one = [[1.0, 2.0, 3.0, 4.0]]
    positions = np.zeros(2, "i4")
    unary = "neg abs sqrt rsqrt exp log tanh sigmoid softplus erf gelu silu relu sin cos round_f16 round_bf16 softmax log_softmax argmax sum_squares dropout layer_norm rms_norm"
    binary = "add sub mul div min max pow lt le eq ne"
    add("Graph", **{name: on_graph(lambda g, a, name=name: getattr(g, name)(a)) for name in unary.split()})
    add("Graph", **{name: on_graph(lambda g, a, name=name: (getattr(g, name)(a, a), getattr(g, name)(a, one))) for name in binary.split()})
    add(
        "Graph",
        load=lambda: _core.Graph.load(graph_path),
        save=lambda: stable.save(graph_path),
        nodes=stable.nodes,
        has_input=lambda: stable.has_input("a"),
        __getitem__=lambda: stable["a"],
        __len__=lambda: len(stable),
        input=on_graph(lambda g, a: g.input("b", (2, 3))),
        parameter=on_graph(lambda g, a: g.parameter("w", [2, 3])),
        constant=on_graph(lambda g, a: (g.constant(one), g.constant(x))),
        scalar=on_graph(lambda g, a: g.scalar(2.0)),
        state=on_graph(lambda g, a: g.state("s", [2, 4])),
        cache=on_graph(lambda g, a: g.cache("c", 8, 1, 4)),
        update=on_graph(lambda g, a: g.update(g.state("s", [2, 4]), a)),
        append=on_graph(lambda g, a: g.append(g.cache("c", 8, 1, 4), g.reshape(a, [1, 2, 4]), np.array([[0, 1]], "i4"))),
        scan_begin=on_scan(lambda g, scan, carry, step: None),
        scan_carry=on_scan(lambda g, scan, carry, step: None),
        scan_step=on_scan(lambda g, scan, carry, step: step),
        scan_update=on_scan(lambda g, scan, carry, step: None),
        scan_last=on_scan(lambda g, scan, carry, step: None),
        scan_stack=on_scan(lambda g, scan, carry, step: g.scan_stack(scan, step)),
        scan_sum=on_scan(lambda g, scan, carry, step: g.scan_sum(scan, step)),
        scan_lengths=on_scan(lambda g, scan, carry, step: g.scan_lengths(scan, g.input("lengths", [2]))),
        gradient=on_graph(gradient),
        select=on_graph(lambda g, a: g.select(g.lt(a, 0.0), a, 1.0)),
        cast=on_graph(lambda g, a: g.cast(a, "float16")),
        reshape=on_graph(lambda g, a: g.reshape(a, [4, 2])),
        broadcast=on_graph(lambda g, a: g.broadcast(a, [3, 2, 4])),
        transpose=on_graph(lambda g, a: (g.transpose(a), g.transpose(a, [1, 0]))),
        slice=on_graph(lambda g, a: g.slice(a, 1, 0, 2)),
        concat=on_graph(lambda g, a: g.concat([a, a], 1)),
        pad=on_graph(lambda g, a: g.pad(a, 1, 1, 1)),
        gather=on_graph(lambda g, a: g.gather(a, positions)),
        scatter_add=on_graph(lambda g, a: g.scatter_add(a, positions, 3)),
        slice_update=on_graph(lambda g, a: g.slice_update(a, np.array(0, "i4"), a)),
        slice_at=on_graph(lambda g, a: g.slice_at(a, np.array(0, "i4"), 1)),
        sum=on_graph(lambda g, a: (g.sum(a), g.sum(a, [0], True))),
        mean=on_graph(lambda g, a: g.mean(a, 1)),
        reduce_max=on_graph(lambda g, a: g.reduce_max(a, -1)),
        matmul=on_graph(lambda g, a: g.matmul(a, a, transpose_b=True)),
        conv=on_graph(lambda g, a: g.conv(g.input("i", [1, 2, 5, 5]), g.input("w", [4, 2, 3, 3]), padding=[1, 1])),
        synapses=on_graph(lambda g, a: g.synapses(a, *[np.ones(2, "f4")] * 4, np.array([0, 1], "i4"), np.array([0, 0], "i4"), 1)),
        attention=on_graph(lambda g, a: g.attention(*[g.reshape(a, [1, 2, 4])] * 3, heads=1)),
        attention_cached=on_graph(
            lambda g, a: g.attention_cached(
                g.reshape(a, [1, 2, 4]), g.cache("k", 8, 1, 4), g.cache("v", 8, 1, 4), np.zeros((1, 1), "i4"), np.array([2], "i4"), 1, page=8
            )
        ),
        rotary=on_graph(lambda g, a: g.rotary(g.reshape(a, [1, 2, 4]), d=4)),
    )

    def operator(apply):
        def call():
            g = _core.Graph()
            a = g.input("a", [4, 4])
            return apply(a, a), swallow(apply, a, 2.0), swallow(apply, a, "x"), swallow(apply, 2.0, a)

        return call

    for name in "add sub mul truediv matmul pow lt le gt ge eq ne".split():
        add("Node", **{f"__{name}__": operator(getattr(__import__("operator"), name))})
        if name in ("add", "sub", "mul", "truediv", "matmul", "pow"):
            add("Node", **{f"__r{name}__": operator(getattr(__import__("operator"), name))})
    add(
        "Node",
        __neg__=on_graph(lambda g, a: -a),
        __pos__=on_graph(lambda g, a: +a),
        __abs__=on_graph(lambda g, a: abs(a)),
        __getitem__=on_graph(lambda g, a: (a[0], a[:, 1:3], swallow(lambda: a["x"]))),
        __hash__=lambda: hash(node),
        __repr__=lambda: repr(node),
        __bool__=lambda: swallow(bool, node),
        __len__=lambda: swallow(len, node),
        __iter__=lambda: swallow(iter, node),
        **{name: (lambda name=name: getattr(node, name)) for name in "shape dtype name operation ndim flops bytes inputs graph id".split()},
    )

    # ---- programs
    g = _core.Graph()
    a = g.input("a", [2, 4])
    s = g.state("s", [2, 4])
    outputs = {"y": g.matmul(a, g.parameter("w", [4, 4])), "z": g.update(s, a + s)}
    program = _core.Program.compile(g, outputs)
    given, y = {"a": random(2, 4)}, {"y": np.zeros((2, 4), "f4")}
    value = random(2, 4)
    add(
        "Program",
        compile=lambda: _core.Program.compile(g, outputs),
        passes=_core.Program.passes,
        run=lambda: (program.run(given), program.run(given, out=y), program.run({"a": Elsewhere(given["a"])})),
        parameter=lambda: program.parameter("w"),
        set_parameter=lambda w=random(4, 4): program.set_parameter("w", w),
        state=lambda: program.state("s"),
        set_state=lambda: program.set_state("s", value),
        reset=program.reset,
        leaves=program.leaves,
        info=program.info,
        steps=program.steps,
        export_c=lambda: program.export_c(str(folder)),
    )
    differentiable = _core.differentiable(model, 1, 2, True, wants=1)
    values = [random(*shape) for _, shape in differentiable.parameters]
    memory = {name: np.zeros(n, "f4") for name, n in (("y", 8), ("h", 4), ("kept", differentiable.kept), ("g", 4096))}
    at = [v.ctypes.data for v in values]
    kept_alive = (x, values, memory)  # calls know addresses only
    y_at, h_at, kept_at, g_at = (memory[name].ctypes.data for name in ("y", "h", "kept", "g"))
    add(
        "Differentiable",
        parameters=lambda: differentiable.parameters,
        kept=lambda: differentiable.kept,
        forward=lambda alive=kept_alive: differentiable.forward(at, 0, x.ctypes.data, 0, 0, 0, y_at, h_at, 0, kept_at),
        backward=lambda alive=kept_alive: differentiable.backward(
            at, 0, x.ctypes.data, 0, 0, 0, kept_at, y_at, 0, 0, 0, 0, 0, 0, [g_at] * len(at)
        ),
    )
    add("", differentiable=lambda: _core.differentiable(model, 1, 2, True, wants=1))

    # ---- memory, tools, generation
    temporaries, batch = _core.Temporaries(), _core.Batch(8, 1, 64)

    def scope():
        number = temporaries.begin()
        temporaries.take(100)
        temporaries.end(number)

    add("Temporaries", begin=scope, end=scope, take=scope, figures=temporaries.figures)
    add("Batch", adjust=lambda: batch.adjust(True), figures=batch.figures)
    llama = elegans.open("llama:1:32,vocab=64")
    generator = _core.Generator(llama, 32)

    def generate():
        generator.rewind(0)
        generator.feed([1, 2])
        generator.logits()
        generator.next()

    add(
        "Generator",
        feed=generate,
        logits=generate,
        next=generate,
        rewind=generate,
        sampling=lambda: generator.sampling(0.5, 3, 0.9, 1),
        info=generator.info,
    )
    tokenizer_path = folder / "tokenizer.json"
    tokenizer_path.write_text(TOKENIZER)
    tokenizer = _core.Tokenizer.open(str(tokenizer_path))
    add(
        "Tokenizer",
        open=lambda: _core.Tokenizer.open(str(tokenizer_path)),
        encode=lambda: tokenizer.encode("a b"),
        decode=lambda: tokenizer.decode([0, 1]),
        info=tokenizer.info,
    )
    quantized = _core.quantize(random(4, 4))
    tensors = {"t": random(2, 2)}
    add(
        "",
        quantize=lambda: _core.quantize(value),
        dequantize=lambda: _core.dequantize(quantized["values"], quantized["scales"], quantized["zero_points"]),
        entropy=lambda: _core.entropy(b"abcd" * 8, 4),
        memory_mark=_core.memory_mark,
        memory_growth=lambda mark=_core.memory_mark(): _core.memory_growth(mark),
        memory_pool=_core.memory_pool,
        memory=_core.memory,
        memory_reset_peak=_core.memory_reset_peak,
        memory_empty_cache=_core.memory_empty_cache,
        configuration=_core.configuration,
        configure=lambda: swallow(_core.configure, threads=1000),
        safetensors_write=lambda: _core.safetensors_write(str(folder / "t.safetensors"), tensors, {"a": "b"}),
    )

    # ---- data and training
    rows = np.stack([np.sin(np.arange(12.0)), np.cos(np.arange(12.0))], 1)
    waves = _core.table(rows, ["x", "y"])
    csv = folder / "t.csv"
    csv.write_text("x,y\n1,2\n3,4\n")
    data = _core.data([waves], targets="y", window=4)
    tiny = elegans.open("cfc:2,in=1,proj=1,backbone=2")
    add("Table", info=waves.info)
    add("Data", split=lambda: data.split(0.5), info=data.info, is_binary=data.is_binary)
    add(
        "",
        table=lambda: _core.table(rows, ["x", "y"]),
        table_read=lambda: _core.table_read(str(csv)),
        data=lambda: _core.data([waves], targets="y", window=4),
        fit=lambda: _core.fit(tiny, data, epochs=1),
        fit_spec=lambda: _core.fit_spec("cfc:2", data),
        fit_recall=lambda: _core.fit_recall(tiny),
        evaluate=lambda: _core.evaluate(tiny, data, outputs=True),
    )

    # ---- profiles
    profile = _core.profile_model(model, batch=1, seq=2, runs=3, warmup=1, ceilings=False, cache=False)
    report = profile.report("json")
    fast = dict(batch=1, seq=2, runs=3, warmup=1)
    samples = [1.0, 2.0, 3.0, 2.0]
    add(
        "Profile",
        model=lambda: profile.model,
        name=lambda: profile.name,
        report=lambda: profile.report("markdown"),
        try_advice=None,  # builds programs and times them for seconds
        metric=lambda: profile.metric("time_median"),
        metrics=profile.metrics,
        hardware=profile.hardware,
        statistics=profile.statistics,
        samples=profile.samples,
        trace=lambda: profile.trace(str(folder / "trace.json")),
        stacks=lambda: profile.stacks(str(folder / "stacks.txt")),
    )

    pages = folder / "pages"
    pages.mkdir(mode=0o700)
    publisher, monitor = _core.Publisher("p", "leaks", "m", pages, model), _core.Monitor(folder=pages)
    monitor.read()

    def published():
        with elegans.publish(None, folder=pages):
            model.run(x)
            stream.step(row)

    add(
        "Publisher",
        add=lambda: (publisher.add(2, 0.5, 1.0, 2.0), published()),
        tokens=lambda: publisher.tokens(3),
        train=lambda: publisher.train(1, 2, 3, 0.5, 0.25, 0.125, 1.0, 60.0),
        operations=lambda: publisher.operations([("gemm", 0.5), ("fused", 0.5)]),
        is_open=lambda: publisher.is_open,
        reason=lambda: (publisher.reason, _core.Publisher(folder="/no/such/folder").reason),
        close=lambda: _core.Publisher(folder=pages).close(),
    )
    add(
        "Monitor",
        read=monitor.read,
        line=monitor.line,
        series=monitor.series,
        close=lambda: _core.Monitor(folder=pages).close(),
    )

    def recorded():
        _core.record(True)
        model.run(x)
        _core.record(False)
        return _core.record_take()

    add(
        "",
        profile_model=lambda: _core.profile_model(model, ceilings=False, cache=False, **fast),
        profile_function=lambda: _core.profile_function(int, runs=3, warmup=1),
        profile_training=lambda: _core.profile_training(tiny, **fast),
        quick_profile=lambda: _core.quick_profile(function=int, runs=3, warmup=1),
        report_of_text=lambda: _core.report_of_text(report, "markdown"),
        record=recorded,
        record_take=recorded,
        clock_ns=_core.clock_ns,
        chips=_core.chips,
        chip=lambda: _core.chip("M1 Pro"),
        preset=lambda: _core.preset("M1 Pro"),
        check=lambda: _core.check("memory", 1.0, "MB", "M1 Pro"),
        project=lambda: _core.project(model, "M1 Pro", 1, 2),
        statistics=lambda: _core.statistics(samples),
        compare=lambda: _core.compare(samples, samples, resamples=10),
        ceilings=_core.ceilings,  # measured once, before the first call that is counted
        bench_copy=lambda: _core.bench_copy(4096, 1),
        bench_gemm=lambda: _core.bench_gemm(4, 4, 4, 1),
        latency=lambda: _core.latency(model, 2),
        environment=_core.environment,
        diagnose=lambda: _core.diagnose(profile),
        times_svg=lambda: _core.times_svg("t", samples),
        wiring_figures=lambda: _core.wiring_figures("autoncp:8:2,in=3"),
        _share_threads=lambda: _core._share_threads("/no/such/library"),
        _forked=None,  # says that this is another process: everything made before would be useless
    )
    return calls, (model, stream, x, row, out, node, program, given, config, spec, samples, value)


TOKENIZER = """{"version": "1.0", "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
 "max_input_chars_per_word": 100, "vocab": {"a": 0, "b": 1, "[UNK]": 2, "[CLS]": 3, "[SEP]": 4, "[PAD]": 5}},
 "normalizer": {"type": "BertNormalizer"}, "pre_tokenizer": {"type": "BertPreTokenizer"}}"""


def functions():
    """Names of everything that the extension has, but for what Python gives every type."""
    for name, value in vars(_core).items():
        if inspect.isclass(value):
            if not issubclass(value, BaseException):
                yield from (f"{name}.{method}" for method in vars(value) if not method.startswith("__"))
        elif callable(value):
            yield name


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    made = table(tmp_path_factory.mktemp("leaks"))
    gc.collect()
    gc.freeze()  # so that collections look at what came later only
    yield made
    gc.unfreeze()


def judge(calls, watched, seconds=SECONDS):
    wrong, pages = [], resident()
    for name, function in calls.items():
        if function is None:
            continue
        for attempt in range(3):  # a cache may have grown; what is lost per call is lost again
            count, found = lost(function, watched, seconds)
            if not found:
                break
        else:
            wrong.append(f"{name}: in {count} calls {found}")
    assert not wrong, "\n".join(wrong)
    return resident() - pages


def test_every_function_has_a_row(rows):
    assert set(functions()) <= set(rows[0])


def test_calls_lose_nothing(rows):
    calls, watched = rows
    grown = judge(calls, watched)
    assert grown < 64 << 20, f"{grown >> 20} MB"  # what malloc and the library count is exact; pages are kept for later


def test_wrong_calls_lose_nothing(rows):
    """Errors, too: whatever was taken before a mistake was found is given back."""
    model = rows[1][0]
    thing = object()
    owners = [_core, model, model.stream(), rows[1][5], rows[1][6], _core.Graph(), _core.Wiring.open("autoncp:8:2,in=3")]
    owners += [_core.Publisher(), _core.Monitor()]
    calls = {}
    for owner in owners:
        for name in dir(owner):
            function = getattr(owner, name)
            if name.startswith("_") or not callable(function) or isinstance(function, type):
                continue
            if name in ("memory_empty_cache", "ceilings", "environment", "chips", "diagnose"):  # without arguments, or slow
                continue

            def call(function=function):
                swallow(function, nonsense=1)
                swallow(function, thing)
                swallow(function, *[thing] * 9)

            calls[f"{type(owner).__name__}.{name}"] = call
    assert len(calls) > 100
    judge(calls, (*rows[1], thing, Exception, TypeError, ValueError, _core.Error), SECONDS / 4)


def test_errors_of_the_library_lose_nothing(rows, tmp_path):
    model, x = rows[1][0], rows[1][2]
    stream = model.stream()
    calls = {
        "shape": lambda: swallow(model, x[:, :, :2]),
        "type": lambda: swallow(model, x.astype("f8")),
        "timespans": lambda: swallow(model, x, -1.0),
        "lengths": lambda: swallow(model, x, lengths=[9]),
        "state": lambda: swallow(model, x, state=[]),
        "file": lambda: swallow(elegans.open, "nowhere.safetensors"),
        "spec": lambda: swallow(elegans.open, "cfc:8,in=3,inn=4"),
        "memory": lambda: swallow(elegans.open, "cfc:1000000,in=1000000,backbone=4096"),
        "nan": lambda: swallow(stream.step, x[0, 0], float("nan")),
        "folder": lambda: swallow(model.save, str(tmp_path / "no" / "where")),
        "device": lambda: swallow(model, Away()),
        "capsule": lambda: swallow(model, Liar()),
        "layout": lambda: model(np.repeat(x, 2, 2)[:, :, ::2]),
    }
    judge(calls, rows[1])


class Away(Elsewhere):
    def __init__(self):
        super().__init__(None)

    def __dlpack_device__(self):
        return (2, 0)


class Liar(Away):
    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **how):
        return 3


def test_arrays_of_torch_lose_nothing(rows):
    torch = pytest.importorskip("torch")
    import elegans.torch

    model, x = rows[1][0], torch.zeros(1, 2, 3)
    stream, module = model.stream(), elegans.torch.CfC(3, 4, backbone_units=4)
    wide = torch.zeros(32, 2, 3)

    def train():
        module.zero_grad()
        module(wide)[0].sum().backward()

    calls = {
        "call": lambda: model(x),
        "step": lambda: stream.step(x[0, 0]),
        "strided": lambda: model(x.transpose(0, 1).contiguous().transpose(0, 1)),
        "double": lambda: swallow(model, x.double()),
        "forward": lambda: module(x),
        "backward": train,
        "refused": lambda: swallow(module, x.double()),
    }
    judge(calls, (model, x, module, *module.parameters()))
