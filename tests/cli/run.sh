cp "$fixtures"/run/* .
words() { sed 's/^  time .*/  time/'; }
elegans convert policy.npz --config policy.json -o policy.safetensors
echo "# what ncps gives: a file, in two parts, a pipe, many samples"
elegans run policy.safetensors --input drive.csv --spans elapsed --state h0_first.npy --digits 3 | tee whole.csv
head -n 4 drive.csv > one.csv; sed '2,4d' drive.csv > two.csv
elegans run policy.safetensors --input one.csv --spans 3 --state h0_first.npy --save-state s.npy --digits 3 > parts.csv
elegans run policy.safetensors --input two.csv --spans last --state s.npy --digits 3 --output end.csv | words
tail -n +2 end.csv >> parts.csv; cmp whole.csv parts.csv && echo same
tail -n +2 drive.csv | elegans run policy.safetensors --stream --spans last --state h0_first.npy --save-state last.npy --digits 3 > stream.txt
tail -n +2 whole.csv | cmp - stream.txt && echo same
elegans run policy.safetensors --input batch.npy --spans 3 --state h0.npy --digits 3 > batch.csv
sed -n 's/^0,//p' batch.csv | cmp - stream.txt && echo same; tail -n 1 batch.csv
elegans run policy.safetensors --input batch.npy --spans 3 --output y.npy --save-state all.npy --threads 2 | words; wc -c < y.npy; wc -c < all.npy
elegans run policy.safetensors --input drive.csv --spans elapsed --json | grep -c measured
elegans run policy.safetensors --input batch.npy --spans 3 --json | sed -n 's/^  "\([a-z]*\)": \([0-9]*\),/\1 \2/p' | grep -v threads
echo "# times"
printf 't,x\n1000000000.25,1\n1000000000.75,2\n1000000002.75,3\n' > t.csv
printf 'x,dt\n1,1\n2,0.5\n3,2\n' > dt.csv
elegans run ltc:full:4:2,in=1,seed=1 --input t.csv --time t > a.csv; elegans run ltc:full:4:2,in=1,seed=1 --input dt.csv --spans dt | cmp - a.csv && echo same
printf '1 1\r\n2 0.5\n3\t 2' | elegans run ltc:full:4:2,in=1,seed=1 --stream --spans dt > b.txt; tail -n +2 a.csv | cmp - b.txt && echo same
elegans run ltc:full:4:2,in=1,seed=1 --input t.csv --time 1 --first-span 1 --output c.csv > /dev/null; cmp a.csv c.csv && echo same
elegans run ltc:full:4:2,in=1,seed=1 --input t.csv --time 1 --first-span 3 | cmp -s - a.csv || echo another
printf 't,x\n"2001-09-09 01:46:40",1\n2001-09-09T03:46:40.5+02:00,2\n2001-09-09 01:46:42.5Z,3\n' > dates.csv
elegans run ltc:full:4:2,in=1,seed=1 --input dates.csv --time t | cmp - a.csv && echo same
sed 1d dates.csv > bare.csv; elegans run ltc:full:4:2,in=1,seed=1 --input bare.csv --time 1 | cmp - a.csv && echo same
echo "# both ways through time"
elegans run cfc:3,in=1,seed=1,backbone=4,bidirectional=sum --input dt.csv --spans dt --save-state w.npy --digits 3; wc -c < w.npy
echo 1 | elegans run cfc:3,in=1,bidirectional=sum --stream; echo "exit $?"
echo "# what is refused"
elegans run; echo "exit $?"
elegans run cfc:3,in=1; echo "exit $?"
elegans run cfc:3,in=1 --stream --input t.csv; echo "exit $?"
elegans run cfc:3,in=1 --input t.csv --time t --spans t; echo "exit $?"
elegans run cfc:3,in=1 --stream --json; echo "exit $?"
elegans run cfc:3,in=1 --input t.csv --digits 18; echo "exit $?"
elegans run cfc:3,in=1 --input t.csv --spans t --first-span 2; echo "exit $?"
elegans run cfc:3,in=1 --input t.csv --time t --first-span -2; echo "exit $?"
elegans run worm:3,in=1 --input t.csv; echo "exit $?"
elegans run cfc:3,in=1 --input nothing.csv; echo "exit $?"
elegans run cfc:3,in=1 --input t.csv; echo "exit $?"
elegans run cfc:3,in=2 --input t.csv --time t; echo "exit $?"
elegans run cfc:3,in=1 --input t.csv --time when; echo "exit $?"
elegans run cfc:3,in=1 --input h0_first.npy; echo "exit $?"
elegans run cfc:3,in=1 --input t.csv --time t --state h0.npy; echo "exit $?"
elegans run policy.safetensors --input t.csv --state nothing.npy; echo "exit $?"
printf 't,x\n1,1\n0.5,1\n' > back.csv; elegans run cfc:3,in=1 --input back.csv --time t; echo "exit $?"
printf 't,x\n1,1\n2,\n' > hole.csv; elegans run cfc:3,in=1 --input hole.csv --time t; echo "exit $?"
printf 't,x\n1,1\n2,one\n' > word.csv; elegans run cfc:3,in=1 --input word.csv --time t; echo "exit $?"
elegans run cfc:3,in=1 --input dates.csv --spans t; echo "exit $?"
elegans run cfc:3,in=2 --input bare.csv; echo "exit $?"
printf 't,x\n2001-09-09,1\n2001-09-31,2\n' > day.csv; elegans run cfc:3,in=1 --input day.csv --time t; echo "exit $?"
printf 't,x\n2001-09-09,1\n5,2\n' > both.csv; elegans run cfc:3,in=1 --input both.csv --time t; echo "exit $?"
printf 't,x\n' > none.csv; elegans run cfc:3,in=1 --input none.csv --time t; echo "exit $?"
elegans run cfc:3,in=1 --input t.csv --time t --output /nowhere/y.csv; echo "exit $?"
elegans run cfc:3,in=1 --input t.csv --time t --save-state /nowhere/s.npy --output y.npy; echo "exit $?"
printf '1\n2,3\n' | elegans run ltc:full:2:1,in=1 --stream > /dev/null; echo "exit $?"
printf '1\nx\n' | elegans run ltc:full:2:1,in=1 --stream > /dev/null; echo "exit $?"
printf '1,\n' | elegans run ltc:full:2:1,in=2 --stream; echo "exit $?"
printf '1,0.5\n1,0.25\n' | elegans run ltc:full:2:1,in=1 --stream --time last > /dev/null; echo "exit $?"
printf '1,nan\n' | elegans run ltc:full:2:1,in=1 --stream --spans 2; echo "exit $?"
printf '1\n' | elegans run ltc:full:2:1,in=1 --stream --spans 3; echo "exit $?"
