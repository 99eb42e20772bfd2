"""The guard of abi.h, guarded: it takes what may be done to the header, and names what may not.

usage: python3 guard_test.py FROZEN       a folder with the header to change: tests/abi/1.0
"""

import os
import re
import sys
import tempfile
import unittest

import guard

FROZEN = sys.argv.pop() if len(sys.argv) == 2 else os.path.join(os.path.dirname(__file__), "1.0")


def changed(*changes, minor=None):
    """The header with (old, new) put in place; assertions of sizes go, as whoever changes a struct changes them too."""
    with open(os.path.join(FROZEN, guard.HEADER), encoding="utf-8") as f:
        text = f.read()
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new, 1)
    if minor is not None:
        text = text.replace("#define SHUNT_ABI_MINOR 0", f"#define SHUNT_ABI_MINOR {minor}")
    return re.sub(r"\nSHUNT_ABI_ASSERT\([^\n]*", "", text)


class Guard(unittest.TestCase):
    def said(self, text):
        with tempfile.TemporaryDirectory() as include:
            os.makedirs(os.path.join(include, "shunt/sdk"))
            with open(os.path.join(include, guard.HEADER), "w", encoding="utf-8") as f:
                f.write(text)
            return "\n".join(guard.broken(FROZEN, include))

    def takes(self, text):
        self.assertEqual(self.said(text), "")

    def refuses(self, pattern, text):
        self.assertRegex(self.said(text), pattern)

    def test_takes_the_header_itself(self):
        self.takes(changed())

    def test_takes_other_comments(self):
        self.takes(changed(("/* the number on the wire */", "/* as brokers count */")))

    def test_takes_members_at_the_end_of_what_has_a_size_under_a_later_minor(self):
        self.takes(changed(("} shunt_view;", "    uint64_t later;\n} shunt_view;"), ("} shunt_broker;", "    uint64_t later;\n} shunt_broker;"),
                           ("} shunt_host;", "    void (*later)(void *);\n} shunt_host;"), minor=1))

    def test_takes_a_new_constant_under_a_later_minor(self):
        self.takes(changed(("#define SHUNT_WHY_RANDOM 12u", "#define SHUNT_WHY_RANDOM 12u\n#define SHUNT_WHY_MOON 13u"), minor=1))

    def test_refuses_growth_under_the_same_minor(self):
        self.refuses("needs a later SHUNT_ABI_MINOR", changed(("} shunt_view;", "    uint64_t later;\n} shunt_view;")))

    def test_refuses_an_inserted_member(self):
        self.refuses(r"shunt_view\.n_queues lies elsewhere",
                     changed(("    uint32_t n_queues, n_brokers; ", "    uint64_t inserted;\n    uint32_t n_queues, n_brokers; "), minor=1))

    def test_refuses_an_inserted_function(self):
        self.refuses(r"shunt_selector_class\.select lies elsewhere",
                     changed(("    void (*destroy)(shunt_selector *);", "    void (*inserted)(void);\n    void (*destroy)(shunt_selector *);"),
                             minor=1))

    def test_refuses_an_insertion_that_comes_with_growth(self):
        self.refuses(r"shunt_msg\.hash64 lies elsewhere",
                     changed(("    uint64_t hash64; ", "    uint64_t inserted, hash64; "), ("} shunt_msg;", "    uint64_t later;\n} shunt_msg;"), minor=1))

    def test_refuses_members_that_change_places(self):
        self.refuses(r"shunt_feedback\.at_ns lies elsewhere",
                     changed(("    int64_t at_ns; ", "    int64_t moved; "), ("    int64_t start_ns; ", "    int64_t at_ns; "), ("    int64_t moved; ", "    int64_t start_ns; "), minor=1))

    def test_refuses_a_member_of_another_type_and_the_same_size(self):
        self.refuses(r"shunt_load\.ewma_latency_ns is of another type",
                     changed(("    int64_t ewma_latency_ns;", "    double ewma_latency_ns;"), minor=1))

    def test_refuses_another_signature(self):
        self.refuses(r"shunt_host\.log is of another type", changed(("void (*log)(void *ctx, int32_t level, shunt_str text);",
                                                        "void (*log)(void *ctx, shunt_str text, int32_t level);"), minor=1))

    def test_refuses_another_entry(self):
        self.refuses("shunt_entry_fn is another type", changed(("(*shunt_entry_fn)(const shunt_handshake *)", "(*shunt_entry_fn)(void)"), minor=1))

    def test_refuses_growth_of_what_has_no_size(self):
        for struct in ("shunt_str", "shunt_pick", "shunt_queue", "shunt_value", "shunt_note"):
            self.refuses(f"{struct} has another size", changed((f"}} {struct};", f"    uint64_t later;\n}} {struct};"), minor=1))

    def test_refuses_a_removed_member(self):
        self.refuses("no member named .*java_hash.*; nothing may go", changed(("    int32_t java_hash; ", "    int32_t other; "), minor=1))

    def test_refuses_constants_that_change_or_go(self):
        self.refuses("SHUNT_NO_QUEUE is 4; it must stay 2", changed(("#define SHUNT_NO_QUEUE 2", "#define SHUNT_NO_QUEUE 4"), minor=1))
        self.refuses("SHUNT_F_FILTER is gone", changed(("#define SHUNT_F_FILTER 32u", ""), minor=1))

    def test_refuses_padding(self):
        self.refuses("-Wpadded: .*padding", changed(("} shunt_view;", "    uint32_t later;\n} shunt_view;"), minor=1))

    def test_refuses_types_of_no_fixed_width(self):
        self.refuses(r"shunt_msg\.later is of type size_t", changed(("} shunt_msg;", "    size_t later;\n} shunt_msg;"), minor=1))
        self.refuses(r"shunt_msg\.later is of type long", changed(("} shunt_msg;", "    long later;\n} shunt_msg;"), minor=1))


if __name__ == "__main__":
    unittest.main()
