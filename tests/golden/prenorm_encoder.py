#!/usr/bin/env python3
"""Wrote tests/fixtures/transformers/prenorm with torch 2.15: an encoder with norms first and sinusoidal positions, as
torch.nn.TransformerEncoder computes it in double, in a model file as elegans saves it. Not part of any build."""
import json, math, os
import numpy as np
import torch
from safetensors.numpy import save_file

FOLDER = os.path.join(os.path.dirname(__file__), "..", "fixtures", "transformers", "prenorm")
WIDTH, HEADS, HIDDEN, LAYERS, VOCABULARY, CONTEXT, EPSILON = 64, 4, 128, 2, 100, 32, 1e-5

torch.manual_seed(11)
torch.set_default_dtype(torch.float64)
layer = torch.nn.TransformerEncoderLayer(WIDTH, HEADS, HIDDEN, 0.0, "gelu", EPSILON, batch_first=True, norm_first=True)
encoder = torch.nn.TransformerEncoder(layer, LAYERS, torch.nn.LayerNorm(WIDTH, EPSILON), enable_nested_tensor=False).eval()
tables = {"token_embd.weight": torch.randn(VOCABULARY, WIDTH), "token_types.weight": torch.randn(2, WIDTH)}
norm = torch.nn.LayerNorm(WIDTH, EPSILON)
for p in [*encoder.parameters(), *norm.parameters()]:
    p.data = (p.data + 0.3 * torch.randn_like(p) / math.sqrt(p.shape[-1])).float().double()
tables = {k: v.float().double() for k, v in tables.items()}

position = torch.arange(CONTEXT)[:, None] / 10000 ** (torch.arange(0, WIDTH, 2) / WIDTH)
waves = torch.stack((position.sin(), position.cos()), -1).flatten(-2)
ids = torch.randint(0, VOCABULARY, (2, 17))
lengths = torch.tensor([17, 9])
with torch.no_grad():
    x = norm(tables["token_embd.weight"][ids] + tables["token_types.weight"][0] + waves[:17])
    y = encoder(x, src_key_padding_mask=torch.arange(17)[None] >= lengths[:, None])

names = dict(tables)
names |= {"token_embd_norm.weight": norm.weight, "token_embd_norm.bias": norm.bias,
          "output_norm.weight": encoder.norm.weight, "output_norm.bias": encoder.norm.bias}
for i, l in enumerate(encoder.layers):
    for k, part in enumerate("qkv"):
        names[f"blk.{i}.attn_{part}.weight"] = l.self_attn.in_proj_weight[k * WIDTH:(k + 1) * WIDTH]
        names[f"blk.{i}.attn_{part}.bias"] = l.self_attn.in_proj_bias[k * WIDTH:(k + 1) * WIDTH]
    for ours, theirs in {"attn_output": l.self_attn.out_proj, "attn_norm": l.norm1, "ffn_norm": l.norm2,
                         "ffn_up": l.linear1, "ffn_down": l.linear2}.items():
        names[f"blk.{i}.{ours}.weight"], names[f"blk.{i}.{ours}.bias"] = theirs.weight, theirs.bias
about = {"family": "bert", "pooling": "mean", "layers": LAYERS, "width": WIDTH, "heads": HEADS, "kv_heads": HEADS,
         "head": WIDTH // HEADS, "hidden": HIDDEN, "vocabulary": VOCABULARY, "context": CONTEXT, "types": 2, "window": 0,
         "positions": 3, "epsilon": EPSILON, "rope_base": 10000.0, "dropout": 0.0, "pre_norm": True, "interleaved": False,
         "tied": False, "exact_gelu": True}
os.makedirs(FOLDER, exist_ok=True)
save_file({k: v.detach().float().contiguous().numpy() for k, v in names.items()}, os.path.join(FOLDER, "model.safetensors"),
          {"elegans": json.dumps({"elegans_model": 1, "transformer": about}), "format": "pt"})
np.savez(os.path.join(FOLDER, "expected.npz"), ids=ids.numpy().astype(np.int32), lengths=lengths.numpy().astype(np.int32),
         last_hidden_state=y.numpy().astype(np.float32))
