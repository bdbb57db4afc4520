#!/bin/sh
# The libraries that a build for arm64 macOS links, made on Linux: `sh tools/macos.sh ZIG FOLDER` makes FOLDER/lib/pkgconfig,
# which PKG_CONFIG_LIBDIR takes. jansson and utf8proc are compiled from Debian's source packages and linked statically.
# sqlite3 and zlib are those of macOS: the linker is given their names and symbols, compilers Debian's headers.
set -eu
zig=$1
mkdir -p "$2"
to=$(cd "$2" && pwd)
[ ! -e "$to/done" ] || exit 0
rm -rf "$to"/* && mkdir -p "$to/include" "$to/lib/pkgconfig" "$to/sources" "$to/apt/lists/partial" "$to/apt/cache"

# sources NAME...: Debian's, from where this machine has its packages, without touching what apt knows of it
sources() {
    mkdir "$to/apt/parts"
    for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources; do
        [ ! -f "$file" ] || sed -e 's/^Types: *deb *$/Types: deb-src/' -e 's/^deb /deb-src /' "$file" >"$to/apt/parts/${file##*/}"
    done
    apt="-qq -o Dir::Etc::SourceList=- -o Dir::Etc::SourceParts=$to/apt/parts -o Dir::State::Lists=$to/apt/lists -o Dir::Cache=$to/apt/cache"
    apt-get $apt update
    (cd "$to/sources" && apt-get $apt source --download-only "$@" 2>/dev/null)
    for name in "$@"; do
        mkdir "$to/sources/$name"
        tar xf "$to/sources/$name"_*.orig.tar.* -C "$to/sources/$name" --strip-components=1
    done
}

# describe NAME FLAG...: for pkg-config
describe() {
    name=$1
    shift
    printf 'Name: %s\nDescription: for macOS\nVersion: 0\nCflags: -I%s/include -DUTF8PROC_STATIC\nLibs: %s\n' "$name" "$to" "$*" >"$to/lib/pkgconfig/$name.pc"
}

# archive NAME FLAG... -- SOURCE...: a static library
archive() {
    name=$1 flags=""
    shift
    while [ "$1" != -- ]; do
        flags="$flags $1"
        shift
    done
    shift
    for source in "$@"; do
        $zig cc -target aarch64-macos -mcpu=apple_m1 -O2 -fPIC -fvisibility=hidden $flags -c "$source" \
            -o "$to/sources/$name.${source##*/}.o"
    done
    $zig ar rcs "$to/lib/lib$name.a" "$to/sources/$name."*.o
}

# of_system NAME FILE: what macOS has as /usr/lib/FILE, with the symbols that Debian's has
of_system() {
    symbols=$(nm -D --defined-only "$(cc -print-file-name="lib$1.so")" | awk '$2 == "T" { sub(/@.*/, "", $3); printf "%s_%s", n++ ? ", " : "", $3 }')
    cat >"$to/lib/lib$1.tbd" <<TBD
--- !tapi-tbd
tbd-version: 4
targets: [ arm64-macos ]
install-name: '/usr/lib/$2'
exports:
  - targets: [ arm64-macos ]
    symbols: [ $symbols ]
...
TBD
}

sources jansson utf8proc
cp /usr/include/jansson_config.h "$to/include/" # what it asks of a system, macOS has, too
cp "$to/sources/jansson/src/jansson.h" "$to/sources/utf8proc/utf8proc.h" /usr/include/sqlite3.h /usr/include/zlib.h /usr/include/zconf.h "$to/include/"
: >"$to/sources/jansson/src/jansson_private_config.h" # what configure would write into it comes as flags
archive jansson "-I$to/include" -DHAVE_STDINT_H -DHAVE_UNISTD_H -DHAVE_FCNTL_H -DHAVE_SYS_TYPES_H -DHAVE_SYS_TIME_H -DHAVE_LOCALE_H \
    -DHAVE_SETLOCALE -DHAVE_LOCALECONV -DHAVE_STRTOLL -DHAVE_OPEN -DHAVE_READ -DHAVE_CLOSE -DHAVE_GETPID -DHAVE_GETTIMEOFDAY \
    -DHAVE_ATOMIC_BUILTINS -DUSE_URANDOM -- "$to"/sources/jansson/src/*.c
archive utf8proc -DUTF8PROC_STATIC -- "$to/sources/utf8proc/utf8proc.c"
of_system sqlite3 libsqlite3.dylib
of_system z libz.1.dylib
describe jansson "$to/lib/libjansson.a"
describe libutf8proc "$to/lib/libutf8proc.a"
describe sqlite3 "$to/lib/libsqlite3.tbd"
describe zlib "$to/lib/libz.tbd"
rm -rf "$to/apt" "$to/sources"
touch "$to/done"
