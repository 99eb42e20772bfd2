# Reads what ctest --output-junit wrote and prints "PASSED FAILED", then the name of each failure, one a line.
#
# A GoogleTest program counts as many tests as it ran; any other test counts as one. A program that ended badly without
# naming a failed test (a crash, a time-out, a leak found at the end) is one failure more. A skipped test is a failure:
# nothing is left out in silence.
function attribute(line, name) {
    if (!match(line, " " name "=\"[^\"]*\""))
        return ""
    return substr(line, RSTART + length(name) + 3, RLENGTH - length(name) - 4)
}
function fail(what) { names = names what "\n" }

/<testcase / {
    test = attribute($0, "name"); status = attribute($0, "status")
    is_gtest = whole = ok = ok_lines = bad = skipped = 0
    delete failed_line; failed_lines = 0
}
/\[==========\] Running [0-9]+ test/ { is_gtest = 1 }
/^\[       OK \] / { ++ok_lines }
/^\[  PASSED  \] [0-9]+ test/ { whole = 1; ok = $4 }
/^\[  SKIPPED \] [^ ]+$/ { ++skipped; fail(test ": " $4 " (skipped)") }
/^\[  FAILED  \] [^ ]+$/ { ++bad; fail(test ": " $4) }
# What a program said as it went counts when it did not live to sum up.
/^\[  FAILED  \] .* \([0-9]+ ms\)$/ { sub(/,$/, "", $4); failed_line[++failed_lines] = test ": " $4 }
/^\[  FAILED  \] [^ ]+, where / && !/ ms\)$/ { ++bad; sub(/,$/, "", $4); fail(test ": " $4) }
/<\/testcase>/ {
    if (!whole && is_gtest) {
        ok = ok_lines
        for (bad = 0; bad < failed_lines; )
            fail(failed_line[++bad])
        ++bad; fail(test " (ended badly)")
    }
    if (status != "run" && bad == 0) {
        ++bad; fail(test " (" (status == "notrun" ? "not run" : is_gtest ? "ended badly" : "failed") ")")
    } else if (is_gtest && ok + bad + skipped == 0) {
        ++bad; fail(test " (ran no test)")
    } else if (!is_gtest && bad == 0)
        ok = 1
    passed += ok; failed += bad + skipped
}
END { printf "%d %d\n%s", passed, failed, names }
