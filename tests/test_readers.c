/* The table of readers: every row recognises its format, and no other one does. */
#include "test.h"
#include "test_formats.h"
#include "elegans/elegans.h"
#include "formats/models/readers.h"

AREA(readers, "each format of models is recognised by its own row of readers.def")

/* A fixture, or bytes; one or more for each row. */
static const struct {
    const char *what, *file, *bytes;
    size_t size;
} cases[] = {
    {"a GGUF file", "fixtures/transformers/llama.gguf", NULL, 0},
    {"a GGUF file", "fixtures/transformers/bert.gguf", NULL, 0},
    {"a GGUF file", "fixtures/transformers/gpt2.gguf", NULL, 0},
    {"a checkpoint of llama2.c", "fixtures/transformers/llama.bin", NULL, 0},
    {"a checkpoint of llama2.c", "later", "24ka\1\0\0\0\2\1\1\1", 12},
    {"a safetensors file", "fixtures/transformers/gpt2/model.safetensors", NULL, 0},
    {"an archive of arrays", "fixtures/transformers/gpt2/expected.npz", NULL, 0},
    {"a folder of Hugging Face", "fixtures/transformers/bert", NULL, 0},
    {"a PyTorch file (pickled, not opened)", "m", "PK\3\4aaaaaaaaarchive/data.pkl", 29},
    {"a Python pickle (could run code, not opened)", "m", "\x80\x02}", 3},
    {"a Keras file", "m", "\x89HDF\r\n\x1a\n....", 12},
    {"a TensorFlow Lite file", "m", "....TFL3", 8},
    {"an array, not a model", "fixtures/npy/f32_2x3.npy", NULL, 0},
    {"a database of profiles", "m", "SQLite format 3\0", 16},
    {"JSON, which holds no weights", "fixtures/transformers/bert/config.json", NULL, 0},
    {"a table, not a model", "m", "a,b\n1,2\n", 8},
};
enum { CASES = sizeof cases / sizeof *cases };

static void head_of(size_t i, eg__head *head) {
    if (cases[i].bytes) {
        eg__head_of_bytes(head, cases[i].bytes, cases[i].size);
        head->path = cases[i].file;
    } else eg__head_read(head, test_path(cases[i].file));
}

TEST(readers, each_its_own) {
    for (size_t i = 0; i < CASES; i++) {
        eg__head head;
        const eg__reader *reader;
        head_of(i, &head);
        CHECK(!head.unreadable, "cannot read %s", cases[i].file);
        for (size_t k = 0; (reader = eg__reader_at(k)); k++) {
            const bool own = strcmp(reader->what, cases[i].what) == 0;
            const bool is = reader->is && reader->is(&head);
            CHECK(is == own, "case %zu, %s: %s to be %s", i, cases[i].file,
                  is ? "seems" : "does not seem", reader->what);
        }
        CHECK(strcmp(eg__reader_find(&head)->what, cases[i].what) == 0, "case %zu is %s", i,
              eg__reader_find(&head)->what);
    }
}

/* A row without a case above would not be tested: give it one. */
TEST(readers, all_rows) {
    const eg__reader *reader;
    unsigned files = 0, folders = 0;
    for (size_t k = 0; (reader = eg__reader_at(k)); k++) {
        size_t found = 0;
        for (size_t i = 0; i < CASES; i++) found += strcmp(cases[i].what, reader->what) == 0;
        eg__head package = {.path = "m.mlpackage", .is_folder = true};
        found += reader->is && reader->is(&package);
        CHECK(!reader->is || found, "no case for %s", reader->what);
        CHECK(!!reader->open + !!reader->load + !!reader->way == 1, "%s has not one way to go on",
              reader->what);
        CHECK(reader->is || reader->ends[0], "nothing tells %s", reader->what);
        files += reader->rest == EG__REST_FILE;
        folders += reader->rest == EG__REST_FOLDER;
    }
    CHECK(files == 1 && folders == 1, "%u rows for all other files, %u for folders", files,
          folders);
}

/* Bytes that nobody knows: the name tells. Bytes that somebody knows: it does not. */
TEST(readers, names) {
    const eg__reader *reader;
    for (size_t k = 0; (reader = eg__reader_at(k)); k++)
        for (size_t i = 0; i < 4 && reader->ends[i]; i++) {
            char name[64];
            eg__head head;
            snprintf(name, sizeof name, "model%s", reader->ends[i]);
            eg__head_of_bytes(&head, "\1\2\3\4", 4);
            head.path = name;
            CHECK(eg__reader_find(&head) == reader, "'%s' is %s, not %s", name,
                  eg__reader_find(&head)->what, reader->what);
            eg__head_of_bytes(&head, "GGUF\3\0\0\0", 8);
            head.path = name;
            CHECK(strcmp(eg__reader_find(&head)->what, "a GGUF file") == 0, "'%s' is %s", name,
                  eg__reader_find(&head)->what);
            head = (eg__head){.path = name, .unreadable = true};
            CHECK(!eg__reader_find(&head)->way, "'%s' is not there and is %s", name,
                  eg__reader_find(&head)->what);
        }
}

/* Files under another name than their own are opened all the same. */
TEST(readers, other_names) {
    static const struct {
        const char *file, *name;
    } rows[] = {{"fixtures/transformers/llama.gguf", "gguf.bin"},
                {"fixtures/transformers/llama.bin", "checkpoint.bin"}};
    eg_context *context = NULL;
    eg_error error = {0};
    CHECK_OK(eg_context_create(&(eg_context_options){.threads = 1}, &context, &error), error);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t length;
        unsigned char *bytes = test_file(rows[i].file, &length);
        const char *path = test_join(test_folder(), rows[i].name);
        test_file_write(path, bytes, length);
        eg_model *model = NULL;
        CHECK_OK(eg_model_open(context, path, &model, &error), error);
        eg_model_destroy(model);
        CHECK_FAILS(eg_model_load(context, path, "{}", &model, &error), error, EG_ERR_UNSUPPORTED,
                    "has its own architecture");
        remove(path);
        free(bytes);
    }
    eg_context_destroy(context);
}
