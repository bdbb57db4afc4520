/* Diagnosis: every look by a machine that has the fault, one that has not, and one that tells nothing. */
#include "test_chip.h"
#include "elegans/elegans.h"
#include "profile/measure/environment.h"
#include "profile/profile.h"

AREA(diagnose,
     "every look is good, bad with advice, or unknown with the reason; the checklist is whole")

static eg_metric counted(double value) { return eg__metric(value, NULL, EG_COUNTED, "by hand"); }

static eg_environment healthy(void) {
    eg_environment e = {.governor = {"performance", EG_COUNTED, "by hand"},
                        .build = {"optimized", EG_COUNTED, "the build"},
                        .accelerators = {"none", EG_COUNTED, "/sys by hand"}};
    e.cores = counted(4);
    e.threads = counted(4);
    e.pinned = counted(4);
    e.load = counted(0.3);
    e.pressure_memory = counted(0);
    e.memory_available = counted(6e9);
    e.swap_used = counted(0);
    return e;
}

static const eg_chip chip = {.name = "by hand", .vendor = "AMD", .memory_bytes = 8000000000};

static const eg_diagnosis_item *item_of(const eg_diagnosis *d, const char *name) {
    for (size_t i = 0; i < d->count; i++)
        if (strcmp(d->item[i].name, name) == 0) return &d->item[i];
    static const eg_diagnosis_item none = {.name = "", .health = EG_HEALTH_UNKNOWN};
    return &none;
}

static void check(const eg_environment *e, const char *name, eg_health health, const char *part) {
    eg_diagnosis d;
    eg_diagnose(e, &chip, NULL, &d);
    const eg_diagnosis_item *item = item_of(&d, name);
    CHECK(item && item->health == health && strstr(item->text, part), "%s: %s '%s', not %s '%s'",
          name, item ? eg_health_name(item->health) : "", item ? item->text : "none",
          eg_health_name(health), part);
    CHECK(!item || (health == EG_HEALTH_BAD) == (item->advice[0] != 0), "%s: advice '%s'", name,
          item ? item->advice : "");
}

TEST(diagnose, the_machine) {
    eg_environment e = healthy();
    check(&e, "accelerator", EG_HEALTH_GOOD, "none found in /sys by hand");
    strcpy(e.accelerators.text, "GPU (amdgpu)");
    check(&e, "accelerator", EG_HEALTH_GOOD, "GPU (amdgpu); not used: models run on the cores");
    check(&e, "memory", EG_HEALTH_GOOD, "25 % of 8.0 GB");
    check(&e, "governor", EG_HEALTH_GOOD, "performance");
    check(&e, "other load", EG_HEALTH_GOOD, "a load of 0.3");
    check(&e, "swap", EG_HEALTH_GOOD, "0.0 %");
    check(&e, "pinned", EG_HEALTH_GOOD, "4 of 4");
    check(&e, "build", EG_HEALTH_GOOD, "optimized");
    e.memory_available = counted(0.7e9);
    check(&e, "memory", EG_HEALTH_BAD, "91 %");
    e.memory_available = counted(0.9e9);
    check(&e, "memory", EG_HEALTH_GOOD, "89 %");
    strcpy(e.governor.text, "powersave");
    check(&e, "governor", EG_HEALTH_BAD, "powersave");
    e.load = counted(2.1);
    check(&e, "other load", EG_HEALTH_BAD, "a load of 2.1 on 4 cores");
    e.pressure_memory = counted(2);
    e.swap_used = counted(3e6);
    check(&e, "swap", EG_HEALTH_BAD, "2.0 % of the last 10 s; 3 MB on the disk");
    e.pinned = counted(3);
    check(&e, "pinned", EG_HEALTH_BAD, "3 of 4");
    e.threads = counted(1);
    e.pinned = counted(0);
    check(&e, "pinned", EG_HEALTH_GOOD, "0 of 1");
    strcpy(e.build.text, "not optimized");
    check(&e, "build", EG_HEALTH_BAD, "not optimized");
    strcpy(e.build.text, "optimized, with sanitizers");
    check(&e, "build", EG_HEALTH_BAD, "sanitizers");
}

TEST(diagnose, where_nobody_tells) {
    eg_environment e = healthy();
    const eg_metric none = eg__metric_unavailable(NULL, "nobody tells");
    e.pressure_memory = none;
    check(&e, "swap", EG_HEALTH_GOOD, "0 MB of swap");
    e.swap_used = counted(0.5e9);
    check(&e, "swap", EG_HEALTH_BAD, "500 MB of swap");
    e.swap_used = e.memory_available = e.load = e.pinned = none;
    e.governor = (eg_fact){"", EG_UNAVAILABLE, "nobody tells"};
    static const char *const names[] = {"swap", "memory", "other load", "pinned", "governor"};
    for (size_t i = 0; i < 5; i++) check(&e, names[i], EG_HEALTH_UNKNOWN, "nobody tells");
    eg_diagnosis d;
    eg_diagnose(&e, &chip, NULL, &d);
    const eg_diagnosis_item *denormals = item_of(&d, "denormals");
    CHECK(denormals && denormals->health != EG_HEALTH_UNKNOWN &&
              denormals->provenance == EG_MEASURED,
          "denormals are measured");
    e.accelerators = (eg_fact){"", EG_UNAVAILABLE, "nobody tells"};
    check(&e, "accelerator", EG_HEALTH_UNKNOWN, "nobody tells");
}

/* What the system's files and the table say, from roots made by hand and recorded ones. */
TEST(diagnose, accelerators_are_looked_for) {
    static const struct {
        const char *path, *text, *found;
    } rows[] = {
        {"sys/class/drm/renderD128/device/uevent", "DRIVER=amdgpu\nPCI_ID=1002:744C\n",
         "GPU (amdgpu)"},
        {"sys/class/drm/renderD130/device/uevent", "DRIVER=i915\n", "GPU (i915)"},
        {"sys/class/accel/accel0/device/uevent", "DRIVER=intel_vpu\n", "accelerator (intel_vpu)"},
        {"proc/driver/nvidia/version", "NVRM version: 550\n", "GPU (nvidia)"},
        {"etc/OpenCL/vendors/pocl.icd", "libpocl.so\n", "OpenCL (pocl)"}};
    const char *root = test_folder();
    eg_chip none = chip;
    eg_fact fact = eg__accelerators_read(root, &none);
    CHECK(strcmp(fact.text, "none") == 0 && fact.provenance == EG_COUNTED && fact.source, "'%s'",
          fact.text);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        root = test_folder();
        chip_file_write(root, rows[i].path, rows[i].text, strlen(rows[i].text));
        fact = eg__accelerators_read(root, &none);
        CHECK(strcmp(fact.text, rows[i].found) == 0 && fact.provenance == EG_COUNTED,
              "%s: '%s', not '%s'", rows[i].path, fact.text, rows[i].found);
    }
    static const char uevent[] = "DRIVER=nvidia\n"; /* one card, told in two places */
    root = test_folder();
    chip_file_write(root, rows[0].path, uevent, strlen(uevent));
    chip_file_write(root, rows[3].path, rows[3].text, strlen(rows[3].text));
    fact = eg__accelerators_read(root, &none);
    CHECK(strcmp(fact.text, "GPU (nvidia)") == 0, "'%s'", fact.text);
    none.features = EG_CPU_AMX_TILE;
    fact = eg__accelerators_read(test_folder(), &none);
    CHECK(strcmp(fact.text, "matrix unit (amx_tile)") == 0, "'%s'", fact.text);
    eg_chip apple = chip;
    apple.in_table = 1;
    apple.features = EG_CPU_APPLE_AMX;
    CHECK(eg_chip_table_find("M1", &apple.row, NULL) == EG_OK, "M1");
    fact = eg__accelerators_read(test_folder(), &apple);
    CHECK(strstr(fact.text, "GPU of 8 cores, Neural Engine of 16") && fact.provenance == EG_TABLE,
          "'%s' (%s)", fact.text, eg_provenance_name(fact.provenance));
}

static const char *const checklist[] = {"device placement", "data types", "batch size", "fusion",
                                        "memory access",    "profiling",  "allocation", "cleanup"};

TEST(diagnose, the_checklist) {
    eg_environment e = healthy();
    eg_context *context;
    eg_model *model;
    eg_profile *profile;
    eg_error error;
    eg_diagnosis d;
    eg_diagnose(&e, &chip, NULL, &d);
    CHECK(d.count - d.findings == 8, "%zu items", d.count - d.findings);
    for (size_t i = 0; i < 8; i++) {
        const eg_diagnosis_item *item = item_of(&d, checklist[i]);
        CHECK(item && item->health == EG_HEALTH_UNKNOWN && strstr(item->text, "model") &&
                  item->provenance == EG_UNAVAILABLE,
              "%s without a model", checklist[i]);
    }
    CHECK_OK(eg_context_create(NULL, &context, &error), error);
    CHECK_OK(eg_model_open(context, "cfc:3,in=2", &model, &error), error);
    for (int compiled = 0; compiled < 2; compiled++) {
        const eg_profile_options options = {
            .runs = 5, .no_ceilings = 1, .no_cache = 1, .no_compile = !compiled};
        CHECK_OK(eg_profile_model(model, "", &options, &profile, &error), error);
        eg_diagnose(&e, &chip, profile, &d);
        for (size_t i = 0; i < 8; i++)
            CHECK(item_of(&d, checklist[i])->health != EG_HEALTH_UNKNOWN, "%s", checklist[i]);
        CHECK(item_of(&d, "fusion")->health == (compiled ? EG_HEALTH_GOOD : EG_HEALTH_BAD), "%s",
              item_of(&d, "fusion")->text);
        /* what its operations wait for decides about types, batch and copies */
        for (size_t i = 0; i < profile->operation_count; i++) profile->operations[i].share = 0;
        profile->operations[0].share = 0.9;
        profile->operations[0].bound = "DRAM";
        profile->operations[0].kernel = "gemm";
        profile->operations[0].traits = EG_STEP_PRODUCT;
        profile->operations[0].calls = 1;
        profile->operations[0].bytes = 4 * 64 * 64;
        strcpy(profile->operations[0].shape, "1x64x64");
        profile->metrics[EG_PROFILE_leaked].value = 64;
        profile->metrics[EG_PROFILE_library_peak].value = 12.3e6;
        profile->metrics[EG_PROFILE_peak_memory].value =
            4e9; /* others of the process have theirs */
        eg_diagnose(&e, &chip, profile, &d);
        CHECK(item_of(&d, "data types")->health == EG_HEALTH_BAD &&
                  strstr(item_of(&d, "data types")->text, "f32") &&
                  strstr(item_of(&d, "data types")->advice, "int8"),
              "%s", item_of(&d, "data types")->text);
        for (size_t i = 0; i < 2; i++) { /* caches were not simulated, and this says so */
            const eg_diagnosis_item *item = item_of(&d, i ? "memory access" : "data types");
            const eg_metric dram = eg_profile_metric(profile, EG_PROFILE_dram_bytes);
            CHECK(item->provenance == dram.provenance, "%s is %s, the traffic %s", item->name,
                  eg_provenance_name(item->provenance), eg_provenance_name(dram.provenance));
        }
        CHECK(item_of(&d, "cleanup")->health == EG_HEALTH_BAD &&
                  item_of(&d, "batch size")->health == EG_HEALTH_GOOD &&
                  item_of(&d, "allocation")->health == EG_HEALTH_GOOD,
              "leaks");
        /* looked at, not taken for granted */
        CHECK(strstr(item_of(&d, "allocation")->text,
                     "0 allocations in 5 runs; the library held 12.3 MB"),
              "%s", item_of(&d, "allocation")->text);
        profile->run_allocations = 3;
        profile->steps_sum = profile->recorded_time / 2;
        eg_diagnose(&e, &chip, profile, &d);
        CHECK(item_of(&d, "allocation")->health == EG_HEALTH_BAD &&
                  strstr(item_of(&d, "allocation")->text, "3 allocations"),
              "%s", item_of(&d, "allocation")->text);
        CHECK(item_of(&d, "profiling")->health == EG_HEALTH_BAD &&
                  strstr(item_of(&d, "profiling")->text, "50 %"),
              "%s", item_of(&d, "profiling")->text);
        CHECK(strstr(item_of(&d, "device placement")->text, "kernels of the cores"), "%s",
              item_of(&d, "device placement")->text);
        for (size_t i = 0; i < d.count; i++)
            CHECK((d.item[i].provenance == EG_UNAVAILABLE) ==
                          (d.item[i].health == EG_HEALTH_UNKNOWN) &&
                      (d.item[i].health == EG_HEALTH_BAD) == (d.item[i].advice[0] != 0),
                  "%s", d.item[i].name);
        profile->operations[0].bound = "overhead";
        eg_diagnose(&e, &chip, profile, &d);
        CHECK(item_of(&d, "batch size")->health == EG_HEALTH_BAD &&
                  item_of(&d, "data types")->health == EG_HEALTH_GOOD,
              "overhead");
        eg_profile_destroy(profile);
    }
    eg_model_destroy(model);
    eg_context_destroy(context);
}
