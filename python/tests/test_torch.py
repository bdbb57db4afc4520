"""Modules of elegans.torch against those of ncps: outputs, gradients, training, state-dicts."""

from __future__ import annotations

import copy
import pickle
import random
import subprocess
import sys
import threading

import numpy as np
import pytest

torch = pytest.importorskip("torch")
ncps_torch = pytest.importorskip("ncps.torch")
wirings = pytest.importorskip("ncps.wirings")

from elegans import torch as ours_torch  # noqa: E402

MODULES = 100


def close(a, b, tolerance=1e-5):
    """Whether two tensors differ by no more than rounding, measured by the largest element."""
    a, b = a.detach(), b.detach()
    return float((a - b).abs().max()) <= tolerance * (1 + float(b.abs().max()))


def random_wiring(choose, inputs):
    kind = choose.choice(["auto", "ncp", "random", "full", "own"])
    if kind == "auto":
        return wirings.AutoNCP(choose.randint(12, 24), choose.randint(1, 5), seed=choose.randint(0, 999))
    if kind == "ncp":
        return wirings.NCP(8, 6, 3, 4, 3, 5, 2, seed=choose.randint(0, 999))
    if kind == "random":
        return wirings.Random(choose.randint(4, 12), sparsity_level=0.5, random_seed=choose.randint(0, 999))
    if kind == "full":
        return wirings.FullyConnected(choose.randint(3, 9), self_connections=choose.random() < 0.5)
    own = wirings.Wiring(6)
    own.set_output_dim(6)
    own.build(inputs)
    for source in range(6):
        own.add_synapse(source, (source * 5 + 1) % 6, choose.choice([-1, 1]))
        own.add_sensory_synapse(source % inputs, source, choose.choice([-1, 1]))
    return own


def random_arguments(choose):
    """A kind of module, its arguments, and how it is called."""
    inputs = choose.randint(1, 7)
    is_wired = choose.random() < 0.6
    units = random_wiring(choose, inputs) if is_wired else choose.randint(1, 20)
    arguments = {
        "return_sequences": choose.random() < 0.7,
        "batch_first": choose.random() < 0.7,
        "mixed_memory": choose.random() < 0.3,
    }
    kind = choose.choice(["CfC", "LTC"])
    if kind == "CfC":
        arguments["mode"] = choose.choice(["default", "pure", "no_gate"])
        arguments["proj_size"] = choose.choice([None, None, 3])
        arguments["activation"] = choose.choice(["lecun_tanh", "silu", "relu", "tanh", "gelu"])
        if not is_wired:
            arguments["backbone_units"] = choose.choice([None, 16])
            arguments["backbone_layers"] = choose.choice([None, 0, 1, 3])
    else:
        arguments["input_mapping"] = choose.choice(["affine", "linear", None])
        arguments["output_mapping"] = choose.choice(["affine", "linear", None])
        arguments["ode_unfolds"] = choose.choice([1, 3, 6])
        arguments["implicit_param_constraints"] = choose.random() < 0.7
    return kind, inputs, units, arguments


def make_pair(kind, inputs, units, arguments):
    """The module of ncps and ours, with the same values, none of them special."""
    theirs = getattr(ncps_torch, kind)(inputs, units, **arguments)
    ours = getattr(ours_torch, kind)(inputs, units, **arguments)
    for name, p in theirs.named_parameters():
        if p.requires_grad and not name.endswith("erev"):
            p.data += 0.1 * torch.rand_like(p)
    ours.load_state_dict(theirs.state_dict())
    return theirs, ours


def run_by_sample(module, batch_axis, x, hx, timespans):
    """ncps applies the elapsed times of a batch to units: so each sample runs alone, without an axis of samples."""
    outputs, states = [], []
    for i in range(x.shape[batch_axis]):
        own = None if hx is None else (hx[i] if torch.is_tensor(hx) else (hx[0][i], hx[1][i]))
        y, h = module(x.select(batch_axis, i), own, timespans.select(batch_axis, i))
        outputs.append(y.reshape(-1) if not module.return_sequences else y)
        states.append((h,) if torch.is_tensor(h) else h)
    states = tuple(torch.stack(parts) for parts in zip(*states))
    axis = batch_axis if module.return_sequences else 0
    return torch.stack(outputs, axis), states if len(states) > 1 else states[0]


def leaves_of(values):
    return [v.clone().requires_grad_() for v in values]


@pytest.mark.parametrize("seed", range(MODULES))
def test_random_modules_equal_ncps(seed):
    torch.manual_seed(seed)
    choose = random.Random(seed)
    kind, inputs, units, arguments = random_arguments(choose)
    theirs, ours = make_pair(kind, inputs, units, arguments)
    batch, time = choose.choice([None, 1, 3]), choose.choice([1, 4, 9])
    has_times, has_state = choose.random() < 0.6, choose.random() < 0.5
    order = (batch, time) if arguments["batch_first"] else (time, batch)
    outer = (time,) if batch is None else order
    state = (ours.state_size,) if batch is None else (batch, ours.state_size)
    values = [torch.randn(*outer, inputs)]
    values += [torch.randn(*state) * 0.5 for _ in range((1 + arguments["mixed_memory"]) * has_state)]
    values += [torch.rand(*outer, *choose.choice([(), (1,)])) + 0.1] * has_times

    def call(module, leaves):
        x, timespans = leaves[0], leaves[-1] if has_times else None
        states = tuple(leaves[1 : 1 + (1 + arguments["mixed_memory"]) * has_state])
        hx = None if not has_state else states if arguments["mixed_memory"] else states[0]
        if module is theirs and has_times and batch is not None:
            y, hn = run_by_sample(module, 0 if arguments["batch_first"] else 1, x, hx, timespans)
        else:
            y, hn = module(x, hx, timespans)
        return (y, hn) if torch.is_tensor(hn) else (y, *hn)

    their_leaves, our_leaves = leaves_of(values), leaves_of(values)
    expected, given = call(theirs, their_leaves), call(ours, our_leaves)
    weights = [torch.randn_like(y) for y in expected]
    for y, z in zip(given, expected):
        assert y.shape == z.shape
        assert close(y, z)
    sum((y * w).sum() for y, w in zip(expected, weights)).backward()
    sum((y * w).sum() for y, w in zip(given, weights)).backward()
    for a, b in zip(our_leaves, their_leaves):
        assert close(a.grad, b.grad)
    for (name, p), (other, q) in zip(ours.named_parameters(), theirs.named_parameters()):
        assert name == other
        if p.requires_grad:
            expected_gradient = torch.zeros_like(q) if q.grad is None else q.grad
            assert close(p.grad, expected_gradient), name


@pytest.mark.parametrize(
    "make",
    [
        lambda kit: kit.CfC(5, wirings.AutoNCP(20, 4)),
        lambda kit: kit.CfC(5, 12, proj_size=4, mixed_memory=True),
        lambda kit: kit.LTC(5, wirings.AutoNCP(20, 4)),
        lambda kit: kit.LTC(5, 4, implicit_param_constraints=False),
    ],
)
def test_training_has_the_losses_of_ncps(make):
    torch.manual_seed(3)
    theirs, ours = make(ncps_torch), make(ours_torch)
    ours.load_state_dict(theirs.state_dict())
    x, target = torch.randn(8, 10, 5), torch.randn(8, 10, 4)
    losses = []
    for module in (theirs, ours):
        optimizer = torch.optim.Adam(module.parameters(), lr=0.02)
        losses.append([])
        for _ in range(20):
            optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(module(x)[0], target)
            loss.backward()
            optimizer.step()
            if hasattr(module.rnn_cell, "apply_weight_constraints"):
                module.rnn_cell.apply_weight_constraints()
            losses[-1].append(loss.item())
    assert losses[0][-1] < 0.95 * losses[0][0]
    assert np.abs(np.subtract(*losses)).max() < 1e-4


def test_gradients_are_differences():
    torch.manual_seed(5)
    for make in (lambda: ours_torch.CfC(3, 5, backbone_units=8), lambda: ours_torch.LTC(3, 5)):
        module = make()
        x, h, spans = leaves_of([torch.randn(2, 4, 3), torch.randn(2, 5), torch.rand(2, 4) + 0.5])
        weight = torch.randn(2, 4, 5)

        def loss():
            y, hn = module(x, h, spans)
            return (y * weight).sum() + hn.sum()

        loss().backward()
        # central differences of float32 have about three digits
        step = 1e-2
        for leaf in [x, h, spans, *(p for p in module.parameters() if p.requires_grad)]:
            direction = torch.randn_like(leaf)
            with torch.no_grad():
                leaf += step * direction
                up = loss()
                leaf -= 2 * step * direction
                down = loss()
                leaf += step * direction
            slope = float(up - down) / (2 * step)
            assert abs(slope - float((leaf.grad * direction).sum())) < 0.03 * (1 + abs(slope))


def test_initial_values_are_those_of_ncps():
    for make in (
        lambda kit: kit.CfC(5, wirings.AutoNCP(20, 4), mode="pure"),
        lambda kit: kit.CfC(5, 7, proj_size=2, mixed_memory=True, backbone_layers=3, backbone_dropout=0.5),
        lambda kit: kit.LTC(5, 9, mixed_memory=True),
        lambda kit: kit.LTC(5, wirings.NCP(8, 6, 3, 4, 3, 5, 2)),
    ):
        torch.manual_seed(11)
        theirs = make(ncps_torch).state_dict()
        torch.manual_seed(11)
        ours = make(ours_torch).state_dict()
        assert list(ours) == list(theirs)
        for name in ours:
            assert torch.equal(ours[name], theirs[name]), name


def test_state_dicts_load_both_ways():
    for make in (lambda kit: kit.CfC(4, wirings.AutoNCP(16, 3)), lambda kit: kit.LTC(4, 6)):
        theirs, ours = make(ncps_torch), make(ours_torch)
        x = torch.randn(2, 5, 4)
        theirs.load_state_dict(ours.state_dict())
        assert close(ours(x)[0], theirs(x)[0])
        other = make(ncps_torch)
        ours.load_state_dict(other.state_dict())
        assert close(ours(x)[0], other(x)[0])
        assert not close(ours(x)[0], theirs(x)[0])


def test_a_state_dict_brings_its_masks():
    for kind in ("CfC", "LTC"):
        theirs = getattr(ncps_torch, kind)(4, wirings.AutoNCP(16, 3, seed=1))
        ours = getattr(ours_torch, kind)(4, wirings.AutoNCP(16, 3, seed=2))
        x = torch.randn(2, 5, 4)
        ours(x)
        ours.load_state_dict(theirs.state_dict())
        assert close(ours(x)[0], theirs(x)[0])


def test_a_mask_of_other_numbers_is_refused():
    ours = ours_torch.LTC(4, 6)
    with torch.no_grad():
        ours.rnn_cell.sparsity_mask.fill_(0.5)
    with pytest.raises(ValueError, match="mask"):
        ours(torch.zeros(1, 2, 4))


def test_no_grad_and_frozen_parameters():
    module = ours_torch.CfC(3, 6)
    x = torch.randn(2, 4, 3)
    with torch.no_grad():
        y, h = module(x)
    assert not y.requires_grad and not h.requires_grad
    assert torch.equal(y, module(x)[0])
    for p in module.parameters():
        p.requires_grad_(False)
    assert not module(x)[0].requires_grad
    module.fc = torch.nn.Identity()
    module.rnn_cell.ff1.bias.requires_grad_(True)
    x.requires_grad_()
    module(x)[0].sum().backward()
    assert module.rnn_cell.ff1.weight.grad is None
    assert module.rnn_cell.ff1.bias.grad is not None and x.grad is not None


def test_values_written_through_data_are_seen():
    module = ours_torch.CfC(3, 6)
    x = torch.randn(2, 4, 3)
    with torch.no_grad():
        before = module(x)[0]
        version = module.rnn_cell.ff1.weight._version
        module.rnn_cell.ff1.weight.data.mul_(0)
        assert module.rnn_cell.ff1.weight._version == version
        assert not close(module(x)[0], before)


def test_pickles_and_copies():
    x = torch.randn(2, 4, 3)
    for module in (ours_torch.CfC(3, wirings.AutoNCP(12, 2)), ours_torch.LTC(3, 5, mixed_memory=True)):
        y = module(x)[0].detach()
        for other in (pickle.loads(pickle.dumps(module)), copy.deepcopy(module)):
            assert torch.equal(other(x)[0], y)
            other(x)[0].sum().backward()
            assert all(p.grad is None for p in module.parameters())
            with torch.no_grad():
                for p in other.parameters():
                    p.mul_(0.5 if p.requires_grad else 1)
            assert not close(other(x)[0], y)
            assert torch.equal(module(x)[0], y)


def test_dropout_is_for_training():
    torch.manual_seed(1)
    module = ours_torch.CfC(3, 8, backbone_units=32, backbone_layers=2, backbone_dropout=0.5)
    theirs = ncps_torch.CfC(3, 8, backbone_units=32, backbone_layers=2, backbone_dropout=0.5)
    module.load_state_dict(theirs.state_dict())
    x = torch.randn(2, 4, 3)
    torch.manual_seed(2)
    first, second = module(x)[0], module(x)[0]
    assert not close(first, second)
    torch.manual_seed(2)
    assert torch.equal(module(x)[0], first)
    module.eval(), theirs.eval()
    assert torch.equal(module(x)[0], module(x)[0])
    assert close(module(x)[0], theirs(x)[0])


def test_dropout_has_the_gradient_of_what_it_drew():
    torch.manual_seed(1)
    module = ours_torch.CfC(3, 8, backbone_units=32, backbone_layers=2, backbone_dropout=0.5)
    x = torch.randn(2, 4, 3, requires_grad=True)
    torch.manual_seed(7)
    module(x)[0].sum().backward()
    direction = torch.randn_like(x)
    values = []
    for sign in (1, -1):
        torch.manual_seed(7)
        with torch.no_grad():
            values.append(float(module(x + sign * 1e-2 * direction)[0].sum()))
    slope = (values[0] - values[1]) / 2e-2
    assert abs(slope - float((x.grad * direction).sum())) < 0.03 * (1 + abs(slope))


@pytest.mark.parametrize("batch", [32, 34, 37, 48, 272])
@pytest.mark.parametrize("kind", ["CfC", "LTC", "memory", "last"])
def test_large_batches_are_their_samples(batch, kind):
    """Blocks of samples are computed apart: outputs, states and gradients are those of a module without blocks."""
    torch.manual_seed(1)
    how = {"mixed_memory": kind == "memory", "return_sequences": kind != "last"}
    modules = [(ours_torch.LTC if kind == "LTC" else ours_torch.CfC)(3, 5, batch_first=first, **how) for first in (True, False)]
    modules[1].load_state_dict(modules[0].state_dict())
    values = torch.randn(batch, 6, 3), torch.rand(batch, 6) + 0.1, torch.randn(batch, 5), torch.randn(batch, 5)
    found = []
    for module in modules:
        x, spans, h, c = [value.clone().requires_grad_() for value in values]
        swap = (lambda t: t) if module.batch_first else (lambda t: t.transpose(0, 1))
        y, state = module(swap(x), (h, c) if kind == "memory" else h, swap(spans))
        y = y if kind == "last" else swap(y)
        states = state if kind == "memory" else (state,)
        ((y * torch.arange(1.0, batch + 1).view(-1, *[1] * (y.dim() - 1))).sum() / batch + sum(s.pow(2).sum() for s in states)).backward()
        inputs = (x, spans, h, c) if kind == "memory" else (x, spans, h)
        found.append([y, *states, *(t.grad for t in inputs), *(p.grad for p in module.parameters() if p.requires_grad)])
    for a, b in zip(*found):
        assert close(a, b)


def test_the_number_of_threads_changes_no_bit():
    code = """
import hashlib, sys, torch, elegans, elegans.torch
elegans.configure(threads=int(sys.argv[1]))
torch.manual_seed(1)
digest = hashlib.sha256()
for module in (elegans.torch.CfC(3, 20, backbone_units=24, backbone_layers=2, backbone_dropout=0.3), elegans.torch.LTC(3, 6)):
    for batch in (16, 64, 96):
        module.zero_grad()
        y, h = module(torch.randn(batch, 9, 3))
        y.pow(2).sum().backward()
        for tensor in (y, h, *(p.grad for p in module.parameters() if p.requires_grad)):
            digest.update(tensor.detach().contiguous().numpy().tobytes())
print(digest.hexdigest())
"""
    run = [subprocess.run([sys.executable, "-c", code, str(n)], capture_output=True, text=True) for n in (1, 2, 3, 5)]
    assert len(run[0].stdout) > 60, run[0].stderr
    assert len({done.stdout for done in run}) == 1


def test_dropout_of_blocks():
    """Every sample has its own, also in different blocks, and the gradient is that of what was drawn."""
    torch.manual_seed(1)
    module = ours_torch.CfC(3, 8, backbone_units=32, backbone_layers=2, backbone_dropout=0.5)
    x = torch.randn(1, 4, 3).repeat(32, 1, 1).requires_grad_()
    torch.manual_seed(7)
    y = module(x)[0]
    assert len({tuple(row.flatten().tolist()) for row in y.detach()}) == 32
    y.sum().backward()
    direction = torch.randn_like(x)
    values = []
    for sign in (1, -1):
        torch.manual_seed(7)
        with torch.no_grad():
            values.append(float(module(x + sign * 1e-2 * direction)[0].double().sum()))
    slope = (values[0] - values[1]) / 2e-2
    assert abs(slope - float((x.grad * direction).sum())) < 0.03 * (1 + abs(slope))


def test_several_passes_at_once():
    """Forward passes that wait for their backward pass do not disturb each other."""
    torch.manual_seed(1)
    module = ours_torch.LTC(3, 5)
    xs = [torch.randn(2, 4, 3) for _ in range(3)]
    expected = []
    for x in xs:
        module.zero_grad()
        module(x)[0].pow(2).sum().backward()
        expected.append(module.rnn_cell.w.grad.clone())
    losses = [module(x)[0].pow(2).sum() for x in xs]
    for i in (1, 0, 2):
        module.zero_grad()
        losses[i].backward(retain_graph=True)
        assert torch.equal(module.rnn_cell.w.grad, expected[i])
    module.zero_grad()
    losses[1].backward()
    assert torch.equal(module.rnn_cell.w.grad, expected[1])
    with pytest.raises(RuntimeError):  # torch: freed, or changed
        losses[1].backward()


def test_a_change_between_passes_is_refused():
    module = ours_torch.CfC(3, 5)
    loss = module(torch.randn(2, 4, 3))[0].sum()
    with torch.no_grad():
        module.rnn_cell.ff1.weight.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_a_second_derivative_is_refused():
    module = ours_torch.CfC(3, 5)
    x = torch.randn(2, 4, 3, requires_grad=True)
    (g,) = torch.autograd.grad(module(x)[0].sum(), x, create_graph=True)
    with pytest.raises(RuntimeError):
        g.sum().backward()


def test_a_state_goes_from_call_to_call():
    module = ours_torch.CfC(3, wirings.AutoNCP(12, 2), mixed_memory=True)
    x = torch.randn(2, 6, 3, requires_grad=True)
    whole, end = module(x)
    first, state = module(x[:, :4])
    second, last = module(x[:, 4:], state)
    assert close(torch.cat([first, second], 1), whole)
    assert close(last[0], end[0]) and close(last[1], end[1])
    (g,) = torch.autograd.grad(whole.sum(), x)
    (again,) = torch.autograd.grad(first.sum() + second.sum(), x)
    assert close(again, g)


def test_layouts_that_are_not_contiguous():
    module = ours_torch.CfC(3, 5)
    x = torch.randn(2, 4, 3)
    turned = x.transpose(0, 1).contiguous().transpose(0, 1)
    assert not turned.is_contiguous()
    assert torch.equal(module(turned)[0], module(x)[0])
    y = module(x)[0]
    y.backward(torch.ones(1, 1, 1).expand_as(y))
    expanded = module.rnn_cell.ff1.weight.grad.clone()
    module.zero_grad()
    module(x)[0].sum().backward()
    assert torch.equal(module.rnn_cell.ff1.weight.grad, expanded)


def test_threads_at_once():
    module = ours_torch.CfC(3, 16)
    xs = [torch.randn(4, 8, 3) for _ in range(4)]
    expected = [module(x)[0].detach() for x in xs]
    wrong = []

    def work(i):
        for _ in range(20):
            y = module(xs[i])[0]
            torch.autograd.grad(y.sum(), list(module.rnn_cell.parameters()))
            if not torch.equal(y, expected[i]):
                wrong.append(i)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_many_shapes():
    module = ours_torch.CfC(3, 5)
    for time in range(1, 40):
        assert module(torch.zeros(2, time, 3))[0].shape == (2, time, 5)
    assert len(module._programs.free) <= module._programs.most


def test_times_for_all_samples():
    module, theirs = ours_torch.CfC(3, 5), ncps_torch.CfC(3, 5)
    module.load_state_dict(theirs.state_dict())
    x, spans = torch.randn(4, 6, 3), torch.rand(1, 6, requires_grad=True)
    other = spans.detach().clone().requires_grad_()
    y, z = module(x, timespans=spans)[0], theirs(x, timespans=other)[0]
    assert close(y, z)
    y.sum().backward(), z.sum().backward()
    assert close(spans.grad, other.grad)


@pytest.mark.parametrize(
    "call, error, text",
    [
        (lambda m: m(torch.zeros(2, 4, 3).double()), TypeError, "float64"),
        (lambda m: m(torch.zeros(2, 4, 2)), ValueError, r"expected shape \(2, 4, 3\), given \(2, 4, 2\)"),
        (lambda m: m(torch.zeros(3)), ValueError, "time, features"),
        (lambda m: m(np.zeros((2, 4, 3), "float32")), ValueError, "tensor"),
        (lambda m: m(torch.zeros(0, 4, 3)), ValueError, "empty"),
        (lambda m: m(torch.zeros(2, 4, 3), torch.zeros(5)), RuntimeError, "2-D"),
        (lambda m: m(torch.zeros(2, 4, 3), torch.zeros(3, 5)), ValueError, r"expected shape \(2, 5\)"),
        (lambda m: m(torch.zeros(2, 4, 3), (torch.zeros(2, 5), torch.zeros(2, 5))), TypeError, "tuple"),
        (lambda m: m(torch.zeros(2, 4, 3), timespans=torch.zeros(2, 3)), ValueError, r"timespans: .*\(2, 4\)"),
        (lambda m: m(torch.zeros(2, 4, 3), timespans=-torch.ones(2, 4)), ValueError, "elapsed time -1"),
        (lambda m: m.double()(torch.zeros(2, 4, 3)), TypeError, "float64"),
    ],
)
def test_errors_of_calls(call, error, text):
    with pytest.raises(error, match=text):
        call(ours_torch.CfC(3, 5))


def test_errors_of_constructors():
    wiring = wirings.AutoNCP(12, 2)
    with pytest.raises(ValueError, match="mode"):
        ours_torch.CfC(3, 5, mode="fast")
    with pytest.raises(ValueError, match="activation"):
        ours_torch.CfC(3, 5, activation="sine")
    with pytest.raises(ValueError, match="backbone_layers"):
        ours_torch.CfC(3, wiring, backbone_layers=1)
    with pytest.raises(ValueError, match="input_mapping"):
        ours_torch.LTC(3, 5, input_mapping="cubic")
    ours_torch.CfC(3, wiring)
    with pytest.raises(ValueError, match="built for 3"):
        ours_torch.LTC(4, wiring)
    with pytest.raises(RuntimeError, match="tuple"):
        ours_torch.LTC(3, 5, mixed_memory=True)(torch.zeros(1, 2, 3), torch.zeros(1, 5))


def test_a_wiring_may_be_anything_with_its_attributes():
    class Own:
        units, output_dim, input_dim = 4, 2, 3
        adjacency_matrix = np.eye(4, dtype=int)
        sensory_adjacency_matrix = np.ones((3, 4), dtype=int)

    assert ours_torch.LTC(3, Own())(torch.zeros(2, 5, 3))[0].shape == (2, 5, 2)
    assert ours_torch.CfC(3, Own())(torch.zeros(2, 5, 3))[0].shape == (2, 5, 4)
