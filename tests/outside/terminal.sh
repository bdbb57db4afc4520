#!/bin/sh
# terminal.sh ELEGANS: `elegans monitor` on a real terminal (tmux): drawn, resized, steered by keys; what it watches is killed;
# and the screen is as before after q, Ctrl-C, SIGTERM, SIGHUP, a crash, and Ctrl-Z with fg. Prints what it has proven.
set -eu

elegans=$1
folder=$(mktemp -d)
export XDG_RUNTIME_DIR="$folder" TMUX_TMPDIR="$folder" LC_ALL=C.UTF-8
unset NO_COLOR TMUX
ulimit -c 0 # one of its programs is killed by SIGSEGV
trained=
tmux() { command tmux -f /dev/null -L elegans "$@"; }
finish() {
    tmux kill-server 2>/dev/null || :
    [ -z "$trained" ] || kill -9 "$trained" 2>/dev/null || :
    rm -rf "$folder"
}
trap finish EXIT
checks=0 shown= shell=

screen() { tmux capture-pane -p -t t; }
# waits COMMAND WHAT: until the command succeeds, up to 8 seconds
waits() {
    for i in $(seq 80); do
        if eval "$1"; then
            checks=$((checks + 1))
            return 0
        fi
        sleep 0.1
    done
    echo "FAIL: $2; the screen:" >&2
    screen >&2
    exit 1
}
has() { screen | grep -qF -e "$1"; }
until_shown() { waits 'has "$shown"' "'${shown:=$1}' does not appear" && shown=; }
until_gone() { waits '! has "$shown"' "'${shown:=$1}' stays" && shown=; }
flag() { [ "$(tmux display -p -t t "#{$1}")" = "$2" ]; }
coloured() { tmux capture-pane -e -p -t t | grep -qE "$(printf '\033')\[(3[1-7]|38;5;[0-9]+)m"; }
rows() { [ "$(screen | awk '{ if (length($0)) n = NR } END { print n }')" = "$1" ]; }
key() { tmux send-keys -t t "$@"; }
pid_of() { pgrep -P "$(tmux display -p -t t '#{pane_pid}')"; }
# the shell is back: what it printed before is there, the cursor is visible, no mouse, modes as they were
restored() {
    waits 'flag pane_current_command "$shell"' "it goes on after $1" # it discards what is typed until then
    key "stty -a | grep -q ' icanon' && stty -a | grep -q ' echo ' && echo modes as before" Enter
    until_shown "modes as before"
    until_shown "a line from before"
    for flag in alternate_on mouse_any_flag mouse_button_flag mouse_sgr_flag keypad_flag; do
        waits "flag $flag 0" "$flag after $1"
    done
    waits "flag cursor_flag 1" "no cursor after $1"
    key "clear; echo a line from before" Enter
    until_gone "modes as before"
}
start() {
    [ -n "$shell" ] || shell=$(tmux display -p -t t '#{pane_current_command}')
    key "'$elegans' monitor --interval 0.2 $*" Enter
    until_shown "overview"
    until_shown "memory"
}

tmux new-session -d -s t -x 100 -y 30 "env PS1='$ ' sh -i"
key "echo a line from before" Enter
until_shown "a line from before"

# ---- q; sizes; pages
start
until_shown "cpu0"
waits "flag alternate_on 1" "no screen of its own"
waits coloured "no colours"
until_gone "a line from before"
for size in "80 24" "200 60" "120 40"; do
    tmux resize-window -t t -x "${size% *}" -y "${size#* }"
    waits "rows ${size#* }" "not ${size#* } rows"
    until_shown "quit"
done
tmux resize-window -t t -x 60 -y 15
until_shown "too small"
tmux resize-window -t t -x 100 -y 30
until_shown "overview"
key "?"
until_shown "any key closes it"
key "x"
until_gone "any key closes it"
key Tab Tab
until_shown "sensors of this machine"
key End
until_shown "not reported here"
key Escape
until_shown "memory"
key "+"
until_shown "every 0.5 s"
key "-" "-"
until_shown "every 0.1 s"
key "p"
until_shown "paused"
frozen=$(screen | head -n 1)
sleep 0.5
waits '[ "$(screen | head -n 1)" = "$frozen" ]' "it goes on while paused"
key "p"
until_gone "paused"
key "q"
restored q

# ---- a program that publishes appears, is looked at, and is gone when it was killed
start
awk 'BEGIN { print "a,b,y"; for (i = 0; i < 600; i++) printf "%.4f,%.4f,%.4f\n", sin(i / 10), cos(i / 10), sin(i / 10 + 0.1) }' >"$folder/turns.csv"
"$elegans" train --data "$folder/turns.csv" --target y --window 20 --epochs 100000 --threads 1 --quiet \
    --output "$folder/turns.safetensors" >/dev/null 2>&1 &
trained=$!
until_shown "1 program"
until_shown "epoch "
key Enter
until_shown "pid $trained"
until_shown "steps per second"
kill -9 "$trained"
wait "$trained" 2>/dev/null || :
trained=
until_shown "No program publishes"
key q
restored q

# ---- ways to be ended
start
key C-c
restored Ctrl-C
for signal in TERM HUP SEGV; do
    start
    kill -s $signal "$(pid_of)"
    until_gone "overview"
    restored SIG$signal
done

# ---- Ctrl-Z and fg
start
key C-z
until_gone "overview"
restored Ctrl-Z
key "fg" Enter
until_shown "overview"
key q
restored fg

# ---- no screen: --plain, TERM=dumb, a pipe; and a terminal without UTF-8
for how in "'$elegans' monitor --plain" "TERM=dumb '$elegans' monitor" "'$elegans' monitor </dev/null"; do
    key "clear; $how --count 1 --interval 0.1" Enter
    until_shown "not reported here"
    key "clear" Enter
    until_gone "not reported here"
done
# a screen without colours, messages after it, and the exit code of an alert
key "NO_COLOR=1 '$elegans' monitor --interval 0.1 --alert 'memory_used > 1'; echo exit \$?" Enter
until_shown "overview"
until_shown "memory_used"
waits '! coloured' "colours with NO_COLOR"
key q
until_shown "alert fired: memory_used"
until_shown "exit 4"
key "clear; LC_ALL=C '$elegans' monitor --interval 0.1" Enter
until_shown "overview"
until_shown "+- memory -"
key q
until_gone "overview"
echo "$checks looks at screens of 60x15 to 200x60; restored after q, Ctrl-C, SIGTERM, SIGHUP, SIGSEGV, Ctrl-Z"
