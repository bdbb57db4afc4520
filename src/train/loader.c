/* A ring of batches between a thread that fills them and the one that learns from them. */
#include "train/loader.h"

#include <pthread.h>

struct eg__loader {
    eg_trainer *trainer;
    const eg_data *data;
    eg_scaling units;
    eg_train_batch ring[EG__LOADER_BATCHES];
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t filled, emptied;
    bool started, ending;
    const uint32_t *order;
    uint64_t windows, last; /* of this epoch; the number of its batches */
    uint64_t fill, use;     /* indices of the next batch to be filled and to be used */
    bool in_use;            /* the batch before `use` is still in use */
};

static void fill(eg__loader *l, uint64_t number) {
    const eg_train_options *o = &l->trainer->options;
    eg_train_batch *batch = &l->ring[number % EG__LOADER_BATCHES];
    for (uint64_t i = 0; i < o->batch; i++) {
        const uint64_t at = number * o->batch + i;
        const uint64_t window = at >= l->windows ? UINT64_MAX : l->order ? l->order[at] : at;
        eg_data_fill(l->data, &l->units, window, o->batch, o->time, i, batch);
    }
}

/* One batch of the ring may be in use. */
static bool has_room(const eg__loader *l) {
    return l->fill < l->last && l->fill + l->in_use < l->use + EG__LOADER_BATCHES;
}

static void *work(void *user) {
    eg__loader *l = user;
    pthread_mutex_lock(&l->lock);
    while (!l->ending) {
        if (!has_room(l)) {
            pthread_cond_wait(&l->emptied, &l->lock);
            continue;
        }
        const uint64_t number = l->fill;
        pthread_mutex_unlock(&l->lock);
        fill(l, number);
        pthread_mutex_lock(&l->lock);
        l->fill++;
        pthread_cond_signal(&l->filled);
    }
    pthread_mutex_unlock(&l->lock);
    return NULL;
}

eg_status eg__loader_start(eg_trainer *trainer, const eg_data *data, eg__loader **out,
                           eg_error *error) {
    eg_error reason = {EG_ERR_MEMORY, ""};
    *out = NULL;
    eg__loader *l = eg__memory_take_zeroed(trainer->memory, EG_TAG_PROGRAM, sizeof *l, &reason);
    if (!l) return eg__fail(error, reason.status, "%s", reason.message);
    l->trainer = trainer;
    l->data = data;
    eg_model_scaling_get(trainer->model, &l->units);
    eg_status status = EG_OK;
    for (unsigned i = 0; !status && i < EG__LOADER_BATCHES; i++)
        status = eg_trainer_batch_create(trainer, &l->ring[i], error);
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->filled, NULL);
    pthread_cond_init(&l->emptied, NULL);
    if (!status && pthread_create(&l->thread, NULL, work, l))
        status = eg__fail(error, EG_ERR_SYSTEM, "no thread to load data");
    else if (!status) l->started = true;
    if (status) eg__loader_stop(l);
    else *out = l;
    return status;
}

void eg__loader_stop(eg__loader *l) {
    if (!l) return;
    pthread_mutex_lock(&l->lock);
    l->ending = true;
    pthread_cond_signal(&l->emptied);
    pthread_mutex_unlock(&l->lock);
    if (l->started) pthread_join(l->thread, NULL);
    pthread_mutex_destroy(&l->lock);
    pthread_cond_destroy(&l->filled);
    pthread_cond_destroy(&l->emptied);
    eg_trainer *t = l->trainer;
    eg_trainer_use(t, NULL, NULL);
    for (unsigned i = 0; i < EG__LOADER_BATCHES; i++)
        if (l->ring[i].x) eg_trainer_batch_destroy(t, &l->ring[i]);
    eg__memory_give(t->memory, l);
}

void eg__loader_begin(eg__loader *l, const uint32_t *order, uint64_t count, uint64_t first) {
    const uint64_t batch = l->trainer->options.batch;
    pthread_mutex_lock(&l->lock);
    l->order = order;
    l->windows = count;
    l->last = count / batch + (count % batch != 0);
    l->fill = l->use = first;
    l->in_use = false;
    pthread_cond_signal(&l->emptied);
    pthread_mutex_unlock(&l->lock);
}

const eg_train_batch *eg__loader_next(eg__loader *l) {
    const eg_train_batch *batch = NULL;
    pthread_mutex_lock(&l->lock);
    l->in_use = l->use < l->last;
    if (l->in_use) {
        while (l->fill == l->use) pthread_cond_wait(&l->filled, &l->lock);
        batch = &l->ring[l->use++ % EG__LOADER_BATCHES];
        /* waking a thread costs as much as a small batch, so it is woken for half a ring at once */
        if (l->fill + EG__LOADER_BATCHES / 2 <= l->use + EG__LOADER_BATCHES)
            pthread_cond_signal(&l->emptied);
    }
    pthread_mutex_unlock(&l->lock);
    return batch;
}
