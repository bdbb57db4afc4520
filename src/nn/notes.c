/* Notes that a model carries: lists of texts under a key, such as the names of its inputs. */
#include "nn/model.h"

#include <string.h>

static eg__note *find(const eg_model *model, const char *key) {
    for (size_t i = 0; i < model->note_count; i++)
        if (strcmp(model->notes[i]->key, key) == 0) return model->notes[i];
    return NULL;
}

/* A note is one block: the list, the key, the texts. */
static eg__note *make(eg__memory *memory, const char *key, size_t count, const char *const *texts,
                      eg_error *reason) {
    size_t size = sizeof(eg__note), list = 0;
    bool fits = eg__size_mul(count, sizeof(char *), &list) && eg__size_add(size, list, &size) &&
                eg__size_add(size, strlen(key) + 1, &size);
    for (size_t i = 0; fits && i < count; i++)
        fits = eg__size_add(size, strlen(texts[i]) + 1, &size);
    eg__note *note = fits ? eg__memory_take_zeroed(memory, EG_TAG_WEIGHTS, size, reason) : NULL;
    if (!note) return NULL;
    char *to = (char *)note + sizeof *note + list;
    const char **place = (const char **)(note + 1);
    note->key = strcpy(to, key);
    note->count = count;
    note->texts = place;
    to += strlen(key) + 1;
    for (size_t i = 0; i < count; i++) {
        place[i] = strcpy(to, texts[i]);
        to += strlen(texts[i]) + 1;
    }
    return note;
}

eg_status eg_model_note_set(eg_model *model, const char *key, size_t count,
                            const char *const *texts, eg_error *error) {
    if (!model || !key || !*key || (count && !texts))
        return eg__fail(error, EG_ERR_ARGUMENT, "note: no model, key or texts");
    eg_error reason = {EG_ERR_MEMORY, "no memory for a note"};
    eg__note *old = find(model, key), *note = NULL;
    if (!old && count && model->note_count == EG__NOTES_MAX)
        return eg__fail(error, EG_ERR_UNSUPPORTED, "more than %d notes", EG__NOTES_MAX);
    if (count) {
        note = make(model->memory, key, count, texts, &reason);
        if (!note) return eg__fail(error, reason.status, "%s", reason.message);
    }
    size_t at = model->note_count;
    for (size_t i = 0; old && i < model->note_count; i++)
        if (model->notes[i] == old) at = i;
    if (note) {
        model->notes[at] = note;
        model->note_count += !old;
    } else if (old) {
        model->note_count--;
        memmove(model->notes + at, model->notes + at + 1,
                (model->note_count - at) * sizeof *model->notes);
    }
    eg__memory_give(model->memory, old);
    return EG_OK;
}

const char *eg_model_note(const eg_model *model, const char *key, size_t index) {
    const eg__note *note = find(model, key);
    return note && index < note->count ? note->texts[index] : NULL;
}

const char *eg_model_note_key(const eg_model *model, size_t index) {
    return index < model->note_count ? model->notes[index]->key : NULL;
}
