# random networks and tables, all losses: make check-agree has more of them
sh "$fixtures/../outside/agree.sh" 2 1 | sed 's/at most .* apart/within rounding/'
