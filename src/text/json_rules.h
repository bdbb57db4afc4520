/* The rules of a tokenizer.json: normalizer, pre-tokenizer and post-processor. Only files built
 * with jansson include this. */
#ifndef EG__JSON_RULES_H
#define EG__JSON_RULES_H

#include "formats/files/json_read.h"
#include "text/text.h"

/* Whether a step of this type is there, alone or in a sequence of `list`. */
bool eg__json_has_step(const json_t *step, const char *list, const char *type);
/* Fill the rules of `t`; a step that is not known for its kind is EG_ERR_UNSUPPORTED and named. */
eg_status eg__json_normalizer(eg_tokenizer *t, const json_t *step, eg_error *error);
eg_status eg__json_pre_tokenizer(eg_tokenizer *t, const json_t *step, eg_error *error);
eg_status eg__json_post_processor(eg_tokenizer *t, const json_t *step, eg_error *error);

static inline bool eg__json_flag(const json_t *object, const char *key, bool otherwise) {
    const json_t *value = json_object_get(object, key);
    return json_is_boolean(value) ? json_boolean_value(value) : otherwise;
}
/* The text of a key; "" = there is none. */
static inline const char *eg__json_text(const json_t *object, const char *key) {
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

#endif
