for name in first descent stream shapes control batch state_dict patches publish; do echo "# $name"; example $name; done
