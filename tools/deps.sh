#!/bin/sh
# Installs what is missing for the purposes named (build, check, arm64, export, browser, web, terminal, python, peers): Debian's packages
# as root or through sudo, Homebrew's on a Mac. Where it may not, it prints the command and fails. Does
# nothing, quickly, when all is there.
set -eu

[ $# -gt 0 ] || set -- build
apt="" brew="" architecture=""
for purpose in "$@"; do
    case "$purpose" in
    build) # macOS has sqlite3 and zlib, and Homebrew's pkgconf knows them
        apt="$apt pkg-config libhwloc-dev libjansson-dev libsqlite3-dev zlib1g-dev libutf8proc-dev
             libncurses-dev libmicrohttpd-dev"
        brew="$brew pkgconf jansson utf8proc ncurses libmicrohttpd"
        ;;
    check) # libudev-dev: what a program that links hwloc statically needs; locales: a decimal comma
        apt="$apt g++ clang clang-format libclang-rt-dev gcovr file locales qemu-user
             gcc-aarch64-linux-gnu libc6-dev-arm64-cross libudev-dev python3 python3-pip valgrind
             abigail-tools libopenblas0-pthread"
        brew="$brew clang-format gcovr"
        ;;
    arm64)
        apt="$apt libhwloc-dev:arm64 libjansson-dev:arm64 libsqlite3-dev:arm64 zlib1g-dev:arm64
             libutf8proc-dev:arm64 libncurses-dev:arm64 libmicrohttpd-dev:arm64"
        architecture="dpkg --add-architecture arm64"
        ;;
    export) # a microcontroller's compiler with its library, and a 32-bit ARM that qemu runs
        apt="$apt gcc-arm-none-eabi libnewlib-arm-none-eabi gcc-arm-linux-gnueabihf
             libc6-dev-armhf-cross qemu-user"
        ;;
    browser) # it needs letters to draw; on a Mac there is none that brew keeps beside others
        apt="$apt chromium fonts-dejavu-core"
        ;;
    web) # what reads metrics
        apt="$apt prometheus"
        brew="$brew prometheus"
        ;;
    terminal) # one that a script can look at
        apt="$apt tmux"
        brew="$brew tmux"
        ;;
    peers)
        apt="$apt libopenblas-dev libblis-dev libdnnl-dev libsleef-dev"
        brew="$brew openblas sleef"
        [ "$(uname -m)" != x86_64 ] || apt="$apt libxsmm-dev"
        ;;
    python) # torch and pandas are for its tests
        apt="$apt python3-dev python3-venv python3-pip python3-wheel python3-numpy python3-torch python3-pandas"
        ;;
    *)
        echo "deps: unknown purpose '$purpose' (build, check, arm64, export, browser, web, terminal, python, peers)" >&2
        exit 2
        ;;
    esac
done

if [ "$(uname)" = Darwin ]; then
    [ -n "$brew" ] || exit 0
    command -v brew >/dev/null || {
        echo "deps: install Homebrew (https://brew.sh), then run: brew install$brew" >&2
        exit 1
    }
    there=" $(brew list -1 | tr '\n' ' ')"
    missing=""
    for package in $brew; do
        case "$there" in *" $package "*) ;; *) missing="$missing $package" ;; esac
    done
    [ -z "$missing" ] || brew install $missing
    exit 0
fi

command -v dpkg-query >/dev/null || {
    echo "deps: not a Debian system; install what these packages contain:" $apt >&2
    exit 1
}
native=$(dpkg --print-architecture)
there=$(dpkg-query -W -f='${db:Status-Status}=${Package}:${Architecture} ' $apt 2>/dev/null || :)
missing=""
for package in $apt; do
    case "$there" in
    *"installed=$package:$native "* | *"installed=$package:all "* | *"installed=$package "*) ;;
    *) missing="$missing $package" ;;
    esac
done
[ -n "$missing" ] || exit 0

command="${architecture:+$architecture && }apt-get update -qq && \
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends$missing"
if [ "$(id -u)" = 0 ]; then as_root=""
elif command -v sudo >/dev/null && { [ -t 0 ] || sudo -n true 2>/dev/null; }; then as_root=sudo
else
    echo "deps: packages are missing; as root run: $command" >&2
    exit 1
fi
echo "deps: installing$missing" >&2
$as_root sh -ec "$command" >/dev/null
