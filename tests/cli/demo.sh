echo "# what elapsed time is worth: the demo's network balances the pole, one that ignores time drops it"
elegans demo -o shown 2> /dev/null | awk '/^  balanced/ { print ($2 >= 90 ? "balances" : "falls: " $0) } /^  time ignored/ { print ($3 <= 30 ? "drops it" : "balances: " $0) }'
grep -c prefers-color-scheme shown/wiring.svg
