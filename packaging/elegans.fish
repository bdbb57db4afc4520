# Completion of the elegans program in fish.
set -l first __fish_use_subcommand
set -l info '__fish_seen_subcommand_from info'
set -l bench '__fish_seen_subcommand_from bench'
set -l both '__fish_seen_subcommand_from info bench'

complete -c elegans -f
complete -c elegans -n $first -a info -d 'what this machine is, what it can do, and which kernels would run on it'
complete -c elegans -n $first -a bench -d 'measure memory bandwidth, matrix products, kernels, liquid cells'
complete -c elegans -n $first -a graph -d 'look at a graph: text, Graphviz, JSON'
complete -c elegans -n $first -a export -d 'write a model as C source'
complete -c elegans -n $first -a wiring -d 'look at a neural circuit: text, statistics, picture, Graphviz, JSON'
complete -c elegans -n $first -a help -d 'explain a command'
complete -c elegans -n $first -a version -d 'print the version'
complete -c elegans -n $first -l help -d 'explain the program'
complete -c elegans -n $first -l version -d 'print the version'
complete -c elegans -n '__fish_seen_subcommand_from help' -a 'info bench graph wiring export help version'

complete -c elegans -n $both -l json -d 'print JSON'
complete -c elegans -n $both -l threads -x -d 'threads to use'
complete -c elegans -n $both -l isa -x -a 'ref avx2 avx512 neon' -d 'kernels to use'
complete -c elegans -n $both -l help -d 'explain the command'
complete -c elegans -n $info -l measure -d 'measure the ceilings'
complete -c elegans -n $info -l again -d 'measure even if a stored result is there'
complete -c elegans -n $info -l root -x -a '(__fish_complete_directories)' -d 'show the machine recorded in a folder'
complete -c elegans -n $bench -a 'copy gemm kernels cells latency'
complete -c elegans -n $bench -l size -x -d 'copy: bytes; gemm: N or MxNxK'
complete -c elegans -n $bench -l iterations -x -d 'repetitions'
complete -c elegans -n $bench -l dtype -x -a f32 -d 'gemm: element type'
complete -c elegans -n $bench -l case -x -a 'cfc-ncp cfc-deep ltc-ncp cfc-wide hot cold batch' -d 'cells: part of a name'
complete -c elegans -n $bench -l steps -x -d 'cells, latency: steps to time'
complete -c elegans -n '__fish_seen_subcommand_from latency' -F

set -l graph '__fish_seen_subcommand_from graph'
complete -c elegans -n $graph -F
complete -c elegans -n $graph -l example -x -a 'mlp cfc gru' -d 'a built-in network'
complete -c elegans -n $graph -l gradient -d 'with the gradient of its loss'
complete -c elegans -n $graph -l passes -x -d 'as these passes leave it' -a 'all none list'
complete -c elegans -n $graph -l steps -d 'print the compiled steps'
complete -c elegans -n $graph -l dot -d 'print Graphviz'
complete -c elegans -n $graph -l json -r -d 'write the graph as JSON'

set -l export '__fish_seen_subcommand_from export'
complete -c elegans -n $export -F
complete -c elegans -n $export -l to -x -a c -d 'format'
complete -c elegans -n $export -s o -r -d 'folder'
complete -c elegans -n $export -l name -x -d 'of files, struct and functions'
complete -c elegans -n $export -l json -d 'print the figures as JSON'

set -l wiring '__fish_seen_subcommand_from wiring'
complete -c elegans -n $wiring -F
complete -c elegans -n $wiring -a 'autoncp: ncp: full: random:' -d 'a wiring to draw'
complete -c elegans -n $wiring -l stats -d 'print degrees, density, components, paths'
complete -c elegans -n $wiring -l dot -d 'print Graphviz'
complete -c elegans -n $wiring -l svg -r -d 'draw it'
complete -c elegans -n $wiring -l json -r -d 'write its synapses as JSON'
