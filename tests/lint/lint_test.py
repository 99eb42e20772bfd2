"""Shows each rule of lint.py what it must refuse, and what looks alike and is right."""

import os
import tempfile
import unittest

import lint

PARTS = {
    "core/src/wire/CMakeLists.txt": "shunt_part(wire\n  SOURCES a.cpp\n  LIBS ZLIB::ZLIB)\n",
    "core/src/route/CMakeLists.txt": "shunt_part(route SOURCES a.cpp USES wire LIBS x)\n",
    "core/src/send/CMakeLists.txt": "# shunt_part(send USES net)\nshunt_part(send SOURCES a.cpp USES route)\n",
    "core/src/net/CMakeLists.txt": "shunt_part(net SOURCES a.cpp USES send)\n",
    "core/src/client/CMakeLists.txt": "shunt_part(client SOURCES a.cpp USES net)\n",
}


def problems(rule, tree):
    """What the rule says of a tree: path -> text."""
    with tempfile.TemporaryDirectory() as root:
        for path, text in tree.items():
            full = os.path.join(root, path)
            os.makedirs(os.path.dirname(full), exist_ok=True)
            with open(full, "w", encoding="utf-8") as f:
                f.write(text)
        return rule(root)


class Lint(unittest.TestCase):
    def refuses(self, rule, path, text, word, line=1, **more):
        found = problems(rule, {**more.get("tree", {}), path: text})
        self.assertEqual(len(found), 1, found)
        self.assertTrue(found[0].startswith(f"{path}:{line}: "), found[0])
        self.assertIn(word, found[0])

    def accepts(self, rule, path, text, **more):
        self.assertEqual(problems(rule, {**more.get("tree", {}), path: text}), [])

    def test_include_direction(self):
        rule = lint.include_direction
        self.refuses(rule, "core/src/wire/a.cpp", "\n#include <route/route.hpp>\n", "<route/route.hpp>", 2, tree=PARTS)
        self.refuses(rule, "core/src/send/a.cpp", "#include <net/a.hpp>\n", "route, send, wire", tree=PARTS)
        self.refuses(rule, "core/src/net/a.cpp", "#include <client/a.hpp>\n", "client", tree=PARTS)
        self.refuses(rule, "core/src/net/a.cpp", '#include "b.hpp"\n', "<net/b.hpp>", tree=PARTS)
        self.refuses(rule, "core/include/shunt/a.hpp", "#include <wire/a.hpp>\n", "public header", tree=PARTS)
        self.refuses(rule, "core/cli/a.cpp", "#include <client/a.hpp>\n", "nobody includes client", tree=PARTS)
        self.refuses(rule, "sdk/include/shunt/sdk/a.hpp", "#include <boost/json.hpp>\n", "<boost/json.hpp>", tree=PARTS)
        self.refuses(rule, "sdk/include/shunt/sdk/a.hpp", "#include <shunt/error.hpp>\n", "<shunt/error.hpp>", tree=PARTS)
        self.accepts(rule, "core/src/send/a.cpp", "#include <send/a.hpp>\n#include <wire/a.hpp>\n#include <shunt/error.hpp>\n"
                     "#include <vector>\n// #include <net/a.hpp>\n", tree=PARTS)
        self.accepts(rule, "sdk/include/shunt/sdk/a.hpp", "#include <shunt/sdk/abi.h>\n#include <span>\n", tree=PARTS)

    def test_third_party(self):
        rule = lint.third_party
        for folder, name in (("core/src/send", "boost/dll.hpp"), ("core/src/plugin", "toml++/toml.h"), ("core/src/net", "spdlog/spdlog.h"),
                             ("core/src/send", "boost/asio.hpp"), ("core/src/client", "boost/dll/shared_library.hpp"),
                             ("core/src/client", "boost/beast/http.hpp"), ("core/src/client", "prometheus/registry.h"),
                             ("plugins/a", "boost/asio/post.hpp"), ("core/include/shunt", "spdlog/fmt/fmt.h")):
            self.refuses(rule, folder + "/a.cpp", f"# include <{name}>\n", name)
        for folder, name in (("core/src/plugin", "boost/dll/shared_library.hpp"), ("core/src/config", "toml++/toml.h"),
                             ("core/src/observe", "spdlog/spdlog.h"), ("core/src/net", "boost/asio.hpp"),
                             ("core/include/shunt", "boost/asio/async_result.hpp"), ("core/src/route", "boost/json.hpp")):
            self.accepts(rule, folder + "/a.cpp", f"#include <{name}>\n")

    def test_plugin_includes(self):
        rule = lint.plugin_includes
        for name in ("shunt/producer.hpp", "wire/frame.hpp", "boost/json.hpp", "fmt/format.h", "thread", "iostream", "unistd.h"):
            self.refuses(rule, "plugins/a/a.cpp", f"#include <vector>\n#include <{name}>\n", name, 2)
        self.refuses(rule, "plugins/a/a.cpp", '#include "../b/b.hpp"\n', "../b/b.hpp")
        self.accepts(rule, "plugins/a/a.cpp", '#include <shunt/sdk/plugin.hpp>\n#include <array>\n#include "a.hpp"\n',
                     tree={"plugins/a/a.hpp": "#include <cstdint>\n"})

    def test_pure_parts(self):
        rule = lint.pure_parts
        for part, name in (("wire", "mutex"), ("route", "thread"), ("send", "boost/asio/steady_timer.hpp"), ("strategy", "sys/socket.h")):
            self.refuses(rule, f"core/src/{part}/a.hpp", f"#include <{name}>\n", name)
        self.accepts(rule, "core/src/net/a.hpp", "#include <mutex>\n")

    def test_clocks(self):
        rule = lint.clocks
        for text in ("std::chrono::steady_clock::now()", "system_clock :: now ()", "time(nullptr)", "clock_gettime(CLOCK_REALTIME, &t)"):
            self.refuses(rule, "core/src/send/a.cpp", f"auto t = {text};\n", "parameter")
        self.refuses(rule, "plugins/a/a.cpp", "auto t = std::chrono::steady_clock::now();\n", "parameter")
        self.accepts(rule, "core/src/net/a.cpp", "auto t = std::chrono::steady_clock::now();\n")
        self.accepts(rule, "core/src/send/a.cpp", "steady_clock::time_point now; // steady_clock::now()\nauto s = \"time(nullptr)\"; f.time(0, 1);\n")

    def test_randomness(self):
        self.refuses(lint.randomness, "core/src/send/a.cpp", "std::random_device r;\n", "random_device")
        self.refuses(lint.randomness, "plugins/a/a.cpp", "int i = rand();\n", "rand")
        self.accepts(lint.randomness, "plugins/a/a.cpp", "int i = operand(); host.random();\n")

    def test_sleeps(self):
        for text in ("std::this_thread::sleep_for(1s);", "usleep(5);", "sleep(1);", "std::this_thread::sleep_until(t);"):
            self.refuses(lint.sleeps, "tests/unit/a_test.cpp", text + "\n", "deadline")
        self.accepts(lint.sleeps, "tests/unit/a_test.cpp", "// never sleep(1)\nchild({\"sleep\", \"600\"}); oversleep(1);\n")

    def test_detached_threads(self):
        for text in ("std::thread(f).detach();", "t->detach( );"):
            self.refuses(lint.detached_threads, "core/src/net/a.cpp", text + "\n", "joined")
        self.accepts(lint.detached_threads, "core/src/net/a.cpp", "co_spawn(e, f(), asio::detached);\n")

    def test_printing(self):
        for text in ("std::printf(\"x\");", "fprintf(stderr, \"x\");", "std::cerr << 1;", "puts(\"x\");", "fmt::print(\"x\");"):
            self.refuses(lint.printing, "core/src/net/a.cpp", text + "\n", "observe")
        self.accepts(lint.printing, "core/src/net/a.cpp", "std::snprintf(b, n, \"x\"); fmt::format(\"x\"); inputs(1);\n")
        self.accepts(lint.printing, "core/cli/a.cpp", "std::cout << 1;\n")

    def test_skipped_tests(self):
        self.refuses(lint.skipped_tests, "tests/unit/a_test.cpp", "TEST(A, DISABLED_B) {}\n", "fails")
        self.accepts(lint.skipped_tests, "tests/unit/a_test.cpp", "TEST(A, B) {}\n")

    def test_words(self):
        for text in ("/wo" + "rk/main/x", "http://repo." + "maven.apache.org/maven2", "cd /fa" + "rm/x", "/ro" + "ot/.m2"):
            self.refuses(lint.words, "core/README.md", f"see\n{text}\n", "machine", 2)
        self.accepts(lint.words, "core/README.md", "the work/ folder, a framework/, org.apache.maven\n")

    def test_folders(self):
        readme = {f + "/README.md": "x" for f in lint.FOLDERS}
        self.assertEqual(problems(lint.folders, {**readme, "README.md": "x", "build/x": "", ".ci/run": ""}), [])
        self.assertEqual([p.split(":")[0] for p in problems(lint.folders, {**readme, "scripts/x.sh": ""})], ["scripts"])
        del readme["sdk/README.md"]
        self.assertEqual([p.split(":")[0] for p in problems(lint.folders, {**readme, "sdk/x": ""})], ["sdk"])

    def test_comments_and_literals_do_not_count(self):
        text = "int a = 1'000; // x\nauto s = R\"(sleep(1)\nmore)\"; char c = '\"'; sleep(2); /* a\nb */ f(\"\\\"//\"); g();\n"
        code = lint.code_of(text)
        self.assertEqual(code.count("\n"), text.count("\n"))
        self.assertNotIn("sleep(1)", code)
        self.assertIn("sleep(2)", code)
        self.assertIn("g()", code)
        self.assertIn("1'000", code)

    def test_exceptions_cover_what_they_name_and_no_more(self):
        excepted = [("clocks", "a.cpp", "<mutex>", "why")]
        self.assertEqual(lint.without_excepted("clocks", ["a.cpp:1: <mutex>; no", "a.cpp:2: <thread>; no"], excepted), ["a.cpp:2: <thread>; no"])
        self.assertEqual(lint.without_excepted("sleeps", ["a.cpp:1: <mutex>; no"], excepted), ["a.cpp:1: <mutex>; no"])
        self.assertEqual(len(lint.without_excepted("clocks", [], excepted)), 1)

    def test_every_rule_is_tried_here(self):
        for rule in lint.RULES:
            self.assertTrue(hasattr(self, "test_" + rule.__name__), rule.__name__)


if __name__ == "__main__":
    unittest.main()
