#!/bin/sh
# agree.sh COUNT [SEED]: random networks and tables, each learned with every loss; then `predict`, `run`, `run --stream`
# and exported C must give the same numbers for the same rows, and `eval` must say of them what follows from these
# numbers. $ELEGANS is the program, $CC a compiler of C. Two at a time, in a folder of its own.
# A difference prints the seed that repeats it alone (agree.sh 1 SEED) and the command that trained the model.
set -u
: "${ELEGANS:?names the program}"
count=$1 seed=${2:-1} here=$PWD
export LC_ALL=C
elegans() { $ELEGANS "$@"; }
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT

# draw N: $r is one of 0 .. N-1
draw() {
    state=$(((state * 1103515245 + 12345) & 2147483647))
    r=$(((state >> 12) % $1))
}
# one WORD...: $word is one of them
one() {
    draw $#
    shift "$r"
    word=$1
}

# a spec with $outputs outputs where the cell decides on them; a CfC gets a linear map by `train`
network() {
    draw 9
    kind=$r
    draw 9
    units=$((r + 4))
    one "" ,mixed=1 "" ,keras=1 "" ""
    more=$word
    one "" ,mode=pure ,mode=no_gate ""
    mode=$word
    case $more in ,keras=1) mode= ;; esac
    one lecun_tanh silu relu tanh gelu
    activation=$word
    one none linear affine
    map=$word
    case $kind in
    0) echo "cfc:$units,backbone=0$mode$more" ;;
    1) echo "cfc:$units,backbone=6x2,activation=$activation$mode$more" ;;
    2) echo "cfc:autoncp:$((units + 4)):3$mode$more" ;;
    3) echo "cfc:autoncp:$((units + 4)):2,backbone=5,activation=$activation$mode$more" ;;
    4) echo "cfc:ncp:4:3:2,sensory_fanout=2,inter_fanout=2,recurrent=3,motor_fanin=2$mode$more" ;;
    5) echo "ltc:autoncp:$((units + 3 + $1)):$1,unfolds=4" ;;
    6) echo "ltc:full:$((units + $1)):$1,input_map=$map" ;;
    7) echo "ltc:random:$((units + $1)):$1,sparsity=0.4,explicit=1" ;;
    8) echo "cfc:$units,backbone=4/cfc:autoncp:9:3" ;;
    esac
}

# the table: irregular times, inputs, numbers, yes or no, classes; and the same as lines for a stream
table() {
    awk -v rows=70 -v inputs="$inputs" -v kind="$times" -v reversed="$reversed" -v s="$1" '
    function random() { s = (s * 16807) % 2147483647; return s / 2147483647 }
    BEGIN {
        head = "y1,when"
        for (i = 1; i <= inputs; i++) head = head ",f" i
        print head ",y2,b1,b2,c" > "table.csv"
        for (k = 0; k < rows; k++) {
            span = 1 + int(9 * random() * random())
            t += kind == "dates" ? span : span / 8
            when = t
            if (kind == "dates") when = sprintf("2024-05-06 %02d:%02d:%02d", t / 3600, t / 60 % 60, t % 60)
            if (kind == "spans") when = span / 8
            row = "," when
            line = ""
            sum = 0
            for (i = 1; i <= inputs; i++) {
                f = 20 * i + 3 * sin(t / i) + random()
                sum += f - 20 * i
                row = row sprintf(",%.4f", f)
                line = (reversed ? sprintf("%.4f", f) (i > 1 ? "," line : "") : line (i > 1 ? "," : "") sprintf("%.4f", f))
            }
            if (kind != "none") line = line "," (kind == "spans" ? span / 8 : t)
            y = 100 + 5 * sum + random()
            yes = sum > 0
            also = random() > 0.5
            class = "\"so, so\""
            if (sum > 1) class = "high"
            if (sum < -1) class = "low"
            printf "%.3f%s,%.3f,%d,%d,%s\n", y, row, random() - 7, yes, also, class > "table.csv"
            print line > "lines.txt"
        }
    }'
}

# models of one network in C, each over the same lines: NAME OUTPUTS ...
program() {
    echo '#include <stdio.h>'
    echo '#include <stdlib.h>'
    echo '#include <string.h>'
    printf '#include "%s.h"\n' $names
    echo "enum { INPUTS = $inputs };"
    cat <<'END'
#define RUN(NAME, OUTPUTS)                                                            \
    static void over_##NAME(const char *lines, const char *kind, double first) {      \
        static NAME one;                                                              \
        FILE *in = fopen(lines, "r"), *out = fopen(#NAME ".c.csv", "w");              \
        double last = 0;                                                              \
        char text[1024];                                                              \
        NAME##_init(&one);                                                            \
        for (int row = 0; fgets(text, sizeof text, in); row++) {                      \
            float x[INPUTS], y[OUTPUTS], elapsed = (float)first;                      \
            char *at = text;                                                          \
            for (int i = 0; i < INPUTS; i++, at += *at == ',') x[i] = (float)strtod(at, &at); \
            const double when = strtod(at, NULL);                                     \
            if (strcmp(kind, "spans") == 0) elapsed = (float)when;                    \
            else if (strcmp(kind, "none") != 0 && row) elapsed = (float)(when - last); \
            last = when;                                                              \
            NAME##_step(&one, x, &elapsed, y);                                        \
            for (int i = 0; i < OUTPUTS; i++) fprintf(out, i ? ",%.9g" : "%.9g", (double)y[i]); \
            fputc('\n', out);                                                         \
        }                                                                             \
        fclose(out);                                                                  \
        fclose(in);                                                                   \
    }
END
    for name in $names; do echo "RUN($name, $(outputs_of "$name"))"; done
    echo 'int main(int argc, char **argv) {'
    echo '    if (argc < 3) return 1;'
    for name in $names; do echo "    over_$name(\"lines.txt\", argv[1], atof(argv[2]));"; done
    echo '    return 0;'
    echo '}'
}
outputs_of() { awk -F, 'NR == 1 { print NF }' "$1.predict.csv"; }

# compare NAME OTHER ONLY: the files line by line, or the first line only. The largest difference goes to worst.txt, in
# units of the largest number of its column, or of 1: where an output crosses 0, what it is made of does not
compare() {
    paste -d '|' "$1.predict.csv" "$1.$2.csv" | awk -F '|' -v only="$3" '
    NR == 1 || !only {
        n = split($1, a, ",")
        m = split($2, b, ",")
        if (n != m || !n) { printf "line %d has %d numbers, not %d\n", NR, m, n; bad = 1; exit }
        for (i = 1; i <= n; i++) {
            if (a[i] !~ /^-?[0-9]/ || b[i] !~ /^-?[0-9]/) { printf "line %d: %s, not %s\n", NR, b[i], a[i]; bad = 1; exit }
            size = a[i] < 0 ? -a[i] : a[i] + 0
            off = a[i] - b[i]
            if (off < 0) off = -off
            if (!(size <= most[i])) most[i] = size
            if (!(off <= worst[i])) { worst[i] = off; where[i] = NR; wanted[i] = a[i]; got[i] = b[i] }
        }
    }
    END {
        for (i = 1; !bad && i <= n; i++) {
            worst[i] /= most[i] > 1 ? most[i] : 1
            print worst[i] >> "worst.txt"
            if (worst[i] <= 1e-5) continue
            printf "line %d: %s, not %s\n", where[i], got[i], wanted[i]
            bad = 1
        }
        exit bad
    }' || return 1
}

complain() {
    echo "agree.sh 1 $number: $1"
    echo "    $trained"
    failed=1
}

# ask NAME FILE OUTPUTS LAST: what each command says of the rows
ask() {
    name=$1 file=$2 last=$4
    elegans predict "$file" --data table.csv >predicted.csv 2>said.txt || return 1
    # row, time and class go before the outputs
    sed 1d predicted.csv | awk -F, -v n="$3" '{
        for (i = NF - n + 1; i <= NF; i++) printf "%s%s", $i, i < NF ? "," : "\n" }' >"$name.predict.csv"
    sed -e 1d -e 's/,.*//' predicted.csv >rows.txt
    elegans run "$file" --input table.csv >ran.csv 2>>said.txt || return 1
    sed 1d ran.csv >"$name.run.csv"
    elegans run "$file" --stream $stream <lines.txt >"$name.stream.csv" 2>>said.txt || return 1
    elegans export "$file" -o . --name "$name" >/dev/null 2>>said.txt || return 1
    [ -z "$last" ] || for way in run stream; do # only the first window begins where the sequence does
        sed -n "$(head -n 1 rows.txt)p" "$name.$way.csv" >kept.csv && mv kept.csv "$name.$way.csv"
    done
}

# what `eval` says, from the numbers of `predict` and the table: rmse, or the loss of probabilities
figure() {
    case $1 in
    binary) columns="b1${second:+,b2}" ;;
    classes) columns=c ;;
    *) columns="y1${second:+,y2}" ;;
    esac
    sed 's/"so, so"/so so/' table.csv | paste -d, - predicted.plain.csv | awk -F, -v loss="$1" -v columns="$columns" '
    NR == 1 { wide = split(columns, names, ","); for (i = 1; i <= NF; i++) at[$i] = i; first = at["c"]; next }
    {
        if (loss == "classes") {
            p = $at["c"] == "high" ? $(first + 1) : $at["c"] == "low" ? $(first + 2) : $(first + 3)
            sum -= log(p)
            n++
        } else for (i = 1; i <= wide; i++) {
            t = $at[names[i]]
            p = $(first + i)
            sum += loss == "binary" ? -(t == 1 ? log(p) : log(1 - p)) : (p - t) * (p - t)
            n++
        }
    }
    END { sum /= n; printf "%.9g\n", loss == "binary" || loss == "classes" ? sum : sqrt(sum) }'
}

judge() {
    key='"rmse"'
    case $1 in binary | classes) key='"loss"' ;; esac
    { echo p && cat "$1.predict.csv"; } >predicted.plain.csv
    said=$(elegans eval "$1.safetensors" --data table.csv --whole --json | sed -n "s/^  $key: \([^,]*\),*$/\1/p" | head -n 1)
    follows=$(figure "$1")
    echo "$said $follows" | awk '{ off = $1 - $2; if (off < 0) off = -off; exit !(NF == 2 && off <= 1e-4 * (1 + $2)) }' ||
        complain "eval says $key $said of '$1', its predictions say $follows"
}

# everything with one seed
try() {
    number=$1 state=$((($1 * 7919 + 104729) & 2147483647)) failed=0 names=
    mkdir "$folder/$number" && cd "$folder/$number" || exit 1
    for i in 1 2 3 4 5; do draw 2; done
    draw 4
    inputs=$((r + 1))
    draw 2
    second=
    [ "$r" = 0 ] || second=y2
    draw 2
    reversed=$r
    one none numbers dates spans
    times=$word
    one both inputs targets none
    units="--standardise $word"
    one "" "" "--time-unit 3"
    [ "$times" = none ] || units="$units $word"
    draw 8
    last=
    [ "$r" != 0 ] || last=--last
    case $times in
    none) timed= stream= ;;
    spans) timed="--spans when" stream="--spans last" ;;
    *) timed="--time when" stream="--time last" ;;
    esac
    columns=
    for i in $(seq 1 "$inputs"); do
        if [ "$reversed" = 1 ]; then columns="f$i${columns:+,$columns}"; else columns="${columns:+$columns,}f$i"; fi
    done
    table "$number"
    kept=$state
    for loss in mse mae huber binary classes; do
        state=$kept
        wide=1
        [ -z "$second" ] || wide=2
        case $loss in
        binary) target="b1${second:+,b2}" ;;
        classes) target=c wide=3 ;;
        *) target="y1${second:+,y2}" ;;
        esac
        model=$(network "$wide")
        trained="train --inputs $columns --target $target $timed --loss $loss --model $model $units $last"
        elegans train --data table.csv --inputs "$columns" --target "$target" $timed --loss "$loss" --model "$model" $units $last \
            --window 16 --epochs 1 --rate 0.01 --validation none --quiet --output "$loss.safetensors" >said.txt 2>&1 &&
            ask "$loss" "$loss.safetensors" "$wide" "$last" || {
            complain "$(tail -n 1 said.txt)"
            continue
        }
        names="$names $loss"
        echo "$trained" >"$loss.trained"
        [ -n "$last" ] || judge "$loss"
    done
    if [ -e classes.safetensors ] && elegans quantize classes.safetensors --to int8 -o small.safetensors >/dev/null &&
        ask small small.safetensors 3 "$last"; then
        names="$names small"
    else complain "int8: $(tail -n 1 said.txt)"; fi
    span=$(elegans show mse.safetensors | sed -n 's/^  median_span  *//p')
    program >main.c
    ${CC:-cc} -std=c99 -O1 -w main.c $(printf '%s.c ' $names) -lm -o main >said.txt 2>&1 && ./main "$times" "${span:-1}" ||
        complain "$(head -n 1 said.txt)"
    for name in $names; do
        [ ! -e "$name.trained" ] || trained=$(cat "$name.trained") # int8 comes from the last one
        [ -z "$last" ] || { sed -n "$(head -n 1 rows.txt)p" "$name.c.csv" >kept.csv && mv kept.csv "$name.c.csv"; }
        for way in run stream c; do
            off=$(compare "$name" $way "$last") || complain "$name, predict and $way: $off"
        done
    done
    cat worst.txt >>"$folder/worst.$2"
    cd "$here" && rm -rf "${folder:?}/$number"
    return $failed
}

# worker FIRST: every second one
worker() {
    bad=0 next=$1
    while [ "$next" -lt $((seed + count)) ]; do
        try "$next" "$1" || bad=1
        next=$((next + 2))
    done
    return $bad
}
worker $((seed + 1)) &
beside=$!
worker "$seed"
status=$?
wait "$beside" && [ $status -eq 0 ] || exit 1
sort -g "$folder"/worst.* | tail -n 1 | awk -v n="$count" '{
    print n " networks x 5 losses and int8: run, predict, stream and C agree, at most " $1 + 0 " apart" }'
