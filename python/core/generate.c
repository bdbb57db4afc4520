/* Text: tokenizers, and decoders that continue a text token by token. */
#include "model.h"
#include "publish.h"

#include <stdlib.h>
#include <string.h>

/* ---- tokens of Python as the library's */
static uint32_t *take_tokens(PyObject *object, const char *name, size_t *count) {
    PyObject *list = PySequence_List(object);
    if (!list) return NULL;
    const Py_ssize_t size = PyList_Size(list);
    uint32_t *out = calloc((size_t)size + 1, sizeof *out);
    if (!out) PyErr_NoMemory();
    for (Py_ssize_t i = 0; out && i < size; i++) {
        uint64_t id;
        int failed = core_count(PyList_GetItem(list, i), name, &id);
        if (!failed && id > UINT32_MAX) {
            PyErr_Format(PyExc_ValueError, "%s: no token %llu", name, (unsigned long long)id);
            failed = 1;
        }
        if (failed) {
            free(out);
            out = NULL;
        } else out[i] = (uint32_t)id;
    }
    Py_DECREF(list);
    *count = (size_t)size;
    return out;
}

/* ---- tokenizers */
typedef struct core_tokenizer {
    PyObject_HEAD core_context *context;
    eg_tokenizer *tokenizer;
} core_tokenizer;

static eg_tokenizer *tokenizer_of(PyObject *object) {
    return ((core_tokenizer *)object)->tokenizer;
}

static PyObject *tokenizer_open(PyObject *type, PyObject *argument) {
    const char *path;
    PyObject *bytes = core_path(argument, "path", &path);
    core_context *context = bytes ? core_context_take() : NULL;
    core_tokenizer *self = NULL;
    eg_tokenizer *tokenizer;
    eg_error error;
    if (context && eg_tokenizer_open(context->context, path, &tokenizer, &error))
        core_raise_path(&error, path);
    else if (context) {
        allocfunc allocate = (allocfunc)PyType_GetSlot((PyTypeObject *)type, Py_tp_alloc);
        self = (core_tokenizer *)allocate((PyTypeObject *)type, 0);
        if (self) {
            self->context = core_context_share(context);
            self->tokenizer = tokenizer;
        } else eg_tokenizer_destroy(tokenizer);
    }
    core_context_give(context);
    Py_XDECREF(bytes);
    return (PyObject *)self;
}

static void tokenizer_finish(PyObject *object) {
    eg_tokenizer_destroy(tokenizer_of(object));
    core_context_give(((core_tokenizer *)object)->context);
    PyTypeObject *type = Py_TYPE(object);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

static PyObject *encode(PyObject *object, PyObject *const *args, Py_ssize_t count,
                        PyObject *keywords) {
    static const char *const names[] = {"text", "ends", "special", NULL};
    PyObject *given[3];
    eg_encode_options options = {.size = sizeof options};
    if (core_arguments("encode", names, 1, given, args, count, keywords)) return NULL;
    options.ends = given[1] ? PyObject_IsTrue(given[1]) : 0;
    options.special = given[2] ? PyObject_IsTrue(given[2]) : 0;
    if (options.ends < 0 || options.special < 0) return NULL;
    PyObject *bytes = PyUnicode_Check(given[0]) ? PyUnicode_AsUTF8String(given[0]) : NULL;
    if (!bytes && PyErr_Occurred()) return NULL;
    char *text;
    Py_ssize_t length;
    if (!bytes && PyBytes_Check(given[0])) {
        Py_INCREF(given[0]);
        bytes = given[0];
    }
    if (!bytes)
        return PyErr_Format(PyExc_TypeError, "text: expected a str or bytes, given %R",
                            (PyObject *)Py_TYPE(given[0]));
    eg_tokens tokens = {0};
    eg_error error;
    PyObject *out = NULL;
    if (!PyBytes_AsStringAndSize(bytes, &text, &length)) {
        if (eg_tokenizer_encode(tokenizer_of(object), text, (size_t)length, &options, &tokens,
                                &error))
            core_raise(&error);
        else out = PyList_New((Py_ssize_t)tokens.count);
    }
    for (size_t i = 0; out && i < tokens.count; i++) {
        PyObject *id = PyLong_FromUnsignedLong(tokens.ids[i]);
        if (!id || PyList_SetItem(out, (Py_ssize_t)i, id)) Py_CLEAR(out);
    }
    eg_tokens_release(tokenizer_of(object), &tokens);
    Py_DECREF(bytes);
    return out;
}

/* Grows as pieces come. */
typedef struct text_buffer {
    char *at;
    size_t length, room;
} text_buffer;

static int reserve(text_buffer *t, size_t more) {
    if (t->room - t->length >= more) return 0;
    const size_t room = 2 * (t->length + more);
    char *grown = realloc(t->at, room);
    if (!grown) {
        PyErr_NoMemory();
        return -1;
    }
    t->at = grown;
    t->room = room;
    return 0;
}

static PyObject *decode(PyObject *object, PyObject *const *args, Py_ssize_t count,
                        PyObject *keywords) {
    static const char *const names[] = {"tokens", "special", NULL};
    PyObject *given[2], *out = NULL;
    const eg_tokenizer *tokenizer = tokenizer_of(object);
    if (core_arguments("decode", names, 1, given, args, count, keywords)) return NULL;
    eg_decoder decoder = {.special = given[1] ? PyObject_IsTrue(given[1]) : 0};
    size_t size;
    uint32_t *ids = decoder.special < 0 ? NULL : take_tokens(given[0], "tokens", &size);
    if (!ids) return NULL;
    text_buffer t = {0};
    eg_error error;
    int failed = 0;
    for (size_t i = 0; !failed && i < size; i++) {
        size_t piece = 0, length;
        eg_tokenizer_piece(tokenizer, ids[i], &piece);
        failed = reserve(&t, piece + EG_DECODE_EXTRA);
        if (!failed && eg_tokenizer_decode(tokenizer, &decoder, ids[i], t.at + t.length,
                                           t.room - t.length, &length, &error)) {
            core_raise(&error);
            failed = 1;
        } else if (!failed) t.length += length;
    }
    if (!failed && !reserve(&t, 4)) {
        t.length += eg_decoder_finish(&decoder, t.at + t.length);
        out = PyUnicode_DecodeUTF8(t.at, (Py_ssize_t)t.length, "replace");
    }
    free(t.at);
    free(ids);
    return out;
}

static PyObject *tokenizer_info(PyObject *object, PyObject *nothing) {
    (void)nothing;
    const eg_tokenizer *t = tokenizer_of(object);
    PyObject *special = PyDict_New();
    for (int i = 0; special && i < EG_SPECIAL_COUNT; i++) {
        const int64_t id = eg_tokenizer_special(t, (eg_special)i);
        if (id >= 0 && core_add(special, eg_special_name((eg_special)i), PyLong_FromLongLong(id)))
            Py_CLEAR(special);
    }
    return special ? Py_BuildValue("{s:s,s:n,s:N}", "kind",
                                   eg_tokenizer_kind_name(eg_tokenizer_kind_get(t)), "size",
                                   (Py_ssize_t)eg_tokenizer_size(t), "special", special)
                   : NULL;
}

static PyObject *refuse_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    (void)type;
    (void)args;
    (void)keywords;
    PyErr_SetString(PyExc_TypeError, "use Tokenizer.open()");
    return NULL;
}

#define KEYWORDS METH_FASTCALL | METH_KEYWORDS
static PyMethodDef tokenizer_methods[] = {
    {"open", tokenizer_open, METH_O | METH_CLASS,
     "open(path)\n--\n\nThe vocabulary of a GGUF file, a tokenizer.json or a tokenizer.bin."},
    {"encode", CORE_FASTCALL(encode), KEYWORDS,
     "encode(text, ends=False, special=False)\n--\n\n"
     "Tokens of a text. `ends` adds begin, end and the like; `special` reads such tokens where they are spelled out."},
    {"decode", CORE_FASTCALL(decode), KEYWORDS,
     "decode(tokens, special=False)\n--\n\nThe text of tokens; special ones are left out unless asked for."},
    {"info", tokenizer_info, METH_NOARGS, "info()\n--\n\nKind, size and special tokens."},
    {NULL, NULL, 0, NULL}};
static PyType_Slot tokenizer_slots[] = {
    {Py_tp_methods, tokenizer_methods},
    {Py_tp_dealloc, tokenizer_finish},
    {Py_tp_new, refuse_new},
    {Py_tp_doc, (void *)"Text to tokens, and back; for any number of threads."},
    {0, NULL}};
static PyType_Spec tokenizer_spec = {"elegans._core.Tokenizer", sizeof(core_tokenizer), 0,
                                     Py_TPFLAGS_DEFAULT, tokenizer_slots};

/* ---- generators: a decoder with the keys and values of its text, and a sampler */
typedef struct core_generator {
    PyObject_HEAD PyObject *model; /* held, and unchangeable while this lives */
    eg_generator *generator;
    eg_sampler *sampler; /* NULL before sample() */
    eg_sampling sampling;
    const float *logits; /* of the generator, after feed() */
    int is_busy;
} core_generator;

static core_generator *generator_of(PyObject *object) { return (core_generator *)object; }

static PyObject *generator_new(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    static char *names[] = {"model", "context", "cache", "chunk", NULL};
    PyObject *model, *given[3] = {NULL, NULL, NULL};
    eg_generator_options options = {.size = sizeof options};
    eg_error error;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|OOO", names, &model, &given[0], &given[1],
                                     &given[2]))
        return NULL;
    eg_model *of = core_model_of(model, "model");
    if (!of ||
        (given[0] && given[0] != Py_None && core_count(given[0], "context", &options.context)) ||
        (given[1] && given[1] != Py_None && core_type_take(given[1], "cache", &options.cache)) ||
        (given[2] && given[2] != Py_None && core_count(given[2], "chunk", &options.chunk)))
        return NULL;
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    core_generator *self = (core_generator *)allocate(type, 0);
    if (!self) return NULL;
    if (eg_generator_create(of, &options, &self->generator, &error)) {
        Py_DECREF((PyObject *)self);
        return core_raise(&error);
    }
    Py_INCREF(model);
    self->model = model;
    ((core_model *)model)->running++;
    return (PyObject *)self;
}

static void generator_finish(PyObject *object) {
    core_generator *self = generator_of(object);
    eg_sampler_destroy(self->sampler);
    eg_generator_destroy(self->generator);
    if (self->model) ((core_model *)self->model)->running--;
    Py_XDECREF(self->model);
    PyTypeObject *type = Py_TYPE(object);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

static int is_free(core_generator *self) {
    if (!core_context_usable(core_model_context(self->model))) return 0;
    if (!self->is_busy) return 1;
    PyErr_SetString(PyExc_RuntimeError, "another thread uses this generator");
    return 0;
}

static PyObject *feed(PyObject *object, PyObject *argument) {
    core_generator *self = generator_of(object);
    size_t count;
    uint32_t *tokens = take_tokens(argument, "tokens", &count);
    if (!tokens) return NULL;
    eg_error error;
    eg_status status = EG_OK;
    const int can = is_free(self);
    if (can) {
        const float *logits = NULL;
        const uint64_t began = core_publish_begin();
        self->is_busy = 1;
        Py_BEGIN_ALLOW_THREADS;
        status = eg_generator_feed(self->generator, tokens, count, &logits, &error);
        Py_END_ALLOW_THREADS;
        self->is_busy = 0;
        if (!status) self->logits = logits;
        if (!status) core_publish_tokens(self->model, began, count);
    }
    free(tokens);
    if (!can) return NULL;
    if (status) return core_raise(&error);
    Py_RETURN_NONE;
}

static uint64_t vocabulary(const core_generator *self) {
    eg_generator_info info = {.size = sizeof info};
    eg_generator_info_get(self->generator, &info);
    return info.vocabulary;
}

static int is_fed(const core_generator *self) {
    if (self->logits) return 1;
    PyErr_SetString(PyExc_ValueError, "feed() tokens first");
    return 0;
}

static PyObject *logits(PyObject *object, PyObject *nothing) {
    (void)nothing;
    core_generator *self = generator_of(object);
    core_view view;
    if (!is_free(self) || !is_fed(self)) return NULL;
    const uint64_t count = vocabulary(self);
    PyObject *out = core_array(&view, EG_F32, 1, &count);
    if (!out) return NULL;
    memcpy(view.tensor.data, self->logits, count * sizeof(float));
    core_view_give(&view);
    return out;
}

static PyObject *sampling(PyObject *object, PyObject *const *args, Py_ssize_t count,
                          PyObject *keywords) {
    static const char *const names[] = {"temperature", "top_k", "top_p", "seed", NULL};
    core_generator *self = generator_of(object);
    PyObject *given[4];
    eg_sampling how = {0};
    eg_sampler *sampler;
    eg_error error;
    if (core_arguments("sampling", names, 0, given, args, count, keywords) ||
        (given[0] && core_number(given[0], "temperature", &how.temperature)) ||
        (given[1] && core_count(given[1], "top_k", &how.top_k)) ||
        (given[2] && core_number(given[2], "top_p", &how.top_p)) ||
        (given[3] && core_count(given[3], "seed", &how.seed)) || !is_free(self))
        return NULL;
    if (eg_sampler_create(core_model_context(self->model)->context, vocabulary(self), &how,
                          &sampler, &error))
        return core_raise(&error);
    eg_sampler_destroy(self->sampler);
    self->sampler = sampler;
    Py_RETURN_NONE;
}

static PyObject *next_token(PyObject *object, PyObject *nothing) {
    core_generator *self = generator_of(object);
    uint32_t token;
    eg_error error;
    (void)nothing;
    if (!is_free(self) || !is_fed(self)) return NULL;
    if (!self->sampler &&
        eg_sampler_create(core_model_context(self->model)->context, vocabulary(self),
                          &self->sampling, &self->sampler, &error))
        return core_raise(&error);
    if (eg_sampler_next(self->sampler, self->logits, &token, &error)) return core_raise(&error);
    return PyLong_FromUnsignedLong(token);
}

static PyObject *rewind_to(PyObject *object, PyObject *argument) {
    core_generator *self = generator_of(object);
    uint64_t length;
    eg_error error;
    if (core_count(argument, "length", &length) || !is_free(self)) return NULL;
    if (eg_generator_rewind(self->generator, length, &error)) return core_raise(&error);
    self->logits = NULL; /* they were of another text */
    Py_RETURN_NONE;
}

static PyObject *generator_info(PyObject *object, PyObject *nothing) {
    (void)nothing;
    core_generator *self = generator_of(object);
    eg_generator_info i = {.size = sizeof i};
    if (!is_free(self)) return NULL;
    eg_generator_info_get(self->generator, &i);
    return Py_BuildValue("{s:K,s:K,s:K,s:K,s:K,s:K}", "length", i.length, "context", i.context,
                         "vocabulary", i.vocabulary, "cache_bytes", i.cache_bytes, "weight_bytes",
                         i.weight_bytes, "token_bytes", i.token_bytes);
}

static PyMethodDef generator_methods[] = {
    {"feed", feed, METH_O, "feed(tokens)\n--\n\nAppends tokens to the text."},
    {"logits", logits, METH_NOARGS, "logits()\n--\n\nA copy of the logits of the next token."},
    {"sampling", CORE_FASTCALL(sampling), KEYWORDS,
     "sampling(temperature=0.0, top_k=0, top_p=0.0, seed=0)\n--\n\n"
     "How next() picks tokens from now on; a temperature of 0 takes the likeliest."},
    {"next", next_token, METH_NOARGS, "next()\n--\n\nPicks the next token; feed() it to go on."},
    {"rewind", rewind_to, METH_O,
     "rewind(length)\n--\n\nKeeps only the first tokens; feed() afterwards."},
    {"info", generator_info, METH_NOARGS,
     "info()\n--\n\nLengths, and bytes read per token. Counted."},
    {NULL, NULL, 0, NULL}};
static PyType_Slot generator_slots[] = {
    {Py_tp_methods, generator_methods},
    {Py_tp_dealloc, generator_finish},
    {Py_tp_new, generator_new},
    {Py_tp_doc,
     (void
          *)"Generator(model, context=None, cache='float32', chunk=None)\n--\n\nA decoder with the keys and values of a text."},
    {0, NULL}};
static PyType_Spec generator_spec = {"elegans._core.Generator", sizeof(core_generator), 0,
                                     Py_TPFLAGS_DEFAULT, generator_slots};

int core_generate_add(PyObject *module) {
    PyObject *tokenizer = PyType_FromSpec(&tokenizer_spec);
    PyObject *generator = tokenizer ? PyType_FromSpec(&generator_spec) : NULL;
    return !generator || PyModule_AddObject(module, "Tokenizer", tokenizer) ||
           PyModule_AddObject(module, "Generator", generator);
}
