/* Tables and data sets of Python, as the functions that train and evaluate see them. */
#ifndef CORE_TRAIN_H
#define CORE_TRAIN_H

#include "core.h"

/* Rows of numbers: an array of Python, or a file that the library has read. */
typedef struct core_table {
    PyObject_HEAD core_context *context;
    eg_table table;
    int is_read;      /* by the library, which takes it back */
    Py_buffer buffer; /* otherwise: the values, */
    int is_buffer;
    PyObject *texts; /* and the memory of names and labels */
    const char **names;
    const char **labels; /* of all columns, one after the other */
    eg_column *kinds;
} core_table;
const core_table *core_table_of(PyObject *object); /* NULL with an exception */

/* A data set, or a part of one. */
typedef struct core_data {
    PyObject_HEAD core_context *context;
    eg_data *data;
    eg_data_options options; /* as it was made; its lists of labels are not kept */
    PyObject *texts;         /* the memory of its texts */
    PyObject *rows;          /* of each table */
} core_data;
const core_data *core_data_of(PyObject *object, const char *name); /* NULL with an exception */

/* A training changes the model: nobody else may use it until core_model_rest. -1 with an exception. */
int core_model_train(PyObject *object);
void core_model_rest(PyObject *object, int is_changed);
/* The same for calls that only read it, without the GIL. */
int core_model_read(PyObject *object);
void core_model_read_end(PyObject *object);

/* One of the names that `name_at` gives, NULL behind the last; the exception lists them. */
int core_choice(PyObject *object, const char *name, const char *(*name_at)(int), int *out);
const char *core_loss_at(int index);
PyObject *core_number_or_none(double value); /* None for NaN */

#endif
