// Two runs beside each other, also such as have ended: curves over one another, figures with their ratio.
import {byId, make, say, set, each} from "./dom.js";
import {clock, known, number, origin, ratio, title, value} from "./format.js";
import {newChart, showChart} from "./chart.js";
import {figuresOf, points, runKey, seriesOf, store} from "./store.js";
import {nameOf} from "./programs.js";

const CURVES = ["loss", "validation_loss", "p50", "p99", "step_rate", "gradient_norm", "learning_rate", "token_rate", "flop_rate", "resident"];
let chart = null;

const ended = run => run.seen < store.sample.time - 1e-3;
const label = run => nameOf(run) + (run.model ? " " + run.model : "") + ", pid " + run.pid + (ended(run) ? ", ended " + clock(run.seen) : "");

// Losses by update, where the run has told them; everything else by seconds since it began.
function curveOf(run, name) {
    const losses = run.losses || [];
    if (name === "loss" && losses.length > 1) return losses.map(l => [l[0], l[1]]);
    if (name === "validation_loss" && losses.some(l => l[2] !== null)) return losses.filter(l => l[2] !== null).map(l => [l[0], l[2]]);
    return points(seriesOf(name, run.activity, run.pid), run.started - 1).map(p => [p[0] - run.started, p[1], p[2], p[3]]);
}

function choose(select, runs, preferred) {
    const before = select.value || preferred;
    each(select, runs, runKey, () => make("option", {}), (option, run) => {
        set(option, "value", runKey(run));
        say(option, label(run));
    });
    select.value = runs.some(r => runKey(r) === before) ? before : preferred;
}

function updateTable(a, b) {
    const fa = figuresOf(a), fb = figuresOf(b);
    const names = a.figures.map(f => f.figure).filter(f => known(fa[f]) || known(fb[f]));
    each(byId("ratios"), names, f => f,
        f => make("tr", {}, make("th", {scope: "row"}, title(f)), make("td", {}), make("td", {}), make("td", {})),
        (row, f) => {
            const both = known(fa[f]) && known(fb[f]) && fa[f].value !== 0;
            say(row.children[1], value(fa[f]));
            say(row.children[2], value(fb[f]));
            say(row.children[3], both ? ratio(fb[f].value / fa[f].value) : "");
            [fa[f], fb[f]].forEach((metric, i) => {
                set(row.children[i + 1], "title", origin(metric));
                row.children[i + 1].className = known(metric) ? "" : "none";
            });
        });
}

export function showComparison() {
    const runs = [...store.runs.values()].sort((x, y) => x.started - y.started);
    byId("comparison").hidden = runs.length < 2;
    byId("one-run").hidden = runs.length >= 2;
    if (runs.length < 2) return;
    choose(byId("run-a"), runs, runKey(runs[runs.length - 2]));
    choose(byId("run-b"), runs, runKey(runs[runs.length - 1]));
    const find = id => runs.find(r => runKey(r) === byId(id).value), a = find("run-a"), b = find("run-b");
    const has = (run, name) => curveOf(run, name).some(p => p[1] !== null);
    const both = CURVES.filter(name => has(a, name) && has(b, name)); // first: they can be compared
    const there = both.concat(CURVES.filter(name => has(a, name) !== has(b, name)));
    const select = byId("curve"), before = select.value;
    each(select, there, name => name, name => make("option", {value: name}, title(name)), () => {});
    select.value = there.includes(before) ? before : there[0] || "";
    const name = select.value;
    if (!chart) byId("overlay").append(chart = newChart(""));
    if (!name) return;
    const series = [a, b].map((run, i) => ({name: "AB"[i], colour: i, points: curveOf(run, name)}));
    const byUpdate = name.endsWith("loss") && ((a.losses || []).length > 1 || (b.losses || []).length > 1);
    chart.title_ = title(name) + (byUpdate ? " by update" : " by seconds since each run began");
    say(chart.querySelector("b"), chart.title_);
    const unit = seriesOf(name, a.activity, a.pid)?.unit || seriesOf(name, b.activity, b.pid)?.unit;
    showChart(chart, series, {unit, log: "auto", zero: !name.endsWith("loss"), height: 220, named: true, xText: byUpdate ? undefined : t => number(t, "s")});
    updateTable(a, b);
}
