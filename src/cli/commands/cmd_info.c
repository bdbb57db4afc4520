/* elegans info: the machine, its ceilings, the kernels that would run on it. */
#include "cli/cli.h"

#include <string.h>

/* ---- text */

static void print_cores(const eg_chip *chip) {
    char value[160], note[96];
    snprintf(note, sizeof note, "counted, %s", chip->topology_source);
    for (unsigned i = 0; i < chip->kind_count; i++) {
        const eg_core_kind *kind = &chip->kinds[i];
        int at = snprintf(value, sizeof value, "%u", kind->cores);
        if (chip->kind_count > 1 || strcmp(kind->name, "Core") != 0)
            at += snprintf(value + at, sizeof value - (size_t)at, " %s", kind->name);
        if (kind->threads > kind->cores)
            at += snprintf(value + at, sizeof value - (size_t)at, ", %u threads", kind->threads);
        if (kind->max_mhz > 0)
            snprintf(value + at, sizeof value - (size_t)at, ", up to %.2f GHz",
                     kind->max_mhz / 1000);
        print_row(i ? "" : "cores", value, note);
    }
}

/* "32 KiB L1d, 1 MiB L2 per 4 cores" of each kind, then what all share. */
static void print_caches(const eg_chip *chip) {
    char value[160], note[96], size[32];
    snprintf(note, sizeof note, "counted, %s", chip->topology_source);
    for (unsigned i = 0; i < chip->kind_count; i++) {
        const eg_core_kind *kind = &chip->kinds[i];
        int at = 0;
        if (kind->l1d_bytes)
            at += snprintf(value + at, sizeof value - (size_t)at, "L1 %s",
                           format_bytes(size, kind->l1d_bytes));
        if (kind->l2_bytes)
            at += snprintf(value + at, sizeof value - (size_t)at, "%sL2 %s", at ? ", " : "",
                           format_bytes(size, kind->l2_bytes));
        if (kind->l2_bytes && kind->l2_cores > 1)
            at += snprintf(value + at, sizeof value - (size_t)at, " per %u cores", kind->l2_cores);
        if (i == 0 && chip->l3_bytes)
            at += snprintf(value + at, sizeof value - (size_t)at, ", L3 %s%s",
                           format_bytes(size, chip->l3_bytes), chip->l3_count > 1 ? " each" : "");
        if (!at) snprintf(value, sizeof value, "not told by the system");
        print_row(i ? "" : "caches", value, i ? "" : note);
    }
    if (!chip->slc_bytes) return;
    snprintf(value, sizeof value, "%s at system level", format_bytes(size, chip->slc_bytes));
    print_row("", value, eg_provenance_name(EG_TABLE));
}

static void print_memory(const eg_chip *chip) {
    char value[160], total[32], free_bytes[32];
    if (!chip->memory_bytes) snprintf(value, sizeof value, "not told by the system");
    else if (!chip->memory_available)
        snprintf(value, sizeof value, "%s", format_bytes(total, chip->memory_bytes));
    else
        snprintf(value, sizeof value, "%s, %s available", format_bytes(total, chip->memory_bytes),
                 format_bytes(free_bytes, chip->memory_available));
    if (chip->numa_nodes > 1) {
        size_t at = strlen(value);
        snprintf(value + at, sizeof value - at, ", %u NUMA nodes", chip->numa_nodes);
    }
    print_row("memory", value, "counted, system");
}

/* Words in lines that leave room for the note; the first stands after `name`. */
static void print_words(const char *name, const char *words, const char *note) {
    enum { WIDTH = 54 };
    while (*words) {
        size_t length = strlen(words);
        const char *rest = words + length;
        if (length > WIDTH) {
            length = WIDTH;
            while (length && words[length] != ' ') length--;
            rest = words + length + 1;
        }
        char line[80];
        snprintf(line, sizeof line, "%.*s", (int)length, words);
        print_row(name, line, *rest ? "" : note);
        name = "";
        words = rest;
    }
}

static void words_of_features(const eg_chip *chip, eg_provenance from, char words[400]) {
    words[0] = 0;
    for (unsigned bit = 0; bit < 32; bit++) {
        const char *name = eg_cpu_feature_name(1u << bit);
        if (!(chip->features >> bit & 1) || eg_cpu_feature_provenance(1u << bit) != from) continue;
        if (words[0]) strcat(words, " ");
        strcat(words, name);
    }
}

static void print_features(const eg_chip *chip) {
    char words[400];
    words_of_features(chip, EG_COUNTED, words);
    print_words("features", words[0] ? words : "none that the kernels could use", "counted");
    words_of_features(chip, EG_TABLE, words);
    if (words[0]) print_words("", words, eg_provenance_name(EG_TABLE));
}

static void print_chip(const eg_context *context) {
    const eg_chip *chip = eg_context_chip(context);
    char value[256];
    snprintf(value, sizeof value, "elegans %s", eg_version());
    print_title(chip->name[0] ? chip->name : "unknown chip", value);
    snprintf(value, sizeof value, "%s, %s%s%s", chip->system[0] ? chip->system : "unknown system",
             chip->arch, chip->hypervisor[0] ? ", under " : "", chip->hypervisor);
    printf("%s%s%s\n\n", style_dim(), value, style_end());
    if (chip->model[0]) print_row("machine", chip->model, "");
    print_cores(chip);
    print_caches(chip);
    print_memory(chip);
    print_features(chip);
    if (!chip->in_table) return;
    const eg_chip_row *row = &chip->row;
    char number[32];
    snprintf(value, sizeof value, "confidence: %s",
             row->confidence[0] ? row->confidence : "unknown");
    print_section("Data sheet", value);
    if (row->gpu_tflops > 0) {
        snprintf(value, sizeof value, "%u cores, %s TFLOP/s f32", row->gpu_cores,
                 format_short(number, row->gpu_tflops));
        print_row("gpu", value, "spec");
    }
    if (row->ane_tops > 0) {
        snprintf(value, sizeof value, "%u cores, %s TOPS as advertised", row->ane_cores,
                 format_short(number, row->ane_tops));
        print_row("neural engine", value, "spec");
    }
    if (row->memory_gbs > 0) {
        snprintf(value, sizeof value, "%s GB/s, %s", format_short(number, row->memory_gbs),
                 row->memory_type);
        print_row("memory", value, "spec");
    }
    if (row->matrix_unit[0]) {
        const unsigned generation = eg_chip_amx_generation(row);
        snprintf(number, sizeof number, ", generation %u", generation);
        snprintf(value, sizeof value, "%u x %s%s", row->matrix_units, row->matrix_unit,
                 generation ? number : "");
        print_row("matrix unit", value, eg_provenance_name(EG_TABLE));
    }
}

static void print_pair(const char *name, const eg_metric *one, const eg_metric *all) {
    char value[200], first[32], second[32];
    if (one->provenance == EG_UNAVAILABLE) {
        print_figure(name, one);
        return;
    }
    snprintf(value, sizeof value, "%12s%14s  %s", format_short(first, one->value),
             all->provenance == EG_UNAVAILABLE ? "-" : format_short(second, all->value), one->unit);
    print_row(name, value, eg_provenance_name(one->provenance));
}

static void print_ceilings(const eg_context *context, const eg_ceilings *c) {
    char note[96], value[160], text[96];
    unsigned threads = eg_context_threads(context);
    if (c->from_cache) snprintf(note, sizeof note, "measured earlier on this machine");
    else snprintf(note, sizeof note, "best of many short bursts, %.1f s in all", c->seconds);
    print_section("Ceilings", note);
    snprintf(value, sizeof value, "%12s%8s %u %s", "one core", "all", threads,
             threads == 1 ? "thread" : "threads");
    print_row("", value, "");
    print_pair("f32 FMA", &c->fma_one, &c->fma_all);
    print_pair("read L1", &c->l1_one, &c->l1_all);
    print_pair("read L2", &c->l2_one, &c->l2_all);
    print_pair("read L3", &c->l3_one, &c->l3_all);
    print_pair("read DRAM", &c->dram_one, &c->dram_all);
    print_pair("copy DRAM", &c->copy_one, &c->copy_all);
    if (c->clock.provenance && c->fma_per_cycle.provenance) {
        char flops[32];
        snprintf(value, sizeof value, "%s, %s FLOP per cycle", format_metric(text, &c->clock),
                 format_short(flops, c->fma_per_cycle.value));
        print_row("clock", value, eg_provenance_name(c->clock.provenance));
    }
    print_figure("last cache", &c->last_cache);
    print_figure("launch", &c->launch);
}

/* The kernels of this program run here; which of them would be taken elsewhere, nobody has tried. */
static const char elsewhere[] = "the machine is recorded, and kernels are chosen where they run";

/* Usable kernels before the selected one of their operation are picked for large shapes; and why there are none of AMX
 * on a chip that has it: Apple's or Intel's. */
static void print_large(const eg_context *context) {
    char words[600] = "";
    const char *refusal = NULL;
    const unsigned matrix =
        eg_context_chip(context)->features & (EG_CPU_APPLE_AMX | EG_CPU_AMX_TILE);
    eg_kernel_info info = {.size = sizeof info};
    for (size_t i = 0; i < eg_kernel_count(); i++) {
        if (eg_kernel_list(context, i, &info, NULL)) continue;
        const bool amx = info.features & matrix;
        if (amx && !info.usable) refusal = eg_kernel_refusal(context, i);
        eg_kernel_info later = {.size = sizeof later};
        for (size_t j = i + 1; info.usable && !info.selected && j < eg_kernel_count(); j++)
            if (eg_kernel_list(context, j, &later, NULL) == EG_OK && later.selected &&
                strcmp(later.operation, info.operation) == 0) {
                const size_t at = strlen(words);
                snprintf(words + at, sizeof words - at, "%s%s_%s", at ? " " : "", info.operation,
                         info.isa);
            }
    }
    if (words[0]) print_words("large shapes", words, "");
    if (refusal) print_row("amx", refusal, "not used");
}

/* The selected kernels, by instruction set. */
static void print_kernels(const eg_context *context) {
    char note[96];
    snprintf(note, sizeof note, "%u %s", eg_context_threads(context),
             eg_context_threads(context) == 1 ? "thread" : "threads");
    print_section("Kernels in use", note);
    const size_t count = eg_kernel_count();
    for (size_t i = 0; i < count; i++) {
        eg_kernel_info first = {.size = sizeof first}, info = {.size = sizeof info};
        if (eg_kernel_list(context, i, &first, NULL) || !first.selected) continue;
        bool seen = false;
        for (size_t j = 0; j < i && !seen; j++)
            seen = eg_kernel_list(context, j, &info, NULL) == EG_OK && info.selected &&
                   strcmp(info.isa, first.isa) == 0;
        if (seen) continue;
        char words[600] = "";
        for (size_t j = i; j < count; j++) {
            if (eg_kernel_list(context, j, &info, NULL) || !info.selected ||
                strcmp(info.isa, first.isa) != 0)
                continue;
            size_t at = strlen(words);
            snprintf(words + at, sizeof words - at, "%s%s", at ? " " : "", info.operation);
        }
        print_words(first.isa, words, "");
    }
    print_large(context);
}

/* ---- JSON */

static json *chip_json(const eg_chip *chip) {
    json *object = json_new_object(), *kinds = json_new_list(), *features = json_new_list();
    json_put_text(object, "name", chip->name);
    json_put_text(object, "vendor", chip->vendor);
    json_put_text(object, "model", chip->model);
    json_put_text(object, "system", chip->system);
    json_put_text(object, "arch", chip->arch);
    json_put_text(object, "hypervisor", chip->hypervisor);
    json_put_text(object, "fingerprint", chip->fingerprint);
    const char *source = chip->topology_source;
#define COUNT(target, key, number, unit_text, from)                                               \
    do {                                                                                          \
        eg_metric metric_ = {(double)(number), (number) ? EG_COUNTED : EG_UNAVAILABLE, unit_text, \
                             (number) ? (from) : "not told by the system"};                       \
        json_put_metric(target, key, &metric_);                                                   \
    } while (0)
    COUNT(object, "cores", chip->cores, NULL, source);
    COUNT(object, "threads", chip->threads, NULL, source);
    for (unsigned i = 0; i < chip->kind_count; i++) {
        const eg_core_kind *kind = &chip->kinds[i];
        json *entry = json_new_object();
        json_put_text(entry, "name", kind->name);
        COUNT(entry, "cores", kind->cores, NULL, source);
        COUNT(entry, "threads", kind->threads, NULL, source);
        COUNT(entry, "l1i", kind->l1i_bytes, "bytes", source);
        COUNT(entry, "l1d", kind->l1d_bytes, "bytes", source);
        COUNT(entry, "l2", kind->l2_bytes, "bytes", source);
        COUNT(entry, "l2_cores", kind->l2_cores, NULL, source);
        COUNT(entry, "max_clock", kind->max_mhz, "MHz", source);
        json_append(kinds, entry);
    }
    json_put(object, "kinds", kinds);
    COUNT(object, "l3", chip->l3_bytes, "bytes", source);
    COUNT(object, "cache_line", chip->cache_line, "bytes", source);
    COUNT(object, "page", chip->page_size, "bytes", "system");
    COUNT(object, "packages", chip->packages, NULL, source);
    COUNT(object, "numa_nodes", chip->numa_nodes, NULL, source);
    COUNT(object, "memory", chip->memory_bytes, "bytes", "system");
    COUNT(object, "memory_available", chip->memory_available, "bytes", "system");
#undef COUNT
    for (unsigned bit = 0; bit < 32; bit++)
        if (chip->features >> bit & 1 && eg_cpu_feature_name(1u << bit))
            json_append_text(features, eg_cpu_feature_name(1u << bit));
    json_put(object, "features", features);
    json *from = json_new_object();
    for (unsigned bit = 0; bit < 32; bit++)
        if (chip->features >> bit & 1 && eg_cpu_feature_name(1u << bit))
            json_put_text(from, eg_cpu_feature_name(1u << bit),
                          eg_provenance_name(eg_cpu_feature_provenance(1u << bit)));
    json_put(object, "feature_provenance", from);
    json_put_text(object, "table_row", chip->in_table ? chip->row.name : NULL);
    const unsigned generation = chip->in_table ? eg_chip_amx_generation(&chip->row) : 0;
    const eg_metric amx = {generation, generation ? EG_TABLE : EG_UNAVAILABLE, NULL,
                           generation ? "chip table" : "no chip of the table with AMX"};
    json_put_metric(object, "amx_generation", &amx);
    return object;
}

static json *ceilings_json(const eg_ceilings *c) {
    json *object = json_new_object();
#define PUT(name, unit, text) json_put_metric(object, #name, &c->name);
    EG_CEILING_MAP(PUT)
#undef PUT
    json_put_flag(object, "from_cache", c->from_cache);
    json_put_count(object, "measured_at", (uint64_t)c->measured_at);
    json_put_number(object, "seconds", c->seconds);
    return object;
}

static json *kernels_json(const eg_context *context) {
    json *list = json_new_list();
    for (size_t i = 0; i < eg_kernel_count(); i++) {
        eg_kernel_info info = {.size = sizeof info};
        if (eg_kernel_list(context, i, &info, NULL)) continue;
        json *entry = json_new_object();
        json_put_text(entry, "operation", info.operation);
        json_put_text(entry, "isa", info.isa);
        json_put_flag(entry, "usable", info.usable);
        json_put_flag(entry, "selected", info.selected);
        if (!info.usable) json_put_text(entry, "refusal", eg_kernel_refusal(context, i));
        json_append(list, entry);
    }
    return list;
}

static int print_json(const eg_context *context, const eg_ceilings *ceilings, bool recorded) {
    eg_preset preset;
    if (!json_usable()) return json_print(NULL);
    json *document = json_new_object();
    json_put_text(document, "version", eg_version());
    json_put(document, "chip", chip_json(eg_context_chip(context)));
    if (recorded) {
        const eg_metric none = {0, EG_UNAVAILABLE, NULL, elsewhere};
        json_put_metric(document, "threads", &none);
        json_put_metric(document, "isa", &none);
    } else {
        json_put_count(document, "threads", eg_context_threads(context));
        json_put_text(document, "isa", eg_context_isa(context));
    }
    if (ceilings) json_put(document, "ceilings", ceilings_json(ceilings));
    if (eg_preset_host(eg_context_chip(context), ceilings, &preset, NULL) == EG_OK)
        json_put(document, "preset", preset_json(&preset, eg_context_chip(context), ceilings));
    if (recorded) {
        const eg_metric none = {0, EG_UNAVAILABLE, NULL, elsewhere};
        json_put_metric(document, "kernels", &none);
    } else json_put(document, "kernels", kernels_json(context));
    return json_print(document);
}

int cmd_info(int argc, char **argv) {
    bool measure = false, again = false, as_json = false;
    const char *chip = NULL;
    context_flags flags = {0};
    const option options[] = {
        {"--measure", OPTION_FLAG, &measure, NULL, "measure the ceilings (once per machine)"},
        {"--again", OPTION_FLAG, &again, NULL, "measure even if there is a stored result"},
        {"--preset", OPTION_TEXT, &chip, "CHIP", "how to run on M1, M4 Max, ..., or all chips"},
        {"--json", OPTION_FLAG, &as_json, NULL, "print JSON"},
        CONTEXT_OPTIONS(flags),
        {"--root", OPTION_TEXT, &flags.root, "DIR", "show the machine recorded in DIR instead"},
        {NULL, OPTION_FLAG, NULL, NULL, NULL}};
    const usage use = {
        "info [--measure] [--preset CHIP] [--json]",
        "Shows what this machine is, and with --measure what it can really do: each ceiling\n"
        "is the best of many short bursts. Every figure says where it comes from: measured,\n"
        "counted (as the system reports it), spec (a data sheet), or unavailable and why.\n"
        "The preset says how to run models here: batch, memory budget, backbone, power.",
        options,
        "  elegans info --measure\n  elegans info --preset all\n"
        "  elegans info --json | jq .chip.cores\n"};
    int rest, code = options_read(&use, argc, argv, &rest);
    if (code) return code;
    if (rest) return fail(EXIT_USAGE, "info takes no argument, got '%s'", argv[0]);
    if (chip) return preset_show(chip, as_json);
    if (flags.root && (measure || again))
        return fail(EXIT_USAGE, "a recorded machine cannot be measured");
    eg_context *context;
    code = context_open(&flags, &context);
    if (code) return code;
    eg_ceilings ceilings;
    eg_error error;
    measure |= again;
    if (measure) {
        eg_ceilings_options how = {.size = sizeof how, .cached = !again};
        if (eg_ceilings_measure(context, &how, &ceilings, &error)) {
            eg_context_destroy(context);
            return fail_with(&error);
        }
    }
    if (as_json) code = print_json(context, measure ? &ceilings : NULL, flags.root != NULL);
    else {
        print_chip(context);
        if (measure) print_ceilings(context, &ceilings);
        const eg_chip *host = eg_context_chip(context);
        const eg_ceilings *measured = measure ? &ceilings : NULL;
        eg_preset preset;
        if (eg_preset_host(host, measured, &preset, NULL) == EG_OK)
            preset_print(&preset, host, measured);
        if (flags.root) print_section("Kernels", "unavailable");
        if (flags.root) printf("  %s%s%s\n", style_dim(), elsewhere, style_end());
        else print_kernels(context);
        if (!measure && !flags.root)
            printf("\n%s'elegans info --measure' shows what this machine can really do%s\n",
                   style_dim(), style_end());
    }
    eg_context_destroy(context);
    return code;
}
