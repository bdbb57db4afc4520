elegans wiring autoncp:28:4,in=6
elegans wiring autoncp:28:4,in=6 --stats
elegans wiring full:3:1,in=2,self=0
elegans wiring autoncp:12:3,in=3 --json w.json; elegans wiring w.json
elegans wiring w.json --stats | grep -c counted
elegans wiring ncp:3:2:1,in=1,sensory_fanout=1,inter_fanout=1,motor_fanin=1 --dot
elegans wiring autoncp:12:3,in=3 --svg w.svg; grep -c '<path d="M[^H]*"/>$' w.svg; grep -c '<circle' w.svg
elegans wiring random:6:2,in=2,sparsity=0.5 --svg ring.svg; head -n 2 ring.svg; tail -n 1 ring.svg
echo '{"units": 2, "inputs": 1, "outputs": 1, "synapses": [[1, 0, -1]], "sensory": [[0, 1, 1]], "layers": [[1], [0]]}' > mine.json
elegans wiring mine.json
elegans wiring; echo "exit $?"
elegans wiring full:3; echo "exit $?"
elegans wiring full:3,in=1,seed=4; echo "exit $?"
elegans wiring worm:3,in=1; echo "exit $?"
elegans wiring nothing.json; echo "exit $?"
elegans wiring full:3,in=1 --stats --dot; echo "exit $?"
elegans wiring full:3,in=1 --svg /nowhere/w.svg; echo "exit $?"
echo '{"units": 2, "inputs": 1, "outputs": 1, "synapses": [[2, 0, 1]], "sensory": []}' > bad.json
elegans wiring bad.json; echo "exit $?"
echo "# a full disk: the old picture is whole, and nothing is left beside it"
mkdir full; elegans wiring autoncp:28:4,in=6 --svg full/w.svg > /dev/null; cp full/w.svg old.svg
(export GCOV_PREFIX="$PWD/counts"; trap '' XFSZ; ulimit -f 1; elegans wiring autoncp:32:4,in=6 --svg full/w.svg > /dev/null; echo "exit $?") 2>&1 | grep -v '^libgcov'
cmp full/w.svg old.svg && echo whole; ls -A full
elegans wiring autoncp:32:4,in=6 --svg full > /dev/null; echo "exit $?"
