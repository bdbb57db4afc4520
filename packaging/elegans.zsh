#compdef elegans
# Completion of the elegans program in zsh.
_elegans() {
    local -a commands
    commands=(
        'info:what this machine is and can do'
        'bench:kernels beside the ceilings of this machine'
        'help:how to use a command'
        'version:version, compiler and libraries'
    )
    if ((CURRENT == 2)); then
        _describe command commands
        _arguments '--help[how to use the program]' '--version[print the version]'
        return
    fi
    local command=$words[2]
    shift words
    ((CURRENT--))
    case $command in
    info) _arguments '--measure[time the ceilings of this machine]' '--json[output for machines]' '--help[how to use it]' ;;
    bench)
        _arguments '1:what:(copy gemm kernels)' '--size[problem size]:size:' \
            '--iterations[how many times]:count:' '--dtype[data type]:type:(f32 f16 bf16)' \
            '--json[output for machines]' '--help[how to use it]'
        ;;
    help) _describe command commands ;;
    esac
}
_elegans "$@"
