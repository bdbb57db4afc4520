# what a recorded machine was doing, and mistakes
XDG_RUNTIME_DIR=$PWD/runtime; export XDG_RUNTIME_DIR; mkdir -m 700 "$XDG_RUNTIME_DIR"
elegans monitor --once --interval 0.01 --root "$fixtures/sensors/m1" | sed '/^not reported/,$d; s/over .* s$/over N s/'
elegans monitor --once --interval 0.01 --json | grep -q '"sensor": *"cpu_load"' && echo 'as JSON'
elegans monitor --count 2 --interval 0.01 --json | wc -l | tr -d ' '
elegans monitor extra; echo "exit $?"
elegans monitor --interval 0; echo "exit $?"

# a recording of programs, and what its alerts are
recording=$fixtures/recordings/training.jsonl
elegans monitor --replay "$recording" --once
elegans monitor --replay "$recording" --json --count 1 > first.jsonl
elegans monitor --replay first.jsonl --json | cmp - first.jsonl && echo 'written as it was read'
elegans monitor --replay "$recording" --json --alert 'p99:stream > 5us for 1s; temperature > 75C clear 70' > all.jsonl; echo "exit $?"
wc -l < all.jsonl | tr -d ' '
elegans monitor --replay "$recording" --json --alert 'p99:train > 1s' > /dev/null; echo "exit $?"
elegans monitor --replay "$recording" --json --alert 'cpu_load > 90%' --alert-command 'echo "$ELEGANS_ALERT_NAME $ELEGANS_ALERT_VALUE $ELEGANS_ALERT_UNIT" > "$ELEGANS_ALERT_EVENT.txt"' > /dev/null; echo "exit $?"
cat fired.txt cleared.txt
elegans monitor --replay "$recording" --json --alert 'p98 > 5us'; echo "exit $?"
elegans monitor --replay "$recording" --json --alert 'p99 > 5GiB'; echo "exit $?"
elegans monitor --alert-command true; echo "exit $?"
elegans monitor --replay "$recording" --record other.jsonl; echo "exit $?"
printf '{"time":1,"elapsed":1,"readings":[{"sensor":"cpu_lod"}],"programs":[]}\n' > bad.jsonl
elegans monitor --replay bad.jsonl; echo "exit $?"

# this machine, recorded and shown again
elegans monitor --count 2 --interval 0.01 --root "$fixtures/sensors/m1" --record day.jsonl > /dev/null
elegans monitor --replay day.jsonl | grep -c 'what this machine'

# a program that runs: seen from its first step to its end
mkfifo lines
elegans run cfc:4,in=1,seed=1 --stream < lines > answers & runs=$!
exec 3> lines
echo 0.5 >&3
while ! [ -s answers ]; do sleep 0.05; done
elegans monitor --once --interval 0.01 --json | grep -o '"program":"elegans","activity":"stream","model":"cfc:4,in=1,seed=1"'
elegans monitor --once --interval 0.01 --json | grep -o '"figure":"steps","metric":{"value":1.0'
exec 3>&-
wait $runs
elegans monitor --once --interval 0.01 --json | grep -o '"programs":\[\]'
ls "$XDG_RUNTIME_DIR/elegans" | wc -l | tr -d ' '

# one that is killed leaves a file, which the monitor removes; one that shall not publish has none
elegans run cfc:4,in=1,seed=1 --stream < lines > answers2 2> /dev/null & runs=$!
exec 3> lines
echo 0.5 >&3
while ! [ -s answers2 ]; do sleep 0.05; done
pid=$(ls "$XDG_RUNTIME_DIR/elegans" | sed 's/-.*//')
kill -9 "$pid"
wait $runs 2> /dev/null
exec 3>&-
ls "$XDG_RUNTIME_DIR/elegans" | wc -l | tr -d ' '
elegans monitor --once --interval 0.01 --json | grep -o '"programs":\[\],"ignored":0'
ls "$XDG_RUNTIME_DIR/elegans" | wc -l | tr -d ' '
echo 0.5 | ELEGANS_PUBLISH=0 XDG_RUNTIME_DIR=$PWD/nothing elegans run cfc:4,in=1,seed=1 --stream > /dev/null
ls -d nothing/elegans 2> /dev/null || echo 'nothing was published'

# metrics in a file: what node_exporter reads, and OpenMetrics
elegans monitor --replay "$recording" --once --metrics-file sample.prom > /dev/null
grep -c '^# UNIT\|^# EOF' sample.prom
grep '^# TYPE elegans_steps\|^elegans_temperature' sample.prom
elegans monitor --replay "$recording" --once --metrics-file sample.txt > /dev/null
grep '^# TYPE elegans_steps \|^# EOF' sample.txt
elegans monitor --once --metrics-file nowhere/sample.prom --interval 0.01 > /dev/null; echo "exit $?"

# what does not go together with a browser
elegans monitor --web --once; echo "exit $?"
elegans monitor --web --json; echo "exit $?"
elegans monitor --port 8000; echo "exit $?"
elegans monitor --token 0123456789abcdef; echo "exit $?"
