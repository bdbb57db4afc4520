#compdef elegans
# Completion of the elegans program in zsh.
_elegans() {
    local -a commands common data
    commands=(
        'info:what this machine is, what it can do, and which kernels would run on it'
        'bench:measure memory bandwidth, matrix products, kernels, liquid cells, training'
        'profile:measure what a model costs here, step by step, and what bounds it'
        'report:a profile as one page\: HTML, Markdown'
        'baseline:keep a profile by name, and compare with it later'
        'history:profiles that were kept, as a trend'
        'diagnose:what slows models down on this machine'
        'graph:look at a graph\: text, Graphviz, JSON'
        'wiring:look at a neural circuit\: text, statistics, picture, Graphviz, JSON'
        'show:look at a model\: layers, parameters, cost and memory of a step'
        'train:train a model on tables\: CSV, npy, npz'
        'eval:measure how good a model is on tables'
        'predict:what a trained model says of tables, in their units and labels'
        'entropy:how much the bytes of a file say, place by place, and patches cut by that'
        'run:run a model over sequences, or as a filter in a pipe'
        'convert:write a model, or the tensors of one, as a model file'
        'quantize:write a model in small numbers: f16, bf16, int8, int4'
        'export:write a model as C source'
        'tokenize:the tokens of a text, the text of tokens, a vocabulary'
        'generate:continue a text with a language model, token by token'
        'embed:texts as rows of numbers, to be compared'
        'perplexity:how surprised a language model is by a text'
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
    data=(
        '--data[tables, separated by commas]:files:_files'
        '--inputs[names, numbers, ranges; without it the rest]:columns:'
        '--target[what is to be predicted]:columns:'
        '--time[times or dates of the rows]:column:'
        '--spans[or the times between them]:column:'
        '--group[a new value begins a new recording]:column:'
        '--missing[what becomes of a missing input]:policy:(error drop previous mean zero)'
        '--ahead[the target is that of so many rows later]:number:'
        '--window[rows that are learned at once]:number:'
        '--stride[rows between windows]:number:'
        '--whole[whole recordings instead of windows]'
        '--partial[shorter windows at the ends count, too]'
        '--last[one target per window, that of its last row]'
        '--short-header[the first column has no name]'
        '--no-header[the first line are values]'
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
            '--preset[how to run on a chip]:chip:(all M1 M2 M3 M4)' \
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
    train)
        _arguments $common $data \
            '--validation[a fraction, files or none]:fraction or files:_files' \
            '--split[how a fraction is taken]:kind:(auto recordings time windows)' \
            '--split-at[validate on what comes after]:time:' '--split-seed[of a random split]:number:' \
            '--test[measured once, when all is done]:files:_files' \
            '--model[a spec, or a file to go on from]:spec or file:_files' \
            '--loss[what is minimised]:name:(mse mae huber binary classes)' \
            '--standardise[what gets mean 0 and deviation 1]:what:(both inputs targets none)' \
            '--time-unit[what is 1 for the model]:number:(median)' \
            '--optimizer[how to descend]:name:(adam adamw sgd rmsprop)' '--rate[learning rate]:number:' \
            '--momentum[of the optimizer]:number:' '--weight-decay[pull of the parameters towards 0]:number:' \
            '--clip[longest gradient]:number:' '--schedule[of the rate]:kind:(cosine exponential constant)' \
            '--decay[exponential\: per epoch]:number:' '--floor[cosine\: last part of the rate]:number:' \
            '--warmup[epochs in which the rate rises]:number:' '--unit[where to compute]:unit:(cores avx512 avx2 neon ref)' \
            '--average[keep a running mean of the parameters]:number:' '--epochs[at most]:number:' \
            '--patience[end after so many epochs without a better one]:number:' \
            '--batch[windows in a step]:number:(auto)' '--accumulate[batches that make one update]:number:' \
            '--memory[at most, such as 512M]:size:' '--dtype[of products]:type:(f32 bf16 f16)' \
            '--seed[of values, order and dropout]:number:' \
            '--output[the model]:file:_files' '--checkpoint[kept, not beside the model]:file:_files' \
            '--every[steps between checkpoints]:number:' '--resume[go on from the checkpoint]' \
            '--keep-last[the last parameters, not the best]' \
            '--log[a line of JSON for each epoch]:file:_files' \
            '--curve[losses over epochs as SVG]:file:_files' '--quiet[no progress]' \
            '1:file of options:_files -g "*.json"'
        ;;
    eval)
        _arguments $common $data '--loss[what is minimised]:name:(mse mae huber binary classes)' '1:spec or file:_files'
        ;;
    predict)
        _arguments $common $data '--output[write CSV there]:file:_files' \
            '--digits[digits after the point]:number:' '1:spec or file:_files'
        ;;
    entropy)
        _arguments '--window[bytes of a window]:number:' '--patches[cut the input into patches]' \
            '--minimum[bytes of the shortest patches]:number:' '--maximum[bytes of the longest patches]:number:' \
            '--low[entropy up to which patches are longest]:number:' \
            '--high[entropy from which they are shortest]:number:' '--target[so many patches]:number:' \
            '--fixed[patches of 18 bytes, whatever they hold]' '--size[the same with N bytes]:number:' \
            '--json[print JSON]' '-o[where the JSON goes]:file:_files' '--output[where the JSON goes]:file:_files' \
            '--svg[draw it]:file:_files' '--help[explain]' '1:file:_files'
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
    tokenize)
        _arguments '--ids[print ids alone]' '--decode[the text are ids]' \
            '--ends[add what the model wants before and after]' '--special[special tokens in the text count]' \
            '--json[print as JSON]' '--help[explain the command]' '1:model:_files' '2:text:'
        ;;
    generate)
        _arguments $common '-p[how the text begins]:prompt:' '-n[tokens to make]:number:' \
            '--temp[0 = always the likeliest token]:number:' '--top-k[among the K likeliest, 0 = all]:number:' \
            '--top-p[among those with together P]:number:' '--seed[another text for each]:number:' \
            '--context[tokens of prompt and text together]:number:' \
            '--cache[keys and values]:type:(f32 f16 int8)' '--chunk[tokens of the prompt at once]:number:' \
            '--tokenizer[vocabulary, if not the own one]:file:_files' '--no-map[read the model, do not map it]' '--ignore-end[go on where the text ends]' \
            '--stats[then speeds, on stderr]' '1:spec, file or folder:_files'
        ;;
    embed)
        _arguments $common '--pooling[how tokens become one row]:how:(mean first last)' \
            '--unscaled[rows as they are, not of length 1]' '--compare[cosines of all texts with all, not rows]' \
            '--output[write the rows as .npy]:file:_files' \
            '--tokenizer[vocabulary, if not the own one]:file:_files' '1:spec, file or folder:_files' '*:text:'
        ;;
    perplexity)
        _arguments $common '--context[tokens of a piece]:number:' \
            '--tokenizer[vocabulary, if not the own one]:file:_files' '1:spec, file or folder:_files' '2:text:_files'
        ;;
    quantize)
        _arguments '--to[the type]:type:(f16 bf16 int8 int4)' '-o[the model file to write]:file:_files' \
            '--output[the model file to write]:file:_files' '--block[neighbours that share a scale]:number:' \
            '--per[what has a scale of its own]:what:(channel tensor block)' '--symmetric[scales alone, no zero points]' \
            '--whole-range[int4: off by half a step at most]' '--integers[make what meets it int8, too]' '--keep[tensors that stay f32]:names:' \
            '--data[compare outputs on this]:file:_files' '--time[the column with times]:column:' \
            '--spans[the column with elapsed times]:column:' $common '1:spec or file:_files'
        ;;
    demo)
        _arguments '-o[folder]:folder:_directories' '--steps[of learning in each round]:number:' \
            '--seed[of everything that is drawn]:number:' '--help[explain]'
        ;;
    export)
        _arguments '--to[format]:format:(c)' '-o[folder]:folder:_directories' '--name[of files, struct and functions]:name:' \
            '--against[say how far outputs are from those of this model]:model:_files' \
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
            '--dtype[gemm: type of the right side]:type:(f32 f16 bf16 i8 i4)' \
            '--block[gemm: numbers that share a scale]:number:' '--symmetric[gemm: no zero points]' '--integers[gemm: rows are made int8, too]' \
            '--case[cells, train: part of a name]:name:(cfc-ncp cfc-deep ltc-ncp cfc-wide hot cold batch 32x16 32x64 128x16)' \
            '--steps[cells, train, latency: steps to time]:number:' \
            '--rounds[train: how often each case is measured]:number:'
        ;;
    profile)
        _arguments $common '1:spec or file:_files' '2:what:(compute memory hardware all)' \
            '--batch[samples at once]:number:' '--seq[time steps of a sample]:number:' '--runs[timed runs]:number:' \
            '--warmup[runs before these]:number:' '--no-compile[without passes\: a step for each node]' \
            '--schedule[recorded runs\: wait, warm up, keep, how often]:numbers:' \
            '--steps[every step, not grouped]' \
            '--sort[by a column]:column:(time calls flops bytes intensity gflops gbps roof step)' \
            '--top[rows of the table]:number:' '--grid[batches and types, and which batch to take]' \
            '--sweep[the same for axes of your own]:batch=N,N,seq=N,type=f32,f16:' '--memory[bytes that a batch may take]:bytes:' \
            '--ablation[compiled or not, one thread or all, in turns]' \
            '--device[what it would take on other chips]:chips:(all M1 M2 M3 M4)' \
            "--trace[write Chrome's trace format]:file:_files" '--stacks[write folded stacks]:file:_files' \
            '--output[write all of it as JSON]:file:_files'
        ;;
    report)
        _arguments '-o[the page]:file:_files' '--output[the page]:file:_files' \
            '--basic[compute, memory and hardware alone]' '--markdown[Markdown instead of HTML]' \
            '--json[the profile as it is]' '--help[explain]' '1:profile:_files -g "*.json"'
        ;;
    baseline)
        _arguments $common '1:action:(save list compare delete)' '2:name:' '3:spec or file:_files' \
            '--batch[samples at once]:number:' '--seq[time steps of a sample]:number:' \
            '--runs[timed runs]:number:' '--warmup[runs before these]:number:' \
            '--replace[save\: a name that is taken]' '--rounds[compare\: turns of old and new]:number:' \
            '--effect[compare\: a smaller change is none]:ratio:' \
            '--alpha[compare\: how likely it may be chance]:probability:' \
            '--history[the file that keeps them]:file:_files'
        ;;
    diagnose)
        _arguments '1:model:_files' '--batch[samples at once]:number:' '--seq[time steps of a sample]:number:' \
            '--json[print JSON]' '--threads[threads to use]:number:' '--isa[kernels to use]:isa:(ref avx2 avx512 neon)'
        ;;
    history)
        _arguments '--limit[the newest so many]:number:' '--history[the file that keeps them]:file:_files' \
            '--svg[draw the trend]:file:_files' '--json[print JSON]' '--help[explain]' '1:spec or file:_files'
        ;;
    help) _describe command commands ;;
    esac
}
_elegans "$@"
