"""Looks at the page of `elegans monitor --web` in Chromium: python3 web.py ELEGANS FOLDER [AXE] [--seconds N]

A program trains and one streams meanwhile. Figures move, a reload keeps the history, two tabs go on side by side, a server
that ends is noticed and one that comes back is found again, two runs are compared, also when one has ended; light, dark and a
phone without complaint, of axe-core neither where AXE (its axe.min.js) is given. Then 50 clients listen for N seconds: memory
and descriptors stay as they were. Screenshots go to FOLDER."""
import base64, json, os, re, shutil, signal, socket, subprocess, sys, tempfile, threading, time, urllib.request

from browser import Browser, LOOK

SIZES = {"desk": (1280, 900), "phone": (390, 844)}
ENVIRONMENT = dict(os.environ, NO_COLOR="1")


def fail(text):
    raise SystemExit("web: " + text)


class Server:
    """`elegans monitor --web`, and the address that it prints."""

    def __init__(self, program, port=0, interval="0.2"):
        self.process = subprocess.Popen([program, "monitor", "--web", "--port", str(port), "--interval", interval],
                                        stdout=subprocess.PIPE, text=True, env=ENVIRONMENT)
        self.address = self.process.stdout.readline().strip()
        self.port = int(re.fullmatch(r"http://127\.0\.0\.1:(\d+)/", self.address)[1])

    def end(self):
        self.process.send_signal(signal.SIGINT)
        if self.process.wait(10) != 0:
            fail("the monitor ended with %d" % self.process.returncode)

    def ask(self, path):
        with urllib.request.urlopen(self.address + path, timeout=10) as answer:
            return json.load(answer)

    def descriptors(self):
        return len(os.listdir("/proc/%d/fd" % self.process.pid))

    def memory(self):
        with open("/proc/%d/status" % self.process.pid) as file:
            return int(re.search(r"VmRSS:\s+(\d+)", file.read())[1]) * 1024


class Tab:
    """One of several: calls go to its session."""

    def __init__(self, browser, url):
        self.browser = browser
        browser.session = None
        target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(domain + ".enable")
        self.target = target
        self.go(url)

    def call(self, method, **parameters):
        self.browser.session = self.session
        return self.browser.call(method, **parameters)

    def go(self, url):
        self.browser.loaded = False
        self.call("Page.navigate", url=url)
        self.wait("document.readyState === 'complete'", "the page to load")

    def reload(self):
        self.call("Runtime.evaluate", expression="window.before = true")
        self.call("Page.reload")
        self.wait("!window.before && document.readyState === 'complete'", "the page to load again")

    def get(self, expression, wait=False):
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=wait)
        if "exceptionDetails" in answer:
            fail("%s: %s" % (expression[:80], answer["exceptionDetails"]))
        return answer["result"].get("value")

    def wait(self, expression, what, seconds=20):
        end = time.time() + seconds
        while not self.get(expression):
            if time.time() > end:
                fail("waited for %s in vain; the page says: %s" % (what, self.get("document.body.innerText.slice(0, 600)")))
            time.sleep(0.05)

    def shape(self, scheme, size):
        width, height = SIZES[size]
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=size == "phone")
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.get("new Promise(done => { dispatchEvent(new Event('resize')); setTimeout(done, 500); })", wait=True)

    def shot(self, path, height=None):
        """The whole page, or its upper part."""
        size = self.get("({width: document.documentElement.scrollWidth, height: document.documentElement.scrollHeight})")
        size["height"] = height or size["height"]
        picture = self.call("Page.captureScreenshot", captureBeyondViewport=True, clip=dict(x=0, y=0, scale=1, **size))
        with open(path, "wb") as file:
            file.write(base64.b64decode(picture["data"]))


LIVE = "document.getElementById('state').textContent === 'live'"
DRAWN = "document.querySelectorAll('#tiles path.curve').length > 0 && document.querySelectorAll('#cards .card').length >= 2"


def start_programs(program, folder):
    """A training and a stream that both go on until they are ended."""
    table = os.path.join(folder, "room.csv")
    with open(table, "w") as file:
        file.write("t,a,b,target\n")
        for i in range(4000):
            a, b = (i * 37 % 101) / 101, (i * 53 % 89) / 89
            file.write("%d,%.4f,%.4f,%.4f\n" % (i, a, b, 0.6 * a - 0.3 * b + 0.1))
    # not in the folder of the pictures, which are kept
    train = subprocess.Popen([program, "train", "--data", table, "--target", "target", "--time", "t", "--window", "16", "--epochs", "5000", "--patience", "5000", "--model", "cfc:autoncp:24:4",
                              "--threads", "1", "--quiet", "--output", os.path.join(folder, "room.safetensors")],
                             stdout=subprocess.DEVNULL, stderr=open(os.path.join(folder, "train.log"), "w"), env=ENVIRONMENT)
    stream = subprocess.Popen([program, "run", "cfc:autoncp:64:16,in=16,seed=1", "--stream"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env=ENVIRONMENT, text=True)
    going = threading.Event()

    def feed():
        line = " ".join(["0.5"] * 16) + "\n"
        while not going.is_set():
            try:
                stream.stdin.write(line * 20)
                stream.stdin.flush()
            except (OSError, ValueError):
                return
            time.sleep(0.02)

    threading.Thread(target=feed, daemon=True).start()
    return train, stream, going


def end_program(process):
    if process.stdin:
        try:
            process.stdin.close()
        except OSError:
            pass
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def look_at(tab, name, axe, folder):
    bad = []
    for scheme in ("light", "dark"):
        for size in SIZES:
            tab.shape(scheme, size)
            complaints = tab.get(LOOK)
            if axe:
                found = tab.get("axe.run(document, {resultTypes: ['violations']}).then(r => r.violations.map(v => v.id + ': ' + v.help + ' ' + v.nodes.map(n => n.target.join(' ') + ' ' + (n.any[0] || n.all[0] || n.none[0] || {message: ''}).message).slice(0, 3).join(' | ')))", wait=True)
                complaints += ["axe: " + v for v in found]
            bad += ["%s, %s, %s: %s" % (name, scheme, size, c) for c in complaints]
            tab.shot(os.path.join(folder, "%s.%s.%s.png" % (name, scheme, size)))
            if (name, scheme, size) == ("live", "light", "desk"):
                tab.shot(os.path.join(folder, "monitor.png"), 1190)  # docs/monitoring.md shows it
    return bad


def many_clients(server, count, seconds):
    """Streams that are read by nobody but us; memory and descriptors before, while and after."""
    server.ask("api/v1/history")
    time.sleep(1)
    before, files = server.memory(), server.descriptors()
    clients = []
    for _ in range(count):
        client = socket.create_connection(("127.0.0.1", server.port), timeout=10)
        client.sendall(b"GET /api/v1/events HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n" % server.port)
        clients.append(client)
    heard, samples = [0] * count, [0] * count
    end, memory = time.time() + seconds, []
    for client in clients:
        client.setblocking(False)
    while time.time() < end:
        for i, client in enumerate(clients):
            try:
                text = client.recv(1 << 20)
                if not text:
                    fail("client %d was cut off" % i)
                heard[i] += len(text)
                samples[i] += text.count(b"event: sample")
            except BlockingIOError:
                pass
        memory.append(server.memory())
        time.sleep(0.02)
    most_files = server.descriptors()
    for client in clients:
        client.close()
    end = time.time() + 10
    while server.descriptors() != files and time.time() < end:
        time.sleep(0.1)
    half = len(memory) // 2
    text = ("%d clients for %d s: %d samples each at least, %.1f MB to all; memory %.1f MiB before, %.1f after half, %.1f at the end; "
            "descriptors %d, %d, %d" % (count, seconds, min(samples), sum(heard) / 1e6, before / 2**20, memory[half] / 2**20, memory[-1] / 2**20,
                                        files, most_files, server.descriptors()))
    print(text)
    if min(samples) < 2 or server.descriptors() != files or memory[-1] > memory[half] + (2 << 20):
        fail("that is not flat: " + text)
    return text


def slow_client(server):
    """One that reads nothing is let go, and the others hear on."""
    time.sleep(1)
    files = server.descriptors()
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.connect(("127.0.0.1", server.port))
    client.sendall(b"GET /api/v1/events HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n" % server.port)
    start = time.time()
    while server.descriptors() == files:
        time.sleep(0.05)
    while server.descriptors() > files:
        if time.time() > start + 60:
            fail("a client that reads nothing is still there after a minute")
        time.sleep(0.2)
    print("a client that reads nothing was let go after %.0f s" % (time.time() - start))
    client.close()


def main():
    program, folder = sys.argv[1], sys.argv[2]
    axe = sys.argv[3] if len(sys.argv) > 3 and not sys.argv[3].startswith("--") else None
    seconds = int(sys.argv[sys.argv.index("--seconds") + 1]) if "--seconds" in sys.argv else 10
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not chromium:
        fail("no Chromium")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        ENVIRONMENT["XDG_RUNTIME_DIR"] = os.path.join(home, "runtime")
        os.mkdir(ENVIRONMENT["XDG_RUNTIME_DIR"], 0o700)
        train, stream, going = start_programs(program, home)
        server = Server(program)
        browser = Browser(chromium, home)
        try:
            tab = Tab(browser, server.address)
            tab.wait(LIVE, "the page to be live")
            tab.wait(DRAWN, "two programs")
            # figures move
            when, load = (tab.get("document.getElementById('when').textContent"), tab.get("document.querySelector('#tiles path.curve').getAttribute('d')"))
            tab.wait("document.querySelector('#tiles path.curve').getAttribute('d') !== %s" % json.dumps(load), "the curve to move")
            tab.wait("document.getElementById('when').textContent !== %s" % json.dumps(when), "the time to move")
            # a reload keeps the history, which begins as early; the server may have made one point of two samples
            time.sleep(2)
            first = server.ask("api/v1/history")["times"][0]
            before = tab.get("document.querySelector('#tiles path.curve').getAttribute('d').split('L').length")
            tab.reload()
            tab.wait(LIVE + " && " + DRAWN, "the page after a reload")
            after = tab.get("document.querySelector('#tiles path.curve').getAttribute('d').split('L').length")
            if after < 0.4 * before or server.ask("api/v1/history")["times"][0] != first:
                fail("a reload has %d points, before it were %d" % (after, before))
            # two tabs
            second = Tab(browser, server.address)
            second.wait(LIVE + " && " + DRAWN, "a second tab")
            for one in (tab, second):
                now = one.get("document.getElementById('when').textContent")
                one.call("Page.bringToFront")
                one.wait("document.getElementById('when').textContent !== %s" % json.dumps(now), "both tabs to go on")
            tab.call("Page.bringToFront")
            # pictures, and what is wrong with them
            if axe:
                tab.get(open(axe).read() + "; true")
            time.sleep(3)
            if browser.complaints:
                fail("the console says: %s" % browser.complaints)
            bad = look_at(tab, "live", axe, folder)
            # one run ends, and stays to be compared
            going.set()
            end_program(stream)
            tab.wait("[...document.querySelectorAll('#run-a option')].some(o => o.textContent.includes('ended'))", "a run that has ended")
            tab.wait("document.querySelectorAll('#ratios tr').length > 5 && document.querySelectorAll('#overlay path.curve').length === 2", "the comparison")
            bad += look_at(tab, "ended", axe, folder)
            # the keyboard reaches every control
            tab.shape("light", "desk")
            tab.get("document.activeElement && document.activeElement.blur(), scrollTo(0, 0)")
            reached = set()
            for _ in range(60):
                for kind in ("keyDown", "keyUp"):
                    tab.call("Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab", windowsVirtualKeyCode=9)
                reached.add(tab.get("(e => e.id || e.tagName)(document.activeElement)"))
            for wanted in ("span", "run-a", "run-b", "curve", "SUMMARY"):
                if wanted not in reached:
                    bad.append("the keyboard does not reach %s, but %s" % (wanted, sorted(reached)))
            # the server goes and comes back
            other = Server(program)  # one that the browser does not speak to
            many = many_clients(other, 50, seconds)
            slow_client(other)
            other.end()
            server.end()
            tab.wait("document.getElementById('state').textContent.includes('disconnected')", "the page to notice the end")
            browser.complaints = []  # what cannot be asked is said in the console
            tab.shot(os.path.join(folder, "disconnected.png"))
            server = Server(program, port=server.port)
            tab.wait(LIVE, "the page to come back")
            second.call("Page.bringToFront")
            second.wait(LIVE, "the second tab to come back")
            if bad:
                print("\n".join(bad))
                raise SystemExit(1)
            print("figures move, reload, two tabs, restart, comparison, keyboard; 8 views%s; %s" % (", no violation for axe-core" if axe else "", many))
        finally:
            going.set()
            browser.close()
            for process in (train, stream):
                end_program(process)
            if server.process.poll() is None:
                server.end()


if __name__ == "__main__":
    main()
