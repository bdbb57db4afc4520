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
# some samples at a time, and as many as fit
for b in 1 3 auto; do elegans run policy.safetensors --input batch.npy --spans 3 --state h0.npy --digits 3 --batch $b | cmp - batch.csv; done
elegans run policy.safetensors --input batch.npy --spans 3 --state h0.npy --digits 3 --preset M2 | cmp - batch.csv
elegans run policy.safetensors --input batch.npy --spans 3 --batch 0; echo "exit $?"
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
echo "# arrays of every number, in both orders; states as well, under any name"
printf 'a,b,c\n0,0.25,0.5\n0.75,1,1.25\n' > x.csv; elegans run cfc:3,in=3,seed=1 --input x.csv > a.csv
for file in f64_2x3 f64_fortran_2x3; do elegans run cfc:3,in=3,seed=1 --input "$fixtures/table/$file.npy" | cmp - a.csv && echo "$file: same"; done
printf '0,0.25,0.5\n' > state.csv; elegans run cfc:3,in=3,seed=1 --input x.csv --state state.csv --save-state state > b.csv; cmp -s a.csv b.csv || echo another
elegans run cfc:3,in=3,seed=1 --input x.csv --state "$fixtures/table/f64_3.npy" | cmp - b.csv && echo same
sed 3d x.csv > x1.csv; sed 2d x.csv > x2.csv; elegans run cfc:3,in=3,seed=1 --input x1.csv --state state.csv --save-state half > /dev/null
tail -n 1 b.csv > end.txt; elegans run cfc:3,in=3,seed=1 --input x2.csv --state half | tail -n 1 | cmp - end.txt && echo same
elegans run cfc:3,in=2 --input "$fixtures/npy/bad_complex.npy" 2>&1 | sed 's/ in .*//'
elegans run cfc:3,in=3 --input x.csv --state "$fixtures/npy/bad_complex.npy" 2>&1 | sed 's/ in .*//'
echo "# both ways through time"
elegans run cfc:3,in=1,seed=1,backbone=4,bidirectional=sum --input dt.csv --spans dt --save-state w.npy --digits 3; wc -c < w.npy
echo 1 | elegans run cfc:3,in=1,bidirectional=sum --stream; echo "exit $?"
echo "# a trained model: its columns, times and holes, as predict has them"
awk 'BEGIN { print "t,b,trip,a,y"; for (i = 0; i < 60; i++) { t += 1 + i % 3; y = sin(i) > 0; print t "," (i % 7 == 3 ? "" : sin(i)) "," int(i / 30) "," cos(i) "," y } }' > trips.csv
head -n 31 trips.csv > trip.csv
for how in drop mean previous zero; do
    elegans train --data trips.csv --inputs a,b --target y --time t --group trip --loss binary --missing $how --window 10 --epochs 1 --model cfc:4,backbone=4 --validation none --quiet --output t.safetensors > /dev/null 2>&1
    elegans predict t.safetensors --data trip.csv --digits 4 | sed 's/.*,//' | sed 1d > p.txt
    elegans run t.safetensors --input trip.csv --digits 4 | sed 1d > r.txt; cmp -s p.txt r.txt && echo "$how: same"
done
elegans predict t.safetensors --data trip.csv --raw | head -n 1
elegans run t.safetensors --input trip.csv --raw | head -n 1; elegans run t.safetensors --input trip.csv --output r.csv > /dev/null; head -n 1 r.csv
elegans run t.safetensors --input trips.csv; echo "exit $?"
sed 's/a,y$/c,y/' trip.csv > other.csv; elegans run t.safetensors --input other.csv; echo "exit $?"
echo "# outputs are called as in predict; numbers are no header"
awk 'BEGIN { print "a,\"who, then\",7"; for (i = 0; i < 60; i++) print i % 3 "," (i % 3 ? "\"no, one\"" : "me") "," i % 5 }' > who.csv; cut -d, -f1 who.csv > a.csv
elegans train --data who.csv --inputs a --target '"who, then"' --window 10 --epochs 1 --validation none --quiet --output who.safetensors > /dev/null 2>&1
for how in "" --raw; do
    elegans predict who.safetensors --data a.csv $how | head -n 1
    elegans run who.safetensors --input a.csv $how | head -n 1; elegans run who.safetensors --input a.csv $how --output w.csv > /dev/null; head -n 1 w.csv
done
elegans train --data who.csv --inputs a --target '"7"' --window 10 --epochs 1 --validation none --quiet --output seven.safetensors > /dev/null 2>&1
elegans run seven.safetensors --input a.csv --output w.csv > /dev/null; head -n 1 w.csv
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
elegans run cfc:3,in=2 --input h0_first.npy; echo "exit $?"
elegans run cfc:3,in=1 --input t.csv --time t --state h0.npy; echo "exit $?"
elegans run policy.safetensors --input t.csv --state nothing.npy; echo "exit $?"
printf 't,x\n1,1\n0.5,1\n' > back.csv; elegans run cfc:3,in=1 --input back.csv --time t; echo "exit $?"
printf 't,x\n1,1\n2,\n' > hole.csv; elegans run cfc:3,in=1 --input hole.csv --time t; echo "exit $?"
printf 't,x\n1,1\n2,one\n' > word.csv; elegans run cfc:3,in=1 --input word.csv --time t; echo "exit $?"
elegans run cfc:3,in=1 --input dates.csv --spans t; echo "exit $?"
elegans run cfc:3,in=2 --input bare.csv; echo "exit $?"
printf 't,x\n2001-09-09,1\n2001-09-31,2\n' > day.csv; elegans run cfc:3,in=1 --input day.csv --time t; echo "exit $?"
printf 't,x\n2001-09-09,1\n5,2\n' > both.csv; elegans run cfc:3,in=1 --input both.csv --time t; echo "exit $?"
printf 't,x,\n1,2,3\n' > unnamed.csv; elegans run cfc:3,in=2 --input unnamed.csv --time t; echo "exit $?"
printf 't,x\n' > none.csv; elegans run cfc:3,in=1 --input none.csv --time t; echo "exit $?"
elegans run cfc:3,in=1 --input t.csv --time t --output /nowhere/y.csv; echo "exit $?"
elegans run cfc:3,in=1 --input t.csv --time t --save-state /nowhere/s.npy --output y.npy; echo "exit $?"
printf '1\n2,3\n' | elegans run ltc:full:2:1,in=1 --stream > /dev/null; echo "exit $?"
printf '1\nx\n' | elegans run ltc:full:2:1,in=1 --stream > /dev/null; echo "exit $?"
printf '1,\n' | elegans run ltc:full:2:1,in=2 --stream; echo "exit $?"
printf '1,0.5\n1,0.25\n' | elegans run ltc:full:2:1,in=1 --stream --time last > /dev/null; echo "exit $?"
printf '1,nan\n' | elegans run ltc:full:2:1,in=1 --stream --spans 2; echo "exit $?"
printf '1\n' | elegans run ltc:full:2:1,in=1 --stream --spans 3; echo "exit $?"
echo "# a stream refuses what is no finite number, by line"
printf '1,2\n3,nan\n' | elegans run cfc:3,in=2 --stream > /dev/null; echo "exit $?"
printf '1,2\n3,4\n5,1e300\n' | elegans run cfc:3,in=2 --stream > /dev/null; echo "exit $?"
