# Completion of the elegans program in bash.
_elegans() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} words=
    local tables="--data --inputs --target --time --spans --group --missing --ahead --window --stride --whole --partial --last --short-header --no-header"
    local learning="--validation --split --split-at --split-seed --test --model --loss --standardise --time-unit --optimizer --rate --momentum --weight-decay --clip --schedule --decay --floor --warmup --average --epochs --patience"
    learning+=" --batch --accumulate --memory --dtype --seed --output --checkpoint --every --resume --keep-last --log --curve --quiet --json --threads --isa --help"
    local profile="compute memory hardware all --batch --seq --runs --warmup --unit --no-compile --schedule --steps --sort --top --grid --sweep --memory --ablation --device --trace --stacks --output --json --threads --isa --help"
    if [ "$COMP_CWORD" -eq 1 ]; then
        words="info bench profile report baseline history diagnose graph wiring show train eval predict entropy run convert quantize export tokenize generate embed perplexity demo help version --help --version"
    else
        case "${COMP_WORDS[1]}:$before" in
        profile:--schedule | profile:--batch | baseline:--batch) ;;
        profile:--steps) words="$profile" ;;
        profile:--sort) words="time calls flops bytes intensity gflops gbps roof step" ;;
        profile:--sweep) words="batch= seq= type=" ;;
        profile:--device | info:--preset) words="all M1 M2 M3 M4" ;;
        profile:--trace | profile:--stacks | profile:--output | report:--output | report:-o | baseline:--history | history:--history | history:--svg)
            COMPREPLY=($(compgen -f -- "$word"))
            return
            ;;
        diagnose:diagnose)
            COMPREPLY=($(compgen -f -- "$word") $(compgen -W "cfc: ltc: --batch --seq --json --threads --isa --help" -- "$word"))
            return
            ;;
        history:history)
            COMPREPLY=($(compgen -f -- "$word") $(compgen -W "cfc: ltc: --limit --history --svg --json --help" -- "$word"))
            return
            ;;
        profile:profile)
            COMPREPLY=($(compgen -f -- "$word") $(compgen -W "cfc: ltc: --help" -- "$word"))
            return
            ;;
        report:report)
            COMPREPLY=($(compgen -f -X '!*.json' -- "$word") $(compgen -W "--help" -- "$word"))
            return
            ;;
        baseline:baseline) words="save list compare delete --help" ;;
        *:--seq | *:--runs | *:--top | *:--rounds | *:--effect | *:--alpha | *:--limit) ;;
        *:--size | *:--iterations | *:--threads | *:--steps | *:--time | *:--spans | *:--first-span | *:--digits | *:--seed) ;;
        *:--inputs | *:--target | *:--group | *:--ahead | *:--window | *:--stride | *:--split-at | *:--split-seed) ;;
        *:--rate | *:--momentum | *:--weight-decay | *:--clip | *:--decay | *:--floor | *:--warmup | *:--average) ;;
        *:--epochs | *:--patience | *:--accumulate | *:--memory | *:--every) ;;
        *:--missing) words="error drop previous mean zero" ;;
        *:--split) words="auto recordings time windows" ;;
        *:--loss) words="mse mae huber binary classes" ;;
        *:--standardise) words="both inputs targets none" ;;
        *:--time-unit) words="median" ;;
        *:--optimizer) words="adam adamw sgd rmsprop" ;;
        *:--schedule) words="cosine exponential constant" ;;
        *:--batch) words="auto" ;;
        train:--dtype) words="f32 bf16 f16" ;;
        *:--validation)
            COMPREPLY=($(compgen -f -- "$word") $(compgen -W "none" -- "$word"))
            return
            ;;
        *:--data | *:--test | *:--checkpoint | *:--log | *:--curve | train:--output | predict:--output)
            COMPREPLY=($(compgen -f -- "$word"))
            return
            ;;
        train:--model | eval:eval | predict:predict)
            COMPREPLY=($(compgen -f -- "$word") $(compgen -W "cfc: ltc: --help" -- "$word"))
            return
            ;;
        train:train)
            COMPREPLY=($(compgen -f -X '!*.json' -- "$word") $(compgen -W "$tables $learning" -- "$word"))
            return
            ;;
        *:--case) words="cfc-ncp cfc-deep ltc-ncp cfc-wide hot cold batch" ;;
        *:--dtype) words="f32" ;;
        *:--isa) words="ref avx2 avx512 neon" ;;
        *:--example) words="mlp cfc gru" ;;
        graph:--json | graph:graph)
            COMPREPLY=($(compgen -f -- "$word") $(compgen -W "--example --help" -- "$word"))
            return
            ;;
        wiring:--json | wiring:--svg | wiring:wiring)
            COMPREPLY=($(compgen -f -- "$word") $(compgen -W "autoncp: ncp: full: random: --help" -- "$word"))
            return
            ;;
        entropy:--output | entropy:-o | entropy:--svg | entropy:entropy)
            COMPREPLY=($(compgen -f -- "$word") $(compgen -W "--help" -- "$word"))
            return
            ;;
        entropy:--minimum | entropy:--maximum | entropy:--low | entropy:--high) ;;
        run:--input | run:--output | run:--state | run:--save-state | convert:--output | convert:-o | convert:--config | quantize:-o | quantize:--output | quantize:--data | export:--against)
            COMPREPLY=($(compgen -f -- "$word"))
            return
            ;;
        run:run | show:show | convert:convert | quantize:quantize | export:export)
            COMPREPLY=($(compgen -f -- "$word") $(compgen -W "cfc: ltc: --help" -- "$word"))
            return
            ;;
        export:-o | demo:-o)
            COMPREPLY=($(compgen -d -- "$word"))
            return
            ;;
        wiring:*) words="--stats --dot --svg --json --help" ;;
        show:*) words="--tensors --json --isa --help" ;;
        train:*) words="$tables $learning" ;;
        eval:*) words="$tables --loss --json --threads --isa --help" ;;
        predict:*) words="--output --digits $tables --json --threads --isa --help" ;;
        entropy:*) words="--window --patches --minimum --maximum --low --high --target --fixed --size --json -o --output --svg --help" ;;
        run:*) words="--input --output --time --spans --first-span --state --save-state --stream --digits --json --threads --isa --help" ;;
        convert:*) words="-o --output --config --help" ;;
        tokenize:tokenize)
            COMPREPLY=($(compgen -f -- "$word") $(compgen -W "--help" -- "$word"))
            return
            ;;
        tokenize:*) words="- --ids --decode --ends --special --json --help" ;;
        generate:generate | embed:embed | perplexity:perplexity)
            COMPREPLY=($(compgen -f -- "$word") $(compgen -W "llama: gpt2: bert: --help" -- "$word"))
            return
            ;;
        generate:--tokenizer | embed:--tokenizer | perplexity:--tokenizer | embed:--output)
            COMPREPLY=($(compgen -f -- "$word"))
            return
            ;;
        perplexity:--context) ;;
        generate:-p | generate:-n | generate:--temp | generate:--top-k | generate:--top-p | generate:--context | generate:--chunk) ;;
        generate:--cache) words="f32 f16 int8" ;;
        embed:--pooling) words="mean first last" ;;
        generate:*) words="-p -n --temp --top-k --top-p --seed --context --cache --chunk --tokenizer --no-map --ignore-end --stats --json --threads --isa --help" ;;
        embed:*) words="- --pooling --unscaled --compare --output --tokenizer --json --threads --isa --help" ;;
        perplexity:*)
            COMPREPLY=($(compgen -f -- "$word") $(compgen -W "- --context --tokenizer --json --threads --isa --help" -- "$word"))
            return
            ;;
        quantize:--to) words="f16 bf16 int8 int4" ;;
        quantize:--per) words="channel tensor block" ;;
        quantize:*) words="--to -o --output --block --per --symmetric --whole-range --integers --keep --data --time --spans --json --threads --isa --help" ;;
        demo:*) words="-o --steps --seed --help" ;;
        export:*) words="--to -o --name --against --json --help" ;;
        graph:*) words="--example --gradient --passes --steps --dot --json --help" ;;
        *:--root)
            COMPREPLY=($(compgen -d -- "$word"))
            return
            ;;
        profile:*) words="$profile" ;;
        report:*) words="-o --output --basic --markdown --json --help" ;;
        baseline:*)
            COMPREPLY=($(compgen -f -- "$word") $(compgen -W "--batch --seq --runs --warmup --replace --rounds --effect --alpha --history --json --threads --isa --help" -- "$word"))
            return
            ;;
        diagnose:*) words="--batch --seq --json --threads --isa --help" ;;
        history:*) words="--limit --history --svg --json --help" ;;
        bench:bench) words="copy gemm kernels cells train latency" ;;
        bench:latency)
            COMPREPLY=($(compgen -f -- "$word") $(compgen -W "cfc: ltc: --steps --json --isa --help" -- "$word"))
            return
            ;;
        bench:*) words="--size --iterations --dtype --block --symmetric --integers --case --steps --rounds --json --threads --isa --help" ;;
        info:*) words="--measure --again --preset --json --threads --isa --root --help" ;;
        help:help) words="info bench profile report baseline history diagnose graph wiring show train eval predict entropy run convert quantize export tokenize generate embed perplexity demo help version" ;;
        esac
    fi
    COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -F _elegans elegans
