#!/usr/bin/env python3
"""Wrote tests/fixtures/transformers/sentence with sentence-transformers 6.2 and torch 2.15: a dense layer of 24 x 64, and the
rows (expected.npz) that the modules Pooling, Dense and Normalize make of the token rows of the fixture bert. Not part of
any build."""
import os

import numpy as np, torch
from safetensors.torch import save_file
from sentence_transformers.sentence_transformer.modules import Dense, Normalize, Pooling
from transformers import BertModel

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'fixtures', 'transformers')
WIDTH, NARROW = 64, 24

def main():
    given = np.load(os.path.join(FOLDER, 'bert', 'expected.npz'))
    ids, mask = (torch.from_numpy(given[k]).long() for k in ('ids', 'mask'))
    model = BertModel.from_pretrained(os.path.join(FOLDER, 'bert'), attn_implementation='eager').eval().double()
    out = os.path.join(FOLDER, 'sentence')
    os.makedirs(out, exist_ok=True)
    torch.manual_seed(7)
    weights = {'linear.weight': torch.randn(NARROW, WIDTH) * 0.3, 'linear.bias': torch.randn(NARROW) * 0.2}
    save_file(weights, os.path.join(out, 'dense.safetensors'))

    def rows(*modules):
        features = {'token_embeddings': hidden.clone(), 'attention_mask': mask}
        for module in modules:
            features = module(features)
        return features['sentence_embedding'].detach().numpy().astype(np.float32)

    def dense(activation, bias=True):
        module = Dense(WIDTH, NARROW, bias=bias, activation_function=activation).double()
        module.load_state_dict({k: v.double() for k, v in weights.items() if bias or k.endswith('weight')})
        return module

    with torch.no_grad():
        hidden = model(ids, attention_mask=mask).last_hidden_state
        arrays = {m: rows(Pooling(WIDTH, m)) for m in Pooling.POOLING_MODES}
        mean = Pooling(WIDTH, 'mean')
        arrays['normalized'] = rows(Pooling(WIDTH, 'max'), Normalize())
        for activation in (torch.nn.Tanh, torch.nn.Identity, torch.nn.ReLU, torch.nn.GELU, torch.nn.Sigmoid, torch.nn.SiLU):
            arrays['dense_' + activation.__name__] = rows(mean, dense(activation()))
        arrays['dense_normalized'] = rows(mean, Normalize(), dense(torch.nn.Tanh(), bias=False), Normalize())
    np.savez(os.path.join(out, 'expected.npz'), **arrays)

main()
