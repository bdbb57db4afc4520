/* A preset as text and as JSON, with what a run on such a chip should reach. */
#include "cli.h"

static const char *range(char out[64], const eg_requirement *r) {
    char least[32], target[32];
    snprintf(out, 64, "at least %s, better %s %s", format_short(least, r->minimum),
             format_short(target, r->target), r->unit);
    return out;
}

void preset_print(const eg_preset *p) {
    char value[160], bytes[32], text[96];
    const char *from = eg_provenance_name(p->provenance);
    snprintf(value, sizeof value, "%s tier", eg_tier_name(p->tier));
    print_section("Preset", value);
    snprintf(value, sizeof value, "%u (%u to %u)", p->batch, p->batch_low, p->batch_high);
    print_row("batch", value, from);
    print_row("memory budget", format_bytes(bytes, p->memory_budget), from);
    snprintf(value, sizeof value, "%u units x %u layers, dropout %g", p->backbone_units,
             p->backbone_layers, p->dropout);
    print_row("backbone", value, from);
    print_row("neural engine", p->neural_engine ? "on" : "none", "");
    print_row("compilation", p->compiled ? "required" : "not needed", "");
    if (p->power.provenance == EG_UNAVAILABLE) print_row("power", format_metric(text, &p->power), "");
    else print_row("power", format_metric(text, &p->power), eg_provenance_name(p->power.provenance));
    if (p->power_note[0]) print_row("", p->power_note, "");
    for (int need = EG_NEED_COMPUTE; need <= EG_NEED_BANDWIDTH; need++) {
        eg_requirement r;
        char words[64];
        if (eg_requirement_of(p->tier, (eg_need)need, &r, NULL) == EG_OK)
            print_row(r.name, range(words, &r), "spec");
    }
    printf("  %s%s%s\n", style_dim(), p->rule, style_end());
}

json *preset_json(const eg_preset *p) {
    json *object = json_new_object();
    const eg_metric budget = {(double)p->memory_budget, p->provenance, "bytes", p->rule};
    json_put_text(object, "chip", p->chip);
    json_put_text(object, "tier", eg_tier_name(p->tier));
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
    for (int need = EG_NEED_COMPUTE; need <= EG_NEED_MEMORY; need++) {
        eg_requirement r;
        if (eg_requirement_of(p->tier, (eg_need)need, &r, NULL)) continue;
        json *entry = json_new_object();
        json_put_text(entry, "unit", r.unit);
        json_put_number(entry, "minimum", r.minimum);
        json_put_number(entry, "target", r.target);
        json_put(object, r.name, entry);
    }
    return object;
}
