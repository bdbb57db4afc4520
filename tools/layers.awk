# Finds what reaches down the layers (a folder of src/ may use only those before it), public headers
# that use private ones, memory taken around src/memory, JSON made around its helpers, and commands that write
# files past output_file.c, which makes them whole, and questions for kinds of steps and families of transformers:
# awk -f tools/layers.awk FILES
BEGIN {
    count = split("base memory chip kernels graph engine device sensors publish signal nn generate formats export text train profile monitor report cli", order, " ")
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
    # one helper makes JSON and looks at what jansson says; documents are read with its getters by everybody
    if (FILENAME !~ /^src\/(cli\/json|formats\/files\/json_read)_jansson\.c$/ &&
        code ~ /(^|[^A-Za-z0-9_])json_(object|array|string|stringn|integer|real|true|false|null|boolean|v?pack(_ex)?|v?sprintf|copy|deep_copy|load[a-z_]*|dump[bsf][a-z]*|dump_(file|callback)|object_(set|update|del|clear)[a-z_]*|array_(set|append|insert|extend|remove|clear)[a-z_]*|(string|integer|real)_set[a-z]*)[ \t]*\(/)
        complain("JSON made or parsed around formats/files/json.h, formats/files/json_read.h or cli/json_jansson.c")
    # what kind a step is, is asked in the files of that step; others read its row of steps.def
    if (FILENAME !~ /^src\/(graph\/steps\/[a-z_]+\.[ch]|export\/c_[a-z]+\.c|profile\/cache\/cache_[a-z]+\.c)$/ &&
        code ~ /(==|!=) *EG__STEP_|(==|!=) *eg__run_/)
        complain("the kind of a step, asked outside of its files: a column of graph/steps/steps.def tells it")
    # what a family of transformers is made of, its row of families.def says
    if (FILENAME !~ /^src\/nn\/families\.[ch]$/ &&
        code ~ /(==|!=) *EG__FAMILY_|EG__FAMILY_[A-Z0-9_]+ *(==|!=)|case +EG__FAMILY_|[.>]family *(==|!=)|switch *\([^)]*[.>]family|str[a-z]*cmp *\([^,]*family/)
        complain("the family of a transformer, compared: a column of nn/families.def tells what differs")
    # modes are strings, so the line is read as it is
    if (folder == "cli" && FILENAME !~ /\/output_file\.c$/ &&
        ($0 ~ /(^|[^a-z_])fopen *\(.*"[wa]/ || code ~ /(^|[^a-z_])(creat|open) *\(.*O_CREAT/))
        complain("a file written past output_file.c")
}

END { exit bad }
