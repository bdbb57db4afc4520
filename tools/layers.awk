# Finds what reaches down the layers (a folder of src/ may use only those before it), public headers
# that use private ones, and memory taken around src/memory: awk -f tools/layers.awk FILES
BEGIN {
    count = split("base memory chip kernels graph engine nn formats text train profile cli", order, " ")
    for (i = 1; i <= count; i++) level[order[i]] = i
}

function complain(text) {
    printf "%s:%d: %s\n", FILENAME, FNR, text
    bad = 1
}

# `line` without comments and strings; `comment` remembers that one goes on over the end of a line
function code_of(line,    out) {
    gsub(/\\./, "", line)
    gsub(/'"'/, "", line)
    while (line != "") {
        if (comment) {
            if (!match(line, /\*\//)) return out
            comment = 0
            line = substr(line, RSTART + 2)
        } else if (match(line, /"[^"]*"|\/\*|\/\//)) {
            out = out substr(line, 1, RSTART - 1)
            if (substr(line, RSTART, 2) == "//") return out
            comment = substr(line, RSTART, 2) == "/*"
            line = substr(line, RSTART + RLENGTH)
        } else return out line
    }
    return out
}

function check_include(header,    target) {
    if (header ~ /^elegans\//) return
    if (public) {
        complain("a public header uses \"" header "\"")
        return
    }
    target = index(header, "/") ? substr(header, 1, index(header, "/") - 1) : folder
    if (!(target in level)) complain("\"" header "\" is in no layer")
    else if (folder == "cli" && target != "cli") complain("cli uses \"" header "\", not elegans/*.h")
    else if (level[target] > level[folder]) complain(folder " uses \"" header "\" below it")
}

FNR == 1 {
    comment = 0
    public = FILENAME ~ /^include\//
    split(FILENAME, part, "/")
    folder = part[2]
    if (!public && !(folder in level)) complain("src/" folder " is in no layer")
}

{
    # the name of an included file is a string, so it is read before strings are taken out
    include = !comment && match($0, /^[ \t]*#[ \t]*include[ \t]*"[^"]*"/)
    if (include) {
        split(substr($0, RSTART, RLENGTH), part, "\"")
        check_include(part[2])
    }
    code = code_of($0)
    if (!public && folder != "memory" && folder != "cli" &&
        code ~ /(^|[^A-Za-z0-9_.>])(malloc|calloc|realloc|free|strn?dup|aligned_alloc|posix_memalign|v?asprintf)[ \t]*\(/)
        complain("memory taken or freed outside src/memory")
}

END { exit bad }
