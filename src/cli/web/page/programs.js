// Programs that publish: what bounds them, how long steps take, where the time goes, how a training is doing.
import {byId, make, say, set, each} from "./dom.js";
import {duration, known, number, origin, title, value} from "./format.js";
import {newChart, showChart} from "./chart.js";
import {figuresOf, points, runKey, seriesOf, store} from "./store.js";

const FACTS = ["step_rate", "p50", "p90", "p99", "flop_rate", "byte_rate", "peak_share", "resident", "held", "token_rate", "tokens", "steps", "updates"];
const QUANTILES = ["p50", "p90", "p99"];

export const nameOf = p => (p.program || "a program") + (p.activity ? " " + p.activity : "");

function newCard(p) {
    const card = make("article", {class: "card", "aria-label": nameOf(p) + ", pid " + p.pid},
        make("header", {}, make("h3", {}, nameOf(p)), make("p", {class: "dim"}, (p.model ? p.model + " · " : "") + "pid " + p.pid + " · since " + new Date(p.started * 1000).toLocaleTimeString([], {hour12: false}))),
        make("p", {class: "verdict"}));
    card.parts = {verdict: card.lastElementChild};
    card.parts.training = make("div", {hidden: ""}, make("div", {class: "progress"}, make("progress", {max: "1", value: "0", "aria-label": "epochs done of " + nameOf(p) + " " + p.pid}), make("span", {}), make("span", {class: "dim"})), make("div", {class: "charts"}));
    card.parts.facts = make("div", {class: "facts"});
    card.parts.charts = make("div", {class: "charts"});
    card.parts.shares = make("div", {hidden: ""}, make("h4", {}, "Where the time goes"), make("div", {class: "shares", role: "img"}), make("div", {class: "keys dim"}));
    card.parts.unknown = make("details", {}, make("summary", {}), make("dl", {}));
    card.append(card.parts.training, card.parts.facts, card.parts.charts, card.parts.shares, card.parts.unknown);
    card.curves = {};
    return card;
}

// A chart of a card, made when there is something to draw in it.
function curve(card, parent, name, heading, lines, options) {
    const there = lines.filter(line => line.points.some(q => q[1] !== null));
    if (!there.length) return;
    if (!card.curves[name]) parent.append(card.curves[name] = newChart(heading));
    showChart(card.curves[name], there, options);
}

function updateFacts(card, p, figures) {
    each(card.parts.facts, FACTS.filter(f => known(figures[f])), f => f,
        f => make("div", {class: "fact"}, make("span", {class: "dim"}, title(f)), make("b", {}), make("span", {class: "mark"})),
        (fact, f) => {
            say(fact.children[1], value(figures[f]));
            say(fact.children[2], figures[f].provenance);
            set(fact, "title", origin(figures[f]));
        });
    const unknown = p.figures.filter(f => !known(f.metric)), box = card.parts.unknown;
    box.hidden = unknown.length === 0;
    say(box.firstElementChild, "Unknown (" + unknown.length + "), and why");
    each(box.lastElementChild, unknown.flatMap(f => [[f, 0], [f, 1]]), ([f, i]) => f.figure + i, ([, i]) => make(i ? "dd" : "dt", {}),
        (element, [f, i]) => say(element, i ? origin(f.metric) : title(f.figure)));
}

function updateTraining(card, p, figures, since) {
    const box = card.parts.training, [bar, text, left] = box.firstElementChild.children;
    box.hidden = !known(figures.loss) && !known(figures.epoch);
    if (box.hidden) return;
    if (known(figures.epoch) && known(figures.epochs) && figures.epochs.value > 0) {
        const done = Math.min(1, figures.epoch.value / figures.epochs.value);
        set(bar, "value", String(done));
        say(text, "epoch " + figures.epoch.value + " of " + figures.epochs.value);
    } else say(text, known(figures.epoch) ? "epoch " + figures.epoch.value : "");
    say(left, known(figures.time_left) ? "about " + duration(figures.time_left.value) + " left (" + figures.time_left.provenance + ", without early stopping)" : "time left: " + origin(figures.time_left));
    const parent = box.lastElementChild, losses = p.losses || [];
    const by = losses.length > 1 ? {training: losses.map(l => [l[0], l[1]]), validation: losses.map(l => [l[0], l[2]])}
        : {training: points(seriesOf("loss", p.activity, p.pid), since), validation: points(seriesOf("validation_loss", p.activity, p.pid), since)};
    curve(card, parent, "loss", losses.length > 1 ? "Loss by update" : "Loss over time", [{name: "training", colour: 0, points: by.training}, {name: "validation", colour: 1, points: by.validation}],
        losses.length > 1 ? {log: "auto", zero: false, named: true, height: 170} : {log: "auto", zero: false, named: true, from: since, to: store.sample.time, ago: true, height: 170});
    for (const name of ["gradient_norm", "learning_rate"])
        curve(card, parent, name, title(name)[0].toUpperCase() + title(name).slice(1), [{name: title(name), colour: name === "learning_rate" ? 2 : 3, points: points(seriesOf(name, p.activity, p.pid), since)}],
            {log: "auto", from: since, to: store.sample.time, ago: true, height: 170});
}

function updateShares(card, p) {
    const shares = (p.operations || []).slice().sort((a, b) => b.share - a.share), box = card.parts.shares, [, bar, keys] = box.children;
    box.hidden = shares.length === 0;
    set(bar, "aria-label", "Where the time goes: " + shares.map(o => o.name + " " + number(100 * o.share, "%")).join(", "));
    each(bar, shares.map((o, i) => [o, i]), ([o]) => o.name, () => make("i", {}), (part, [o, i]) => {
        part.className = "s" + i % 8;
        part.style.width = 100 * o.share + "%";
    });
    each(keys, shares.map((o, i) => [o, i]), ([o]) => o.name, () => make("span", {class: "key"}, make("i", {"aria-hidden": "true"}), make("span", {})), (key, [o, i]) => {
        key.firstElementChild.className = "s" + i % 8;
        say(key.lastElementChild, o.name + " " + number(100 * o.share, "%"));
    });
}

function updateCard(card, p, since) {
    const figures = figuresOf(p), span = {from: since, to: store.sample.time, ago: true};
    say(card.parts.verdict, p.verdict);
    updateFacts(card, p, figures);
    updateTraining(card, p, figures, since);
    curve(card, card.parts.charts, "latency", "Time of a step",
        QUANTILES.map((q, i) => ({name: q, colour: i, points: points(seriesOf(q, p.activity, p.pid), since)})), {...span, unit: "s", log: "auto"});
    curve(card, card.parts.charts, "rate", "Steps per second",
        [{name: "steps", colour: 0, points: points(seriesOf("step_rate", p.activity, p.pid), since)}], {...span, unit: "steps/s"});
    curve(card, card.parts.charts, "memory", "Memory",
        [["resident", "process"], ["held", "library"]].map(([f, name], i) => ({name, colour: i, points: points(seriesOf(f, p.activity, p.pid), since)})), {...span, unit: "B"});
    curve(card, card.parts.charts, "tokens", "Tokens per second",
        [{name: "tokens", colour: 4, points: points(seriesOf("token_rate", p.activity, p.pid), since)}], {...span, unit: "tokens/s"});
    updateShares(card, p);
}

export function showPrograms(since) {
    const {programs, ignored, ignored_reason} = store.sample;
    byId("nobody").hidden = programs.length > 0;
    each(byId("cards"), programs, runKey, newCard, (card, p) => updateCard(card, p, since));
    byId("ignored").hidden = !ignored;
    say(byId("ignored"), ignored ? ignored + " of the files where programs publish cannot be read: " + ignored_reason : "");
}
