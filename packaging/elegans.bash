# Completion of the elegans program in bash.
_elegans() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} words=
    if [ "$COMP_CWORD" -eq 1 ]; then
        words="info bench graph wiring export help version --help --version"
    else
        case "${COMP_WORDS[1]}:$before" in
        *:--size | *:--iterations | *:--threads | bench:--steps) ;;
        *:--case) words="cfc-ncp cfc-deep ltc-ncp cfc-wide hot cold batch" ;;
        *:--dtype) words="f32" ;;
        *:--example) words="mlp cfc gru" ;;
        graph:--json | graph:graph)
            COMPREPLY=($(compgen -f -- "$word") $(compgen -W "--example --help" -- "$word"))
            return
            ;;
        wiring:--json | wiring:--svg | wiring:wiring)
            COMPREPLY=($(compgen -f -- "$word") $(compgen -W "autoncp: ncp: full: random: --help" -- "$word"))
            return
            ;;
        wiring:*) words="--stats --dot --svg --json --help" ;;
        export:*) words="--to -o --name --json --help" ;;
        graph:*) words="--example --gradient --passes --steps --dot --json --help" ;;
        *:--isa) words="ref avx2 avx512 neon" ;;
        *:--root)
            COMPREPLY=($(compgen -d -- "$word"))
            return
            ;;
        bench:bench) words="copy gemm kernels cells latency" ;;
        bench:latency)
            COMPREPLY=($(compgen -f -- "$word") $(compgen -W "cfc: ltc: --steps --json --isa --help" -- "$word"))
            return
            ;;
        bench:*) words="--size --iterations --dtype --case --steps --json --threads --isa --help" ;;
        info:*) words="--measure --again --json --threads --isa --root --help" ;;
        help:help) words="info bench graph wiring export help version" ;;
        esac
    fi
    COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -F _elegans elegans
