// Figures as people read them: units, names, where they come from.
const POWERS = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]];
const BINARY = [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"], [1, "B"]];
const TIMES = [[1, "s"], [1e-3, "ms"], [1e-6, "us"], [1e-9, "ns"]];

// Three digits that matter, without an exponent where people need none.
function digits(value) {
    const size = Math.abs(value);
    if (size !== 0 && (size < 1e-3 || size >= 1e6)) return value.toExponential(2);
    return value.toFixed(size >= 99.95 || Number.isInteger(value) ? 0 : size >= 9.995 ? 1 : size >= 0.9995 ? 2 : 4);
}

function scaled(value, units) {
    const [factor, name] = units.find(([f]) => Math.abs(value) >= f) || units[units.length - 1];
    return digits(value / factor) + " " + name;
}

export function duration(seconds) {
    if (seconds < 90) return scaled(seconds, TIMES);
    const minutes = Math.round(seconds / 60);
    if (minutes < 90) return minutes + " min";
    const hours = Math.floor(minutes / 60);
    return hours < 48 ? hours + " h " + String(minutes % 60).padStart(2, "0") + " min" : Math.round(hours / 24) + " days";
}

// On an axis: as few digits as tell it from its neighbours, and rates without their unit, which the title has.
export function tick(value, unit) {
    if (value === 0) return "0";
    if (unit === undefined || unit === null || unit.endsWith("s/s")) {
        const size = Math.abs(value), plain = String(+value.toPrecision(3));
        if (size >= 1e4) return String(+(scaled(value, POWERS).split(" ")[0])) + scaled(value, POWERS).split(" ")[1];
        return size < 1e-3 ? value.toExponential().replace(/(\.\d)\d*/, "$1") : plain;
    }
    return number(value, unit).replace(/(\d)\.0+ /, "$1 ").replace(/(\.\d*[1-9])0+ /, "$1 ");
}

export function number(value, unit) {
    if (value === null || value === undefined || !Number.isFinite(value)) return "unknown";
    switch (unit) {
    case "s": return duration(value);
    case "B": return scaled(value, BINARY);
    case "B/s": case "FLOP/s": case "Hz": return scaled(value, POWERS) + unit;
    case "steps/s": case "tokens/s": case "events/s": return value >= 1e5 ? scaled(value, POWERS) + " " + unit : digits(value) + " " + unit;
    case "%": return (value < 9.95 && value !== 0 ? value.toFixed(1) : value.toFixed(0)) + " %";
    case "C": return value.toFixed(1) + " °C";
    case "W": case "J": return digits(value) + " " + unit;
    case "yes/no": return value ? "yes" : "no";
    case "level": return digits(value);
    case "steps": case "tokens": case "updates": return value >= 1e7 ? scaled(value, POWERS).trim() : value.toFixed(0);
    case "epochs": return value.toFixed(0);
    default: return digits(value);
    }
}

const NAMES = {
    cpu_load: "load", cpu_steal: "stolen by the hypervisor", cpu_clock: "clock", cpu_pressure: "waiting for a core",
    memory_total: "memory", memory_used: "memory used", memory_pressure: "waiting for memory", memory_level: "memory pressure level",
    swap_used: "swap used", memory_bandwidth: "memory bandwidth", thermal_level: "thermal level", on_mains: "on mains",
    gpu_load: "GPU load", gpu_clock: "GPU clock", gpu_memory: "GPU memory", ane_load: "Neural Engine load",
    step_rate: "steps per second", flop_rate: "FLOP/s", byte_rate: "operand bytes per second", peak_share: "share of the ceiling",
    held: "held by the library", held_peak: "most held", resident: "memory of the process", token_rate: "tokens per second",
    validation_loss: "validation loss", learning_rate: "learning rate", gradient_norm: "gradient norm", time_left: "time left",
};
export const title = name => NAMES[name] || name.replaceAll("_", " ");
export const known = metric => metric && metric.provenance !== "unavailable" && metric.value !== null;
export const value = metric => known(metric) ? number(metric.value, metric.unit) : "unknown";
export const origin = metric => known(metric) ? metric.provenance + ": " + metric.source : metric.reason || "unknown";
export const ratio = value => digits(value);
export const clock = time => new Date(time * 1000).toLocaleTimeString([], {hour12: false});
