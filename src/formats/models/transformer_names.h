/* Names of a transformer's tensors in folders of Hugging Face. */
#ifndef EG__TRANSFORMER_NAMES_H
#define EG__TRANSFORMER_NAMES_H

#include "nn/transformer.h"

typedef struct eg__hugging_name {
    char name[160];
    bool turned; /* inputs by outputs */
} eg__hugging_name;
/* What may stand before all names: "model.", "transformer.", "bert.". */
const char *eg__hugging_prefix(eg__family family);
/* "lm_head.weight": without it the output is the embedding. NULL = config.json alone tells. */
const char *eg__hugging_head(eg__family family);
bool eg__hugging_transposes(eg__family family); /* some matrices are inputs by outputs */
/* The name there of our "blk.3.attn_q.weight", without a prefix; `way` counts the names it may have. False =
 * there is no other. */
bool eg__hugging_name_get(eg__family family, const char *name, unsigned way, eg__hugging_name *out);

#endif
