/* What other programs write, told by its first bytes or by its name: nobody should have to guess from a message about
 * the header of a format that it is not. */
#include "formats/files/foreign.h"
#include "formats/files/file.h"

#include <string.h>

enum { HEAD = 256 };

typedef struct head {
    unsigned char bytes[HEAD];
    size_t size;
} head;

static bool begins(const head *h, size_t at, const char *with, size_t length) {
    return h->size >= at + length && memcmp(h->bytes + at, with, length) == 0;
}

/* A length that can be anything, which would look like the beginning of other formats, then JSON. */
static bool is_safetensors(const head *h) {
    return begins(h, 5, "\0\0\0{", 4) || (h->size == 8 && begins(h, 5, "\0\0\0", 3));
}
/* torch.save makes a zip archive whose first member is NAME/data.pkl or NAME/.format_version */
static bool is_torch(const head *h) {
    if (!begins(h, 0, "PK\3\4", 4)) return false;
    for (size_t i = 4; i + 8 <= h->size; i++)
        if (memcmp(h->bytes + i, "data.pkl", 8) == 0 || memcmp(h->bytes + i, "/.format", 8) == 0)
            return true;
    return false;
}
/* A header of llama2.c: its magic, or numbers below 2^24, all but that of the vocabulary, whose sign says something.
 * It must pass for what it is, whatever its first bytes look like: a width of 640 begins as pickles do. */
static bool is_llama2c(const head *h) {
    static const unsigned char tops[] = {3, 7, 11, 15, 19, 27};
    if (begins(h, 0, "24ka", 4)) return true;
    for (size_t i = 0; i < sizeof tops; i++)
        if (tops[i] >= h->size || h->bytes[tops[i]]) return false;
    return true;
}
/* protocols 2 to 5; older ones are text and have a name that says so */
static bool is_pickle(const head *h) {
    return h->size > 2 && h->bytes[0] == 0x80 && h->bytes[1] >= 2 && h->bytes[1] <= 5;
}
static bool is_keras(const head *h) { return begins(h, 0, "\x89HDF\r\n\x1a\n", 8); }
static bool is_npy(const head *h) { return begins(h, 0, "\x93NUMPY", 6); }
static bool is_tflite(const head *h) { return begins(h, 4, "TFL3", 4); }
static bool is_sqlite(const head *h) { return begins(h, 0, "SQLite format 3", 16); }
static bool is_json(const head *h) {
    size_t i = 0;
    while (i < h->size && strchr(" \t\r\n", h->bytes[i]) && h->bytes[i]) i++;
    return i < h->size && (h->bytes[i] == '{' || h->bytes[i] == '[');
}
/* Lines of printable text: a table, or nothing that we know. */
static bool is_text(const head *h) {
    bool separated = false;
    for (size_t i = 0; i < h->size; i++) {
        if (h->bytes[i] < 32 && !strchr("\t\r\n", h->bytes[i])) return false;
        if (h->bytes[i] == 0) return false;
        separated = separated || strchr(",;\t", h->bytes[i]);
    }
    return separated;
}

#define FROM_TORCH                                                                       \
    "in Python: safetensors.torch.save_file(model.state_dict(), 'm.safetensors'); then " \
    "elegans convert m.safetensors --config arguments.json -o OUT.safetensors"
#define FROM_WEIGHTS "convert the weights it was made from: elegans help convert"

static const struct {
    const char *what;
    bool (*is)(const head *h); /* or */
    const char *ends[4];       /* how its name ends */
    const char *way;
} kinds[] = {
    {"a PyTorch file (pickled, not opened)", is_torch, {".pt", ".pth", ".ckpt"}, FROM_TORCH},
    {"a Python pickle (could run code, not opened)", is_pickle, {".pkl", ".pickle"}, FROM_TORCH},
    {"a Keras file",
     is_keras,
     {".h5", ".keras", ".hdf5"},
     "in Python: numpy.savez('m.npz', **arrays) of its weights; then elegans convert m.npz --config "
     "arguments.json -o OUT.safetensors"},
    {"an ONNX graph", NULL, {".onnx"}, FROM_WEIGHTS},
    {"a TensorFlow Lite file", is_tflite, {".tflite"}, FROM_WEIGHTS},
    {"a TensorFlow graph", NULL, {".pb"}, FROM_WEIGHTS},
    {"a Core ML file", NULL, {".mlmodel", ".mlpackage", ".mlmodelc"}, FROM_WEIGHTS},
    {"an array, not a model", is_npy, {".npy"}, "elegans run MODEL --input takes it"},
    {"a database of profiles", is_sqlite, {".db", ".sqlite"}, "elegans history reads it"},
    {"JSON, which holds no weights",
     is_json,
     {".json"},
     "elegans convert WEIGHTS --config takes an architecture, elegans train a configuration"},
    {"a table, not a model",
     is_text,
     {".csv", ".tsv"},
     "elegans train --data learns from it, elegans run MODEL --input runs a model over it"},
};

eg_status eg__foreign_check(const char *path, eg_error *error) {
    head h = {.size = 0};
    eg__source source;
    if (eg__source_open(&source, path, NULL)) return EG_OK;
    h.size = source.size < HEAD ? (size_t)source.size : HEAD;
    const bool read = eg__source_read(&source, 0, h.bytes, h.size, NULL) == EG_OK;
    eg__source_close(&source);
    const bool bin = eg__file_ends(path, ".bin");
    if (!read || (bin ? is_llama2c(&h) : is_safetensors(&h))) return EG_OK;
    /* then only what it holds can say otherwise */
    const bool named = bin || eg__file_ends(path, ".safetensors");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        bool is = kinds[i].is && h.size && kinds[i].is(&h);
        for (size_t k = 0; k < 4 && !is && !named && kinds[i].ends[k]; k++)
            is = eg__file_ends(path, kinds[i].ends[k]);
        if (is)
            return eg__fail(error, EG_ERR_UNSUPPORTED, "'%.40s' is %s; %s", path, kinds[i].what,
                            kinds[i].way);
    }
    return EG_OK;
}
