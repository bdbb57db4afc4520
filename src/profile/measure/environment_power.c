/* What feeds the machine, as its sensors say. */
#include "base/base.h"
#include "elegans/sensors.h"
#include "profile/measure/environment.h"

static void read_battery(const eg_sensor_sample *sample, eg_metric *out) {
    double charge = 0;
    unsigned batteries = 0;
    for (size_t i = 0; i < sample->count; i++) {
        const eg_reading *r = &sample->readings[i];
        if (r->sensor != EG_SENSOR_battery || r->metric.provenance == EG_UNAVAILABLE) continue;
        charge += r->metric.value;
        batteries++;
    }
    *out = batteries ? eg__metric(charge / batteries, "%", EG_COUNTED, "its own gauge")
                     : eg__metric_unavailable("%", "no battery is told of");
}

eg_status eg__power_read(eg_context *context, const char *root, eg_fact *power, eg_metric *battery,
                         eg_error *error) {
    const eg_sensors_options options = {.size = sizeof options, .root = root};
    eg_sensors *sensors;
    eg_sensor_sample sample = {.size = sizeof sample};
    eg_status status = eg_sensors_open(context, &options, &sensors, error);
    if (status) return status;
    status = eg_sensors_read(sensors, &sample, error);
    if (!status) {
        const eg_reading *mains = eg_sensor_find(&sample, EG_SENSOR_on_mains, "");
        const bool known = mains && mains->metric.provenance != EG_UNAVAILABLE;
        *power = eg__fact(!known                    ? ""
                          : mains->metric.value > 0 ? "mains"
                                                    : "battery",
                          "the power supplies of the system", "no power supply is told of");
        read_battery(&sample, battery);
    }
    eg_sensors_close(sensors);
    return status;
}
