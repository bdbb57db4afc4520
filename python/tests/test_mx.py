"""The stand-in for MLX: types and values of its calls, samples that run with another import, memory figures."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import elegans
import elegans.mx as mx


def test_types_are_those_of_mlx():
    assert mx.array([1.5, 2]).dtype == mx.float32 and mx.array([1, 2]).dtype == mx.int32
    assert mx.array(np.arange(3)).dtype == mx.int64 and mx.array(np.ones(3)).dtype == mx.float32
    assert mx.zeros((2, 3)).dtype == mx.ones(4).dtype == mx.full((2,), 3.5).dtype == mx.float32
    assert mx.arange(4).dtype == mx.int32 and mx.linspace(0, 1, 5).dtype == mx.float32
    assert mx.array([1, 2], dtype=mx.float16).dtype == mx.float16 and mx.zeros(2, mx.int32).dtype == mx.int32
    x = mx.array([[1.0, 2], [3, 4]])
    for y in (x * 2, x + x, x @ x, mx.mean(x), mx.exp(x), x.T, x[0], mx.std(x, axis=0), mx.softmax(x), mx.sigmoid(x)):
        assert isinstance(y, mx.array) and y.dtype == mx.float32
    assert mx.argmax(x).dtype == mx.int32 and mx.argmax(x).item() == 3
    assert isinstance(mx.mean(x).item(), float) and x.tolist() == [[1, 2], [3, 4]]
    original = np.ones(2, np.float32)
    copied = mx.array(original)
    original[0] = 5
    assert copied[0] == 1


def test_values_are_those_of_numpy():
    x = mx.random.normal((4, 5))
    n = np.asarray(x)
    np.testing.assert_allclose(mx.softmax(x, axis=0), np.exp(n) / np.exp(n).sum(0), rtol=1e-5)
    np.testing.assert_allclose(mx.logsumexp(x, axis=1), np.log(np.exp(n).sum(1)), rtol=1e-5)
    np.testing.assert_allclose(mx.sigmoid(x), 1 / (1 + np.exp(-n)), rtol=1e-5)
    np.testing.assert_allclose(mx.rsqrt(mx.square(x)), 1 / np.abs(n), rtol=1e-5)
    np.testing.assert_array_equal(mx.concatenate([x, x], axis=1), np.concatenate([n, n], 1))
    np.testing.assert_array_equal(mx.flatten(x), n.reshape(-1))
    np.testing.assert_array_equal(mx.flatten(mx.expand_dims(x, 0), 0, 1), n)
    np.testing.assert_array_equal(np.sort(mx.topk(x, 2)), np.sort(n)[:, -2:])
    np.testing.assert_array_equal(mx.where(x > 0, x, mx.zeros_like(x)), np.maximum(n, 0))
    np.testing.assert_array_equal(mx.array([1, 2, 3]).at[mx.array([0, 0])].add(1), [3, 2, 3])
    np.testing.assert_allclose(mx.addmm(x[:, :4], x, x.T, 2.0, 0.5), 0.5 * n[:, :4] + 2 * n @ n.T, rtol=1e-5)


def test_random():
    mx.random.seed(3)
    a = mx.random.normal((2, 3))
    mx.random.seed(3)
    assert np.array_equal(a, mx.random.normal((2, 3))) and a.dtype == mx.float32
    key = mx.random.key(7)
    b, c = mx.random.split(key)
    assert not np.array_equal(mx.random.uniform(shape=(4,), key=b), mx.random.uniform(shape=(4,), key=c))
    assert np.array_equal(mx.random.uniform(shape=(4,), key=key), mx.random.uniform(shape=(4,), key=key))
    u = mx.random.uniform(-2, 3, (1000,))
    assert -2 <= u.min() and u.max() < 3 and abs(u.mean() - 0.5) < 0.3
    n = mx.random.normal((10000,), loc=2.0, scale=0.5, dtype=mx.float16)
    assert n.dtype == mx.float16 and abs(float(n.mean()) - 2) < 0.05 and abs(float(n.std()) - 0.5) < 0.05
    assert mx.random.randint(0, 5, (100,)).dtype == mx.int32 and mx.random.normal().shape == ()
    assert sorted(mx.random.permutation(5).tolist()) == [0, 1, 2, 3, 4]
    picks = mx.random.categorical(mx.array([[0.0, 50.0], [50.0, 0.0]]))
    assert picks.tolist() == [1, 0]
    assert 400 < mx.random.bernoulli(0.5, (1000,)).sum() < 600


def test_compile_in_every_form():
    def double(x, training=False):
        "doubles"
        return x * (2 if training else 1)

    for made in (
        mx.compile(double),
        mx.compile(double, static_argnums=(1,)),
        mx.compile(static_argnums=(1,))(double),
        functools.partial(mx.compile, inputs=[], outputs=[])(double),
    ):
        assert made(mx.array(2.0), True).item() == 4 and made.__name__ == "double" and made.__doc__ == "doubles"
    model = elegans.open("cfc:8,in=2,seed=1")
    y, _ = mx.compile(model)(mx.zeros((1, 3, 2)))
    assert y.shape == (1, 3, 8)
    with pytest.raises(TypeError):
        mx.compile(3)


def test_a_sample():
    """As published: a forward pass that is compiled, timed and measured."""
    mx.random.seed(0)
    model = elegans.open("cfc:autoncp:32:4,in=8,seed=1")
    x = mx.random.normal((4, 16, 8))
    mx.reset_peak_memory()

    @mx.compile(static_argnums=(1,))
    def forward(x, training=False):
        y, _ = model(x)
        return y

    y = forward(x)
    mx.eval(y)
    loss = mx.mean(mx.square(y - mx.zeros(y.shape)))
    assert 0 < loss.item() < 10 and mx.abs(y).max().item() > 0
    assert mx.get_peak_memory() >= mx.get_active_memory() > 0
    assert mx.metal.get_peak_memory() == mx.get_peak_memory() == elegans.memory()["all"]["peak"]


def test_memory_and_devices():
    assert mx.metal.is_available() is False and mx.default_device() == mx.cpu != mx.gpu
    mx.set_default_device(mx.gpu)
    with mx.stream(mx.gpu):
        mx.synchronize()
    mx.clear_cache()
    assert mx.get_cache_memory() == 0 and mx.device_info()["threads"] >= 1


def test_what_is_not_there_says_so():
    with pytest.raises(AttributeError, match="Graph.gradient"):
        mx.value_and_grad
    with pytest.raises(AttributeError, match="no 'nothing'"):
        mx.nothing
    with pytest.raises(TypeError, match="bfloat16"):
        mx.zeros(2, "bfloat16")


def test_tensors_of_torch():
    torch = pytest.importorskip("torch")
    t = torch.arange(4, dtype=torch.float32, requires_grad=True)
    assert mx.array(t).tolist() == [0, 1, 2, 3] and mx.mean(t).item() == 1.5


def test_arrays_of_the_real_mlx():
    real = pytest.importorskip("mlx.core")
    x = real.array([[1.0, 2.0], [3.0, 4.0]])
    assert mx.array(x).tolist() == [[1, 2], [3, 4]] and mx.array(x).dtype == mx.float32
    assert mx.sum(x).item() == 10 and mx.concatenate([x, x]).shape == (4, 2)
    assert mx.array(x.astype(real.bfloat16)).tolist() == [[1, 2], [3, 4]]
    assert mx.zeros((2,), real.float16).dtype == mx.float16
    model = elegans.open("cfc:8,in=2,seed=1")
    y, _ = model(real.expand_dims(x, 0))
    wanted, _ = model(np.array([[[1, 2], [3, 4]]], np.float32))
    np.testing.assert_array_equal(np.asarray(y), wanted)
