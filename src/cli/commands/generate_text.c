/* Speeds of a generation, for people and for machines. */
#include "cli/commands/generate.h"

#include <stdlib.h>

static eg_metric speed(uint64_t tokens, double seconds, const char *source) {
    if (!tokens || !(seconds > 0))
        return (eg_metric){0, EG_UNAVAILABLE, NULL, "there were no tokens to time"};
    return (eg_metric){(double)tokens / seconds, EG_MEASURED, "tokens/s", source};
}

static eg_metric traffic(const generate_result *r) {
    if (!r->steps || !(r->seconds > 0))
        return (eg_metric){0, EG_UNAVAILABLE, NULL, "there were no tokens to time"};
    return (eg_metric){r->read / r->seconds * 1e-9, EG_MEASURED, "GB/s",
                       "weights and cache read, counted, over the time"};
}

/* What a token reads is read again by the next one: it stays in a cache that can hold it. */
static bool stays_in_caches(eg_context *context, const eg_ceilings *c, double amount) {
    const eg_chip *chip = eg_context_chip(context);
    const uint64_t last = chip->l3_bytes ? chip->l3_bytes : chip->slc_bytes;
    const double told = (double)(last ? last : chip->kinds[0].l2_bytes),
                 there = c->last_cache.value * 1048576;
    return amount <= (c->last_cache.provenance == EG_UNAVAILABLE ? told : there);
}

/* Of what the DRAM gives as many threads as there are, where it comes from there. */
static eg_metric share(eg_context *context, const generate_result *r) {
    eg_ceilings c;
    const eg_ceilings_options options = {.size = sizeof options, .cached = 1};
    const eg_metric read = traffic(r);
    if (read.provenance == EG_UNAVAILABLE) return read;
    if (eg_ceilings_measure(context, &options, &c, NULL) || !(c.dram_all.value > 0))
        return (eg_metric){0, EG_UNAVAILABLE, NULL, "the bandwidth of memory is not known"};
    if (stays_in_caches(context, &c, r->read / (double)r->steps))
        return (eg_metric){0, EG_UNAVAILABLE, NULL, "from the caches"};
    if (read.value > 1.1 * c.dram_all.value)
        return (eg_metric){0, EG_UNAVAILABLE, NULL, "more than the DRAM gives: from the caches"};
    return (eg_metric){100 * read.value / c.dram_all.value, EG_MEASURED, "%",
                       "of reading DRAM as measured (elegans info --measure)"};
}

static void row(const char *name, const char *text, const char *note) {
    fprintf(stderr, "  %-12s %-38s %s\n", name, text, note); /* styles are those of stdout */
}

static void timed(const char *name, uint64_t tokens, double seconds, const char *note) {
    char text[128], time[32], rate[32], count[48];
    const eg_metric metric = speed(tokens, seconds, note);
    if (metric.provenance == EG_UNAVAILABLE)
        snprintf(text, sizeof text, "unavailable: %s", metric.source);
    else
        snprintf(text, sizeof text, "%s in %s, %s tokens/s", format_count(count, tokens, "token"),
                 format_seconds(time, seconds), format_short(rate, metric.value));
    row(name, text, note);
}

void generate_print_stats(eg_context *context, const language *l, const generate_result *r) {
    char text[128], size[32], cache[32];
    const eg_metric part = share(context, r), read = traffic(r);
    fprintf(stderr, "\n");
    row("ready", format_seconds(size, r->ready_seconds), "measured: opened, compiled");
    timed("prompt", r->prompt_tokens, r->prompt_seconds, "measured");
    timed("decode", r->steps, r->seconds, "measured");
    if (read.provenance == EG_UNAVAILABLE)
        snprintf(text, sizeof text, "unavailable: %s", read.source);
    else if (part.provenance == EG_UNAVAILABLE)
        snprintf(text, sizeof text, "%.1f GB/s, %s", read.value, part.source);
    else snprintf(text, sizeof text, "%.1f GB/s, %.0f %% of DRAM", read.value, part.value);
    row("memory read", text, "counted over measured");
    snprintf(text, sizeof text, "%s of %s, cache %s", format_bytes(size, l->info.bytes),
             l->info.numbers, format_bytes(cache, r->info.cache_bytes));
    row("memory", text, "counted");
    snprintf(text, sizeof text, "%llu of %llu tokens, ended by %s",
             (unsigned long long)r->info.length, (unsigned long long)r->info.context, r->stopped);
    row("context", text, "counted");
}

static json *part_json(uint64_t tokens, double seconds) {
    json *part = json_new_object();
    const eg_metric metric = speed(tokens, seconds, "tokens over the time they took");
    json_put_count(part, "tokens", tokens);
    json_put_number(part, "seconds", seconds);
    json_put_metric(part, "speed", &metric);
    return part;
}

int generate_print_json(eg_context *context, const language *l, const generate_settings *w,
                        const generate_result *r) {
    if (!json_usable()) return json_print(NULL);
    json *document = json_new_object(), *ids = json_new_list();
    char *prompt = bytes_printable(w->prompt, w->prompt_length, false);
    char *text = bytes_printable(r->text.at, r->text.count, false);
    const eg_metric read = traffic(r), part = share(context, r);
    json_put_text(document, "model", w->model);
    json_put_text(document, "prompt_text", prompt);
    json_put_text(document, "text", text);
    for (uint64_t i = 0; i < r->tokens; i++) json_append_count(ids, r->ids[i]);
    json_put(document, "ids", ids);
    json_put_text(document, "stopped", r->stopped);
    json_put_number(document, "ready_seconds", r->ready_seconds);
    json_put(document, "prompt", part_json(r->prompt_tokens, r->prompt_seconds));
    json_put(document, "decode", part_json(r->steps, r->seconds));
    json_put_metric(document, "read", &read);
    json_put_metric(document, "share_of_dram", &part);
    json_put_count(document, "weight_bytes", l->info.bytes);
    json_put_count(document, "cache_bytes", r->info.cache_bytes);
    json_put_count(document, "context", r->info.context);
    free(prompt);
    free(text);
    return json_print(document);
}
