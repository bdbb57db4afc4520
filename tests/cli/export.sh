elegans export cfc:autoncp:16:2,in=4 -o firmware --name policy; echo "exit $?"
cc -std=c99 -Wall -Werror -O1 -c firmware/policy.c -o policy.o && echo compiled
elegans export ltc:6,in=2 -o firmware --json | grep -c bytes
elegans export cfc:8,in=2,bidirectional=sum -o firmware; echo "exit $?"
for name in "not a name" 1st double expf m v12 sigmoid "$(printf '%070d' 0 | sed 's/0/a/g')"; do elegans export cfc:8,in=2 -o firmware --name "$name"; echo "exit $?"; done
elegans export cfc:8,in=2; echo "exit $?"
elegans export cfc:8,in=2 -o firmware --to rust; echo "exit $?"
# in quantized numbers; last digits differ between C libraries
elegans convert cfc:autoncp:12:2,in=3,seed=1 -o wide.safetensors > /dev/null
elegans quantize wide.safetensors --to int8 -o small.safetensors > /dev/null
elegans export wide.safetensors -o firmware --name wide | grep -E "weights|working"
elegans export small.safetensors -o firmware --name small --against wide.safetensors | sed -E 's/(outputs off by ).* dB +/\1LITTLE /' | head -n 6
cc -std=c99 -Wall -Werror -O1 -c firmware/small.c -o small.o && echo compiled
elegans export small.safetensors -o firmware --against wide.safetensors --json | grep -E '"(weight_bytes|against|data|samples|max|snr)"'
elegans export small.safetensors -o firmware --against cfc:8,in=2; echo "exit $?"
elegans export small.safetensors -o firmware --against nothing.safetensors; echo "exit $?"
