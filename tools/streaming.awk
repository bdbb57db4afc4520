# Reads a disassembly and fails where streaming mode and the other one are mixed: SVE outside of functions named _streaming, where
# Apple's processors have none; NEON or floats inside, where there is no NEON; a call from there of anything else; a change of mode
# that is not a call of such a function between smstart and smstop.
function fault(what) { print "in " name ": " what ": " $0; bad = 1 }
function is_streaming(symbol) { return symbol ~ /_streaming(\.|$)/ }

/^[0-9a-f]+ <.*>:$/ {
    if (on) fault("no smstop")
    name = substr($2, 2, length($2) - 3)
    inside = is_streaming(name)
    functions += inside
    next
}
!/^ *[0-9a-f]+:\t/ { next }
{
    sub(/[ \t]*\/\/.*/, "")
    code = $2
    operands = " " substr($0, index($0, "\t" code) + length(code) + 1)
    gsub(/[0-9a-f]+ <[^>]*>/, "", operands) # where a branch goes
    sve = operands ~ /[^a-z0-9]z[0-9]+|[^a-z0-9]p[0-9]+[.\/,]|[^a-z0-9]za/ || code ~ /^(rdvl|addvl|addpl|cnt[bhwd]|ptrue|pfalse|while|inc[bhwd]|dec[bhwd]|setffr)/
    neon = operands ~ /[^a-z0-9](v[0-9]+\.|[bhsdq][0-9]+([^a-z0-9]|$))/
    products += code ~ /mopa$/
}
code == "smstart" || code == "smstop" {
    if (inside || on != (code == "smstop")) fault("another mode")
    if (code == "smstop" && !called) fault("nothing was called")
    on = code == "smstart"
    called = 0
    changes++
    next
}
inside {
    instructions++
    if (neon) fault("NEON in streaming mode")
    if (code == "bl" && !is_streaming(substr($NF, 2, length($NF) - 2)) || code == "blr" || code == "svc") fault("a call in streaming mode")
    next
}
sve && !(code == "str" && operands ~ /za\[/) { fault("SVE outside of streaming mode") } # ZA can be saved in both modes
on {
    if (neon) fault("NEON in streaming mode")
    if (code ~ /^(blr|br|ret|svc)$/) fault("a way out of streaming mode")
    if (code == "bl") {
        if (!is_streaming(substr($NF, 2, length($NF) - 2))) fault("a call in streaming mode")
        called = 1
    }
}
END {
    print functions + 0 " functions of " instructions + 0 " instructions in streaming mode, " products + 0 " outer products, " changes + 0 " changes of mode"
    exit bad || !functions || !products || changes != 2
}
