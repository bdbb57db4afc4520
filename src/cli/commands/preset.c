/* A preset as text and as JSON, with what a run on such a chip should reach. */
#include "cli/cli.h"

#include <string.h>

static eg_status need_of(const eg_preset *p, const eg_chip *host, const eg_ceilings *ceilings,
                         eg_requirement_kind need, eg_requirement *out, eg_metric *ceiling) {
    eg_chip_row row;
    *ceiling = (eg_metric){0, EG_UNAVAILABLE, NULL, "the chip is not in the table"};
    if (host) return eg_requirement_host(host, ceilings, need, out, ceiling, NULL);
    eg_status status = eg_chip_table_find(p->chip, &row, NULL);
    if (!status) *ceiling = eg_chip_ceiling(&row, need);
    return status ? status : eg_requirement_of(p->tier, need, out, NULL);
}

/* "at least 2, better 3 TFLOP/s", and whether the silicon can. */
static void print_need(const eg_preset *p, const eg_chip *host, const eg_ceilings *ceilings,
                       eg_requirement_kind need) {
    eg_requirement r;
    eg_metric ceiling;
    char value[160];
    if (need_of(p, host, ceilings, need, &r, &ceiling)) {
        snprintf(value, sizeof value, "unavailable: %s", ceiling.source);
        print_row(need == EG_REQUIREMENT_COMPUTE ? "compute" : "bandwidth", value, "");
        return;
    }
    const bool derived = host && !host->in_table;
    snprintf(value, sizeof value, "at least %.4g, better %.4g %s", r.minimum, r.target, r.unit);
    print_row(r.name, value, eg_provenance_name(derived ? EG_MODELLED : EG_SPEC));
    if (ceiling.provenance == EG_UNAVAILABLE || r.target <= ceiling.value) return;
    snprintf(value, sizeof value, "%.4g is %s: %.4g", r.target,
             eg_check_name(EG_CHECK_ABOVE_CEILING), ceiling.value);
    print_row("", value, eg_provenance_name(ceiling.provenance));
}

void preset_print(const eg_preset *p, const eg_chip *host, const eg_ceilings *ceilings) {
    char value[160], bytes[32];
    const char *from = eg_provenance_name(p->provenance);
    snprintf(value, sizeof value, "%s tier", eg_chip_tier_name(p->tier));
    print_section("Preset", value);
    snprintf(value, sizeof value, "%u (%u to %u)", p->batch, p->batch_low, p->batch_high);
    print_row("batch", value, from);
    print_row("memory budget", format_bytes(bytes, p->memory_budget), from);
    snprintf(value, sizeof value, "%u units x %u layers, dropout %g", p->backbone_units,
             p->backbone_layers, p->dropout);
    print_row("backbone", value, from);
    print_row("neural engine", p->neural_engine ? "on" : "none", "");
    print_row("compilation", p->compiled ? "required" : "not needed", "");
    print_figure("power budget", &p->power);
    if (p->power_note[0]) print_row("", p->power_note, "");
    print_need(p, host, ceilings, EG_REQUIREMENT_COMPUTE);
    print_need(p, host, ceilings, EG_REQUIREMENT_BANDWIDTH);
    printf("  %s%s%s\n", style_dim(), p->rule, style_end());
}

json *preset_json(const eg_preset *p, const eg_chip *host, const eg_ceilings *ceilings) {
    json *object = json_new_object();
    const eg_metric budget = {(double)p->memory_budget, p->provenance, "bytes", p->rule};
    json_put_text(object, "chip", p->chip);
    json_put_text(object, "tier", eg_chip_tier_name(p->tier));
    json_put_text(object, "provenance", eg_provenance_name(p->provenance));
    json_put_text(object, "rule", p->rule);
    json_put_count(object, "batch", p->batch);
    json_put_count(object, "batch_low", p->batch_low);
    json_put_count(object, "batch_high", p->batch_high);
    json_put_metric(object, "memory_budget", &budget);
    json_put_count(object, "backbone_units", p->backbone_units);
    json_put_count(object, "backbone_layers", p->backbone_layers);
    json_put_number(object, "dropout", p->dropout);
    json_put_flag(object, "neural_engine", p->neural_engine);
    json_put_flag(object, "compiled", p->compiled);
    json_put_metric(object, "power", &p->power);
    json_put_text(object, "power_note", p->power_note);
    for (int need = EG_REQUIREMENT_COMPUTE; need <= EG_REQUIREMENT_MEMORY; need++) {
        eg_requirement r;
        eg_metric ceiling;
        if (need_of(p, host, ceilings, (eg_requirement_kind)need, &r, &ceiling)) continue;
        json *entry = json_new_object();
        json_put_text(entry, "unit", r.unit);
        json_put_number(entry, "minimum", r.minimum);
        json_put_number(entry, "target", r.target);
        json_put_metric(entry, "ceiling", &ceiling);
        json_put(object, r.name, entry);
    }
    return object;
}

/* ---- kernels and blocks of a chip of the table: nothing of it has run */
static void print_blocks(const eg_chip_row *chip, int slow) {
    eg_blocks b = {.size = sizeof b};
    char value[160];
    if (eg_blocks_of(chip, slow, &b, NULL)) return;
    snprintf(value, sizeof value, "tile %u x %u, depth %u, %u rows, bands of %u", b.tile_rows,
             b.tile_columns, b.depth, b.rows, b.band);
    print_row(slow ? "slow cores" : "fast cores", value, eg_provenance_name(b.provenance));
    if (!b.sums_needed) return;
    snprintf(value, sizeof value, "%u sums in a tile, %u keep all pipes busy", b.sums,
             b.sums_needed);
    print_row("", value, eg_provenance_name(EG_TABLE));
}

static void print_choices(const eg_chip_row *chip) {
    print_section("Kernels", "modelled: none of them has run there");
    const size_t count = eg_operation_count();
    for (size_t i = 0; i < count; i++) {
        eg_kernel_choice first = {.size = sizeof first}, other = {.size = sizeof other};
        bool seen = false;
        if (eg_kernel_choice_get(chip, i, &first, NULL)) continue;
        for (size_t j = 0; j < i && !seen; j++)
            seen = !eg_kernel_choice_get(chip, j, &other, NULL) && !strcmp(other.isa, first.isa);
        if (seen) continue;
        char words[1200] = "";
        for (size_t j = i; j < count; j++) {
            if (eg_kernel_choice_get(chip, j, &other, NULL) || strcmp(other.isa, first.isa))
                continue;
            const size_t at = strlen(words);
            snprintf(words + at, sizeof words - at, "%s%s", at ? " " : "", other.operation);
        }
        printf("  %-14s ", first.isa);
        print_folded(words, strlen(words), 17, 17, NULL);
    }
    print_section("Blocks of f32 products with NEON", "from the caches of the table");
    print_blocks(chip, 0);
    print_blocks(chip, 1);
}

static json *blocks_json(const eg_chip_row *chip, int slow) {
    eg_blocks b = {.size = sizeof b};
    if (eg_blocks_of(chip, slow, &b, NULL)) return NULL;
    json *object = json_new_object();
    json_put_count(object, "tile_rows", b.tile_rows);
    json_put_count(object, "tile_columns", b.tile_columns);
    json_put_count(object, "depth", b.depth);
    json_put_count(object, "rows", b.rows);
    json_put_count(object, "band", b.band);
    json_put_text(object, "provenance", eg_provenance_name(b.provenance));
    return object;
}

static void put_choices(json *document, const eg_chip_row *chip) {
    json *kernels = json_new_object();
    for (size_t i = 0; i < eg_operation_count(); i++) {
        eg_kernel_choice choice = {.size = sizeof choice};
        if (!eg_kernel_choice_get(chip, i, &choice, NULL))
            json_put_text(kernels, choice.operation, choice.isa);
    }
    json_put(document, "kernels", kernels);
    json_put_text(document, "kernels_provenance", eg_provenance_name(EG_MODELLED));
    for (int slow = 0; slow < 2; slow++) {
        json *blocks = blocks_json(chip, slow);
        if (blocks) json_put(document, slow ? "slow_blocks" : "fast_blocks", blocks);
    }
}

/* ---- every chip of the table, or one */
/* Power is from elsewhere than the rest, and says so itself. */
static void print_line(const eg_preset *p) {
    char batch[32], bytes[32], backbone[32], watts[32] = "  -";
    snprintf(batch, sizeof batch, "%u (%u-%u)", p->batch, p->batch_low, p->batch_high);
    snprintf(backbone, sizeof backbone, "%ux%u", p->backbone_units, p->backbone_layers);
    if (p->power.provenance != EG_UNAVAILABLE)
        snprintf(watts, sizeof watts, "%3g W %s", p->power.value,
                 eg_provenance_name(p->power.provenance));
    printf("  %-8s %-5s %-13s %7s %-6s %4g %-8s %-4s %s\n", p->chip, eg_chip_tier_name(p->tier),
           batch, format_bytes(bytes, p->memory_budget), backbone, p->dropout,
           eg_provenance_name(p->provenance), p->neural_engine ? "on" : "none", watts);
}

static int print_all(bool as_json) {
    json *list = as_json ? json_new_list() : NULL;
    eg_chip_row row;
    eg_preset preset;
    if (!as_json) {
        print_title("Presets", "models are compiled everywhere; NE is the Neural Engine");
        printf("  %s%-8s %-5s %-13s %7s %-6s %4s %-8s %-4s %s%s\n", style_dim(), "chip", "tier",
               "batch", "budget", "layers", "drop", "", "NE", "power", style_end());
    }
    for (size_t i = 0; i < eg_chip_table_size(); i++) {
        if (eg_chip_table_get(i, &row, NULL) || eg_preset_of(&row, &preset, NULL)) continue;
        if (as_json) json_append(list, preset_json(&preset, NULL, NULL));
        else print_line(&preset);
    }
    if (!as_json) return CLI_OK;
    json *document = json_new_object();
    json_put(document, "presets", list);
    return json_print(document);
}

int preset_show(const char *chip, bool as_json) {
    eg_error error;
    eg_preset preset;
    if (as_json && !json_usable()) return json_print(NULL);
    if (strcmp(chip, "all") == 0) return print_all(as_json);
    if (eg_preset_find(chip, &preset, &error))
        return fail(EXIT_FAILED, "--preset: %s", error.message);
    eg_chip_row row;
    const bool known = eg_chip_table_find(preset.chip, &row, NULL) == EG_OK;
    if (as_json) {
        json *document = preset_json(&preset, NULL, NULL);
        if (known) put_choices(document, &row);
        return json_print(document);
    }
    print_title(preset.chip, "");
    preset_print(&preset, NULL, NULL);
    if (known) print_choices(&row);
    return CLI_OK;
}

/* ---- applied */
bool spec_has(const char *spec, const char *key) {
    const size_t length = strlen(key);
    for (const char *at = spec; (at = strstr(at, key)); at += length)
        if (at > spec && at[-1] == ',' && at[length] == '=') return true;
    return false;
}

static bool takes_backbone(const char *spec) {
    return strncmp(spec, "cfc:", 4) == 0 && !strchr(spec, '/') && !spec_has(spec, "backbone");
}

static int apply_model(const eg_preset *p, const char **model, char out[1024]) {
    char backbone[128] = "";
    size_t at = 0;
    for (unsigned i = 0; i < p->backbone_layers && at < sizeof backbone - 16; i++)
        at += (size_t)snprintf(backbone + at, sizeof backbone - at, "%s%u", i ? "+" : "",
                               p->backbone_units);
    char rate[32] = "";
    if (!spec_has(*model, "dropout")) snprintf(rate, sizeof rate, ",dropout=%g", p->dropout);
    const int length = snprintf(out, 1024, "%s,backbone=%s%s", *model, backbone, rate);
    if (length < 0 || length >= 1024) return fail(EXIT_USAGE, "--preset: the spec is too long");
    *model = out;
    return CLI_OK;
}

/* A preset of a larger machine does not make this one larger. */
static uint64_t budget_here(uint64_t budget) {
    eg_chip chip;
    if (eg_chip_detect(NULL, NULL, NULL, &chip, NULL) || !chip.memory_available) return budget;
    const uint64_t most = chip.memory_available / 5 * 4;
    return budget < most ? budget : most;
}

int preset_apply(const char *chip, context_flags *flags, const char **batch, const char **memory,
                 const char **model, preset_store *store) {
    eg_error error;
    eg_preset p;
    if (!chip) return CLI_OK;
    if (eg_preset_find(chip, &p, &error)) return fail(EXIT_USAGE, "--preset: %s", error.message);
    const uint64_t budget = budget_here(p.memory_budget);
    if (flags && !flags->memory_budget) flags->memory_budget = budget;
    if (batch && !*batch) {
        snprintf(store->batch, sizeof store->batch, "%u", p.batch);
        *batch = store->batch;
    }
    if (memory && !*memory) {
        snprintf(store->memory, sizeof store->memory, "%llu", (unsigned long long)budget);
        *memory = store->memory;
    }
    return model && *model && takes_backbone(*model) ? apply_model(&p, model, store->model)
                                                     : CLI_OK;
}

int read_batch(const char *text, uint64_t *out) {
    int64_t batch = 0;
    if (!text) return CLI_OK;
    if (strcmp(text, "auto") != 0 && eg_integer_parse(text, strlen(text), 1, 1 << 20, &batch, NULL))
        return fail(EXIT_USAGE, "--batch: '%s' is neither a number from 1 on nor auto", text);
    *out = (uint64_t)batch;
    return CLI_OK;
}
