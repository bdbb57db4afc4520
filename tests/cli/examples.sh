for name in first descent stream shapes; do echo "# $name"; example $name; done
