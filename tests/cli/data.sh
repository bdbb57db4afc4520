# two targets, each on every other row; some rows have neither
awk 'BEGIN { print "a,b,y,z"; for (i = 0; i < 600; i++) printf "%.4f,%.4f,%s,%s\n", sin(i / 10), cos(i / 10),
    i % 2 || i % 50 == 0 ? "" : sprintf("%.4f", sin(i / 10 + 0.1)), i % 2 ? sprintf("%.4f", cos(i / 10 + 0.1)) : "" }' > turns.csv
figures() { sed -E -e 's/^  (time|memory|loss|mse|rmse|mae|r2|accuracy|f1|macro f1|baselines) .*/  \1/' -e 's/precision .*/.../' -e 's/best .*/best .../'; }
say="--data turns.csv --target y,z --window 20 --epochs 4 --rate 0.02 --quiet"
echo "# each target is masked by itself; what was left out is counted"
elegans train $say --output turns.safetensors --log log.jsonl | figures
elegans train $say --output turns.safetensors --json | sed -n '/"data"/,/^  }/p'
grep -o '"missing_targets":[0-9]*,"rows_without_target":[0-9]*' log.jsonl | sort | uniq -c
elegans eval turns.safetensors --data turns.csv --json | grep -e missing_targets -e rmse | sed 's/rmse.*/rmse/'
echo "# a training that learned nothing is none; the model that was there stays"
cp turns.safetensors kept.safetensors
elegans train $say --output turns.safetensors --rate 1e9 > said.txt 2> why.txt; echo "exit $?"; sed -E 's/[0-9.]+e\+[0-9]+ after/N after/; s/was [0-9.]+ before/was N before/; s/has [0-9.]+;/has N;/' why.txt
elegans train $say --output turns.safetensors --rate 1e9 --model ltc:autoncp:16:2 > said.txt 2> why.txt; echo "exit $?"; grep -c 'try a lower --rate, or --clip 1; nothing was saved' why.txt
cut -d, -f1,2 turns.csv | awk 'NR == 1 { print $0 ",y,z" } NR > 1 { print $0 ",," }' > nothing.csv
elegans train --data nothing.csv --target y,z --window 20 --quiet --output turns.safetensors > said.txt; echo "exit $?"
sed 's/,[^,]*$/,/' turns.csv | sed '1s/$/z/' > lacks.csv; elegans train --data lacks.csv --target y,z --window 20 --quiet --output turns.safetensors > said.txt; echo "exit $?"
awk -F, 'NR > 400 { $4 = "" } { print $1 "," $2 "," $3 "," $4 }' turns.csv > ends.csv; elegans train --data ends.csv --target y,z --window 20 --epochs 1 --quiet --output ends.safetensors 2>&1 > said.txt | grep -v 'the best v'
cmp turns.safetensors kept.safetensors && echo same; ls *.checkpoint 2> /dev/null
elegans eval turns.safetensors --data nothing.csv; echo "exit $?"
echo "# each row counts once: eval, eval --whole and what predict writes are the same"
awk 'BEGIN { print "when,trip,a,y"; for (i = 0; i < 700; i++) printf "2024-03-%02d %02d:%02d:00,%d,%.4f,%.3f\n", 1 + i / 100, i % 100 / 5, i % 5 * 12,
    i / 100, sin(i / 9), 20 + 5 * sin(i / 9 + 0.4) }' > trips.csv
elegans train --data trips.csv --target y --time when --group trip --window 20 --epochs 3 --rate 0.02 --validation 0.3 --quiet --output trips.safetensors > said.txt
elegans eval trips.safetensors --data trips.csv | sed -n '1,4p'
elegans eval trips.safetensors --data trips.csv --stride 10 | sed -n '4p'
elegans predict trips.safetensors --data trips.csv > said.csv; head -n 2 said.csv | sed 's/,[0-9.]*$/,N/'
for how in "" --whole; do elegans eval trips.safetensors --data trips.csv --json $how | sed -n 's/.*"rmse": \([0-9.]*\).*/\1/p'; done > rmse.txt
paste -d, said.csv trips.csv | awk -F, 'NR > 1 { n++; e = $3 - $7; s += e * e } END { print sqrt(s / n) }' >> rmse.txt
awk '{ r[NR] = $1 } END { for (i = 2; i <= 3; i++) if (r[i] < 0.9999 * r[1] || r[i] > 1.0001 * r[1]) print "no: " r[1] ", " r[i]; print NR " the same" }' rmse.txt
awk -F, 'NR == FNR { t[FNR] = $1; next } FNR > 1 && $2 != t[FNR] { print "no: " $2 } END { print "times as in the file" }' trips.csv said.csv
echo "# one answer per window: the same"
elegans train --data trips.csv --target y --time when --group trip --window 8 --last --epochs 2 --rate 0.02 --quiet --output last.safetensors > said.txt 2> /dev/null
elegans predict last.safetensors --data trips.csv > said.csv; wc -l < said.csv
elegans eval last.safetensors --data trips.csv --json | sed -n 's/.*"rmse": \([0-9.]*\).*/\1/p' > rmse.txt
awk -F, 'NR == FNR { y[FNR - 1] = $4; next } FNR > 1 { n++; e = $3 - y[$1]; s += e * e } END { print sqrt(s / n) }' trips.csv said.csv >> rmse.txt
awk '{ r[NR] = $1 } END { print (r[2] > 0.9999 * r[1] && r[2] < 1.0001 * r[1] ? "the same" : r[1] " and " r[2]) }' rmse.txt
echo "# a table without the column that began recordings is one"
cut -d, -f1,3,4 trips.csv | head -n 101 > one.csv; elegans predict trips.safetensors --data one.csv | wc -l
elegans predict trips.safetensors --data one.csv --group trip; echo "exit $?"
echo "# what a part lacks, and what a target looks like"
awk 'BEGIN { print "a,y,k"; for (i = 0; i < 400; i++) print i % 9 "," (i % 9 > 4) "," (i < 300 ? "early" : i < 380 ? "late" : "end") }' > parts.csv
elegans train --data parts.csv --inputs a --target k --window 10 --epochs 1 --quiet --output p.safetensors 2>&1 > said.txt | grep -v 'the best'
elegans train --data parts.csv --inputs a --target y --window 10 --epochs 1 --quiet --output p.safetensors 2>&1 > said.txt | grep -v 'the best'
elegans train --data parts.csv --inputs a --target y --window 10 --epochs 1 --quiet --output p.safetensors --loss mse 2>&1 > said.txt | grep -v 'the best'
echo "# other signs: blank lines, decimal commas, dates of other orders, encodings; the message names the option"
awk 'BEGIN { print "\ntag;a;b;y"; for (i = 0; i < 300; i++) printf "%d.%d.2024 %d:%02d;%d,5;%d;%d,25\n\n", 1 + i / 100, 2 + i / 200, i % 100 / 5, i % 5 * 12, i % 7, i % 5, i % 7 }' > signs.csv
elegans train --data signs.csv --target y --epochs 1 --quiet; echo "exit $?"
elegans train --data signs.csv --target y --time tag --decimal , --epochs 1 --quiet; echo "exit $?"
elegans train --data signs.csv --target y --time tag --decimal , --dates dmy --epochs 1 --quiet --output signs.safetensors 2> why.txt | figures | sed -n '1,4p'; grep -v 'the best' why.txt
elegans predict signs.safetensors --data signs.csv --decimal , --dates dmy | sed -n '1,2s/,[0-9.-]*$/,N/p'
echo "# the model knows the order of its dates; another one is told, ISO dates need none"
for order in "" "--dates dmy" "--dates mdy"; do elegans predict signs.safetensors --data signs.csv --decimal , $order | sed -n '2s/,[0-9.-]*$/,N/p'; done
elegans predict signs.safetensors --data signs.csv --decimal , --digits 3 > kept.csv; elegans predict signs.safetensors --data signs.csv --decimal , --digits 3 --dates dmy | cmp - kept.csv && echo same
cut -d, -f3 kept.csv | sed 1d > y.txt; cut -d';' -f1,2,3 signs.csv > inputs.csv
elegans run signs.safetensors --input inputs.csv --decimal , --digits 3 | sed 1d | cmp - y.txt && echo same
elegans run signs.safetensors --input inputs.csv --decimal , --dates mdy > said.txt; echo "exit $?"
elegans eval signs.safetensors --data signs.csv --decimal , | sed -n 4p
awk -F'[. ;:]' '/^[0-9]/ { printf "2024-%02d-%02d %02d:%02d;", $2, $1, $4, $5; sub(/^[^;]*;/, "") } { print }' signs.csv > iso.csv
elegans predict signs.safetensors --data iso.csv --decimal , --digits 3 | cut -d, -f3 | sed 1d | cmp - y.txt && echo same
elegans train --data signs.csv --target y --dates ymd; echo "exit $?"
elegans train --data signs.csv --target y --decimal x; echo "exit $?"
cut -d';' -f2,3 signs.csv > two.csv; elegans run cfc:2,in=2 --input two.csv; echo "exit $?"
elegans run cfc:2,in=2 --input two.csv --decimal , | wc -l
awk 'BEGIN { print "a,wer"; for (i = 0; i < 200; i++) print i % 3 "," (i % 3 == 0 ? "J\351r\364me" : i % 3 == 1 ? "B\344r" : "z") }' > latin.csv
elegans train --data latin.csv --target wer --window 10 --epochs 3 --rate 0.05 --batch 2 --quiet --output latin.safetensors > said.txt; echo "exit $?"
elegans train --data latin.csv --target wer --window 10 --epochs 8 --rate 0.05 --batch 2 --quiet --output latin.safetensors --encoding latin1 > said.txt; echo "exit $?"
elegans predict latin.safetensors --data latin.csv --encoding latin1 | sed -n '1p;5,7p' | cut -d, -f1,2
elegans eval latin.safetensors --data latin.csv --encoding latin1 --json | awk '/"accuracy"/ { print ($2 > 0.99 ? "good" : "bad: " $2) }'
echo "# fewer rows than windows need"
head -n 51 turns.csv > few.csv; elegans train --data few.csv --target y,z --epochs 1 --quiet --output few.safetensors 2> why.txt | sed -n '2p;4p'; grep -v 'the best' why.txt
echo "# names of columns with everything in them: trained, saved, predicted"
awk 'BEGIN { print "\"a, b\",\"say \"\"hi\"\"\",\" blank \",\"y, z\""; for (i = 0; i < 200; i++) print i % 3 "," i % 5 "," i % 7 "," i % 3 + i % 5 }' > names.csv
elegans train --data names.csv --target '"y, z"' --window 10 --epochs 1 --quiet --output names.safetensors > said.txt 2> /dev/null; echo "exit $?"
elegans predict names.safetensors --data names.csv | sed -n '1p' ; elegans predict names.safetensors --data names.csv | wc -l; elegans eval names.safetensors --data names.csv | sed -n '4p'
elegans train --data names.csv --target 'y, z' --window 10 --epochs 1 --quiet --output same.safetensors > said.txt 2> /dev/null; cmp names.safetensors same.safetensors && echo same
printf '{"data": "names.csv", "inputs": ["a, b", "say \\"hi\\"", " blank "], "target": ["y, z"], "window": 10, "epochs": 1, "quiet": true}' > names.json
elegans train names.json --output same.safetensors > said.txt 2> /dev/null; cmp names.safetensors same.safetensors && echo same
sed '1s/.*/a,b,a,y/' names.csv > twice.csv; elegans train --data twice.csv --target y --window 10 --quiet --output twice.safetensors; echo "exit $?"
elegans run cfc:2,in=2 --stream --decimal , < two.csv; echo "exit $?"
