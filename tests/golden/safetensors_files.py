#!/usr/bin/env python3
"""Wrote the files of tests/fixtures/safetensors with safetensors 0.8 and Python 3.11: what our
reader must read and our writer must equal byte for byte. Not part of any build."""
import ctypes, os
import safetensors

folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'fixtures', 'safetensors')

kept = []  # the package holds addresses only

def tensor(dtype, bits, *shape):
    """Bytes 1, 2, 3, ... (and 1, 0, 1, ... for bool), whatever the type makes of them."""
    size = bits
    for extent in shape:
        size *= extent
    data = bytes((i + 1) % (2 if dtype == 'bool' else 251) for i in range(size // 8))
    buffer = ctypes.create_string_buffer(data, max(len(data), 1))
    kept.append(buffer)
    return safetensors.TensorSpec(dtype=dtype, shape=list(shape),
                                  data_ptr=ctypes.addressof(buffer), data_len=len(data))

def write(name, tensors, metadata=None):
    with open(os.path.join(folder, name + '.safetensors'), 'wb') as file:
        file.write(safetensors.serialize(tensors, metadata))

write('types', {
    'f32': tensor('float32', 32, 2, 3), 'f16': tensor('float16', 16, 5),
    'bf16': tensor('bfloat16', 16, 3), 'i8': tensor('int8', 8, 2, 2, 2), 'u8': tensor('uint8', 8, 4),
    'i32': tensor('int32', 32, 3, 1), 'i64': tensor('int64', 64, 2, 2), 'bool': tensor('bool', 8, 3, 3),
    'scalar': tensor('float32', 32), 'none': tensor('float32', 32, 0, 3),
    'rank6': tensor('int8', 8, 1, 2, 1, 2, 1, 2),
}, {'format': 'pt'})
write('empty', {})
write('pairs', {'w': tensor('float32', 32, 1)}, {'first': '1', '': '', 'a "b"\\/\b\f\n\r\t\x01\x1f\x7f': '\u20ac \U0001f41b'})
write('names', {name: tensor('uint8', 8, 1) for name in
                ('"', '\\', 'a\b\f\n\r\t\x01\x1f\x7f', '\u00e9 \u20ac \U0001f41b', 'x/y.z')})
write('foreign', {
    'f64': tensor('float64', 64, 2), 'u64': tensor('uint64', 64, 1), 'u32': tensor('uint32', 32, 1),
    'u16': tensor('uint16', 16, 3), 'i16': tensor('int16', 16, 3), 'c64': tensor('complex64', 64, 1),
    'f8_e4m3': tensor('float8_e4m3fn', 8, 3), 'f8_e5m2': tensor('float8_e5m2', 8, 3),
    'rank7': tensor('float32', 32, 1, 1, 1, 1, 1, 1, 2),
})
