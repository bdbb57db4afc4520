/* What we call of macOS' private and public frameworks, opened at run time: a function that a version of the system lacks is
 * a figure that is unavailable, not a program that does not start. Never run on a Mac by its authors. */
#ifndef EG__APPLE_MACOS_H
#define EG__APPLE_MACOS_H

#include "sensors/ioreport.h"

#include <stdint.h>

/* Opaque objects of CoreFoundation and IOKit. */
typedef const void *eg__cf;
typedef unsigned eg__io; /* mach ports */

/* CALL(library, result, name, arguments): every function that is looked up. */
#define EG__APPLE_CALLS(CALL)                                                                \
    CALL(foundation, void, CFRelease, (eg__cf))                                              \
    CALL(foundation, eg__cf, CFRetain, (eg__cf))                                             \
    CALL(foundation, eg__cf, CFStringCreateWithCString, (eg__cf, const char *, uint32_t))    \
    CALL(foundation, unsigned char, CFStringGetCString, (eg__cf, char *, long, uint32_t))    \
    CALL(foundation, eg__cf, CFDictionaryGetValue, (eg__cf, eg__cf))                         \
    CALL(foundation, eg__cf, CFDictionaryCreateMutableCopy, (eg__cf, long, eg__cf))          \
    CALL(foundation, long, CFArrayGetCount, (eg__cf))                                        \
    CALL(foundation, eg__cf, CFArrayGetValueAtIndex, (eg__cf, long))                         \
    CALL(foundation, long, CFDataGetLength, (eg__cf))                                        \
    CALL(foundation, const unsigned char *, CFDataGetBytePtr, (eg__cf))                      \
    CALL(foundation, unsigned char, CFNumberGetValue, (eg__cf, long, void *))                \
    CALL(iokit, eg__cf, IOServiceMatching, (const char *))                                   \
    CALL(iokit, int, IOServiceGetMatchingServices, (eg__io, eg__cf, eg__io *))               \
    CALL(iokit, eg__io, IOIteratorNext, (eg__io))                                            \
    CALL(iokit, int, IOObjectRelease, (eg__io))                                              \
    CALL(iokit, int, IORegistryEntryGetName, (eg__io, char *))                               \
    CALL(iokit, eg__cf, IORegistryEntryCreateCFProperty, (eg__io, eg__cf, eg__cf, uint32_t)) \
    CALL(iokit, int, IOServiceOpen, (eg__io, eg__io, uint32_t, eg__io *))                    \
    CALL(iokit, int, IOServiceClose, (eg__io))                                               \
    CALL(iokit, int, IOConnectCallStructMethod,                                              \
         (eg__io, uint32_t, const void *, size_t, void *, size_t *))                         \
    CALL(iokit, eg__cf, IOPSCopyPowerSourcesInfo, (void))                                    \
    CALL(iokit, eg__cf, IOPSCopyPowerSourcesList, (eg__cf))                                  \
    CALL(iokit, eg__cf, IOPSGetPowerSourceDescription, (eg__cf, eg__cf))                     \
    CALL(iokit, eg__cf, IOPSGetProvidingPowerSourceType, (eg__cf))                           \
    CALL(ioreport, eg__cf, IOReportCopyChannelsInGroup,                                      \
         (eg__cf, eg__cf, uint64_t, uint64_t, uint64_t))                                     \
    CALL(ioreport, void, IOReportMergeChannels, (eg__cf, eg__cf, eg__cf))                    \
    CALL(ioreport, eg__cf, IOReportCreateSubscription,                                       \
         (void *, eg__cf, eg__cf *, uint64_t, eg__cf))                                       \
    CALL(ioreport, eg__cf, IOReportCreateSamples, (eg__cf, eg__cf, eg__cf))                  \
    CALL(ioreport, eg__cf, IOReportCreateSamplesDelta, (eg__cf, eg__cf, eg__cf))             \
    CALL(ioreport, eg__cf, IOReportChannelGetGroup, (eg__cf))                                \
    CALL(ioreport, eg__cf, IOReportChannelGetSubGroup, (eg__cf))                             \
    CALL(ioreport, eg__cf, IOReportChannelGetChannelName, (eg__cf))                          \
    CALL(ioreport, eg__cf, IOReportChannelGetUnitLabel, (eg__cf))                            \
    CALL(ioreport, int, IOReportChannelGetFormat, (eg__cf))                                  \
    CALL(ioreport, int64_t, IOReportSimpleGetIntegerValue, (eg__cf, int))                    \
    CALL(ioreport, int, IOReportStateGetCount, (eg__cf))                                     \
    CALL(ioreport, eg__cf, IOReportStateGetNameForIndex, (eg__cf, int))                      \
    CALL(ioreport, int64_t, IOReportStateGetResidency, (eg__cf, int))

/* Kept from the opening of the sensors to their end. */
typedef struct eg__apple {
    void *foundation, *iokit, *ioreport; /* handles of dlopen; NULL = not there */
#define CALL(library, result, name, arguments) result(*name) arguments;
    EG__APPLE_CALLS(CALL)
#undef CALL
    bool has_foundation, has_iokit, has_ioreport; /* all functions of it were found */
    eg__cf subscription, channels, sample;        /* of IOReport; NULL = none */
    uint64_t sampled_ns;
    eg__io smc; /* connection; 0 = none */
} eg__apple;

static inline eg__apple *eg__apple_of(eg_sensors *s) { return s->system; }
/* A new string, to be released. */
eg__cf eg__apple_string(const eg__apple *a, const char *text);
/* Copies a string that belongs to another object; "" for NULL. */
void eg__apple_text(const eg__apple *a, eg__cf string, char *out, size_t size);
/* The value of a key, which belongs to the dictionary; NULL = none. */
eg__cf eg__apple_value(const eg__apple *a, eg__cf dictionary, const char *key);

void eg__ioreport_open(eg_sensors *s); /* ioreport_macos.c */
void eg__ioreport_close(eg_sensors *s);
void eg__smc_open(eg_sensors *s); /* source_smc_macos.c */
void eg__smc_close(eg_sensors *s);

#endif
