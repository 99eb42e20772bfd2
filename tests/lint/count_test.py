"""Shows tests/support/count.awk what ctest writes for programs that pass, fail, crash, skip, run nothing or are not there."""

import os
import subprocess
import sys
import unittest

AWK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support/count.awk")


def case(name, status, output=""):
    return f'\t<testcase name="{name}" classname="{name}" time="0.1" status="{status}">\n\t\t<system-out>{output}</system-out>\n\t</testcase>\n'


def gtest(*lines):
    return "Running main()\n[==========] Running 3 tests from 1 test suite.\n" + "\n".join(lines) + "\n"


def count(*cases):
    text = '<?xml version="1.0" encoding="UTF-8"?>\n<testsuite name="x"\n\ttests="1"\n\t>\n' + "".join(cases) + "</testsuite>\n"
    lines = subprocess.run(["awk", "-f", AWK], input=text, capture_output=True, text=True, check=True).stdout.splitlines()
    passed, failed = lines[0].split()
    return int(passed), int(failed), lines[1:]


class Count(unittest.TestCase):
    def test_each_case_of_a_program_counts(self):
        self.assertEqual(count(case("a", "run", gtest("[       OK ] A.B (0 ms)", "[  PASSED  ] 3 tests."))), (3, 0, []))

    def test_another_program_counts_as_one(self):
        self.assertEqual(count(case("a", "run"), case("b", "fail", "no")), (1, 1, ["b (failed)"]))

    def test_failures_are_named_once(self):
        output = gtest("[       OK ] A.B (0 ms)", "[  FAILED  ] A.C (0 ms)", "[  FAILED  ] I/P.X/1, where GetParam() = 2 (0 ms)",
                       "[  PASSED  ] 1 test.", "[  FAILED  ] 2 tests, listed below:", "[  FAILED  ] A.C",
                       "[  FAILED  ] I/P.X/1, where GetParam() = 2", " 2 FAILED TESTS")
        self.assertEqual(count(case("a", "fail", output)), (1, 2, ["a: A.C", "a: I/P.X/1"]))

    def test_a_crash_is_a_failure_beside_what_ran_before_it(self):
        output = gtest("[       OK ] A.B (0 ms)", "[  FAILED  ] A.C (0 ms)", "[ RUN      ] A.D")
        self.assertEqual(count(case("a", "fail", output)), (1, 2, ["a: A.C", "a (ended badly)"]))

    def test_a_leak_found_at_the_end_is_a_failure(self):
        self.assertEqual(count(case("a", "fail", gtest("[  PASSED  ] 3 tests.", "LeakSanitizer"))), (3, 1, ["a (ended badly)"]))

    def test_a_skipped_test_is_a_failure(self):
        output = gtest("[  SKIPPED ] A.B (0 ms)", "[  PASSED  ] 2 tests.", "[  SKIPPED ] 1 test, listed below:", "[  SKIPPED ] A.B")
        self.assertEqual(count(case("a", "run", output)), (2, 1, ["a: A.B (skipped)"]))

    def test_a_program_that_runs_nothing_or_is_not_there_is_a_failure(self):
        nothing = "[==========] Running 0 tests from 0 test suites.\n[  PASSED  ] 0 tests.\n"
        self.assertEqual(count(case("a", "run", nothing), case("b", "notrun", "Unable to find executable: b")),
                         (0, 2, ["a (ran no test)", "b (not run)"]))


if __name__ == "__main__":
    sys.exit(unittest.main())
