"""Opens pages in Chromium and looks at them: python3 browser.py FOLDER [--shots]

Every *.html of the folder, in light and dark, on a desk and on a phone: no error in the console, nothing
wider than the window, every picture drawn, no text cut off or over another, all of it legible. Every
*.trace.json: events of a row nest, those of a run lie within their phase, counters stand in order.
Chromium is spoken to through a pipe: nothing listens, nothing is fetched, no module is needed."""
import base64, fcntl, glob, itertools, json, os, shutil, subprocess, sys, tempfile

SIZES = {"desk": (1280, 900), "phone": (390, 844)}

# what a page says of itself; a list of complaints
LOOK = r"""
(() => {
    const bad = [], root = document.documentElement;
    const say = (what, element) => bad.push(what + ": '" + (element.textContent || "").trim().slice(0, 60) + "'");
    if (root.scrollWidth > innerWidth)
        bad.push("the page is " + root.scrollWidth + " wide in a window of " + innerWidth);
    const colour = text => {
        const [r, g, b, a = 1] = text.match(/[\d.]+/g).map(Number);
        return {light: [r, g, b].map(c => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
                    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0), a};
    };
    const behind = element => {
        for (; element; element = element.parentElement) {
            const back = colour(getComputedStyle(element).backgroundColor);
            if (back.a > 0.5) return back.light;
        }
        return matchMedia("(prefers-color-scheme: dark)").matches ? 0 : 1;
    };
    const legible = (element, text) => {
        const a = text.light, b = behind(element), ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        if (ratio < 3) say("contrast " + ratio.toFixed(1), element);
    };
    for (const element of document.querySelectorAll("body *:not(svg, svg *, script, style)"))
        if ([...element.childNodes].some(n => n.nodeType === 3 && n.data.trim()))
            legible(element, colour(getComputedStyle(element).color));
    for (const svg of document.querySelectorAll("svg")) {
        const box = svg.getBoundingClientRect(), name = svg.getAttribute("aria-label");
        if (!name) bad.push("a picture without a name");
        if (!(box.width > 100 && box.height > 10)) bad.push(name + " is " + box.width + " x " + box.height);
        const texts = [...svg.querySelectorAll("text")].map(t => [t, t.getBoundingClientRect()]);
        texts.forEach(([t, r], i) => {
            if (r.left < box.left - 2 || r.right > box.right + 2 || r.top < box.top - 2 || r.bottom > box.bottom + 2)
                say(name + ", cut off", t);
            if (r.height < 9) say(name + ", too small (" + r.height.toFixed(1) + ")", t);
            legible(svg, colour(getComputedStyle(t).fill));
            for (const [u, s] of texts.slice(i + 1))
                if (r.left < s.right - 1 && s.left < r.right - 1 && r.top < s.bottom - 3 && s.top < r.bottom - 3)
                    say(name + ", over '" + t.textContent + "'", u);
        });
    }
    for (const id of ["profile", "diff"]) {
        const data = document.getElementById(id);
        if (!data) continue;
        try { if (JSON.parse(data.textContent)["elegans_" + id] !== 1) bad.push("#" + id + " is none"); }
        catch (error) { bad.push("#" + id + ": " + error); }
    }
    for (const cell of document.querySelectorAll("body > main th:not([scope])")) say("a header of nothing", cell);
    for (const frame of document.querySelectorAll(".wide"))
        if (frame.tabIndex !== 0 || !frame.getAttribute("aria-label")) say("a frame that no key scrolls", frame);
    return bad;
})()
"""


class Browser:
    """Chromium at the other end of two pipes: a message is JSON with a zero behind it."""

    session = None

    def __init__(self, program, home):
        theirs_in, self.out = os.pipe()
        self.into, theirs_out = os.pipe()
        # above 3 and 4, where Chromium expects its ends
        ends = [fcntl.fcntl(fd, fcntl.F_DUPFD, 20) for fd in (theirs_in, theirs_out)]

        def place():
            os.dup2(ends[0], 3)
            os.dup2(ends[1], 4)

        self.process = subprocess.Popen(
            [program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             "--hide-scrollbars", "--disable-background-networking", "--disable-component-update",
             "--remote-debugging-pipe", "--user-data-dir=" + home, "about:blank"],
            preexec_fn=place, pass_fds=(3, 4), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=open(os.path.join(home, "log"), "wb"), env=dict(os.environ, HOME=home))
        for fd in [theirs_in, theirs_out] + ends:
            os.close(fd)
        self.number, self.rest, self.complaints, self.loaded = 0, b"", [], False
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(domain + ".enable")

    def receive(self):
        while b"\0" not in self.rest:
            more = os.read(self.into, 1 << 20)
            if not more:
                raise SystemExit("browser: Chromium ended")
            self.rest += more
        line, self.rest = self.rest.split(b"\0", 1)
        message = json.loads(line)
        method, p = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.complaints.append("exception: " + p["exceptionDetails"].get("exception", {}).get(
                "description", p["exceptionDetails"]["text"]))
        elif method == "Runtime.consoleAPICalled" and p["type"] in ("error", "warning", "assert"):
            self.complaints.append("console: " + " ".join(str(a.get("value", a.get("description"))) for a in p["args"]))
        elif method == "Log.entryAdded" and p["entry"]["level"] in ("error", "warning"):
            self.complaints.append("log: " + p["entry"]["text"])
        elif method == "Page.loadEventFired":
            self.loaded = True
        return message

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") != self.number:
                continue
            if "error" in answer:
                raise SystemExit("browser: %s: %s" % (method, answer["error"]["message"]))
            return answer["result"]

    def look(self, path, scheme, size, shot):
        """Complaints about one page."""
        width, height = SIZES[size]
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                  mobile=size == "phone")
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.complaints, self.loaded = [], False
        self.call("Page.navigate", url="file://" + os.path.abspath(path))
        while not self.loaded:
            self.receive()
        answer = self.call("Runtime.evaluate", expression=LOOK, returnByValue=True)
        if "exceptionDetails" in answer:
            raise SystemExit("browser: the look itself failed: %s" % answer["exceptionDetails"])
        if shot:
            picture = self.call("Page.captureScreenshot", captureBeyondViewport=True)
            with open(shot, "wb") as file:
                file.write(base64.b64decode(picture["data"]))
        return self.complaints + answer["result"]["value"]

    def close(self):
        os.close(self.out)  # it ends when nobody speaks to it any more
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def look_at_trace(events):
    """Complaints about a trace in Chrome's format."""
    bad, rows, counters = [], {}, {}
    for e in events:
        if e["ph"] == "X":
            rows.setdefault(e["tid"], []).append((e["ts"], -e["dur"], e))
        elif e["ph"] == "C":
            counters.setdefault(e["name"], []).append((e["ts"], e["args"]))
            if not e["args"] or any(type(v) not in (int, float) or v < 0 for v in e["args"].values()):
                bad.append("a counter that counts nothing: %s" % e)
        elif e["ph"] != "M":
            bad.append("an event of another kind: %s" % e)
    for row in rows.values():
        open_until = []  # ends of what encloses; 2 ns for the digits
        for ts, dur, e in sorted(row, key=lambda x: x[:2]):
            while open_until and open_until[-1] <= ts + 0.002:
                open_until.pop()
            if open_until and ts - dur > open_until[-1] + 0.002:
                bad.append("does not nest: %s" % e)
            open_until.append(ts - dur)
    phases = {e["name"]: (e["ts"], e["ts"] + e["dur"]) for row in rows.values() for _, _, e in row
              if e["cat"] == "phase"}
    first, last = phases.get("recorded", (0, 0))
    steps = [e for row in rows.values() for _, _, e in row if e["cat"] != "phase"]
    outside = [e for e in steps if e["ts"] < first - 5 or e["ts"] + e["dur"] > last + 5]
    if not steps or outside:
        bad.append("%d of %d steps outside of the recorded phase" % (len(outside), len(steps)))
    for name in ("library", "library, most of a phase", "arena, live"):
        if name not in counters:
            bad.append("no counter '%s'" % name)
        elif counters[name] != sorted(counters[name], key=lambda x: x[0]):
            bad.append("counter '%s' goes back in time" % name)
    return bad


# a page and a trace with all these faults, so that a look that sees none is no look
BROKEN = """<!doctype html><style>body{background:#fff;color:#eee}</style><p>pale<div style="width:5000px">wide</div>
<svg height="40" aria-label="bad"><text x="-30" y="12">over the edge</text><text x="60" y="12">one</text>
<text x="62" y="14">two</text><text x="200" y="20" style="font-size:5px">tiny</text><rect width="nan"/></svg>
<script id="profile" type="application/json">{</script><script>console.error("said so");nobody()</script>"""
FAULTS = ("exception: ", "console: said so", "wide in a window", "contrast", "cut off", "over 'one'", "too small",
          "width", "#profile")


def check_ourselves(browser, home):
    path = os.path.join(home, "broken.html")
    with open(path, "w") as file:
        file.write(BROKEN)
    found = browser.look(path, "light", "phone", None)
    for fault in FAULTS:
        if not any(fault in what for what in found):
            raise SystemExit("browser: a page with the fault '%s' was found good: %s" % (fault, found))
    step = {"ph": "X", "tid": 0, "cat": "run", "name": "a", "ts": 0, "dur": 10}
    found = look_at_trace([step, dict(step, ts=5)])
    for fault in ("does not nest", "outside of the recorded phase", "no counter 'library'"):
        if not any(fault in what for what in found):
            raise SystemExit("browser: a trace with the fault '%s' was found good: %s" % (fault, found))


def main():
    folder, shots = sys.argv[1], "--shots" in sys.argv
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not program:
        raise SystemExit("browser: no Chromium")
    pages = sorted(glob.glob(os.path.join(folder, "*.html")))
    traces = sorted(glob.glob(os.path.join(folder, "*.trace.json")))
    if not pages or not traces:
        raise SystemExit("browser: nothing to look at in '%s'" % folder)
    failed = views = 0
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        browser = Browser(program, home)
        try:
            check_ourselves(browser, home)
            for path, scheme, size in itertools.product(pages, ("light", "dark"), SIZES):
                shot = "%s.%s.%s.png" % (path[:-5], scheme, size) if shots else None
                bad = browser.look(path, scheme, size, shot)
                views += 1
                failed += bool(bad)
                for what in bad:
                    print("%s, %s, %s: %s" % (os.path.basename(path), scheme, size, what))
        finally:
            browser.close()
    for path in traces:
        with open(path) as file:
            bad = look_at_trace(json.load(file)["traceEvents"])
        failed += bool(bad)
        for what in bad[:20]:
            print("%s: %s" % (os.path.basename(path), what))
    if failed:
        raise SystemExit(1)
    print("%d pages in %d views, %d traces: no complaint" % (len(pages), views, len(traces)))


if __name__ == "__main__":
    main()
