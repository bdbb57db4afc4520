#!/usr/bin/env python3
"""Wrote bytes.json and accents.json of tests/fixtures/tokenizers from llama.json and uncased.json, and, with
tokenizers 0.23, the ids of `texts` for every file there (NAME.ids). Not part of any build."""
import glob, json, os

from tokenizers import Tokenizer

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'fixtures', 'tokenizers')
SEPARATOR = '\n=====\n'

def path(name):
    return os.path.join(FOLDER, name)

def read(name):
    with open(path(name), newline='') as file:
        return file.read()

def write(name, text):
    with open(path(name), 'w', newline='') as file:
        file.write(text)

def added(id, content, special):
    return dict(id=id, content=content, single_word=False, lstrip=False, rstrip=False, normalized=False,
                special=special)

def make_bytes():
    """Names of bytes among the added tokens: special, not special, and one that the model itself does not have."""
    root = json.loads(read('llama.json'))
    vocab = root['model']['vocab']
    last = max(vocab.values())
    root['added_tokens'] += [added(vocab['<0x0A>'], '<0x0A>', True), added(vocab['<0xE4>'], '<0xE4>', False)]
    vocab['<no byte>'] = vocab.pop('<0xF0>')
    root['added_tokens'] += [added(last + 1, '<0xF0>', True), added(last + 2, '<0x21>x', False)]
    root['decoder'] = dict(type='Sequence', decoders=[
        dict(type='Replace', pattern=dict(String='\u2581'), content=' '), dict(type='ByteFallback'),
        dict(type='Fuse'), dict(type='Strip', content=' ', start=1, stop=0)])
    write('bytes.json', json.dumps(root, ensure_ascii=False, separators=(',', ':')) + '\n')

def make_accents():
    """Small letters that keep their accents: a capital I with a dot becomes two characters."""
    root = json.loads(read('uncased.json'))
    root['normalizer']['strip_accents'] = False
    vocab = root['model']['vocab']
    for text in ('##\u0307', 'i\u0307', '\u00e9', '##\u00e9', '\u03c3', '##\u03c3', '##b', '##z'):
        vocab.setdefault(text, max(vocab.values()) + 1)
    write('accents.json', json.dumps(root, ensure_ascii=False, separators=(',', ':')) + '\n')

def main():
    make_bytes()
    make_accents()
    texts = read('texts').split(SEPARATOR)
    for name in sorted(glob.glob(path('*.json'))):
        name = os.path.basename(name)[:-5]
        tokenizer = Tokenizer.from_file(path(name + '.json'))
        rows = [tokenizer.encode(text).ids for text in texts]
        write(name + '.ids', ''.join(' '.join(map(str, row)) + '\n' for row in rows))

main()
