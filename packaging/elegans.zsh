#compdef elegans
# Completion of the elegans program in zsh.
_elegans() {
    local -a commands common
    commands=(
        'info:what this machine is, what it can do, and which kernels would run on it'
        'bench:measure memory bandwidth, matrix products, kernels, liquid cells, training'
        'graph:look at a graph\: text, Graphviz, JSON'
        'wiring:look at a neural circuit\: text, statistics, picture, Graphviz, JSON'
        'show:look at a model\: layers, parameters, cost and memory of a step'
        'run:run a model over sequences, or as a filter in a pipe'
        'convert:write a model, or the tensors of one, as a model file'
        'export:write a model as C source'
        'demo:train a network to balance a pole, and watch it'
        'help:explain a command'
        'version:print the version'
    )
    common=(
        '--json[print JSON]'
        '--threads[threads to use]:number:'
        '--isa[kernels to use]:name:(ref avx2 avx512 neon)'
        '--help[explain the command]'
    )
    if ((CURRENT == 2)); then
        _describe command commands
        _arguments '--help[explain the program]' '--version[print the version]'
        return
    fi
    local command=$words[2]
    shift words
    ((CURRENT--))
    case $command in
    info)
        _arguments $common '--measure[measure the ceilings]' '--again[measure even if a stored result is there]' \
            '--root[show the machine recorded in a folder]:folder:_directories'
        ;;
    graph)
        _arguments '--example[a built-in network]:name:(mlp cfc gru)' '--gradient[with the gradient of its loss]' \
            '--passes[as these passes leave it]:list:(all none list)' '--steps[print the compiled steps]' \
            '--dot[print Graphviz]' '--json[write the graph as JSON]:file:_files' '--help[explain]' '1:file:_files'
        ;;
    show)
        _arguments '--tensors[list every tensor with its shape]' '--json[print JSON]' \
            '--isa[kernels to use]:name:(ref avx2 avx512 neon)' '--help[explain]' '1:spec or file:_files'
        ;;
    run)
        _arguments $common '--input[sequences: .csv or .npy]:file:_files' '--output[write .csv or .npy]:file:_files' \
            '--time[the column with times or dates]:column:' '--spans[the column with elapsed times]:column:' \
            '--first-span[elapsed time at the first step]:number:' '--state[start from this state]:file:_files' \
            '--save-state[write the state after the last step]:file:_files' \
            '--stream[read lines from stdin, answer each at once]' '--digits[digits after the point]:number:' \
            '1:spec or file:_files'
        ;;
    convert)
        _arguments '-o[the model file to write]:file:_files' '--output[the model file to write]:file:_files' \
            '--config[the architecture as JSON]:file:_files' '--help[explain]' '1:spec or file:_files'
        ;;
    demo)
        _arguments '-o[folder]:folder:_directories' '--steps[of learning in each round]:number:' \
            '--seed[of everything that is drawn]:number:' '--help[explain]'
        ;;
    export)
        _arguments '--to[format]:format:(c)' '-o[folder]:folder:_directories' '--name[of files, struct and functions]:name:' \
            '--json[print the figures as JSON]' '--help[explain]' '1:model:_files'
        ;;
    wiring)
        _arguments '--stats[print degrees, density, components, paths]' '--dot[print Graphviz]' \
            '--svg[draw it]:file:_files' '--json[write its synapses as JSON]:file:_files' '--help[explain]' '1:spec or file:_files'
        ;;
    bench)
        _arguments $common '1:what:(copy gemm kernels cells train latency)' \
            '2:part of the name of a kernel, or model:_files' \
            '--size[copy: bytes; gemm: N or MxNxK]:size:' '--iterations[repetitions]:number:' \
            '--dtype[gemm: element type]:type:(f32)' \
            '--case[cells, train: part of a name]:name:(cfc-ncp cfc-deep ltc-ncp cfc-wide hot cold batch 32x16 32x64 128x16)' \
            '--steps[cells, train, latency: steps to time]:number:' \
            '--rounds[train: how often each case is measured]:number:'
        ;;
    help) _describe command commands ;;
    esac
}
_elegans "$@"
