"""Metrics of `elegans monitor` as Prometheus sees them: python3 metrics.py ELEGANS

promtool finds nothing to say about the text format, of /metrics and of --metrics-file; a Prometheus scrapes OpenMetrics with a
token for some seconds, and gives a figure of the machine and one of a program back, with their types and units."""
import json, os, re, signal, socket, subprocess, sys, tempfile, time, urllib.parse, urllib.request

TOKEN = "0123456789abcdef0123"


def fail(text):
    raise SystemExit("metrics: " + text)


def promtool(text, what):
    done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True)
    said = (done.stdout + done.stderr).strip()
    if done.returncode != 0 or said:
        fail("promtool says of %s: %s" % (what, said))


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def ask(address, **headers):
    with urllib.request.urlopen(urllib.request.Request(address, headers=headers), timeout=10) as answer:
        return answer.read().decode(), answer.headers["Content-Type"]


def query(prometheus, expression):
    text, _ = ask(prometheus + "/api/v1/query?" + urllib.parse.urlencode({"query": expression}))
    return json.loads(text)["data"]["result"]


def wait_for(prometheus, expression, log):
    end = time.time() + 30
    while time.time() < end:
        try:
            found = query(prometheus, expression)
            if found:
                return found
        except OSError:
            pass
        time.sleep(0.3)
    with open(log) as file:
        fail("Prometheus never had '%s':\n%s" % (expression, file.read()[-3000:]))


def check_scrape(program, home):
    monitor = subprocess.Popen([program, "monitor", "--web", "--port", "0", "--interval", "0.3", "--token", TOKEN], stdout=subprocess.PIPE, text=True)
    stream = subprocess.Popen([program, "run", "cfc:4,in=1,seed=1", "--stream"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    port = int(re.search(r":(\d+)/", monitor.stdout.readline())[1])
    address = "http://127.0.0.1:%d/metrics" % port
    try:
        stream.stdin.write("0.5\n" * 50)
        stream.stdin.flush()
        time.sleep(0.7)
        text, kind = ask(address, Authorization="Bearer " + TOKEN)
        if not kind.startswith("text/plain; version=0.0.4"):
            fail("without a wish it is %s" % kind)
        if "elegans_steps_total{" not in text:
            fail("the program that streams is not in it:\n" + text)
        promtool(text, "/metrics")
        # a strict reader of the other form, where there is one
        text, kind = ask(address, Authorization="Bearer " + TOKEN, Accept="application/openmetrics-text; version=1.0.0")
        if not kind.startswith("application/openmetrics-text"):
            fail("asked for OpenMetrics it is %s" % kind)
        try:
            from prometheus_client.openmetrics.parser import text_string_to_metric_families
            families = list(text_string_to_metric_families(text))
            print("%d families for the parser of prometheus_client" % len(families))
        except ImportError:
            pass
        config = os.path.join(home, "prometheus.yml")
        with open(config, "w") as file:
            file.write("global: {scrape_interval: 1s}\nscrape_configs:\n- job_name: elegans\n  authorization: {credentials: %s}\n"
                       "  static_configs: [{targets: ['127.0.0.1:%d']}]\n" % (TOKEN, port))
        own, log = free_port(), os.path.join(home, "log")
        prometheus = subprocess.Popen(["prometheus", "--config.file=" + config, "--storage.tsdb.path=" + os.path.join(home, "data"),
                                       "--web.listen-address=127.0.0.1:%d" % own], stdout=open(log, "w"), stderr=subprocess.STDOUT)
        try:
            base = "http://127.0.0.1:%d" % own
            load = float(wait_for(base, 'elegans_cpu_load_ratio{core=""}', log)[0]["value"][1])
            if not 0 <= load <= 1:
                fail("a load of %g" % load)
            steps = wait_for(base, 'elegans_steps_total{activity="stream"}', log)[0]
            if float(steps["value"][1]) != 50 or steps["metric"]["provenance"] != "counted" or steps["metric"]["model"] != "cfc:4,in=1,seed=1":
                fail("50 steps became %s" % steps)
            about = json.loads(ask(base + "/api/v1/metadata?metric=elegans_memory_used_bytes")[0])["data"]["elegans_memory_used_bytes"][0]
            if about["type"] != "gauge" or about["unit"] != "bytes":
                fail("its unit was lost: %s" % about)
            targets = json.loads(ask(base + "/api/v1/targets")[0])["data"]["activeTargets"]
            if targets[0]["health"] != "up" or targets[0]["lastError"]:
                fail("the scrape: %s" % targets)
            count = query(base, 'scrape_samples_scraped{job="elegans"}')[0]["value"][1]
            series = query(base, 'count({__name__=~"elegans_.*"})')[0]["value"][1]
            return "load %.2f, 50 steps, %s samples in a scrape, %s series" % (load, count, series)
        finally:
            prometheus.send_signal(signal.SIGTERM)
            prometheus.wait(20)
    finally:
        stream.stdin.close()
        stream.wait(10)
        monitor.send_signal(signal.SIGINT)
        if monitor.wait(10) != 0:
            fail("the monitor ended with %d" % monitor.returncode)


def main():
    program = sys.argv[1]
    with tempfile.TemporaryDirectory() as home:
        os.environ["XDG_RUNTIME_DIR"] = os.path.join(home, "runtime")
        os.mkdir(os.environ["XDG_RUNTIME_DIR"], 0o700)
        path = os.path.join(home, "elegans.prom")
        subprocess.run([program, "monitor", "--count", "3", "--interval", "0.05", "--json", "--metrics-file", path], check=True, stdout=subprocess.DEVNULL)
        with open(path) as file:
            promtool(file.read(), "--metrics-file")
        if [name for name in os.listdir(home) if name not in ("runtime", "elegans.prom")]:
            fail("more files than one: %s" % os.listdir(home))
        print("promtool has nothing to say; Prometheus: " + check_scrape(program, home))


main()
