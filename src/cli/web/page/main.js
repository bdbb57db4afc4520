// The page: asks for the last hour, then listens to samples; says so when the server is gone, and comes back with it.
import {byId, say} from "./dom.js";
import {clock} from "./format.js";
import {showMachine} from "./machine.js";
import {showPrograms} from "./programs.js";
import {showComparison} from "./compare.js";
import {store, takeHistory, takeSample} from "./store.js";

const STATES = {live: "live", waits: "connecting", lost: "disconnected, trying again"};
let source = null, drawn = 0;

function tell(state) {
    const element = byId("state");
    element.className = "state " + state;
    say(element, STATES[state]);
    document.body.classList.toggle("stale", state === "lost");
}

function show() {
    drawn = 0;
    if (!store.sample) return;
    // not more than there is, so that the first minutes fill the curves, too
    const since = Math.max(store.sample.time - Number(byId("span").value), Math.min(store.times[0] ?? Infinity, store.sample.time - 10));
    say(byId("when"), clock(store.sample.time) + ", a sample every " + (store.sample.elapsed < 0.95 ? store.sample.elapsed.toFixed(2) : store.sample.elapsed.toFixed(0)) + " s");
    showMachine(since);
    showPrograms(since);
    showComparison();
}

// A page that nobody sees is not drawn.
function showSoon() {
    if (!drawn && !document.hidden) drawn = requestAnimationFrame(show);
}

async function ask(path) {
    const answer = await fetch(path, {cache: "no-store"});
    if (!answer.ok) throw new Error(path + ": " + answer.status);
    return answer.json();
}

async function begin() {
    try {
        takeHistory(await ask("/api/v1/history"));
        ask("/api/v1/version").then(v => say(byId("version"), v.program + " " + v.version), () => {});
    } catch {
        tell("lost");
        setTimeout(begin, 1000);
        return;
    }
    source = new EventSource("/api/v1/events");
    source.addEventListener("open", () => tell("live"));
    source.addEventListener("sample", event => {
        takeSample(JSON.parse(event.data));
        showSoon();
    });
    source.addEventListener("error", () => { // the history may have gone on without us: begin again
        source.close();
        tell("lost");
        setTimeout(begin, 1000);
    });
}

byId("span").addEventListener("change", showSoon);
byId("comparison").addEventListener("change", showSoon);
document.addEventListener("visibilitychange", showSoon);
addEventListener("resize", showSoon);
addEventListener("pagehide", () => { if (source) source.close(); });
addEventListener("pageshow", event => { if (event.persisted) begin(); });
begin();
