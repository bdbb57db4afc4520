/* A training and an evaluation that report themselves: costs of a step, how far they are. */
#include "train/publish.h"

static void add(const eg_program *program, double times, double *flops, double *bytes) {
    eg_program_info info = {.size = sizeof info};
    if (!program || !(times > 0)) return;
    eg_program_info_get(program, &info);
    *flops += times * info.flops;
    *bytes += times * info.bytes;
}

void eg__publish_update_cost(eg_publisher *publisher, const eg_trainer *t, uint64_t accumulate) {
    double flops = 0, bytes = 0;
    const double gradients = (double)accumulate;
    add(t->program, gradients, &flops, &bytes);
    add(t->update.programs[EG_TRAIN_SUM], accumulate > 1 ? gradients : 0, &flops, &bytes);
    add(t->update.programs[EG_TRAIN_NORM], 1, &flops, &bytes);
    add(t->update.programs[EG_TRAIN_UPDATE], 1, &flops, &bytes);
    eg_publisher_cost(publisher, flops, bytes);
}

void eg__publish_forward_cost(eg_publisher *publisher, const eg_trainer *t) {
    double flops = 0, bytes = 0;
    add(t->forward, 1, &flops, &bytes);
    eg_publisher_cost(publisher, flops, bytes);
}

void eg__publish_progress(eg_publisher *publisher, const eg_fit_progress *now) {
    const eg_training_report report = {.size = sizeof report,
                                       .epoch = now->epoch,
                                       .epochs = now->epochs,
                                       .step = now->steps,
                                       .loss = now->loss,
                                       .validation = now->validation,
                                       .learning_rate = now->rate,
                                       .gradient_norm = now->gradient_norm,
                                       .seconds_left = now->seconds_left};
    if (now->event != EG_FIT_CHECKPOINT) eg_publisher_train(publisher, &report, NULL);
}
