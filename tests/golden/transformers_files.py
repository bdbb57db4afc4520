#!/usr/bin/env python3
"""Wrote the files of tests/fixtures/transformers with transformers 5.22, torch 2.15 and gguf 0.19: small random
models as Hugging Face folders, as GGUF files in llama.cpp's conventions and as a checkpoint of llama2.c, with the
outputs (expected.npz) that torch computes from the same weights in double precision. Not part of any build."""
import json, os, struct

import gguf, numpy as np, torch
from transformers import (BertConfig, BertModel, GPT2Config, GPT2LMHeadModel, LlamaConfig,
                          LlamaForCausalLM, MistralConfig, MistralForCausalLM)

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'fixtures', 'transformers')
VOCABULARY, LENGTH, PROMPT, CONTINUED = 100, 17, 5, 24
F32, F16, Q4_0, Q8_0 = 0, 1, 2, 8  # ggml's numbers, which gguf's are too

# ---- models

def make(kind, config, seed, dtype=torch.float32):
    """Weights that matter: outputs of every layer near 1, norms away from 1 and biases away from 0."""
    torch.manual_seed(seed)
    model = kind._from_config(config, attn_implementation='eager').eval()
    conv1d = {id(m.weight) for m in model.modules() if type(m).__name__ == 'Conv1D'}
    with torch.no_grad():
        for name, p in model.named_parameters():
            if p.dim() == 1:
                p.copy_(torch.randn_like(p) * 0.2 + ('norm' in name.lower() or 'ln_' in name) * name.endswith('weight'))
            elif 'emb' in name or 'wte' in name or 'wpe' in name:
                p.copy_(torch.randn_like(p) * 0.5)
            else:
                p.copy_(torch.randn_like(p) * (1.5 / p.shape[0 if id(p) in conv1d else 1] ** 0.5))
            p.data = p.data.to(dtype)  # not the model: that would round its table of frequencies, too
    return model

def save(name, model, **changes):
    """config.json and model.safetensors; `changes` are fields as older versions wrote them, None to leave one out."""
    folder = os.path.join(FOLDER, name)
    model.save_pretrained(folder)
    for other in os.listdir(folder):
        if other not in ('config.json', 'model.safetensors', 'expected.npz'):
            os.remove(os.path.join(folder, other))
    path = os.path.join(folder, 'config.json')
    with open(path) as file:
        config = json.load(file)
    config.update(changes)
    with open(path, 'w') as file:
        json.dump({k: v for k, v in config.items() if k not in changes or v is not None}, file, indent=2)
        file.write('\n')

def expect(name, **arrays):
    np.savez(os.path.join(FOLDER, name, 'expected.npz'),
             **{k: np.asarray(v, np.int32 if 'int' in str(v.dtype) else np.float32) for k, v in arrays.items()})

def draw(seed):
    return torch.randint(5, VOCABULARY, (2, LENGTH), generator=torch.Generator().manual_seed(seed))

def logits(model, ids):
    with torch.no_grad():
        return model.double()(ids).logits

def greedy(name, model, ids):
    """The most likely next token, CONTINUED times; a second one too near would make the test a coin's throw."""
    row, least = ids[:1, :PROMPT], 1e9
    for _ in range(CONTINUED):
        best = torch.topk(logits(model, row)[0, -1], 2)
        least = min(least, float(best.values[0] - best.values[1]))
        row = torch.cat([row, best.indices[None, :1]], 1)
    assert least > 0.01, f'{name}: {least}'
    print(f'{name}: greedy choices lead by {least:.3f} or more')
    return row[0, PROMPT:]

# ---- GGUF

def text(s):
    s = s.encode()
    return struct.pack('<Q', len(s)) + s

def value(v):
    """(number of the type, bytes); python's int is u32, its float f32"""
    if isinstance(v, bool):
        return 7, struct.pack('<B', v)
    if isinstance(v, int):
        return 4, struct.pack('<I', v)
    if isinstance(v, float):
        return 6, struct.pack('<f', v)
    if isinstance(v, str):
        return 8, text(v)
    if v.dtype.kind == 'U':
        return 9, struct.pack('<IQ', 8, len(v)) + b''.join(map(text, v))
    return 9, struct.pack('<IQ', {'i': 5, 'f': 6}[v.dtype.kind], len(v)) + v.tobytes()

def write_gguf(name, pairs, tensors, kind=F32):
    """Matrices are of `kind`, vectors stay float32."""
    head = struct.pack('<IIQQ', 0x46554747, 3, len(tensors), len(pairs))
    for k, v in pairs.items():
        number, data = value(v)
        head += text(k) + struct.pack('<I', number) + data
    body = b''
    for k, w in tensors.items():
        w = w.detach().float().numpy()
        number = kind if w.ndim > 1 else F32
        head += text(k) + struct.pack(f'<I{w.ndim}QIQ', w.ndim, *reversed(w.shape), number, len(body))
        body += gguf.quants.quantize(w, gguf.GGMLQuantizationType(number)).tobytes()
        body += bytes(-len(body) % 32)
    with open(os.path.join(FOLDER, name + '.gguf'), 'wb') as file:
        file.write(head + bytes(-len(head) % 32) + body)

def rounded(model, kind):
    """The model that a file of `kind` holds."""
    number = gguf.GGMLQuantizationType(kind)
    with torch.no_grad():
        for p in model.parameters():
            if p.dim() > 1:
                w = gguf.quants.dequantize(gguf.quants.quantize(p.float().numpy(), number), number)
                p.copy_(torch.from_numpy(w))
    return model

def rename(state, table):
    """Tensors under llama.cpp's names, in the table's order; `*` is the number of the layer."""
    out = {}
    for ours, theirs in table:
        for i in range(2 if '*' in ours else 1):
            out[theirs.replace('*', str(i))] = state[ours.replace('*', str(i))]
    return out

def both(ours, theirs):
    return [(f'{ours}.{part}', f'{theirs}.{part}') for part in ('weight', 'bias')]

def interleaved(w, heads):
    """Rows of q or k for positions that turn neighbours (x0, x1), not halves of a head (x0, x[n/2])."""
    return w.reshape(heads, 2, w.shape[0] // heads // 2, w.shape[1]).transpose(1, 2).reshape(w.shape)

def pairs(arch, context, width, hidden, layers, heads, **more):
    own = dict(context_length=context, embedding_length=width, block_count=layers, feed_forward_length=hidden)
    return {'general.architecture': arch, 'general.name': f'random {arch}',
            **{f'{arch}.{k}': v for k, v in {**own, 'attention.head_count': heads, **more}.items()}}

def vocabulary(model, tokens, types, **more):
    assert len(tokens) == len(types) == VOCABULARY, (model, len(tokens))
    return {'tokenizer.ggml.model': model, 'tokenizer.ggml.tokens': np.array(tokens, 'U'),
            'tokenizer.ggml.token_type': np.array(types, np.int32),
            **{'tokenizer.ggml.' + k: v for k, v in more.items()}}

PRINTED = [chr(i) for i in range(0x21, 0x7f)]  # 94 of ASCII

def sentencepiece():
    tokens = ['<unk>', '<s>', '</s>', '\u2581', *PRINTED, '\n', 'th']
    return vocabulary('llama', tokens, [2, 3, 3] + [1] * 97, bos_token_id=1, eos_token_id=2, unknown_token_id=0,
                      scores=np.array([0.0] * 3 + [-1.0 - i for i in range(96)] + [-0.5], np.float32),
                      add_bos_token=True, add_space_prefix=True)

def byte_pairs():
    tokens = [*PRINTED, '\u0120', '\u010a', 'th', 'he', '\u0120t', '<|endoftext|>']
    return vocabulary('gpt2', tokens, [1] * 99 + [3], pre='gpt-2', merges=np.array(['t h', 'h e', '\u0120 t']),
                      bos_token_id=99, eos_token_id=99)

def wordpieces():
    letters = [c for c in map(chr, range(0x30, 0x7b)) if c.isalnum() and not c.isupper()]
    marks = [c for c in PRINTED if not c.isalnum()][:23]
    tokens = ['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]', *('\u2581' + c for c in letters + marks), *letters]
    return vocabulary('bert', tokens, [3] * 5 + [1] * 95, pre='default', padding_token_id=0, unknown_token_id=1,
                      bos_token_id=2, cls_token_id=2, eos_token_id=3, seperator_token_id=3, mask_token_id=4)

# ---- the fixtures

def bert():
    c = BertConfig(vocab_size=VOCABULARY, hidden_size=64, num_hidden_layers=2, num_attention_heads=4,
                   intermediate_size=128, max_position_embeddings=64, type_vocab_size=2)
    model = make(BertModel, c, 1)
    save('bert', model)
    state = {k: v.clone() for k, v in model.state_dict().items()}
    ids, lengths = draw(11), torch.tensor([LENGTH, 11])
    mask = (torch.arange(LENGTH)[None] < lengths[:, None]).long()
    ids *= mask
    types = (torch.arange(LENGTH)[None] >= torch.tensor([[7], [4]])).long() * mask
    with torch.no_grad():
        plain = model.double()(ids, attention_mask=mask)
        typed = model(ids, attention_mask=mask, token_type_ids=types).last_hidden_state
    hidden = plain.last_hidden_state
    mean = (hidden * mask[..., None]).sum(1) / lengths[:, None]
    expect('bert', ids=ids, mask=mask, lengths=lengths, last_hidden_state=hidden, pooler_output=plain.pooler_output,
           mean=mean / mean.norm(dim=1, keepdim=True), token_types=types, last_hidden_state_typed=typed)
    layer, block = 'encoder.layer.*.', 'blk.*.'
    table = [('embeddings.word_embeddings.weight', 'token_embd.weight'),
             ('embeddings.token_type_embeddings.weight', 'token_types.weight'),
             ('embeddings.position_embeddings.weight', 'position_embd.weight'),
             *both('embeddings.LayerNorm', 'token_embd_norm')]
    for ours, theirs in (('attention.self.query', 'attn_q'), ('attention.self.key', 'attn_k'),
                         ('attention.self.value', 'attn_v'), ('attention.output.dense', 'attn_output'),
                         ('attention.output.LayerNorm', 'attn_output_norm'), ('intermediate.dense', 'ffn_up'),
                         ('output.dense', 'ffn_down'), ('output.LayerNorm', 'layer_output_norm')):
        table += both(layer + ours, block + theirs)
    head = pairs('bert', 64, 64, 128, 2, 4, **{'attention.layer_norm_epsilon': c.layer_norm_eps,
                                               'attention.causal': False, 'pooling_type': 1})
    write_gguf('bert', {**head, **wordpieces(), 'tokenizer.ggml.token_type_count': 2}, rename(state, table))

def gpt2():
    def config(**changes):
        return GPT2Config(vocab_size=VOCABULARY, n_positions=64, n_embd=48, n_layer=2, n_head=3, bos_token_id=99,
                          eos_token_id=99, **changes)
    c = config()
    model = make(GPT2LMHeadModel, c, 2)
    save('gpt2', model)
    state = {k: v.t() if k.endswith(('c_attn.weight', 'c_proj.weight', 'c_fc.weight')) else v
             for k, v in model.state_dict().items()}
    state = {k: v.clone().contiguous() for k, v in state.items()}
    ids, plain, by_layer = draw(12), dict(scale_attn_weights=False), dict(scale_attn_by_inverse_layer_idx=True)
    others = {'logits_unscaled': plain, 'logits_by_layer': by_layer, 'logits_unscaled_by_layer': {**plain, **by_layer}}
    expect('gpt2', ids=ids, logits=logits(model, ids), greedy=greedy('gpt2', model, ids),
           **{k: logits(make(GPT2LMHeadModel, config(**flags), 2), ids) for k, flags in others.items()})
    layer, block = 'transformer.h.*.', 'blk.*.'
    table = [('transformer.wte.weight', 'token_embd.weight'), ('transformer.wpe.weight', 'position_embd.weight'),
             *both('transformer.ln_f', 'output_norm')]
    for ours, theirs in (('ln_1', 'attn_norm'), ('attn.c_attn', 'attn_qkv'), ('attn.c_proj', 'attn_output'),
                         ('ln_2', 'ffn_norm'), ('mlp.c_fc', 'ffn_up'), ('mlp.c_proj', 'ffn_down')):
        table += both(layer + ours, block + theirs)
    head = pairs('gpt2', 64, 48, 192, 2, 3, **{'attention.layer_norm_epsilon': c.layer_norm_epsilon})
    write_gguf('gpt2', {**head, **byte_pairs()}, rename(state, table))

LLAMA = [('model.embed_tokens.weight', 'token_embd.weight')] + [
    ('model.layers.*.' + ours + '.weight', 'blk.*.' + theirs + '.weight') for ours, theirs in (
        ('input_layernorm', 'attn_norm'), ('self_attn.q_proj', 'attn_q'), ('self_attn.k_proj', 'attn_k'),
        ('self_attn.v_proj', 'attn_v'), ('self_attn.o_proj', 'attn_output'), ('post_attention_layernorm', 'ffn_norm'),
        ('mlp.gate_proj', 'ffn_gate'), ('mlp.up_proj', 'ffn_up'), ('mlp.down_proj', 'ffn_down'))
] + [('model.norm.weight', 'output_norm.weight'), ('lm_head.weight', 'output.weight')]

def llama_tensors(model):
    c = model.config
    state = {k: v.clone() for k, v in model.state_dict().items()}
    for k in state:
        if k.endswith('q_proj.weight'):
            state[k] = interleaved(state[k], c.num_attention_heads)
        if k.endswith('k_proj.weight'):
            state[k] = interleaved(state[k], c.num_key_value_heads)
    return rename(state, LLAMA[:-1] if c.tie_word_embeddings else LLAMA)

def llama_pairs(c):
    own = {'attention.head_count_kv': c.num_key_value_heads, 'attention.layer_norm_rms_epsilon': c.rms_norm_eps,
           'rope.dimension_count': c.head_dim, 'rope.freq_base': float(c.rope_parameters['rope_theta']),
           'vocab_size': VOCABULARY}
    return {**pairs('llama', c.max_position_embeddings, c.hidden_size, c.intermediate_size, c.num_hidden_layers,
                    c.num_attention_heads, **own), **sentencepiece()}

def write_llama2c(name, model, t):
    """What llama2.c calls version 0: all layers of one kind together; a negative vocabulary has an `output` of its own."""
    c = model.config
    head = struct.pack('<7i', c.hidden_size, c.intermediate_size, c.num_hidden_layers, c.num_attention_heads,
                       c.num_key_value_heads, -VOCABULARY, c.max_position_embeddings)
    layers = ['attn_norm', 'attn_q', 'attn_k', 'attn_v', 'attn_output', 'ffn_norm', 'ffn_gate', 'ffn_down', 'ffn_up']
    names = ['token_embd', *(f'blk.{i}.{k}' for k in layers for i in range(c.num_hidden_layers)), 'output_norm']
    angles = torch.outer(torch.arange(c.max_position_embeddings).double(),
                         10000 ** (-torch.arange(0, c.head_dim, 2).double() / c.head_dim))
    parts = [t[n + '.weight'] for n in names] + [angles.cos(), angles.sin(), t['output.weight']]
    with open(os.path.join(FOLDER, name + '.bin'), 'wb') as file:
        file.write(head + b''.join(p.float().contiguous().numpy().tobytes() for p in parts))

def llama_config(**changes):
    return LlamaConfig(**{**dict(vocab_size=VOCABULARY, hidden_size=64, intermediate_size=96, num_hidden_layers=2,
                                 num_attention_heads=8, num_key_value_heads=2, max_position_embeddings=64,
                                 rms_norm_eps=1e-5, rope_theta=10000.0, tie_word_embeddings=False), **changes})

def llama():
    model = make(LlamaForCausalLM, llama_config(), 3)
    save('llama', model)
    ids, tensors = draw(13), llama_tensors(model)
    write_llama2c('llama', model, tensors)
    out = dict(ids=ids, logits=logits(model, ids), greedy=greedy('llama', model, ids))
    known = {k: getattr(model.config, k) for k in MistralConfig().to_dict() if hasattr(model.config, k)}
    known.pop('dtype', None), known.pop('architectures', None)
    mistral = make(MistralForCausalLM, MistralConfig(**{**known, 'sliding_window': 6}), 3)
    assert all(torch.equal(v, model.state_dict()[k].float()) for k, v in mistral.state_dict().items())
    out['logits_window'] = logits(mistral, ids)
    scaled = make(LlamaForCausalLM, llama_config(), 3)
    for layer in scaled.model.layers:
        layer.self_attn.scaling = 0.2
    out['logits_scaled'] = logits(scaled, ids)
    for kind, suffix in ((F32, ''), (F16, '_f16'), (Q8_0, '_q8_0'), (Q4_0, '_q4_0')):
        write_gguf('llama' + suffix, llama_pairs(model.config), tensors, kind)
        if suffix:
            out['logits' + suffix] = logits(rounded(make(LlamaForCausalLM, llama_config(), 3), kind), ids)
    expect('llama', **out)

def llama_tied():
    """Its config.json has rope_theta where versions before 5 had it."""
    config = llama_config(rope_theta=500000.0, head_dim=8, tie_word_embeddings=True)
    model = make(LlamaForCausalLM, config, 4)
    save('llama_tied', model, rope_theta=500000.0, rope_parameters=None, dtype=None, torch_dtype='float32')
    write_gguf('llama_tied', llama_pairs(model.config), llama_tensors(model))
    ids = draw(14)
    expect('llama_tied', ids=ids, logits=logits(model, ids), greedy=greedy('llama_tied', model, ids))

def llama3():
    """As Llama 3.2: heads wider than the model, stretched positions, bfloat16."""
    scaling = dict(rope_type='llama3', factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
                   original_max_position_embeddings=16)
    config = llama_config(hidden_size=32, intermediate_size=64, num_attention_heads=4, num_key_value_heads=2,
                          head_dim=16, tie_word_embeddings=True,
                          rope_parameters=dict(rope_theta=500000.0, **scaling))
    model = make(LlamaForCausalLM, config, 6, torch.bfloat16)
    save('llama3', model, rope_theta=500000.0, rope_scaling=scaling, rope_parameters=None)
    ids = draw(15)
    expect('llama3', ids=ids, logits=logits(model, ids), greedy=greedy('llama3', model, ids))

for fixture in (bert, gpt2, llama, llama_tied, llama3):
    fixture()
