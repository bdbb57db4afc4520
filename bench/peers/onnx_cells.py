"""ONNX graphs by hand: a CfC cell unrolled over time, and the GRU operator."""
import numpy as np
from onnx import TensorProto, checker, helper, numpy_helper

FLOAT = TensorProto.FLOAT


class Graph:
    def __init__(self):
        self.nodes, self.weights, self.known = [], [], set()

    def weight(self, name, value):
        if name not in self.known:
            self.known.add(name)
            value = np.ascontiguousarray(value)
            self.weights.append(numpy_helper.from_array(value, name))
        return name

    def op(self, kind, inputs, outputs=1, **attributes):
        names = [f"v{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, inputs, names, **attributes))
        return names if outputs > 1 else names[0]

    def finish(self, inputs, outputs):
        def values(shapes):
            return [helper.make_tensor_value_info(name, FLOAT, shape) for name, shape in shapes]
        graph = helper.make_graph(self.nodes, "cell", values(inputs), values(outputs), self.weights)
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
        model = helper.make_model(graph, opset_imports=opsets)
        model.ir_version = 8
        checker.check_model(model)
        return model.SerializeToString()


HEADS = ("ff1", "ff2", "time_a", "time_b")


def cfc_heads(g, weights, x, merged):
    """Four products as an export writes them, or one of all four matrices side by side."""
    if not merged:
        return [g.op("Gemm", [x, g.weight(f"{h}.w", weights[f"rnn_cell.{h}.weight"]),
                              g.weight(f"{h}.b", weights[f"rnn_cell.{h}.bias"])], transB=1) for h in HEADS]
    w = np.concatenate([weights[f"rnn_cell.{h}.weight"] for h in HEADS])
    b = np.concatenate([weights[f"rnn_cell.{h}.bias"] for h in HEADS])
    all_four = g.op("Gemm", [x, g.weight("w", w.T), g.weight("b", b)])
    return g.op("Split", [all_four], 4, axis=1)


def cfc_step(g, weights, x, h, merged):
    """Elapsed time 1, so that time_a * 1 + time_b is an addition."""
    scalar = lambda name, value: g.weight(name, np.float32(value))
    joined = g.op("Concat", [x, h], axis=1)
    z = g.op("Gemm", [joined, g.weight("backbone.w", weights["rnn_cell.backbone.0.weight"].T),
                      g.weight("backbone.b", weights["rnn_cell.backbone.0.bias"])])
    z = g.op("Mul", [g.op("Tanh", [g.op("Mul", [z, scalar("inner", 0.666)])]), scalar("outer", 1.7159)])
    ff1, ff2, a, b = cfc_heads(g, weights, z, merged)
    ff1, ff2 = g.op("Tanh", [ff1]), g.op("Tanh", [ff2])
    t = g.op("Sigmoid", [g.op("Add", [a, b])])
    keep = g.op("Mul", [ff1, g.op("Sub", [scalar("one", 1), t])])
    return g.op("Add", [keep, g.op("Mul", [t, ff2])])


def cfc(weights, batch, time, merged=False):
    """Inputs x [time, batch, inputs] and h0 [batch, units]; outputs y [time, batch, units] and hn."""
    g = Graph()
    units = weights["rnn_cell.ff1.bias"].shape[0]
    inputs = weights["rnn_cell.backbone.0.weight"].shape[1] - units
    axis = g.weight("axis", np.array([0], np.int64))
    rows = ["x"] if time == 1 else g.op("Split", ["x"], time, axis=0)
    h, steps = "h0", []
    for row in rows:
        h = cfc_step(g, weights, g.op("Squeeze", [row, axis]), h, merged)
        steps.append(g.op("Unsqueeze", [h, axis]))
    y = g.op("Concat", steps, axis=0) if time > 1 else steps[0]
    g.nodes.append(helper.make_node("Identity", [y], ["y"]))
    g.nodes.append(helper.make_node("Identity", [h], ["hn"]))
    return g.finish([("x", [time, batch, inputs]), ("h0", [batch, units])],
                    [("y", [time, batch, units]), ("hn", [batch, units])])


def empty():
    """One addition: what a call costs that computes nothing."""
    g = Graph()
    g.nodes.append(helper.make_node("Add", ["x", g.weight("one", np.float32(1))], ["y"]))
    return g.finish([("x", [1, 1])], [("y", [1, 1])])


def gru(batch, time, inputs, hidden):
    g, draw = Graph(), np.random.default_rng(1)
    weight = lambda *shape: draw.uniform(-0.1, 0.1, shape).astype(np.float32)
    names = [g.weight("W", weight(1, 3 * hidden, inputs)), g.weight("R", weight(1, 3 * hidden, hidden)),
             g.weight("B", weight(1, 6 * hidden))]
    g.nodes.append(helper.make_node("GRU", ["x", *names, "", "h0"], ["y", "hn"], hidden_size=hidden,
                                    linear_before_reset=1))
    return g.finish([("x", [time, batch, inputs]), ("h0", [1, batch, hidden])],
                    [("y", [time, 1, batch, hidden]), ("hn", [1, batch, hidden])])
