# Completion of the elegans program in bash.
_elegans() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} words=
    if [ "$COMP_CWORD" -eq 1 ]; then
        words="info bench help version --help --version"
    else
        case "${COMP_WORDS[1]}:$before" in
        bench:--dtype) words="f32 f16 bf16" ;;
        bench:--size | bench:--iterations) ;;
        bench:bench) words="copy gemm kernels --size --iterations --dtype --json --help" ;;
        bench:*) words="--size --iterations --dtype --json --help" ;;
        info:*) words="--measure --json --help" ;;
        help:*) words="info bench version" ;;
        esac
    fi
    COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -F _elegans elegans
