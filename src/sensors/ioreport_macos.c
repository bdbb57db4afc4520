/* Asks IOReport for its channels: one subscription, and the difference between two samples with the time between them. */
#include "sensors/apple_macos.h"

#include <string.h>

/* Only what source_ioreport.c reads: some chips have nine thousand channels, and sampling them costs bandwidth. */
static const struct {
    const char *group, *subgroup; /* NULL = all of them */
} groups[] = {
    {"Energy Model", NULL},
    {"CPU Stats", "CPU Core Performance States"},
    {"GPU Stats", "GPU Performance States"},
    {"AMC Stats", "Perf Counters"},
    {"PMP", "DCS BW"},
    {"PMP", "Energy Counters"},
};

void eg__ioreport_open(eg_sensors *s) {
    eg__apple *a = eg__apple_of(s);
    eg__cf all = NULL;
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        eg__cf group = eg__apple_string(a, groups[i].group);
        eg__cf subgroup = groups[i].subgroup ? eg__apple_string(a, groups[i].subgroup) : NULL;
        eg__cf some = group ? a->IOReportCopyChannelsInGroup(group, subgroup, 0, 0, 0) : NULL;
        if (subgroup) a->CFRelease(subgroup);
        if (group) a->CFRelease(group);
        if (some && all) {
            a->IOReportMergeChannels(all, some, NULL);
            a->CFRelease(some);
        } else if (some) all = some;
    }
    if (!all) return;
    eg__cf wanted = a->CFDictionaryCreateMutableCopy(NULL, 0, all);
    a->CFRelease(all);
    if (!wanted) return;
    a->subscription = a->IOReportCreateSubscription(NULL, wanted, &a->channels, 0, NULL);
    a->CFRelease(wanted);
}

void eg__ioreport_close(eg_sensors *s) {
    eg__apple *a = eg__apple_of(s);
    if (a->sample) a->CFRelease(a->sample);
    if (a->channels) a->CFRelease(a->channels);
    if (a->subscription) a->CFRelease(a->subscription);
    a->sample = a->channels = a->subscription = NULL;
}

static void channel_read(const eg__apple *a, eg__cf from, eg__channel *out) {
    enum { SIMPLE = 1, STATES = 2 };
    const int format = a->IOReportChannelGetFormat(from);
    out->states = 0;
    out->value = INT64_MIN;
    eg__apple_text(a, a->IOReportChannelGetGroup(from), out->group, sizeof out->group);
    eg__apple_text(a, a->IOReportChannelGetSubGroup(from), out->subgroup, sizeof out->subgroup);
    eg__apple_text(a, a->IOReportChannelGetChannelName(from), out->name, sizeof out->name);
    eg__apple_text(a, a->IOReportChannelGetUnitLabel(from), out->unit, sizeof out->unit);
    /* labels are padded with blanks */
    for (size_t end = strlen(out->unit); end > 0 && out->unit[end - 1] == ' ';)
        out->unit[--end] = 0;
    if (format == SIMPLE) out->value = a->IOReportSimpleGetIntegerValue(from, 0);
    if (format != STATES) return;
    const int states = a->IOReportStateGetCount(from);
    for (int i = 0; i < states && out->states < EG__STATES; i++, out->states++) {
        eg__apple_text(a, a->IOReportStateGetNameForIndex(from, i), out->state[i].name,
                       sizeof out->state->name);
        out->state[i].time = a->IOReportStateGetResidency(from, i);
    }
}

bool eg__ioreport_live(eg_sensors *s, eg__ioreport_function *function, void *user,
                       double *seconds) {
    eg__apple *a = eg__apple_of(s);
    static const char why[] = "IOReport gives this program no subscription";
    if (!a || !a->subscription) {
        eg__sensing_missing(s, EG_SENSOR_power, why);
        eg__sensing_missing(s, EG_SENSOR_energy, why);
        eg__sensing_missing(s, EG_SENSOR_memory_bandwidth, why);
        return false;
    }
    eg__cf sample = a->IOReportCreateSamples(a->subscription, a->channels, NULL);
    const uint64_t now = eg_clock_ns();
    eg__cf before = a->sample;
    const double since = (double)(now - a->sampled_ns) * 1e-9;
    a->sample = sample;
    a->sampled_ns = now;
    eg__cf delta = sample && before ? a->IOReportCreateSamplesDelta(before, sample, NULL) : NULL;
    if (before) a->CFRelease(before);
    eg__cf list = delta ? eg__apple_value(a, delta, "IOReportChannels") : NULL;
    eg__channel channel;
    for (long i = 0; list && i < a->CFArrayGetCount(list); i++) {
        channel_read(a, a->CFArrayGetValueAtIndex(list, i), &channel);
        function(s, &channel, user);
    }
    if (delta) a->CFRelease(delta);
    *seconds = since;
    return list != NULL;
}

/* Pairs of a frequency and a voltage, 32 bits each, of the power manager in the device tree. */
bool eg__clocks_live(eg_sensors *s, const char *table, eg__clock_table *out) {
    eg__apple *a = eg__apple_of(s);
    eg__io list = 0, entry;
    out->count = 0;
    if (!a || !a->has_iokit) return false;
    eg__cf match = a->IOServiceMatching("AppleARMIODevice"); /* taken by the call below */
    if (!match || a->IOServiceGetMatchingServices(0, match, &list) != 0) return false;
    while ((entry = a->IOIteratorNext(list))) {
        char name[128] = "";
        eg__cf key = NULL, data = NULL;
        if (a->IORegistryEntryGetName(entry, name) == 0 && strcmp(name, "pmgr") == 0 &&
            (key = eg__apple_string(a, table)))
            data = a->IORegistryEntryCreateCFProperty(entry, key, NULL, 0);
        for (long i = 0; data && i + 8 <= a->CFDataGetLength(data) && out->count < EG__CLOCKS;
             i += 8) {
            uint32_t hertz;
            memcpy(&hertz, a->CFDataGetBytePtr(data) + i, sizeof hertz);
            out->hertz[out->count++] = hertz;
        }
        if (data) a->CFRelease(data);
        if (key) a->CFRelease(key);
        a->IOObjectRelease(entry);
    }
    a->IOObjectRelease(list);
    eg__clock_table_scale(out);
    return out->count > 0;
}
