#!/usr/bin/env python3
"""Wrote tests/fixtures/golden/conv.npz with torch 2.15: convolutions with every option, in f32, their loss being
the sum of y sin(y), and its gradients by x and w. Not part of any build. Options are one row for each case:
stride, padding, dilation of two axes (a sequence has one), groups."""
import os

import numpy as np
import torch
import torch.nn.functional as F

CASES = (  # x, w, stride, padding, dilation, groups
    ((2, 3, 9), (4, 3, 3), (1,), (0,), (1,), 1),
    ((2, 4, 11), (6, 2, 4), (3,), (2,), (2,), 2),
    ((1, 3, 8), (6, 1, 3), (2,), (4,), (1,), 3),
    ((2, 3, 6, 5), (4, 3, 3, 2), (1, 1), (0, 0), (1, 1), 1),
    ((1, 4, 7, 8), (4, 2, 3, 3), (2, 1), (1, 2), (1, 2), 2),
    ((2, 3, 5, 19), (3, 1, 3, 5), (1, 1), (1, 2), (1, 1), 3),
    ((1, 2, 9, 9), (4, 1, 3, 3), (2, 3), (3, 1), (3, 1), 2),
    ((1, 5, 4, 4), (3, 5, 1, 1), (1, 1), (0, 0), (1, 1), 1),
)

torch.manual_seed(7)
arrays, options = {}, []
for i, (x_shape, w_shape, stride, padding, dilation, groups) in enumerate(CASES):
    x = torch.rand(x_shape).mul(2).sub(1).requires_grad_()
    w = torch.rand(w_shape).mul(2).sub(1).requires_grad_()
    conv = F.conv1d if len(stride) == 1 else F.conv2d
    y = conv(x, w, None, stride, padding, dilation, groups)
    (y * y.sin()).sum().backward()
    for name, value in (("x", x), ("w", w), ("y", y), ("dx", x.grad), ("dw", w.grad)):
        arrays[f"{i}.{name}"] = value.detach().numpy()
    pad = (0,) * (2 - len(stride))
    options.append(stride + pad + padding + pad + dilation + pad + (groups,))
arrays["options"] = np.array(options, np.int32)
folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fixtures", "golden")
np.savez(os.path.join(folder, "conv.npz"), **arrays)
