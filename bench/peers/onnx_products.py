"""ONNX graphs of one product: floats, rows quantized as they come, weights of 4 or 8 bits in blocks."""
import numpy as np
from onnx import helper

from onnx_cells import FLOAT, Graph


def finish(g, n, k):
    return g.finish([("x", ["m", k])], [("y", ["m", n])])


def floats(w):
    """w [k, n]"""
    g = Graph()
    g.nodes.append(helper.make_node("MatMul", ["x", g.weight("w", w)], ["y"]))
    return finish(g, w.shape[1], w.shape[0])


def dynamic_int8(values, scales):
    """As quantize_dynamic writes it: values [k, n] int8, a scale per column. The optimizer makes one node of it."""
    g = Graph()
    x, scale, zero = g.op("DynamicQuantizeLinear", ["x"], 3)
    product = g.op("MatMulInteger", [x, g.weight("w", values), zero, g.weight("zero", np.zeros(1, np.int8)[0])])
    product = g.op("Cast", [product], to=FLOAT)
    scale = g.op("Mul", [scale, g.weight("scale", scales)])
    g.nodes.append(helper.make_node("Mul", [product, scale], ["y"]))
    return finish(g, values.shape[1], values.shape[0])


def blocks(values, scales, n, k, bits, block, accuracy):
    """values [n, k / block, block * bits / 8] bytes, scales [n, k / block]; zero points in the middle."""
    g = Graph()
    g.nodes.append(helper.make_node("MatMulNBits", ["x", g.weight("w", values), g.weight("scale", scales)], ["y"],
                                    domain="com.microsoft", N=n, K=k, bits=bits, block_size=block,
                                    accuracy_level=accuracy))
    return finish(g, n, k)
