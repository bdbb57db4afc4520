elegans export cfc:autoncp:16:2,in=4 -o firmware --name policy; echo "exit $?"
cc -std=c99 -Wall -Werror -O1 -c firmware/policy.c -o policy.o && echo compiled
elegans export ltc:6,in=2 -o firmware --json | grep -c bytes
elegans export cfc:8,in=2,bidirectional=sum -o firmware; echo "exit $?"
elegans export cfc:8,in=2 -o firmware --name "not a name"; echo "exit $?"
elegans export cfc:8,in=2; echo "exit $?"
elegans export cfc:8,in=2 -o firmware --to rust; echo "exit $?"
