cp "$fixtures/reports/run.json" "$fixtures/reports/before.json" "$fixtures/reports/after.json" .
echo "# the format follows from the name, or from an option"
for name in a.html a.htm a.md a.markdown a.json; do elegans report run.json -o $name; head -c 15 $name; echo; done
elegans report run.json --markdown -o a.txt; head -n 1 a.txt; elegans report run.json -o /dev/stdout | head -c 15; echo
for name in a.pdf a folder.md/a .html.gz; do elegans report run.json -o $name; echo "exit $?"; done
echo "# one page: advice beside the verdict, one line for what is unavailable, 26.7 % is no full bar"
elegans report run.json -o a.html; grep -o '<h2>[A-Za-z ]*' a.html | sed 's/<h2>//' | tr '\n' ','; echo
grep -o '<summary>[^<]*' a.html; grep -c 'class="track"' a.html; grep -o 'class="bar" x="0.00%" y="[0-9]*" width="[0-9.]*%"' a.html | sed 's/.*width=//'
grep -o '[^>]*<tspan class="more">[^<]*' a.html | sed 's/<[^>]*>//'; grep -c 'src=\|href=\|url(\|@import' a.html
echo "# two runs"
elegans report before.json after.json -o diff.md; sed -n '1,/^## O/p' diff.md; grep -c '| faster |' diff.md
elegans report before.json after.json -o diff.html; grep -o '<h2>[A-Za-z ]*' diff.html | sed 's/<h2>//' | tr '\n' ','; echo; grep -o 'aria-label="[^"]*"' diff.html; grep -o 'class="t worse"><b>[a-z]*' diff.html | sed 's/.*>//' | sort | uniq -c | sed 's/  *//'
elegans report before.json after.json -o diff.json; grep -o '^{"elegans_diff":1,' diff.json; grep -o '"judgement":"[a-z ]*"' diff.json | sort | uniq -c | sed 's/  *//'
elegans report before.json after.json --effect 0.5 --markdown | sed -n '/^\*\*/p' | cut -c1-60
elegans report after.json before.json --markdown | sed -n '/^\*\*/p' | cut -c1-60
elegans report before.json before.json --markdown | sed -n '/^\*\*/p' | cut -c1-60
(LC_ALL=de_DE.UTF-8; export LC_ALL; elegans report before.json after.json -o comma.md) 2> /dev/null; cmp comma.md diff.md
echo "# what cannot be compared is named"
sed 's/"model":"cfc:2/"model":"cfc:3/' after.json > other.json; elegans report before.json other.json -o no.html; echo "exit $?"; ls no.html 2> /dev/null
elegans report before.json other.json --any-model --markdown | grep '^Not the same'
sed 's/"batch":1,/"batch":32,/' after.json > batch.json; elegans report before.json batch.json; echo "exit $?"
echo '{"elegans_profile": 1, "time": {}}' > none.json; elegans report none.json after.json; echo "exit $?"
head -c 500 after.json > torn.json; elegans report before.json torn.json; echo "exit $?"
echo '{"a": 1}' > other.json; elegans report before.json other.json; echo "exit $?"
elegans report before.json nowhere.json; echo "exit $?"
echo "# usage"
elegans report; echo "exit $?"; elegans report run.json run.json run.json; echo "exit $?"
elegans report run.json --any-model; echo "exit $?"; elegans report run.json --effect 0.1; echo "exit $?"
elegans report before.json after.json --basic; echo "exit $?"; elegans report before.json after.json --alpha 2; echo "exit $?"
elegans report run.json --json --markdown; echo "exit $?"
