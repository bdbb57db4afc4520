/* Files of other programs that are given as a model. */
#include "test.h"
#include "test_formats.h"
#include "elegans/elegans.h"
#include "formats/models/readers.h"

AREA(foreign, "files of other programs given as a model are told what they are")

static const struct {
    const char *file, *bytes;
    size_t size;
    const char *part; /* of the message; NULL = not known to be something else */
} cases[] = {
    {"a.pt", "PK\3\4aaaaaaaaarchive/data.pkl", 29, "a PyTorch file"},
    {"a.safetensors", "PK\3\4aaaaaaaaarchive/data.pkl", 29, "a PyTorch file"},
    {"pytorch_model.bin", "PK\3\4aaaaaaaaarchive/data.pkl", 29, "a PyTorch file"},
    {"p.bin", "\x80\x04\x95\0\0\0\0\0\0\0\0}aaaaaaaaaaaaaaaa.", 29, "a Python pickle"},
    {"short.bin", "\x80\x02}", 3, "a Python pickle"},
    {"h.bin", "\x89HDF\r\n\x1a\n....", 12, "a Keras file"},
    {"t.bin", "a,b\n1,2\n", 8, "a table"},
    {"old.pth", "x", 1, "save_file(model.state_dict()"},
    {"a.pkl", "\x80\x04\x95", 3, "a Python pickle"},
    {"m", "\x80\x02}", 3, "a Python pickle"},
    {"m.h5", "\x89HDF\r\n\x1a\n....", 12, "a Keras file"},
    {"m.onnx", "\x08\x07", 2, "an ONNX graph"},
    {"m.tflite", "....TFL3", 8, "TensorFlow Lite"},
    {"m.pb", "\x0a\x07", 2, "a TensorFlow graph"},
    {"m.mlmodel", "\x08\x01", 2, "Core ML"},
    {"x.npy", "\x93NUMPY\1\0", 8, "an array"},
    {"h.db", "SQLite format 3\0", 16, "a database"},
    {"c.json", " {\"a\": 1}", 9, "JSON"},
    {"t.csv", "a,b\n1,2\n", 8, "elegans train --data"},
    {"t", "a;b\n1;2\n", 8, "a table"},
    {"empty.csv", "", 0, "a table"},
    /* lengths of a header that begin as other formats do */
    {"p.safetensors", "\x80\x02\0\0\0\0\0\0{\"a\":{}}", 16, NULL},
    {"j.safetensors", "{\0\0\0\0\0\0\0{\"a\":{}}", 16, NULL},
    {"n", "\x93NU\0\0\0\0\0{}", 10, NULL},
    /* checkpoints of llama2.c whose width is 640, 123, 31520 */
    {"w.bin", "\x80\2\0\0\1\0\0\0\1\0\0\0\1\0\0\0\1\0\0\0\377\377\377\377\1\0\0\0", 28, NULL},
    {"j.bin", "{\0\0\0\1\0\0\0\1\0\0\0\1\0\0\0\1\0\0\0\1\0\0\0\1\0\0\0", 28, NULL},
    {"b.bin", " {\0\0\1\0\0\0\1\0\0\0\1\0\0\0\1\0\0\0\1\0\0\0\1\0\0\0", 28, NULL},
    {"m.bin", "24ka\1\0\0\0{\0\0\0", 12, NULL},
    {"later", "\x80\x06\x95", 3, NULL}, /* no pickle that there is */
    {"short.safetensors", "\x80\x02", 2, NULL},
    {"unknown", "\1\2\3\4", 4, NULL},
};

TEST(foreign, kinds) {
    eg_context *context = NULL;
    eg_error error = {0};
    CHECK_OK(eg_context_create(&(eg_context_options){.threads = 1}, &context, &error), error);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s", test_folder(), cases[i].file);
        FILE *file = fopen(path, "wb");
        CHECK(file && fwrite(cases[i].bytes, 1, cases[i].size, file) == cases[i].size, "no %s",
              path);
        if (file) fclose(file);
        eg_model *model = NULL;
        if (cases[i].part)
            CHECK_FAILS(eg_model_open(context, path, &model, &error), error, EG_ERR_UNSUPPORTED,
                        cases[i].part);
        CHECK(!cases[i].part || !strstr(error.message, "..."), "cut: '%s'", error.message);
        eg__head head;
        eg__head_read(&head, path);
        if (!cases[i].part) CHECK_OK(eg__reader_check(eg__reader_find(&head), path, &error), error);
        remove(path);
    }
    eg_model *model = NULL;
    CHECK_FAILS(eg_model_open(context, "/nowhere/m.pt", &model, &error), error, EG_ERR_FILE,
                "cannot open '/nowhere/m.pt'");
    eg_context_destroy(context);
}
