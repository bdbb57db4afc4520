/* What all files of transformers have in common. */
#include "formats/models/transformer.h"

bool eg__hugging_is(const eg__head *head) { return eg__head_holds(head, "config.json"); }

eg_status eg__transformer_place(eg_model *model, size_t index, const eg__file_tensor *tensor,
                                eg_error *error) {
    eg__parameter *p = &model->parameters[index];
    bool same = tensor->rank == p->rank;
    for (unsigned i = 0; same && i < p->rank; i++) same = tensor->shape[i] == p->shape[i];
    if (!same)
        return eg__fail(error, EG_ERR_FORMAT,
                        "tensor '%.80s' is %llu x %llu, the architecture says %llu x %llu",
                        tensor->name, (unsigned long long)(tensor->rank ? tensor->shape[0] : 1),
                        (unsigned long long)(tensor->rank > 1 ? tensor->shape[1] : 1),
                        (unsigned long long)p->shape[0],
                        (unsigned long long)(p->rank > 1 ? p->shape[1] : 1));
    /* C must not load a float from an odd address; files that say so themselves may have one */
    if ((uintptr_t)tensor->data % eg__infile_traits_of(tensor->format)->alignment)
        return eg__fail(error, EG_ERR_UNSUPPORTED, "tensor '%.80s' begins at an odd address",
                        tensor->name);
    p->file.data = tensor->data;
    p->file.format = tensor->format;
    return EG_OK;
}
