#!/bin/sh
# The longer checks: `sh tools/check.sh NAME...` runs them, two at a time in the order given, prints one line for
# each and begins no other after one has failed, showing the end of its log. The last line a check prints says what
# it has proven.
set -u
cd "$(dirname "$0")/.." || exit 1

# every check sets its own compiler and flags: nothing leaks in from the caller
mkdir -p "${B:-build}/check" && checks=$(cd "${B:-build}/check" && pwd) || exit 1
make="${MAKE:-make} -s"
unset B CC AR CFLAGS CPPFLAGS LDFLAGS LIBRARIES SCREEN_LIBRARY WEB_LIBRARY SAN COV WERROR RUN FILTER FORMAT PREFIX DESTDIR
unset MAKE MAKEFLAGS MFLAGS MAKELEVEL PKG_CONFIG_PATH PKG_CONFIG_LIBDIR LD_LIBRARY_PATH
export ASAN_OPTIONS=detect_leaks=1:detect_stack_use_after_return=1:strict_string_checks=1:print_legend=0
export UBSAN_OPTIONS=print_stacktrace=1 LSAN_OPTIONS=suppressions=$PWD/tests/lsan.txt:print_suppressions=0
zig_version=0.17.0

# tests that need a locale with a decimal comma find one here, whatever the system has
comma_locale() {
    export LOCPATH="$checks/locale"
    mkdir -p "$LOCPATH"
    flock "$LOCPATH" sh -c '[ -d "$1" ] || localedef -i de_DE -f UTF-8 "$1"' sh "$LOCPATH/de_DE.UTF-8"
}

# build FOLDER VARIABLE=VALUE... TARGET...: never twice at a time in one folder
build() {
    folder=$1
    shift
    mkdir -p "$checks/$folder"
    flock "$checks/$folder" timeout 1200 $make -j2 B="$checks/$folder" WERROR=1 "$@"
}

# build_and_test FOLDER VARIABLE=VALUE...: everything, then the tests
build_and_test() {
    folder=$1
    shift
    comma_locale
    build "$folder" "$@" all "$checks/$folder/bench"
    timeout 2400 $make -j2 B="$checks/$folder" WERROR=1 "$@" run-test
}

# the count line of the tests that ran last in this check
tests_counted() { grep -E '^[0-9]+ passed, ' "$log" | tail -n 1; }

# fails when a line of its input matches; `! grep` would not, because set -e overlooks a negation
none() { if grep "$@"; then return 1; fi; }

# the sanitizers of Debian 12 need a kernel that does not place memory too randomly
fixed_layout() { if setarch -R true; then echo "setarch -R"; fi; }

check_format() {
    clang-format --version | grep -q 'version 14\.' || echo "note: the tree is formatted with clang-format 14"
    $make format FORMAT="--dry-run -Werror"
    echo "clang-format changes nothing"
}

check_layers() {
    awk -f tools/layers.awk include/elegans/*.h src/*/*.[ch] src/*/*/*.[ch]
    echo "no folder uses one below it, no memory is taken around src/memory, no JSON made around its helper"
}

check_headers() {
    for header in include/elegans/*.h; do
        name=elegans/${header##*/}
        for compiler in "gcc -std=c11 -x c" "clang -std=c11 -x c" "g++ -std=c++17 -x c++" "clang++ -std=c++17 -x c++"; do
            echo "$compiler $name"
            echo "#include <$name>" | $compiler -Wall -Wextra -Wpedantic -Werror -Iinclude -fsyntax-only -
        done
    done
    # which it says in its first comment
    grep -LE '^ \* (Stable|Experimental)\. \*/$' include/elegans/*.h | none -v '/elegans\.h$'
    echo "every public header alone, as C11 and as C++17, gcc and clang; each says whether it is stable"
}

# what programs that were linked with the library rely on: functions, structs, values of enums. Additions are fine; anything
# else is recorded on purpose, by make abi-update.
recorded_abi=packaging/libelegans-x86_64.abi.gz

check_abi() {
    [ "$(uname -m)" = x86_64 ] || {
        echo "skipped: the recorded interface is that of x86-64"
        return
    }
    build gcc CC=gcc "$checks/gcc/libelegans.so.0.1.0"
    gzip -dc "$recorded_abi" >"$checks/recorded.abi"
    # exit 4 is any difference, also what was only added
    abidiff --no-show-locs --drop-private-types --suppressions packaging/private-types.suppr --headers-dir2 include/elegans "$checks/recorded.abi" "$checks/gcc/libelegans.so.0.1.0" >"$checks/abi.txt" || [ $? -eq 4 ]
    cat "$checks/abi.txt"
    [ ! -s "$checks/abi.txt" ] || [ "$(grep -c 'changes summary: 0 Removed, 0 Changed' "$checks/abi.txt")" -eq 2 ] || {
        echo "the interface changed; if programs that were compiled before may break, or fields were added, run: make abi-update"
        return 1
    }
    symbols=$(grep -c "<elf-symbol name='eg_" "$checks/recorded.abi")
    echo "no function, struct or enum of the recorded interface ($symbols symbols) changed"
}

# without a network, where the system can take it away: nothing here may ask for one
offline() { if unshare -rn true 2>/dev/null; then echo "unshare -rn"; fi; }

check_gcc() {
    build_and_test gcc CC=gcc RUN="$(offline)"
    echo "gcc $(gcc -dumpversion) -Werror, $(offline), $(tests_counted)"
}

check_clang() {
    export ELEGANS_QUICK=1
    build_and_test clang CC=clang
    echo "clang $(clang -dumpversion) -Werror, $(tests_counted)"
}

check_asan() {
    comma_locale
    B=${checks%/check} MAKE="${make% -s}" sh tools/coverage.sh check
    echo "no bad access, leak or undefined behaviour, no folder of src/ a point below tests/coverage.txt, $(tests_counted)"
}

# areas whose tests work on one thread; among the others are all that share anything
one_thread="-attention_kernels -cache -cache_steps -cached_kernels -cli -convert -csv -date -entropy -export \
-export_quantized -fused -fused_code -gemm -gemm_parts -gemm_tn -gguf -gguf_damage -gradient -graph \
-graph_json -norms -npy -npz -npz_damage -round -rows -safetensors -safetensors_damage -sampler -screen -view -quantized \
-statistics -infile -table -tokenizer -tokenizer_json -tokenizer_vocabularies -tour -vmath -web -wiring \
-wiring_files"

check_tsan() {
    export TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1 ELEGANS_QUICK=threads
    build_and_test tsan CC=gcc SAN=thread KERNEL_CFLAGS="-O1 -fno-var-tracking" RUN="$(fixed_layout)" FILTER="$one_thread"
    echo "no data race, $(tests_counted)"
}

# for_arm64 COMMAND FOLDER ...: build, or build_and_test
for_arm64() {
    command=$1
    shift
    export PKG_CONFIG_LIBDIR=/usr/lib/aarch64-linux-gnu/pkgconfig ELEGANS_QUICK=emulated
    $command arm64 PEERS= CC=aarch64-linux-gnu-gcc AR=aarch64-linux-gnu-ar "$@"
}

check_arm64() {
    # C that is exported is the same on every processor, and most of its tests is the compiler; SME has a check of its own
    for_arm64 build_and_test RUN="qemu-aarch64 -cpu max,sme=off" FILTER="-export -export_quantized"
    file -b "$checks/arm64/tests" | grep 'ARM aarch64'
    echo "cross built -Werror, run by qemu-aarch64, $(tests_counted)"
}

# outer products of SME, on vectors of 512 bits without NEON in streaming mode, as on Apple's chips, and on those of other
# lengths. An emulator has SVE outside of streaming mode, which those chips have not: so the instructions are looked at, too,
# after the look was shown faults. QEMU_AARCH64: another emulator; that of Debian 12 sums bytes wrongly.
check_sme() {
    qemu=${QEMU_AARCH64:-qemu-aarch64}
    for_arm64 build "$checks/arm64/tests" "$checks/arm64/elegans"
    like_apple="$qemu -cpu max,sme_fa64=off,sme-default-vector-length=64"
    for bytes in 16 32 128 256; do
        timeout 600 $qemu -cpu max,sme-default-vector-length=$bytes "$checks/arm64/tests" sme.
    done
    for area in sme. gemm. gemm_parts. gemm_halves.; do
        timeout 600 $like_apple "$checks/arm64/tests" $area
    done
    # these rows were among those that ran
    grep -q 'products by .*sme neon ref' "$log"
    grep -q 'f16 by .*sme fhm neon ref, bf16 by .*sme bf16 neon ref' "$log"
    if grep -q 'bytes: yes' "$log"; then
        timeout 600 $like_apple "$checks/arm64/tests" quantized. -export_quantized -model_quantized
        grep -q 'products by .*sme i8mm' "$log"
        bytes=", of bytes too"
    else bytes="; of bytes never: this emulator sums them wrongly"; fi
    aarch64-linux-gnu-objdump -d --no-show-raw-insn "$checks/arm64/elegans" >"$checks/streaming.txt"
    modes=$(awk -f tools/streaming.awk "$checks/streaming.txt")
    # NEON, floats or a call inside; SVE outside; a mode that is never left or entered, or entered for nothing
    for fault in '/_streaming>:/,/ld1w/s/ld1w.*/fmla\tv0.4s, v1.4s, v2.4s/' '/_streaming>:/,/mopa/s/[a-z]*mopa.*/fadd\ts0, s1, s2/' \
        '/_streaming>:/,/madd/s/madd.*/bl\t0 <memcpy@plt>/' 's/<load_streaming>:/<load>:/' 's/smstop/nop/' 's/smstart$/nop/' \
        's/bl\t.*<product_streaming>/nop/' '/smstop/,/ldp/s/ldp\td8.*/ptrue\tp0.s/'; do
        echo "fault: $fault"
        sed "$fault" "$checks/streaming.txt" >"$checks/fault.txt"
        if cmp -s "$checks/fault.txt" "$checks/streaming.txt" || awk -f tools/streaming.awk "$checks/fault.txt"; then return 1; fi
    done
    counted=$(sed -n 's/.* \([0-9]*\) products.*/\1/p' "$log" | awk '{ n += $1 } END { print n }')
    echo "$counted products on vectors of 128 to 2048 bits$bytes; $modes; 8 planted faults are seen"
}

# Apple's AMX without a Mac: its kernels run the words that a Mac runs, which a handler of SIGILL gives to the model; the
# bits are those of the model on this machine; and mistakes in fields and offsets are noticed
amx_words() { # the AMX words of an object file
    aarch64-linux-gnu-objdump -d "$1" | awk '$2 ~ /^00201[0-3][0-9a-f][0-9a-f]$/ { print $2 }' | sort -u | tr '\n' ' '
}
check_amx() {
    to=$checks/amx
    rm -rf "$to" && mkdir -p "$to"
    build gcc CC=gcc "$checks/gcc/tests"
    "$checks/gcc/tests" amx >"$to/here.txt"
    (for_arm64 build "$checks/arm64/libelegans.a"
        for file in src/kernels/amx/*.c tests/main.c tests/amx_trap.c tests/test_amx*.c tests/test_gemm*.c \
            tests/tile_*.c tests/test_quantized.c tests/test_quantized_helper.c tests/test_kernels.c tests/test_models.c; do
            aarch64-linux-gnu-gcc -std=c11 -O2 -Wall -Wextra -Werror -ffp-contract=off -pthread -D_GNU_SOURCE -Iinclude -Isrc \
                -DEG__AMX_WORDS=1 -DELEGANS_SOURCE="\"$PWD\"" -c "$file" -o "$to/$(basename "$file" .c).o"
        done
        aarch64-linux-gnu-gcc "$to"/*.o "$checks/arm64/libelegans.a" -pthread \
            $(pkg-config --libs hwloc jansson sqlite3 zlib libutf8proc) -lm -o "$to/tests")
    [ "$(amx_words "$to/gemm_f32_amx.o")" = "00201000 00201020 002010a0 00201180 " ]
    [ "$(amx_words "$to/gemm_halves_amx.o")" = "00201000 00201020 002010e0 002011e0 002012a0 " ]
    [ "$(amx_words "$to/gemm_i8i8_amx.o")" = "00201000 00201020 002010a0 00201280 " ]
    [ "$(amx_words "$to/amx_switch.o")" = "00201220 00201221 " ]
    for area in amx gemm. gemm_halves quantized.; do
        ELEGANS_QUICK=emulated timeout 600 qemu-aarch64 -cpu max,sme=off "$to/tests" "$area" >>"$to/words.txt"
    done
    cat "$to/words.txt"
    bits=$(grep -o 'bits [0-9a-f]*' "$to/here.txt")
    [ -n "$bits" ] && grep "$bits" "$to/words.txt"
    LIBS=$(pkg-config --libs hwloc jansson sqlite3 zlib libutf8proc) \
        ONE_OF=${ONE_OF:-3} timeout 1200 python3 tools/mutants.py "$checks/gcc" "$to/mutants" gcc
    echo "words of 4 kernels trapped under qemu: $bits, as here; $(grep 'mutants caught' "$log" | tail -n 1)"
}

# Intel's AMX without such a processor: its instructions are in the objects of its kernels and nowhere else, and mistakes in the source
# of the kernels are noticed by tests that run it through the model
tile_words() { # the tile instructions of object files
    objdump -d --no-show-raw-insn "$@" |
        awk -F'[\t ]+' '/^ *[0-9a-f]+:/ { for (i = 1; i <= 3; i++) if ($i ~ /^(ldtilecfg|sttilecfg|tile[a-z0-9]+|t[cd][pm][a-z0-9]+)$/) print $i }' |
        sort -u | tr '\n' ' '
}
check_tile() {
    [ "$(uname -m)" = x86_64 ] || {
        echo "skipped: these are instructions of x86-64"
        return
    }
    to=$checks/tile
    rm -rf "$to" && mkdir -p "$to"
    build gcc CC=gcc "$checks/gcc/tests"
    kernels=$checks/gcc/obj/src/kernels/tile
    [ "$(tile_words "$kernels/gemm_halves_amxtile.o")" = "tdpbf16ps tileloadd tilestored tilezero " ]
    [ "$(tile_words "$kernels/gemm_integer_amxtile.o")" = "tdpbssd tileloadd tilestored tilezero " ]
    [ "$(tile_words "$kernels/tile_switch_amxtile.o")" = "ldtilecfg tilerelease " ]
    [ -z "$(tile_words $(find "$checks/gcc/obj" -name '*.o' ! -name '*_amxtile.o'))" ]
    "$checks/gcc/tests" tile.
    others=$(find "$checks/gcc/obj/tests" "$checks/gcc/obj/src/cli/view" "$checks/gcc/obj/src/cli/web/web_check.o" "$checks/gcc/obj/web" -name '*.o' ! -name 'tile_gemm_*.o' ! -name exhaustive.o)
    count=0
    while IFS= read -r fault; do
        count=$((count + 1))
        file=${fault%% *}
        mkdir -p "$to/$count/kernels/tile"
        cp src/kernels/tile/*.h "$to/$count/kernels/tile"
        sed -i "${fault#* }" "$to/$count/kernels/tile/$file"
        echo "fault: $fault"
        if cmp -s "$to/$count/kernels/tile/$file" "src/kernels/tile/$file"; then return 1; fi
        for part in halves integer; do
            gcc -std=c11 -O1 -w -ffp-contract=off -D_GNU_SOURCE "-I$to/$count" -Iinclude -Isrc \
                -c tests/tile_gemm_$part.c -o "$to/$count/$part.o"
        done
        gcc "$to/$count"/*.o $others "$checks/gcc/libelegans.a" -pthread \
            $(pkg-config --libs hwloc jansson sqlite3 zlib libutf8proc) -lm -o "$to/$count/tests"
        if timeout 120 "$to/$count/tests" tile. >"$to/$count.txt" 2>&1; then
            echo "no test notices it"
            return 1
        fi
        rm -r "${to:?}/$count"
    done <tools/tile_faults.txt
    echo "tile instructions in 3 objects alone; $count planted faults are seen"
}

# what eg_export_c writes, for a microcontroller and run by a 32-bit ARM
check_export() {
    to=$checks/export
    rm -rf "$to" && mkdir -p "$to"
    build gcc CC=gcc "$checks/gcc/tests"
    export ELEGANS_EXPORT_CC="arm-linux-gnueabihf-gcc -mcpu=cortex-a9 -mfpu=neon -static"
    export ELEGANS_EXPORT_RUN=qemu-arm
    for test in export.scans export.operations export.random_graphs export_quantized.products \
        export_quantized.models export_quantized.sequences; do
        timeout 600 "$checks/gcc/tests" "$test"
    done
    # the models, whose files stay
    models="mlp stream gru cfc mixed cfc_f32 cfc_f16 cfc_int8 cfc_int8_integers cfc_int4"
    ELEGANS_EXPORT_FOLDER=$to timeout 600 "$checks/gcc/tests" export.cells
    ELEGANS_EXPORT_FOLDER=$to timeout 600 "$checks/gcc/tests" export_quantized.cfc
    file -b "$to/run" | grep 'ELF 32-bit LSB executable, ARM'
    for model in $models; do
        arm-none-eabi-gcc -std=c99 -Wall -Wextra -Wdouble-promotion -Werror -O2 -mcpu=cortex-m4 \
            -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16 -c "$to/$model.c" -o "$to/$model.o"
    done
    objects=$(printf '%s.o ' $models)
    (cd "$to" && arm-none-eabi-size $objects)
    # nothing but the mathematics and the memory functions of C is called
    (cd "$to" && arm-none-eabi-nm -u $objects) |
        none -Ev ' (nearbyintf|expf|logf|tanhf|powf|erff|erfcf|sqrtf|__errno|memcpy|memset|memmove)$|^$|:$'
    sizes=$(arm-none-eabi-size "$to/cfc_f32.o" "$to/cfc_int8.o" |
        awk 'NR > 1 { printf "%s%d bytes of flash, %d of data", and, $1, $2 + $3; and = "; in int8: " }')
    echo "the same numbers by qemu-arm; cfc on a Cortex-M4: $sizes"
}

# the patches of docs/adding-*.md on a copy of the tree. What it does not touch is taken from the build of gcc:
# objects keep their times, and the rules in their .d files name the new folder.
check_howto() {
    to=$checks/howto
    rm -rf "$to" && mkdir -p "$to/tree" "$to/build"
    build gcc CC=gcc "$checks/gcc/libelegans.a"
    tar -cf - Makefile data include src tests | tar -xf - -C "$to/tree"
    (cd "$checks/gcc" && tar -cf - obj) | tar -xf - -C "$to/build"
    find "$to/build" -name '*.d' -exec sed -i "s|$checks/gcc/|$to/build/|g" {} +
    touched=
    for page in docs/adding-a*.md; do
        patch=docs/patches/$(basename "$page" .md).patch
        if [ ! -f "$patch" ]; then # it stands in the page
            patch=$to/$(basename "$page" .md).patch
            awk '/^```diff$/ { on = 1; next } /^```/ { on = 0 } on' "$page" >"$patch"
        fi
        [ -s "$patch" ] || continue
        patch -p1 --fuzz=0 -d "$to/tree" <"$patch"
        touched="$touched$(basename "$page" .md): $(grep -c '^+++ ' "$patch") files; "
    done
    # the files of these tests and what they share; -O1 is compiled faster, and warns where -O2 sees more
    tests="cumsum graph graph_json gradient compile compile_random counts cache_steps export readers families device_double temperature_linux"
    sources=$(printf 'tests/test_%s.c ' $tests models transformer_helper)
    (cd "$to/tree" && timeout 900 $make -j2 B="$to/build" CC=gcc WERROR=1 CFLAGS="-O1 -g0 -Wno-maybe-uninitialized" \
        TEST_SRC="tests/main.c tests/graph_rules.c tests/random_graph.c tests/random_graph_make.c tests/export_run.c $sources" "$to/build/tests")
    for test in cumsum graph gradient compile counts cache_steps.bytes export.operations export.random_graphs readers. \
        families.rows families.from_specs families.grouped families.hugging_names device_double temperature; do
        (cd "$to/tree" && timeout 600 "$to/build/tests" "$test")
    done
    echo "$touched$(grep -E '^[0-9]+ passed, ' "$log" | awk '{ n += $1 } END { print n }') tests passed"
}

# what a trained model gives, whichever command asks
check_agree() {
    build gcc CC=gcc "$checks/gcc/elegans"
    ELEGANS="$checks/gcc/elegans" CC=gcc timeout 1200 sh tests/outside/agree.sh "${AGREE:-100}"
}

# the screen of elegans monitor in tmux
check_terminal() {
    command -v tmux >/dev/null || {
        echo "skipped: there is no tmux here, and it could not be installed"
        return
    }
    build gcc CC=gcc "$checks/gcc/elegans"
    timeout 120 sh tests/outside/terminal.sh "$checks/gcc/elegans"
}

# cachegrind NAME RUNS: data references, misses of the first and of the last cache of that many runs
cachegrind() {
    valgrind --tool=cachegrind --cache-sim=yes --I1=32768,8,64 --D1=32768,8,64 --LL=1048576,16,64 \
        --cachegrind-out-file="$checks/cachegrind.out" "$checks/cache_cases" run "$1" "$2"
    awk '/^summary:/ { print $5 + $8, $6 + $9, $7 + $10 }' "$checks/cachegrind.out"
}

# the simulated cache beside valgrind's: the second run of each program, which is two runs less one
check_cache() {
    grep -qw avx2 /proc/cpuinfo && [ "$(uname -m)" = x86_64 ] || {
        echo "skipped: valgrind runs AVX2 kernels at best, and this machine has none"
        return
    }
    build gcc CC=gcc "$checks/gcc/libelegans.a"
    gcc -std=c11 -O2 -Wall -Wextra -Werror -D_GNU_SOURCE -Iinclude tests/outside/cache_cases.c \
        "$checks/gcc/libelegans.a" -pthread $(pkg-config --libs hwloc jansson sqlite3 zlib libutf8proc) -lm -o "$checks/cache_cases"
    for name in $("$checks/cache_cases"); do
        echo "$name $("$checks/cache_cases" simulate "$name" 1) $(cachegrind "$name" 1) $(cachegrind "$name" 2)"
    done >"$checks/cache.txt"
    awk -f tools/cache.awk "$checks/cache.txt"
}

# areas that are slow without a kernel, where every instruction is one that check-gcc runs, and a measurement
no_kernels="-cache -cache_steps -entropy -gguf_damage -graph_json -loop -measure -npz_damage -safetensors \
-safetensors_damage -sampler -statistics -tokenizer_vocabularies"

# a processor with SSE4.1 and nothing newer: an AVX instruction outside its kernel file would trap. That no other
# file has one is seen in the files, too, so that not every way through the program has to be emulated.
check_penryn() {
    export ELEGANS_QUICK=emulated
    old="qemu-x86_64 -cpu Penryn"
    build_and_test gcc CC=gcc RUN="$old" FILTER="-cli -export -export_quantized $no_kernels"
    counted=$(tests_counted)
    # AVX and what came after it: all their names begin with a v
    find "$checks/gcc/obj/src" -name '*.o' ! -name '*_avx2.o' ! -name '*_avx512.o' ! -name '*_avx512bf16.o' ! -name '*_amxtile.o' -exec objdump -d --no-show-raw-insn {} + |
        awk '/file format/ { file = $1; files++ } /^ *[0-9a-f]+:\tv[a-z]/ { print file, $0; bad = 1 }
             END { print files " files without AVX"; exit bad || files < 100 }'
    $old "$checks/gcc/elegans" info
    $old "$checks/gcc/elegans" info --json | python3 -c '
import json, sys
usable = {kernel["isa"] for kernel in json.load(sys.stdin)["kernels"] if kernel["usable"] or kernel["selected"]}
sys.exit(f"usable kernels: {usable}" if usable != {"ref"} else 0)'
    echo "no newer instruction, only ref kernels, $counted"
}

# page NAME MODEL OPTIONS...: a profile as a page and as a trace
page() {
    name=$1
    shift
    "$checks/gcc/elegans" profile "$@" --runs 50 --trace "$to/$name.trace.json" --output "$to/$name.json" >/dev/null
    "$checks/gcc/elegans" report "$to/$name.json" -o "$to/$name.html"
}

# reports of every kind of model in light and dark, on a desk and on a phone, and their traces
check_browser() {
    command -v chromium >/dev/null || {
        echo "skipped: there is no chromium here, and it could not be installed"
        return
    }
    to=$checks/browser
    rm -rf "$to" && mkdir -p "$to"
    export XDG_CACHE_HOME="$checks/cache"
    build gcc CC=gcc "$checks/gcc/elegans"
    page cfc cfc:16,in=4,backbone=64x2 --batch 8 --seq 16 --device M1,"M1 Max"
    page autoncp cfc:autoncp:64:16,in=16 --batch 32 --seq 32 --threads 2
    page ltc ltc:autoncp:28:8,in=3 --batch 4 --seq 16 --device all
    page stacked cfc:8,in=4,mixed=1/cfc:4,backbone=0 --no-compile
    "$checks/gcc/elegans" report "$to/cfc.json" --basic -o "$to/basic.html"
    page one cfc:autoncp:64:16,in=16 --batch 32 --seq 32 --threads 1
    "$checks/gcc/elegans" report "$to/one.json" "$to/autoncp.json" -o "$to/diff.html"
    "$checks/gcc/elegans" report "$to/one.json" "$to/cfc.json" --any-model -o "$to/models.html"
    timeout 120 python3 tests/outside/browser.py "$to" --shots
}

# the path of axe-core's one file, fetched once; nothing where it is not to be had
axe() {
    home=$checks/axe-0.1.8
    [ -f "$home/axe_playwright_python/axe.min.js" ] || {
        rm -rf "$home" "$home.new"
        python3 -m pip install -q --no-deps --target "$home.new" axe-playwright-python==0.1.8 >&2 && mv "$home.new" "$home" || return 0
    }
    echo "$home/axe_playwright_python/axe.min.js"
}

# the page of elegans monitor in a browser, and its metrics in a Prometheus; WEB_SECONDS: how long 50 clients listen
check_web() {
    build gcc CC=gcc "$checks/gcc/elegans"
    "$checks/gcc/elegans" monitor --web --port 0 --count 1 >/dev/null || {
        echo "skipped: there is no web server here"
        return
    }
    metrics="no Prometheus here" page="no chromium here"
    if command -v promtool >/dev/null && command -v prometheus >/dev/null; then
        timeout 120 python3 tests/outside/metrics.py "$checks/gcc/elegans"
        metrics=$(tail -n 1 "$log")
    fi
    if command -v chromium >/dev/null; then
        rm -rf "$checks/web" && mkdir -p "$checks/web"
        timeout 300 python3 tests/outside/web.py "$checks/gcc/elegans" "$checks/web" $(axe) --seconds "${WEB_SECONDS:-10}"
        page=$(tail -n 1 "$log")
    fi
    echo "$page; $metrics"
}

# the Python package: its tests; a wheel, tried in an empty environment of each Python there is; one for macOS, not run
check_python() {
    build gcc CC=gcc lib "$checks/gcc/elegans"
    export B="$checks/gcc" ELEGANS_BUILD="$checks/gcc" MAKE="make WERROR=1 CC=gcc"
    sh tools/python.sh test
    tests=$(grep -E '^[0-9]+ passed' "$log" | tail -n 1)
    sh tools/python.sh notebooks
    # what notebooks show, in light and dark, on a desk and on a phone
    ! command -v chromium >/dev/null || timeout 120 python3 tests/outside/browser.py "$checks/gcc/python/displays"
    sh tools/python.sh wheel
    pythons=$(for minor in 9 10 11 12 13 14; do
        for python in "$HOME"/.pyenv/versions/3.$minor.*/bin/python3 "/usr/bin/python3.$minor"; do
            [ ! -x "$python" ] || { echo "$python" && break; }
        done
    done)
    sh tools/python.sh try "$checks"/gcc/wheels/*manylinux*.whl $pythons
    for_macos lib "$checks/macos/elegans"
    sh tools/python.sh wheel-macos "$(zig)" "$checks/macos"
    echo "$tests; $(ls examples/notebooks/*.ipynb | wc -l) notebooks; a wheel tried with $(echo "$pythons" | wc -w) versions of Python; one for macOS linked, never run"
}

# prints the path of a zig of our version, fetched once per user
zig() {
    home=${XDG_CACHE_HOME:-$HOME/.cache}/elegans/zig-$zig_version
    [ -x "$home/ziglang/zig" ] || {
        rm -rf "$home" "$home.new"
        python3 -m pip install -q --no-deps --target "$home.new" "ziglang==$zig_version" >&2
        mv "$home.new" "$home"
    }
    echo "$home/ziglang/zig"
}

# for_macos TARGET...: zig knows processors, not architectures
for_macos() {
    mkdir -p "$checks/macos-libraries"
    export PKG_CONFIG_LIBDIR="$checks/macos-libraries/lib/pkgconfig"
    without=""
    flock "$checks/macos-libraries" sh tools/macos.sh "$(zig)" "$checks/macos-libraries" || {
        echo "note: no sources of jansson and utf8proc are to be had: built without them"
        without=LIBRARIES=
    }
    build macos $without PREFIX=@loader_path PEERS= AR="$(zig) ar" FLAGS_dotprod="-O3 -mcpu=apple_m1" FLAGS_fhm="-O3 -mcpu=apple_m1" FLAGS_i8mm="-O3 -mcpu=apple_m2" \
        FLAGS_bf16="-O3 -mcpu=apple_m2" \
        CC="$(zig) cc -target aarch64-macos -mcpu=apple_m1" "$@"
}

check_macos() {
    for_macos all "$checks/macos/bench"
    for program in elegans tests bench; do
        file -b "$checks/macos/$program" | grep 'Mach-O 64-bit arm64 executable'
    done
    file -b "$checks/macos/libelegans.0.dylib" | grep 'Mach-O 64-bit arm64 dynamically linked shared library'
    echo "compiled and linked for arm64 macOS by zig $zig_version, never run"
}

# every command with requests for memory failing, of the whole process: LD_PRELOAD, and glibc's own names behind it
check_malloc() {
    build gcc CC=gcc "$checks/gcc/elegans"
    sh tools/malloc.sh "$checks/gcc/elegans" "$checks/malloc"
}

check_installed() {
    to=$checks/installed
    rm -rf "$to" && mkdir -p "$to/static"
    # staged: everything lands below DESTDIR, and uninstall takes all of it back
    build gcc CC=gcc install PREFIX=/opt/elegans DESTDIR="$to/stage"
    grep '^prefix=/opt/elegans$' "$to/stage/opt/elegans/lib/pkgconfig/elegans.pc"
    build gcc CC=gcc uninstall PREFIX=/opt/elegans DESTDIR="$to/stage"
    find "$to/stage" ! -type d | none .

    build gcc CC=gcc install PREFIX="$to/usr"
    export PKG_CONFIG_PATH="$to/usr/lib/pkgconfig"
    version=$(pkg-config --modversion elegans)
    gcc tests/outside/hello.c $(pkg-config --cflags --libs elegans) -o "$to/hello-shared"
    readelf -d "$to/hello-shared" | grep 'NEEDED.*libelegans\.so\.0\]'
    LD_LIBRARY_PATH="$to/usr/lib" "$to/hello-shared" | grep "^elegans $version "
    # a folder with the static library alone, so that -lelegans can mean nothing else
    cp "$to/usr/lib/libelegans.a" "$to/static"
    gcc tests/outside/hello.c -L"$to/static" $(pkg-config --static --cflags --libs elegans) -o "$to/hello-static"
    readelf -d "$to/hello-static" | none libelegans
    "$to/hello-static" | grep "^elegans $version "
    "$to/usr/bin/elegans" version | grep "$version"
    nm -D --defined-only "$to/usr/lib/libelegans.so" | none -v ' eg_[a-z]'
    documented "$to/usr"
    # the lines that our documentation tells ncps users, where torch and ncps are
    python3 tests/outside/ncps_file.py "$to/usr/bin/elegans" || [ $? -eq 77 ]
    echo "installed, linked shared and static by pkg-config, run, uninstalled without a trace"
}

# documented PREFIX: commands and options of the program stand in the completions and in the man page
documented() {
    program=$1/bin/elegans man=$1/share/man/man1/elegans.1
    bash=$1/share/bash-completion/completions/elegans zsh=$1/share/zsh/site-functions/_elegans
    fish=$1/share/fish/vendor_completions.d/elegans.fish
    bash -n "$bash"
    for command in $("$program" help | sed -n 's/^  \([a-z]\{1,\}\) .*/\1/p'); do
        echo "documented: $command"
        grep -qw "$command" "$bash"
        grep -q "'$command:" "$zsh"
        grep -q -e "-a $command " "$fish"
        grep -q "^\.SS \"$command\"" "$man"
        for option in $("$program" help "$command" | sed -n 's/^  \(-o, \)*--\([a-z-]\{1,\}\) .*/\2/p'); do
            echo "documented: $command --$option"
            grep -qw -e "--$option" "$bash"
            grep -q -e "--$option\[" "$zsh"
            grep -q -e "-l $option " "$fish"
            grep -qF -e "\\-\\-$(echo "$option" | sed 's/-/\\-/g')" "$man"
        done
    done
}

# starts from the files the tests have, and from what earlier runs found. The seed is fixed, so that a run which fails does
# so again; FUZZ_SEED=0 draws another one each time, for a long hunt (FUZZ_SECONDS=600).
fuzz_one() {
    program=$checks/fuzz/$1
    mkdir -p "$program.corpus"
    seeds=fuzz/seeds/$1
    [ -d "$seeds" ] || seeds=
    # what a target prints goes nowhere, what the fuzzer and the sanitizers print does not
    $(fixed_layout) "$program" -close_fd_mask=3 -seed="${FUZZ_SEED:-1}" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 \
        -artifact_prefix="$program." "$program.corpus" $seeds
}

check_fuzz() {
    set -- fuzz/fuzz_*.c
    [ -e "$1" ] || {
        echo "skipped: fuzz/ has no target"
        return
    }
    seconds=${FUZZ_SECONDS:-10}
    # kernels parse nothing, and clang takes minutes to instrument their unrolled loops
    $make -j2 B="$checks/fuzz" CC=clang WERROR=1 SAN=fuzzer-no-link,address,undefined \
        KERNEL_CFLAGS=-fno-sanitize=all $(basename -a -s .c "$@" | sed "s|^|$checks/fuzz/|")
    before=
    for source in "$@"; do # two at a time
        fuzz_one "$(basename "$source" .c)" &
        if [ -n "$before" ]; then
            wait "$before"
            wait $!
            before=
        else before=$!; fi
    done
    [ -z "$before" ] || wait "$before"
    echo "$# targets, $seconds s each, nothing found"
}

# not a check: what check-abi compares with from now on
update_abi() {
    build gcc CC=gcc "$checks/gcc/libelegans.so.0.1.0"
    abidw --no-show-locs --drop-private-types --suppressions packaging/private-types.suppr --headers-dir include/elegans --no-corpus-path --no-comp-dir-path "$checks/gcc/libelegans.so.0.1.0" |
        gzip -9n >"$recorded_abi"
}

# one NAME: runs a check and prints its line
one() {
    log=$checks/$1.log
    started=$(date +%s)
    (
        set -e
        "check_$1"
    ) >"$log" 2>&1
    status=$?
    seconds=$(($(date +%s) - started))
    if [ $status -ne 0 ]; then
        tail -n 60 "$log"
        grep -B 1 -E '^FAIL ' "$log" | tail -n 40 # of tests, which may stand far above
        echo "FAIL  check-$1  ($seconds s, exit $status; the whole log: $log)"
        return 1
    fi
    last=$(tail -n 1 "$log") word=ok
    case "$last" in skipped:*) word=skip && mkdir "$taken/$1/skipped" ;; esac
    printf '%-4s  %-15s  (%s, %d s)\n' "$word" "check-$1" "$last" "$seconds"
}

# worker NAME...: those that no other worker has taken, until one fails
worker() {
    for name in "$@"; do
        [ ! -d "$taken/failed" ] || return 1
        mkdir "$taken/$name" 2>/dev/null || continue
        one "$name" # not before an ||, where set -e would overlook what fails inside
        [ $? -eq 0 ] || mkdir -p "$taken/failed"
    done
    [ ! -d "$taken/failed" ]
}

purposes="build check"
[ "$1" != update-abi ] || {
    sh tools/deps.sh $purposes && update_abi
    exit
}
for name in "$@"; do
    case "$name" in arm64 | export | python) purposes="$purposes $name" ;; amx) purposes="$purposes arm64" ;; esac
done
sh tools/deps.sh $purposes || exit 1
# a browser is large and not to be had everywhere: without one its check is skipped
case " $* " in
*" browser "*) command -v chromium >/dev/null || sh tools/deps.sh browser || : ;;
esac
case " $* " in
*" web "*)
    command -v chromium >/dev/null || sh tools/deps.sh browser || :
    command -v prometheus >/dev/null || sh tools/deps.sh web || :
    ;;
esac
case " $* " in
*" terminal "*) command -v tmux >/dev/null || sh tools/deps.sh terminal || : ;;
esac
taken=$(mktemp -d) || exit 1
trap 'rm -rf "$taken"' EXIT
# most of a check is one process, a test after the other
worker "$@" &
beside=$!
worker "$@"
status=$?
wait "$beside" && [ $status -eq 0 ] || exit 1
[ $# -eq 1 ] || echo "$# checks, $(find "$taken" -name skipped | wc -l) skipped"
