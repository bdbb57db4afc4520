// The machine: load per core, memory, power, temperatures, and why some of it is unknown.
import {byId, make, say, set, each} from "./dom.js";
import {known, number, origin, title, value} from "./format.js";
import {newChart, showChart} from "./chart.js";
import {points, seriesOf, store} from "./store.js";

const TILES = ["cpu_load", "memory_used", "power", "temperature"];
const HEADS = {cpu_load: "Load", memory_used: "Memory", power: "Power", temperature: "Temperature"};
const SUMS = new Set(["memory_total", "energy"]); // shown with others

const all = sensor => store.sample.readings.filter(r => r.sensor === sensor);

// The figure of the whole machine, else the largest.
function main(readings) {
    const there = readings.filter(r => known(r.metric));
    return there.find(r => r.label === "") || there.reduce((a, b) => !a || b.metric.value > a.metric.value ? b : a, null);
}

function newTile(sensor) {
    const tile = make("article", {class: "tile", "aria-label": HEADS[sensor]},
        make("header", {}, make("h3", {}, HEADS[sensor]), make("span", {}, make("b", {}), " ", make("span", {class: "mark"}))),
        make("p", {class: "dim"}), newChart(HEADS[sensor] + " over time"), make("ul", {class: "cores"}));
    tile.chart = tile.querySelector("figure");
    tile.chart.querySelector("figcaption b").hidden = true;
    return tile;
}

function note(sensor, reading) {
    if (sensor === "memory_used") {
        const total = main(all("memory_total")), swap = main(all("swap_used"));
        return (total ? "of " + value(total.metric) + " installed, " + number(100 * reading.metric.value / total.metric.value, "%") + " in use" : "") +
            (swap && swap.metric.value > 0 ? "; " + value(swap.metric) + " in swap" : "");
    }
    if (sensor === "power") {
        const energy = main(all("energy"));
        return (reading.label ? reading.label : "whole machine") + (energy ? "; " + value(energy.metric) + " since the monitor began" : "");
    }
    if (sensor === "temperature") return "highest: " + (reading.label || "the machine");
    return "all cores together";
}

// Loads that belong to one core; kinds of cores ("Performance") come first.
function updateCores(list, readings) {
    const cores = readings.filter(r => r.label && known(r.metric));
    each(list, cores, r => r.label,
        r => make("li", {}, make("span", {}, r.label), make("span", {class: "bar", "aria-hidden": "true"}, make("i", {})), make("span", {})),
        (item, r) => {
            item.children[1].firstElementChild.style.width = Math.min(100, r.metric.value) + "%";
            say(item.children[2], number(r.metric.value, "%"));
            set(item, "title", origin(r.metric));
        });
}

function updateTile(tile, sensor, since) {
    const readings = all(sensor), reading = main(readings);
    if (!reading) return;
    const [now, mark] = tile.querySelectorAll("header b, header .mark");
    say(now, value(reading.metric));
    say(mark, reading.metric.provenance);
    set(mark, "title", origin(reading.metric));
    say(tile.querySelector("p"), note(sensor, reading));
    const drawn = sensor === "cpu_load" || sensor === "memory_used" ? [reading]
        : readings.filter(r => known(r.metric)).sort((a, b) => b.metric.value - a.metric.value).slice(0, 4).sort((a, b) => a.label < b.label ? -1 : 1);
    const total = sensor === "memory_used" ? main(all("memory_total")) : null;
    showChart(tile.chart, drawn.map((r, i) => ({name: r.label || HEADS[sensor], colour: i, points: points(seriesOf(sensor, r.label), since)})),
        {unit: reading.metric.unit, from: since, to: store.sample.time, ago: true, zero: sensor !== "temperature",
            most: sensor === "cpu_load" ? 100 : total ? total.metric.value : undefined});
    if (sensor === "cpu_load") updateCores(tile.querySelector("ul"), readings);
}

function updateOthers() {
    const tiled = r => TILES.includes(r.sensor) || SUMS.has(r.sensor);
    const several = {};
    const there = store.sample.readings.filter(r => !tiled(r) && known(r.metric) && (several[r.sensor] = (several[r.sensor] || 0) + 1) <= 4 && !(r.label && /^cpu\d+$/.test(r.label)));
    each(byId("others"), there, (r => r.sensor + "|" + r.label),
        r => make("div", {class: "fact"}, make("span", {class: "dim"}, title(r.sensor) + (r.label ? ", " + r.label : "")), make("b", {}), make("span", {class: "mark"})),
        (fact, r) => {
            say(fact.children[1], value(r.metric));
            say(fact.children[2], r.metric.provenance);
            set(fact, "title", origin(r.metric));
        });
}

function updateMissing() {
    const missing = store.sample.readings.filter(r => !known(r.metric)), box = byId("missing");
    box.hidden = missing.length === 0;
    say(box.firstElementChild, "Not reported by this machine (" + missing.length + "), and why");
    each(box.lastElementChild, missing.flatMap(r => [[r, 0], [r, 1]]), ([r, i]) => r.sensor + "|" + r.label + i,
        ([, i]) => make(i ? "dd" : "dt", {}),
        (element, [r, i]) => say(element, i ? r.metric.reason || "unknown" : title(r.sensor) + (r.label ? ", " + r.label : "")));
}

export function showMachine(since) {
    each(byId("tiles"), TILES.filter(sensor => main(all(sensor))), s => s, newTile, (tile, sensor) => updateTile(tile, sensor, since));
    updateOthers();
    updateMissing();
}
