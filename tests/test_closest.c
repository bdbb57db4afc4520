/* The name that was probably meant. */
#include "test.h"

AREA(closest, "typing mistakes find their name, other words find none")

static const char *name_at(void *user, size_t index) { return ((const char *const *)user)[index]; }

TEST(closest, mistakes) {
    static const char *const names[] = {
        "train", "tokenize", "eval", "occupied", "M1 Max", "M2 Max", "--data", "in", "", "t", NULL};
    static const struct {
        const char *word, *meant;
    } cases[] = {{"trian", "train"},
                 {"TRAIN", "train"},
                 {"tran", "train"},
                 {"traini", "train"},
                 {"ocupied", "occupied"},
                 {"tokenise", "tokenize"},
                 {"--dat", "--data"},
                 {"M2 max", "M2 Max"}, /* nearer than M1 Max, which comes first */
                 {"ni", "in"},
                 {"fly", NULL},
                 {"x", NULL},      /* another letter is another word */
                 {"tracks", NULL}, /* three of six letters are others */
                 {"", NULL},
                 {"evaluation of everything", NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *got = eg_closest(cases[i].word, name_at, (void *)(uintptr_t)names);
        const bool same =
            got && cases[i].meant ? !strcmp(got, cases[i].meant) : got == cases[i].meant;
        CHECK(same, "'%s' gives '%s'", cases[i].word, got ? got : "(none)");
    }
    CHECK(!eg_closest(NULL, name_at, (void *)(uintptr_t)names), "no word has a name");
    char word[200];
    memset(word, 'a', sizeof word - 1);
    word[sizeof word - 1] = 0;
    CHECK(!eg_closest(word, name_at, (void *)(uintptr_t)names), "a long word has a name");
}

TEST(closest, end_of_a_message) {
    static const char longest[] =
        "a_column_of_sixty-four_letters_which_is_as_long_as_a_name_may_be";
    static const char *const names[] = {"train", longest, NULL};
    char out[EG_DID_YOU_MEAN_SIZE], word[sizeof longest], whole[EG_DID_YOU_MEAN_SIZE];
    void *user = (void *)(uintptr_t)names;
    CHECK(!strcmp(eg_did_you_mean(out, "trian", name_at, user), "; did you mean 'train'?"), "'%s'",
          out);
    CHECK(!strcmp(eg_did_you_mean(out, "fly", name_at, user), ""), "'%s'", out);
    memcpy(word, longest, sizeof word);
    word[7] = '-';
    snprintf(whole, sizeof whole, "; did you mean '%s'?", longest);
    CHECK(!strcmp(eg_did_you_mean(out, word, name_at, user), whole), "'%s'", out);
}
