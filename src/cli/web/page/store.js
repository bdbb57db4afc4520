// What the server has said: the last sample, the last hour of every figure, the runs of that hour.
const HOUR = 3600, MOST = 7200;

export const store = {sample: null, times: [], series: new Map(), runs: new Map()};

export const keyOf = (name, label, pid) => name + "|" + label + "|" + pid;
export const runKey = p => p.pid + "-" + p.activity + "-" + p.started;
export const seriesOf = (name, label, pid) => store.series.get(keyOf(name, label, pid || 0));
export const figuresOf = p => p.map || (p.map = Object.fromEntries(p.figures.map(f => [f.figure, f.metric])));

export function takeHistory(history) {
    store.times = history.times;
    store.series = new Map(history.series.map(s => [keyOf(s.name, s.label, s.pid), s]));
    store.runs = new Map(history.runs.map(r => [runKey(r), r]));
}

function put(name, label, pid, metric) {
    if (metric.provenance === "unavailable" || metric.value === null) return;
    const key = keyOf(name, label, pid), last = store.times.length - 1;
    let series = store.series.get(key);
    if (!series) store.series.set(key, series = {name, label, pid, unit: metric.unit, mean: []});
    while (series.mean.length < last) series.mean.push(null);
    series.mean[last] = metric.value;
}

// All that is older than an hour goes, in steps, because moving arrays costs.
function forget() {
    const limit = store.times[store.times.length - 1] - HOUR;
    const gone = store.times.length > MOST ? store.times.length - MOST / 2 : store.times.findIndex(t => t >= limit);
    if (gone < 60) return;
    store.times.splice(0, gone);
    for (const [key, s] of store.series) {
        for (const part of [s.mean, s.least, s.most]) if (part) part.splice(0, gone);
        if (!s.mean.some(v => v !== null && v !== undefined)) store.series.delete(key);
    }
    for (const [key, run] of store.runs) if (run.seen < limit) store.runs.delete(key);
}

export function takeSample(sample) {
    store.sample = sample;
    const last = store.times[store.times.length - 1];
    if (last !== undefined && sample.time <= last) return; // the history had it
    store.times.push(sample.time);
    for (const r of sample.readings) put(r.sensor, r.label, 0, r.metric);
    for (const p of sample.programs) {
        for (const f of p.figures) put(f.figure, p.activity, p.pid, f.metric);
        p.seen = sample.time;
        store.runs.set(runKey(p), p);
    }
    forget();
}

// Points [time, mean, least, most] of a series since a time.
export function points(series, since) {
    const out = [];
    if (!series) return out;
    for (let i = store.times.length - 1; i >= 0 && store.times[i] >= since; i--) {
        const mean = series.mean[i];
        out.push([store.times[i], mean ?? null, series.least?.[i] ?? mean ?? null, series.most?.[i] ?? mean ?? null]);
    }
    return out.reverse();
}
