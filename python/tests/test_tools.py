"""Tools: quantization against numpy, batches, memory that is given back, transformers, diagnosis, entropy."""

from __future__ import annotations

import contextlib
import gc
import warnings
from pathlib import Path

import numpy as np
import pytest

import elegans
from elegans import tools

FIXTURES = Path(__file__).resolve().parents[2] / "tests" / "fixtures" / "transformers"
RANDOM = np.random.default_rng(2)


def values(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape, dtype=np.float32)


def test_names_of_published_samples():
    from elegans import profiling

    assert tools.profile is profiling.profile
    with pytest.raises(TypeError, match="bfloat16"):
        tools.DynamicQuantizer("bfloat16")
    chip = profiling.DeviceConfig("M1")
    assert chip.bandwidth == chip.peak_bandwidth > 60


# ---- quantization
@pytest.mark.parametrize("dtype, low, high", [("int8", -128, 127), ("int4", -8, 7)])
@pytest.mark.parametrize("per", ["tensor", "channel"])
@pytest.mark.parametrize("symmetric", [False, True])
def test_quantizer(dtype, low, high, per, symmetric):
    x = values(7, 33)
    quantizer = tools.DynamicQuantizer(dtype, per, symmetric)
    q, scale, zero = quantizer.quantize_weights(x)
    assert q.dtype == np.int8 and q.shape == x.shape and low <= q.min() and q.max() <= high
    assert scale.shape == zero.shape == ((1,) if per == "tensor" else (7,))
    assert not (symmetric and zero.any())
    by_hand = scale[:, None] * (q.astype(np.float32) - zero[:, None])
    back = quantizer.dequantize_weights(q, scale, zero)
    np.testing.assert_allclose(back, by_hand, rtol=1e-6, atol=1e-7)
    assert (np.abs(back - x) <= 0.5001 * scale[:, None]).all()
    assert quantizer.difference["most"] == pytest.approx(np.abs(back - x).max(), rel=1e-5)


def test_halves_and_refusals():
    x = values(5)
    q, *rest = tools.DynamicQuantizer("float16").quantize_weights(x)
    assert np.array_equal(q, x.astype(np.float16)) and all(part.size == 0 for part in rest)
    for dtype in ("int32", "float8", None, object()):
        if dtype is not None:
            with pytest.raises((TypeError, elegans.Error)):
                tools.DynamicQuantizer(dtype)
    with pytest.raises(ValueError, match="per"):
        tools.DynamicQuantizer("int8", "row")


def test_quantizer_takes_types_of_torch():
    torch = pytest.importorskip("torch")
    q, scale, zero = tools.DynamicQuantizer(torch.int8).quantize_weights(torch.ones(2, 2))
    assert q.dtype == np.int8 and scale[0] * (q[0, 0] - float(zero[0])) == pytest.approx(1, rel=1e-2)


@pytest.mark.parametrize("size", [1, 127, 128, 129, 1000])
def test_blocks(size):
    x = values(size)
    given = tools.block_wise_quantize(x, 64)
    quantized, scales, zero_points, original_shape = given
    blocks = -(-size // 64)
    assert quantized.shape == (blocks, 64) and scales.shape == zero_points.shape == (blocks,)
    assert original_shape == (size,) and given["scales"] is scales
    for i in range(blocks):
        part = x[64 * i : 64 * (i + 1)]
        spread = max(part.max(), 0) - min(part.min(), 0)
        assert scales[i] == pytest.approx(spread / 255, rel=1e-2)
    back = tools.dequantize(given)
    assert back.shape == x.shape and (np.abs(back - x) <= 0.5001 * np.repeat(scales, 64)[:size]).all()


def test_blocks_of_any_shape():
    x = values(3, 5, 7)
    assert np.abs(tools.dequantize(tools.block_wise_quantize(x, 16)) - x).max() < 0.05
    four = tools.block_wise_quantize(x, 16, "int4")
    assert np.abs(tools.dequantize(four, "int4") - x).max() < 0.5 and set(np.unique(four.quantized)) <= set(
        range(-8, 8)
    )
    with pytest.raises(ValueError):
        tools.block_wise_quantize(x, 0)


# ---- batches
def test_batch_sizes():
    manager = tools.AdaptiveBatchManager(8, 2, 100)
    fits = lambda: manager.batch_size <= 40
    for _ in range(20):
        if manager.settled:
            break
        manager.adjust_batch_size(fits())
    assert manager.settled and manager.largest == manager.batch_size == 32
    least = tools.AdaptiveBatchManager(4, 4, 8)
    assert least.adjust_batch_size(False) == 0 and least.batch_size == 0
    assert tools.AdaptiveBatchManager(64, 1, 128).adjust_batch_size(True) == 128
    with pytest.raises(ValueError):
        tools.AdaptiveBatchManager(4, 9, 8)
    with pytest.raises(TypeError):
        tools.AdaptiveBatchManager("4")


def test_loader():
    data = values(10, 3)
    loader = tools.OptimizedDataLoader(data, 4)
    assert len(loader) == 3
    np.testing.assert_array_equal(np.concatenate([b.copy() for b in loader]), data)
    assert loader.get_batch([1, 2, 3, 4]) is loader.get_batch([5, 6, 7, 8])  # the same memory
    np.testing.assert_array_equal(loader.get_batch([9, 0]), data[[9, 0]])
    shuffled = tools.OptimizedDataLoader(list(data), 4, shuffle=True, seed=1, drop_last=True)
    first, second = ([b.copy() for b in shuffled] for _ in range(2))
    assert len(first) == len(shuffled) == 2 and not np.array_equal(first, second)
    rows = {tuple(row) for row in data}
    assert all(tuple(row) in rows for batch in first for row in batch)
    assert tools.OptimizedDataLoader(data, 4, dtype="float16").get_batch([0]).dtype == np.float16


# ---- memory
def test_leaks():
    detector = tools.MemoryLeakDetector(tolerance_gb=0)
    with pytest.raises(ValueError, match="set_baseline"):
        detector.check_leak()
    detector.set_baseline()
    assert not detector.check_leak()
    held = elegans.open("cfc:autoncp:64:16,in=16,seed=1")
    with pytest.warns(ResourceWarning, match="bytes more"):
        assert detector.check_leak()
    growth = detector.growth()
    assert growth["total"] > 0 and sum(growth["by_tag"].values()) == growth["total"]
    del held
    assert detector.growth()["total"] <= 0
    assert not tools.MemoryLeakDetector().tolerance_gb > 0.1


def test_temporaries_are_given_back():
    with tools.managed_tensor_context() as tensors:
        x = tensors.array([[1, 2], [3, 4]])
        y = tensors.zeros(100, "int32")
        assert np.asarray(x).sum() == 10 and not np.asarray(y).any() and y.format == "i"
        assert np.asarray(x).ctypes.data % 64 == 0
        assert tensors.figures["scopes"] >= 1 and tensors.figures["taken"] >= 416
        part = x[0, 1]
        inner = tools.managed_tensor_context()
        with inner as more:
            z = more.array(7.0)
            assert float(np.asarray(z)) == 7
            with pytest.raises(ValueError, match="another scope"):
                tensors.zeros(1)
        with pytest.raises(ValueError, match="released"):
            z[()]
    assert part == 2
    for view in (x, y):
        with pytest.raises(ValueError, match="released"):
            view.tolist()
        with pytest.raises((ValueError, TypeError)):
            np.asarray(view) + 1
    with pytest.raises(ValueError, match="not open"):
        tensors.zeros(3)
    for shape in ((0, 3), -1):
        with tools.managed_tensor_context() as tensors, pytest.raises(ValueError):
            tensors.empty(shape)


def test_temporaries_are_used_again():
    def once():
        with tools.managed_tensor_context() as tensors:
            return [np.asarray(tensors.empty(1000)).ctypes.data for _ in range(3)]

    first = once()
    before = elegans.memory()["all"]
    assert once() == first and elegans.memory()["all"]["total_allocated"] == before["total_allocated"]


def test_temporaries_in_calls():
    model = elegans.open("cfc:8,in=2,seed=1")
    with tools.managed_tensor_context() as tensors:
        x = tensors.array(np.ones((1, 3, 2)))
        y, _ = model(x)
    wanted, _ = model(np.ones((1, 3, 2), np.float32))
    assert np.array_equal(y, wanted)
    with pytest.raises((ValueError, TypeError)):
        model(x)


def test_arrays_that_outlive_their_scope():
    with pytest.warns(ResourceWarning, match="1 arrays"):
        with tools.managed_tensor_context() as outer:
            kept = outer.array([1.0, 2.0])
            array = np.asarray(kept)
    scribble = []
    for i in range(20):  # whatever takes memory now takes other memory
        with tools.managed_tensor_context() as tensors:
            scribble.append(float(np.asarray(tensors.array([9.0] * (i + 1))).sum()))
    assert array.tolist() == [1, 2]
    # slices of views count, too; and an outer scope does not give back what an inner one's array has
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        with tools.managed_tensor_context() as outer:
            outer.zeros(10)
            with tools.managed_tensor_context() as inner:
                part = inner.array([5.0, 6.0, 7.0])[1:]
        with tools.managed_tensor_context() as tensors:
            tensors.array([9.0] * 100)
    assert part.tolist() == [6, 7]
    held = elegans.memory()["tensor"]["current"]
    del part, array, kept
    gc.collect()
    assert elegans.memory()["tensor"]["current"] < held


def test_scopes_that_end_out_of_order():
    first, second = tools.managed_tensor_context(), tools.managed_tensor_context()
    first.__enter__()
    second.__enter__()
    view = second.array([1.0, 2.0, 3.0])
    first.__exit__(None, None, None)
    with tools.managed_tensor_context() as tensors:
        tensors.array([9.0] * 100)
    assert view.tolist() == [1, 2, 3]
    second.__exit__(None, None, None)
    with pytest.raises(RuntimeError, match="not open"):
        second.__exit__(None, None, None)
    with contextlib.ExitStack() as stack:
        context = stack.enter_context(tools.managed_tensor_context())
        with pytest.raises(RuntimeError, match="already"):
            context.__enter__()


def test_a_scope_that_raises():
    with pytest.raises(ZeroDivisionError):
        with tools.managed_tensor_context() as tensors:
            view = tensors.zeros(4)
            1 / 0
    with pytest.raises(ValueError, match="released"):
        view[0]


# ---- entropy and diagnosis
def test_entropy():
    data = bytes(RANDOM.integers(0, 4, 300, dtype=np.uint8)) + b"a" * 300
    given = tools.calculate_entropy(data, 64)
    wanted = []
    for i in range(len(data)):
        counts = np.bincount(np.frombuffer(data[max(0, i - 32) : i + 32], np.uint8))
        p = counts[counts > 0] / counts.sum()
        wanted.append(-(p * np.log2(p)).sum() / 8)
    np.testing.assert_allclose(given, wanted, atol=2e-6)
    assert tools.calculate_entropy(np.zeros((3, 4), np.uint8)).tolist() == [0] * 12
    assert len(tools.calculate_entropy("text")) == 4 and len(tools.calculate_entropy(b"")) == 0
    with pytest.raises(TypeError):
        tools.calculate_entropy(np.array([1.5]))


def test_diagnosis():
    issues = tools.diagnose_performance()
    assert isinstance(issues, list) and issues.findings and issues.checklist
    items = issues.findings + issues.checklist
    assert {item["health"] for item in items} <= {"good", "bad", "unknown"}
    assert len(issues) == sum(item["health"] == "bad" for item in items)
    assert all(item["text"] and item["provenance"] for item in items)


# ---- transformers
def test_transformer_of_sizes():
    class Config:
        hidden_size, num_heads, num_layers, vocab_size = 65, 2, 1, 100

    model = tools.AppleSiliconOptimizedTransformer(Config)
    assert model.hidden_size == 128 and model.num_heads == 2 and model.vocabulary == 100
    assert model([[1, 2, 3], [4, 5, 6]]).shape == (2, 3, 100)
    assert tools.AppleSiliconOptimizedTransformer({"hidden_size": 64}, num_layers=2).model.info()["layers"] == 2
    with pytest.raises(ValueError, match="tokenizer"):
        model.generate("text")
    for wrong in (dict(num_layers=2), dict(hidden_size=64, depth=3)):
        with pytest.raises(TypeError):
            tools.AppleSiliconOptimizedTransformer(**wrong)
    with pytest.raises(ValueError, match="liquid"):
        tools.AppleSiliconOptimizedTransformer("cfc:8,in=2")


def test_generation_is_greedy_over_the_logits():
    model = tools.AppleSiliconOptimizedTransformer("llama:2:64,heads=4,context=16,seed=3")
    tokens, wanted = [5, 17, 42], []
    for _ in range(6):
        wanted.append(int(model([tokens + wanted])[0, -1].argmax()))
    assert model.generate(tokens, max_tokens=6) == wanted
    assert model.generate(tokens, 6, cache="float16", context=12) == wanted
    assert len(model.generate(tokens, max_tokens=100)) == 16 - 3 + 1  # the context is full
    draws = [model.generate(tokens, 8, temperature=1.5, top_k=50, seed=seed) for seed in (1, 1, 2)]
    assert draws[0] == draws[1] != draws[2]
    assert isinstance(model.generate("bytes", 3), str)
    with pytest.raises(elegans.Error):
        model.generate([300], 1)
    stream = model.stream(tokens)
    next(stream)
    with pytest.raises(RuntimeError):
        model.model.quantize("i8")  # its matrices are being read
    stream.close()
    gc.collect()
    model.model.quantize("i8")


def test_generator_by_hand():
    model = elegans.open("llama:1:64,heads=4,seed=1")
    generator = elegans._core.Generator(model, context=8)
    with pytest.raises(ValueError, match="feed"):
        generator.next()
    generator.feed([1, 2, 3])
    y, _ = model(np.array([[1, 2, 3]], np.int32))
    np.testing.assert_allclose(generator.logits(), y[0, -1], rtol=1e-4, atol=1e-5)
    generator.rewind(2)
    with pytest.raises(ValueError, match="feed"):
        generator.logits()
    generator.feed([3])
    np.testing.assert_allclose(generator.logits(), y[0, -1], rtol=1e-4, atol=1e-5)
    with pytest.raises(MemoryError):
        generator.feed([1] * 9)
    assert generator.info()["length"] == 3
    for wrong in (["a"], [-1], [2**40], 3):
        with pytest.raises((TypeError, ValueError)):
            generator.feed(wrong)


@pytest.mark.skipif(not (FIXTURES / "llama.gguf").exists(), reason="only in a checkout")
def test_transformer_of_a_file():
    model = tools.AppleSiliconOptimizedTransformer(FIXTURES / "llama.gguf")
    assert model.model.info()["kind"] == "decoder" and model([[1, 2]]).shape == (1, 2, model.vocabulary)
    if model.tokenizer is not None:
        ids = model.tokenizer.encode("a b")
        assert model.tokenizer.decode(ids).strip() == "a b"
    with pytest.raises(FileNotFoundError):
        tools.Tokenizer.open("nowhere.json")
