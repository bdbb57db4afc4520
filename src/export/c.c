/* A compiled program as one C file and its header. */
#include "base/abi.h"
#include "export/c.h"

#include <stdio.h>
#include <string.h>

/* ---- memory sizes, in both files */
static const char *leaf_name(const eg__c_export *x, eg_leaf_kind kind, size_t index) {
    const eg_program *p = x->program;
    if (kind == EG_LEAF_STATE) return x->names[index];
    if (kind == EG_LEAF_INPUT) return x->names[p->states.count + index];
    return x->names[p->states.count + p->inputs.count + index];
}

static void write_leaves(eg__c_export *x, eg_leaf_kind kind, const char *what) {
    eg_tensor tensor;
    for (size_t i = 0; eg_program_leaf(x->program, kind, i, &tensor); i++) {
        char shape[EG__C_TEXT] = "";
        for (unsigned axis = 0; axis < tensor.rank; axis++)
            eg__c_add(shape, "%s%llu", axis ? ", " : "", (unsigned long long)tensor.shape[axis]);
        eg__c_line(x, " *   %-6s  %-20s %s [%s]", what, leaf_name(x, kind, i),
                   eg_type_name(tensor.type), shape);
    }
}

static void write_comment(eg__c_export *x) {
    const eg_export_info *info = &x->info;
    eg__c_line(x, "/* %s, a compiled program as C99: made by elegans %s.", x->name, eg_version());
    eg__c_line(x, " *");
    write_leaves(x, EG_LEAF_INPUT, "input");
    write_leaves(x, EG_LEAF_OUTPUT, "output");
    write_leaves(x, EG_LEAF_STATE, "state");
    eg__c_line(x, " *");
    if (x->describe) x->describe(x, x->described);
    eg__c_line(x,
               " * Memory: %llu bytes of constant weights; the struct has %llu bytes of states and",
               (unsigned long long)info->weight_bytes, (unsigned long long)info->state_bytes);
    eg__c_line(x, " * %llu of working memory. */", (unsigned long long)info->arena_bytes);
}

/* ---- functions */
static void write_argument(eg__c_export *x, char line[EG__C_TEXT], eg_leaf_kind kind, size_t i) {
    eg_tensor tensor;
    char argument[EG__C_TEXT] = "";
    eg_program_leaf(x->program, kind, i, &tensor);
    eg__c_add(argument, "%s%s *%s", kind == EG_LEAF_INPUT ? "const " : "",
              tensor.type == EG_I32 ? "int32_t" : "float", leaf_name(x, kind, i));
    eg__c_add(line, ",");
    if (strlen(line) + strlen(argument) > 94) {
        eg__c_line(x, "%s", line);
        strcpy(line, "   ");
    }
    eg__c_add(line, " %s", argument);
}

static void write_prototype(eg__c_export *x, const char *end) {
    char line[EG__C_TEXT] = "";
    eg__c_add(line, "void %s_step(%s *self", x->name, x->name);
    for (size_t i = 0; i < x->program->inputs.count; i++) write_argument(x, line, EG_LEAF_INPUT, i);
    for (size_t i = 0; i < x->program->outputs.count; i++)
        write_argument(x, line, EG_LEAF_OUTPUT, i);
    eg__c_line(x, "%s)%s", line, end);
}

static bool has_integers(const eg__c_export *x) {
    for (size_t i = 0; i < x->program->inputs.count; i++)
        if (x->program->inputs.list[i].type == EG_I32) return true;
    for (size_t i = 0; i < x->program->outputs.count; i++)
        if (x->program->outputs.list[i].type == EG_I32) return true;
    return eg__c_needs_integers(x);
}

static void write_header(eg__c_export *x) {
    const eg_program *p = x->program;
    char guard[EG__C_NAME];
    snprintf(guard, sizeof guard, "%s_H", x->name);
    for (char *c = guard; *c; c++)
        if (*c >= 'a' && *c <= 'z') *c = (char)(*c - 'a' + 'A');
    write_comment(x);
    eg__c_line(x, "#ifndef %s", guard);
    eg__c_line(x, "#define %s\n", guard);
    if (has_integers(x)) eg__c_line(x, "#include <stdint.h>\n");
    eg__c_line(x, "#ifdef __cplusplus\nextern \"C\" {\n#endif\n");
    eg__c_open(x, "typedef struct %s", x->name);
    for (size_t i = 0; i < p->states.count; i++)
        eg__c_line(x, "float %s[%zu];", leaf_name(x, EG_LEAF_STATE, i),
                   eg__max(p->states.list[i].elements, 1));
    if (x->info.arena_bytes)
        eg__c_line(x, "float arena[%zu]; /* means nothing between steps */",
                   (size_t)x->info.arena_bytes / sizeof(float));
    if (!p->states.count && !x->info.arena_bytes) eg__c_line(x, "char unused;");
    x->indent--;
    eg__c_line(x, "} %s;\n", x->name);
    eg__c_line(x, "void %s_init(%s *self);  /* before the first step */", x->name, x->name);
    eg__c_line(x, "void %s_reset(%s *self); /* states to zero */", x->name, x->name);
    eg__c_line(x, "/* No output may overlap an input, another output or *self. */");
    write_prototype(x, ";");
    eg__c_line(x, "\n#ifdef __cplusplus\n}\n#endif\n#endif");
}

static void write_functions(eg__c_export *x) {
    const eg_program *p = x->program;
    eg__c_put(x, "\n");
    eg__c_line(x, "void %s_init(%s *self) { memset(self, 0, sizeof *self); }\n", x->name, x->name);
    eg__c_open(x, "void %s_reset(%s *self)", x->name, x->name);
    for (size_t i = 0; i < p->states.count; i++) {
        const char *name = leaf_name(x, EG_LEAF_STATE, i);
        eg__c_line(x, "memset(self->%s, 0, sizeof self->%s);", name, name);
    }
    if (!p->states.count) eg__c_line(x, "(void)self;");
    eg__c_close(x);
    eg__c_put(x, "\n");
    write_prototype(x, " {");
    x->indent++;
    if (x->info.arena_bytes) eg__c_line(x, "float *const arena = self->arena;");
    else eg__c_line(x, "(void)self;");
    for (size_t i = 0; i < p->inputs.count + p->outputs.count; i++)
        if (!x->used[i]) eg__c_line(x, "(void)%s;", x->names[p->states.count + i]);
    eg__c_write_steps(x);
    eg__c_close(x);
}

/* ---- files */
typedef void part(eg__c_export *x);

static void write_source(eg__c_export *x) {
    write_comment(x);
    eg__c_line(x, "#include \"%s.h\"\n", x->name);
    eg__c_line(x, "#include <math.h>");
    if (has_integers(x)) eg__c_line(x, "#include <stdint.h>");
    eg__c_line(x, "#include <string.h>\n");
    eg__c_write_data(x);
    const uint64_t before = x->lines;
    eg__c_write_functions(x);
    write_functions(x);
    x->info.code_lines = x->lines - before;
}

static eg_status begin(eg__c_export *x, eg__writer *writer, const char *directory, char type,
                       part *write) {
    char path[EG__PATH_SIZE];
    const int length = snprintf(path, sizeof path, "%s/%s.%c", directory, x->name, type);
    if (length < 0 || (size_t)length >= sizeof path)
        return eg__fail(x->error, EG_ERR_FILE, "the path of %d bytes is too long", length);
    x->status = eg__writer_begin(writer, path, x->error);
    if (x->status) return x->status;
    x->writer = writer;
    write(x);
    if (x->status) eg__writer_abort(writer);
    return x->status;
}

static eg_status write_files(eg__c_export *x, const char *directory, eg__writer files[2]) {
    eg_status status = begin(x, &files[0], directory, 'c', write_source);
    if (status) return status;
    status = begin(x, &files[1], directory, 'h', write_header);
    if (status) {
        eg__writer_abort(&files[0]);
        return status;
    }
    status = eg__writer_commit(&files[1], x->error); /* a header alone is harmless */
    return eg__writer_end(&files[0], status, x->error);
}

/* ---- weights */
static eg_status export_with(eg__c_export *x, eg_weights *weights, const char *directory) {
    const eg_program *p = x->program;
    eg__memory *memory = p->memory;
    eg__derived *derived;
    if (weights) {
        eg_status status = eg__weights_attach(weights, x->program, &derived, x->error);
        if (status) return status;
        x->data[EG__SPACE_PARAMETERS] = (const float *)(const void *)weights->data;
        x->data[EG__SPACE_DERIVED] = (const float *)(const void *)derived->data;
    }
    x->data[EG__SPACE_CONSTANTS] = (const float *)(const void *)p->constants;
    const size_t bound = p->inputs.count + p->outputs.count;
    /* an operand is one array, or four of quantized numbers */
    const size_t names = bound + p->states.count + 4 * p->operand_count;
    eg_error reason = {EG_ERR_MEMORY, ""};
    eg__writer *files = eg__memory_take_array(memory, EG_TAG_FILE, 2, sizeof *files, &reason);
    x->ranges = eg__memory_take_array(memory, EG_TAG_FILE, p->operand_count + 1, sizeof *x->ranges,
                                      &reason);
    x->names = eg__memory_take_array(memory, EG_TAG_FILE, names + 1, sizeof *x->names, &reason);
    x->used = eg__memory_take_array(memory, EG_TAG_FILE, bound + 1, sizeof *x->used, &reason);
    if (!files || !x->ranges || !x->names || !x->used)
        x->status = eg__fail(x->error, reason.status, "%s", reason.message);
    else eg__c_collect(x);
    if (!x->status) x->status = write_files(x, directory, files);
    eg__memory_give(memory, files);
    eg__memory_give(memory, x->ranges);
    eg__memory_give(memory, x->names);
    eg__memory_give(memory, x->used);
    return x->status;
}

/* Steps that have no C form. */
static eg_status check_leaves(const eg_program *program, eg_error *error) {
    for (size_t i = 0; i < program->inputs.count; i++)
        if (program->inputs.list[i].type != EG_F32 && program->inputs.list[i].type != EG_I32)
            return eg__fail(error, EG_ERR_UNSUPPORTED, "no C for the input '%.100s' of type '%s'",
                            program->inputs.list[i].name,
                            eg_type_name(program->inputs.list[i].type));
    for (size_t i = 0; i < program->states.count; i++)
        if (!program->states.list[i].cached && program->states.list[i].type != EG_F32)
            return eg__fail(error, EG_ERR_UNSUPPORTED, "no C for the state '%.100s' of type '%s'",
                            program->states.list[i].name,
                            eg_type_name(program->states.list[i].type));
    for (size_t i = 0; i < program->inputs.count; i++)
        if (program->inputs.list[i].updated)
            return eg__fail(error, EG_ERR_UNSUPPORTED,
                            "no C for the input '%.100s', which is written to",
                            program->inputs.list[i].name);
    return EG_OK;
}

eg_status eg__export_c(eg_program *program, eg_weights *weights, const char *directory,
                       const char *name, eg__c_describe *describe, const void *user,
                       eg_export_info *info, eg_error *error) {
    if (!program || !directory || !name)
        return eg__fail(error, EG_ERR_ARGUMENT, "no program, folder or name");
    const char *fault = eg__c_name_fault(name);
    if (fault)
        return eg__fail(error, EG_ERR_ARGUMENT, "'%.60s' is not a C name: %s; try 'my_model'", name,
                        fault);
    if (!weights && program->parameters.count)
        return eg__fail(error, EG_ERR_ARGUMENT, "a program with %zu parameters needs weights",
                        program->parameters.count);
    eg_status status = check_leaves(program, error);
    if (status) return status;
    for (size_t i = 0; i < program->step_count; i++)
        if (eg__c_row(&program->steps[i])->reads_infile &&
            eg__c_row(&program->steps[i])->reads_infile(&program->steps[i]))
            return eg__fail(error, EG_ERR_UNSUPPORTED, "no C for a step '%s' on weights in a file",
                            program->steps[i].name);
    for (size_t i = 0; i < program->states.count; i++)
        if (program->states.list[i].cached)
            return eg__fail(error, EG_ERR_UNSUPPORTED, "no C for cache '%s' yet",
                            program->states.list[i].name);
    eg_weights *own = NULL; /* of constants that are prepared */
    if (!weights && program->prologue_count) {
        status = eg_weights_create(program, &own, error);
        weights = own;
    }
    if (status) return status;
    eg__c_export x = {
        .program = program, .name = name, .describe = describe, .described = user, .error = error};
    if (weights && __atomic_add_fetch(&weights->users, 1, __ATOMIC_ACQUIRE) <= 0)
        status = eg__fail(error, EG_ERR_BUSY, "the weights are being changed");
    else status = export_with(&x, weights, directory);
    if (weights) __atomic_sub_fetch(&weights->users, 1, __ATOMIC_RELEASE);
    eg_weights_destroy(own);
    if (!status && info) EG__INFO(eg_export_info, info, &x.info);
    return status;
}

eg_status eg_export_c(eg_program *program, eg_weights *weights, const char *directory,
                      const char *name, eg_export_info *info, eg_error *error) {
    return eg__export_c(program, weights, directory, name, NULL, NULL, info, error);
}
