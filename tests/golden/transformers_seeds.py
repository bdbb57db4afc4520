#!/usr/bin/env python3
"""Wrote the files of fuzz/seeds/fuzz_transformer: transformers of a few kilobytes in every format, so that a fuzzer tries
many of them. A folder is config.json, a zero byte, and model.safetensors. Not part of any build."""
import json, os, random, struct

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'fuzz', 'seeds', 'fuzz_transformer')
F32, F16, Q4_0, Q8_0 = 0, 1, 2, 8  # ggml's numbers
HIDDEN, VOCABULARY, CONTEXT = 8, 4, 8


def floats(count, letter='f'):
    return struct.pack(f'<{count}{letter}', *[random.uniform(-0.5, 0.5) for _ in range(count)])


def numbers(shape, kind):
    count = shape[0] * (shape[1] if len(shape) > 1 else 1)
    if kind in (F32, F16):
        return floats(count, 'f' if kind == F32 else 'e')
    block = 32 if kind == Q8_0 else 16
    return b''.join(struct.pack('<e', 0.01) + random.randbytes(block) for _ in range(count // 32))


def save(name, data):
    with open(os.path.join(FOLDER, name), 'wb') as file:
        file.write(data)


# ---- tensors as GGUF names them

def linear(names, bias):
    return [t for name, shape in names
            for t in [(name + '.weight', shape)] + [(name + '.bias', shape[:1])] * bias]


def tensors(family, w, hidden=HIDDEN):
    b = 'blk.0.'
    all = [('token_embd.weight', (VOCABULARY, w))]
    qkv = [(b + 'attn_q', (w, w)), (b + 'attn_k', (w, w)), (b + 'attn_v', (w, w))]
    if family == 'llama':
        return all + linear([(b + 'attn_norm', (w,))] + qkv + [
            (b + 'attn_output', (w, w)), (b + 'ffn_norm', (w,)), (b + 'ffn_gate', (hidden, w)),
            (b + 'ffn_up', (hidden, w)), (b + 'ffn_down', (w, hidden)), ('output_norm', (w,))], 0)
    all.append(('position_embd.weight', (CONTEXT, w)))
    forward = [(b + 'ffn_up', (hidden, w)), (b + 'ffn_down', (w, hidden))]
    if family == 'gpt2':
        return all + linear([(b + 'attn_norm', (w,)), (b + 'attn_qkv', (3 * w, w)), (b + 'attn_output', (w, w)),
                             (b + 'ffn_norm', (w,))] + forward + [('output_norm', (w,))], 1)
    return all + [('token_types.weight', (2, w))] + linear(
        [('token_embd_norm', (w,))] + qkv + [(b + 'attn_output', (w, w)), (b + 'attn_output_norm', (w,))] + forward +
        [(b + 'layer_output_norm', (w,))], 1)


# ---- GGUF

def text(value):
    return struct.pack('<Q', len(value)) + value.encode()


def gguf(name, family, kind=F32, w=8, extra=(), more=()):
    hidden = w
    epsilon = 'attention.layer_norm_rms_epsilon' if family == 'llama' else 'attention.layer_norm_epsilon'
    entries = [('general.architecture', 8, text(family))]
    for key, value in [('block_count', 1), ('embedding_length', w), ('feed_forward_length', hidden),
                       ('context_length', CONTEXT), ('attention.head_count', 2)]:
        entries.append((f'{family}.{key}', 4, struct.pack('<I', value)))
    entries += [(f'{family}.{epsilon}', 6, struct.pack('<f', 1e-5))] + list(extra)
    listed = tensors(family, w, hidden) + list(more)
    head = b'GGUF' + struct.pack('<IQQ', 3, len(listed), len(entries))
    for key, type, value in entries:
        head += text(key) + struct.pack('<I', type) + value
    data = b''
    for tensor, shape in listed:
        own = kind if len(shape) > 1 else F32
        head += text(tensor) + struct.pack('<I', len(shape)) + struct.pack(f'<{len(shape)}Q', *reversed(shape))
        head += struct.pack('<IQ', own, len(data))
        data += numbers(shape, own)
        data += bytes(-len(data) % 32)
    save(name, head + bytes(-len(head) % 32) + data)


# ---- llama2.c: width, hidden, layers, heads, heads of keys, vocabulary, context

def checkpoint(name, layers, kv, tied, version=0):
    w, heads = 8, 2
    head = w // heads
    count = VOCABULARY * w * (1 if tied else 2) + w
    count += layers * (2 * w + 2 * w * w + 2 * w * kv * head + 3 * w * HIDDEN)
    sizes = struct.pack('<7i', w, HIDDEN, layers, heads, kv, VOCABULARY if tied or version else -VOCABULARY, CONTEXT)
    if version:
        start = struct.pack('<Ii', 0x616b3432, version) + sizes + bytes([tied])
        save(name, start + bytes(256 - len(start)) + floats(count))
    else:
        save(name, sizes + floats(count + CONTEXT * head))


# ---- folders of Hugging Face

def folder(name, config, listed, dtype='F32'):
    head, data = {}, b''
    for tensor, shape in listed:
        begin = len(data)
        data += numbers(shape, F32 if dtype == 'F32' else F16)
        head[tensor] = {'dtype': dtype, 'shape': list(shape), 'data_offsets': [begin, len(data)]}
    small = dict(separators=(',', ':'))
    text = json.dumps(head, **small).encode()
    text += b' ' * (-len(text) % 8)
    save(name, json.dumps(config, **small).encode() + b'\0' + struct.pack('<Q', len(text)) + text + data)


def folders(w=8):
    sizes = {'hidden_size': w, 'intermediate_size': HIDDEN, 'num_hidden_layers': 1, 'num_attention_heads': 2,
             'vocab_size': VOCABULARY, 'max_position_embeddings': CONTEXT}
    at = 'model.layers.0.'
    folder('llama.folder', {'model_type': 'llama', 'num_key_value_heads': 1, 'rope_theta': 10000.0, **sizes}, linear([
        ('model.embed_tokens', (VOCABULARY, w)), (at + 'input_layernorm', (w,)), (at + 'self_attn.q_proj', (w, w)),
        (at + 'self_attn.k_proj', (4, w)), (at + 'self_attn.v_proj', (4, w)), (at + 'self_attn.o_proj', (w, w)),
        (at + 'post_attention_layernorm', (w,)), (at + 'mlp.gate_proj', (HIDDEN, w)), (at + 'mlp.up_proj', (HIDDEN, w)),
        (at + 'mlp.down_proj', (w, HIDDEN)), ('model.norm', (w,))], 0), 'F16')
    at = 'transformer.h.0.'
    turned = [(at + 'attn.c_attn', w, 3 * w), (at + 'attn.c_proj', w, w), (at + 'mlp.c_fc', w, HIDDEN),
              (at + 'mlp.c_proj', HIDDEN, w)]
    folder('gpt2.folder', {'model_type': 'gpt2', 'n_embd': w, 'n_inner': HIDDEN, 'n_layer': 1, 'n_head': 2,
                           'vocab_size': VOCABULARY, 'n_positions': CONTEXT},
           [('transformer.wte.weight', (VOCABULARY, w)), ('transformer.wpe.weight', (CONTEXT, w))] +
           [t for name, rows, columns in turned
            for t in [(name + '.weight', (rows, columns)), (name + '.bias', (columns,))]] +
           linear([(at + 'ln_1', (w,)), (at + 'ln_2', (w,)), ('transformer.ln_f', (w,))], 1))
    at, whole = 'encoder.layer.0.', 'embeddings.'
    folder('bert.folder', {'model_type': 'bert', 'type_vocab_size': 2, **sizes},
           [(whole + 'word_embeddings.weight', (VOCABULARY, w)), (whole + 'position_embeddings.weight', (CONTEXT, w)),
            (whole + 'token_type_embeddings.weight', (2, w))] + linear(
               [(whole + 'LayerNorm', (w,))] +
               [(f'{at}attention.{part}', (w, w)) for part in ('self.query', 'self.key', 'self.value', 'output.dense')] +
               [(at + 'attention.output.LayerNorm', (w,)), (at + 'intermediate.dense', (HIDDEN, w)),
                (at + 'output.dense', (w, HIDDEN)), (at + 'output.LayerNorm', (w,))], 1))


random.seed(1)
os.makedirs(FOLDER, exist_ok=True)
gguf('llama.gguf', 'llama')
gguf('llama_f16.gguf', 'llama', F16, more=[('output.weight', (VOCABULARY, 8))],
     extra=[('llama.attention.head_count_kv', 4, struct.pack('<I', 2)),
            ('llama.rope.freq_base', 6, struct.pack('<f', 1e4)), ('llama.rope.scaling.type', 8, text('none'))])
gguf('llama_q8_0.gguf', 'llama', Q8_0, 32)
gguf('llama_q4_0.gguf', 'llama', Q4_0, 32)
gguf('gpt2.gguf', 'gpt2')
gguf('bert.gguf', 'bert')
checkpoint('tied.bin', 1, 1, True)
checkpoint('untied.bin', 2, 2, False)
checkpoint('version1.bin', 1, 2, False, 1)
folders()
