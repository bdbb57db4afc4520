// Curves as SVG, with a sentence that says the same for those who do not see them.
import {make, draw, set} from "./dom.js";
import {number, tick} from "./format.js";

const LEFT = 62, RIGHT = 8, TOP = 8, BOTTOM = 20;

// A step of 1, 2 or 5 times a power of ten.
function step(range, most) {
    const raw = range / most, power = 10 ** Math.floor(Math.log10(raw));
    return power * [1, 2, 5, 10].find(f => f * power >= raw * 0.999);
}

function yTicks(low, high, log, binary) {
    const out = [];
    if (log) {
        const every = Math.max(1, Math.ceil((Math.log10(high) - Math.log10(low)) / 4));
        for (let p = Math.ceil(Math.log10(low) - 1e-9); 10 ** p <= high * 1.0001; p += every) out.push(10 ** p);
        return out;
    }
    const unit = binary ? 2 ** (10 * Math.floor(Math.log2(Math.max(high, 1)) / 10)) : 1, d = step((high - low) / unit, 4) * unit;
    for (let k = Math.ceil(low / d - 1e-9); k * d <= high + d * 1e-6; k++) out.push(k * d);
    return out;
}

function limits(lines, options) {
    let low = Infinity, high = -Infinity;
    for (const line of lines)
        for (const [, mean, least, most] of line.points) {
            if (mean === null || mean === undefined) continue;
            low = Math.min(low, least ?? mean);
            high = Math.max(high, most ?? mean);
        }
    if (low > high) return null;
    const log = options.log === true || (options.log === "auto" && low > 0 && high / low > 30);
    if (log && low > 0) return {low: 10 ** Math.floor(Math.log10(low)), high: 10 ** Math.ceil(Math.log10(high * 1.0001)), log};
    if (options.most !== undefined) high = Math.max(high, options.most);
    if (options.zero !== false) low = Math.min(low, 0);
    if (high <= low) high = low + (Math.abs(low) || 1);
    const d = step(high - low, 4);
    return {low: options.zero !== false ? low : Math.floor(low / d) * d, high: options.most !== undefined ? high : Math.ceil(high / d - 1e-9) * d, log: false};
}

// "12:03:20", "-5 min": seconds before the end; or a plain number.
function xTicks(from, to, options) {
    const d = options.ago ? [5, 10, 15, 30, 60, 120, 300, 600, 900].find(v => (to - from) / v <= 4) || 1800 : step(to - from, 4);
    const out = [];
    if (options.ago) for (let t = 0; t <= to - from; t += d) out.push([to - t, t === 0 ? "now" : t < 60 ? "-" + t + " s" : "-" + t / 60 + " min"]);
    else for (let k = Math.ceil(from / d); k * d <= to; k++) out.push([k * d, options.xText ? options.xText(k * d) : String(+(k * d).toPrecision(6))]);
    return out;
}

const known = p => p[1] !== null && p[1] !== undefined;

function path(points, x, y) {
    let text = "", pen = false;
    points.forEach((p, i) => {
        const alone = !pen && !(i + 1 < points.length && known(points[i + 1])); // a short line, to be seen
        if (known(p)) text += (pen ? "L" : "M") + (x(p[0]) - (alone ? 2 : 0)).toFixed(1) + " " + y(p[1]).toFixed(1) + (alone ? "h4" : "");
        pen = known(p);
    });
    return text;
}

// Between least and most; it ends where the curve does.
function band(points, x, y) {
    if (!points.some(p => known(p) && p.length > 3 && p[3] > p[2])) return "";
    const at = (p, i) => x(p[0]).toFixed(1) + " " + y(p[i]).toFixed(1), runs = [[]];
    for (const p of points)
        if (known(p)) runs[runs.length - 1].push(p);
        else if (runs[runs.length - 1].length) runs.push([]);
    return runs.filter(run => run.length > 1)
        .map(run => "M" + run.map(p => at(p, 3)).join("L") + "L" + run.reverse().map(p => at(p, 2)).join("L") + "Z").join("");
}

function last(points) {
    for (let i = points.length - 1; i >= 0; i--) if (known(points[i])) return points[i];
    return null;
}

// "p50: now 1.10 us, from 1.00 us to 3.20 us"
function sentence(line, unit) {
    const values = line.points.filter(known).map(p => p[1]), end = last(line.points);
    if (!end) return line.name + ": unknown";
    return line.name + ": last " + number(end[1], unit) + ", between " + number(Math.min(...values), unit) + " and " + number(Math.max(...values), unit);
}

export function newChart(title) {
    const figure = make("figure", {},
        make("figcaption", {}, make("b", {}, title), make("span", {class: "keys"})),
        draw("svg", {role: "img", "aria-label": title}));
    figure.svg = figure.lastElementChild;
    figure.keys = figure.querySelector(".keys");
    figure.title_ = title;
    const point = event => { figure.pointed = event ? event.offsetX : null; if (figure.again) figure.again(); };
    figure.svg.addEventListener("pointermove", point);
    figure.svg.addEventListener("pointerleave", () => point(null));
    return figure;
}

function showKeys(figure, lines, options, at) {
    const text = line => {
        const p = at === null ? last(line.points)
            : line.points.filter(known).reduce((best, p) => !best || Math.abs(p[0] - at) < Math.abs(best[0] - at) ? p : best, null);
        return (lines.length > 1 || options.named ? line.name + " " : "") + (p ? number(p[1], options.unit) : "unknown");
    };
    figure.keys.replaceChildren(...lines.map(line => make("span", {class: "key"}, make("i", {class: "s" + line.colour % 8, "aria-hidden": "true"}), text(line))));
}

// lines: [{name, colour, points: [[x, mean, least, most]]}]; options: unit, from, to, ago, log, zero, most, height, xText
export function showChart(figure, lines, options) {
    const width = Math.max(200, figure.clientWidth || 300), height = options.height || 130, svg = figure.svg;
    const range = limits(lines, options);
    figure.again = () => showChart(figure, lines, options);
    set(svg, "viewBox", "0 0 " + width + " " + height);
    set(svg, "height", String(height));
    set(svg, "aria-label", figure.title_ + ". " + lines.map(line => sentence(line, options.unit)).join("; "));
    svg.replaceChildren();
    if (!range) {
        figure.keys.replaceChildren();
        svg.append(draw("text", {x: width / 2, y: height / 2, "text-anchor": "middle"}, "no figures yet"));
        return;
    }
    const from = options.from ?? Math.min(...lines.flatMap(l => l.points.slice(0, 1).map(p => p[0])));
    const to = options.to ?? Math.max(...lines.flatMap(l => l.points.slice(-1).map(p => p[0])), from + 1e-9);
    const x = t => LEFT + (t - from) / (to - from || 1) * (width - LEFT - RIGHT);
    const share = range.log ? v => Math.log(v / range.low) / Math.log(range.high / range.low) : v => (v - range.low) / (range.high - range.low);
    const y = v => TOP + (1 - share(v)) * (height - TOP - BOTTOM);
    for (const v of yTicks(range.low, range.high, range.log, options.unit === "B"))
        svg.append(draw("line", {class: "grid", x1: LEFT, x2: width - RIGHT, y1: y(v), y2: y(v)}),
            draw("text", {x: LEFT - 6, y: y(v) + 4, "text-anchor": "end"}, tick(v, options.unit)));
    let free = Infinity;
    for (const [at, text] of xTicks(from, to, options).sort((a, b) => b[0] - a[0])) {
        const half = 3.5 * text.length, middle = Math.min(Math.max(x(at), LEFT + half), width - RIGHT - half);
        if (middle + half > free) continue;
        free = middle - half - 8;
        svg.append(draw("text", {x: middle, y: height - 4, "text-anchor": "middle"}, text));
    }
    for (const line of lines) {
        const colour = " s" + line.colour % 8, area = band(line.points, x, y);
        if (area) svg.append(draw("path", {class: "range" + colour, d: area}));
        svg.append(draw("path", {class: "curve" + colour, d: path(line.points, x, y), "fill-opacity": 0}));
    }
    const at = figure.pointed != null && figure.pointed > LEFT ? from + (figure.pointed - LEFT) / (width - LEFT - RIGHT) * (to - from) : null;
    if (at !== null) svg.append(draw("line", {class: "cursor", x1: x(at), x2: x(at), y1: TOP, y2: height - BOTTOM}));
    showKeys(figure, lines, options, at);
}
