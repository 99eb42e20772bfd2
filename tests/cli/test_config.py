"""shunt config: everything that is wrong with a file, and the value and origin of each key."""

import glob
import json
import os

from support import Case, SOURCE, main, shunt

WRONG = """[producer]
name_servers = ["127.0.0.1:9876"]
atempts = 3
send_timeout = "3"
[policies.default]
selector = { use = "hashh" }
fault = { use = "latency-fault", profile = "6.x" }
[[bindings]]
topic = "a"
policy = "none-such"
"""


class Config(Case):
    cluster_arguments = None

    def test_a_right_file_is_right(self):
        for path in sorted(glob.glob(os.path.join(SOURCE, "config", "*.toml"))):
            with self.subTest(path=path):
                self.assertIn("is right", self.ok("config", "check", path))
                self.assertEqual(json.loads(self.ok("config", "check", path, "--json")), {"ok": True, "problems": []})

    def test_every_problem_is_told_at_once_a_line_each(self):
        path = self.file("wrong.toml", WRONG)
        ended = shunt("config", "check", path)

        self.assertEqual(ended.returncode, 2)
        lines = ended.stdout.splitlines()
        self.assertEqual(len(lines), 5, lines)
        for line, (place, text) in zip(lines, (("3:1", "did you mean 'attempts'?"), ("4:16", "send_timeout"), ("6:20", "did you mean 'hash'?"),
                                               ("7:44", "profile"), ("10:10", "none-such"))):
            self.assertTrue(line.startswith(f"{path}:{place}: "), line)
            self.assertIn(text, line)

    def test_problems_have_the_promised_shape(self):
        path = self.file("wrong.toml", WRONG)
        ended = shunt("config", "check", path, "--json")

        self.assertEqual(ended.returncode, 2)
        told = json.loads(ended.stdout)
        self.assertShape(told, {"ok": bool, "problems": [{"file": str, "line": int, "column": int, "key": str, "found": str, "expected": str,
                                                          "hint": str}]})
        self.assertFalse(told["ok"])
        self.assertEqual([(p["line"], p["key"]) for p in told["problems"]][:2], [(3, "producer.atempts"), (4, "producer.send_timeout")])
        self.assertEqual({p["file"] for p in told["problems"]}, {path})

    def test_an_ordered_policy_that_cannot_keep_order_is_a_warning(self):
        path = self.file("ordered.toml", '[producer]\nname_servers = ["a:1"]\n[policies.p]\nselector = { use = "random" }\nordered = true\n'
                                         '[policies.q]\nselector = { use = "hash" }\nordered = true\n')
        for arguments in [], ["--json"]:
            ended = shunt("config", "check", path, *arguments)
            self.assertEqual(ended.returncode, 0, "it works, and may be meant")
            self.assertEqual(ended.stderr, f"shunt config check: warning: {path}:4:20: policies.p.selector.use is 'random'; it must be a selector that goes by "
                                           "the key, since ordered = true (messages of one key may go to several queues; hash keeps them in one)\n")
        told = json.loads(ended.stdout)
        self.assertEqual((told["ok"], told["problems"]), (True, []))
        self.assertShape(told["warnings"], [{"file": str, "line": int, "column": int, "key": str, "found": str, "expected": str, "hint": str}])
        self.assertEqual([(w["line"], w["key"]) for w in told["warnings"]], [(4, "policies.p.selector.use")])

    def test_a_syntax_error_is_told_alone(self):
        path = self.file("syntax.toml", "[producer]\nattempts = = 3\natempts = 3\n")
        told = json.loads(shunt("config", "check", path, "--json").stdout)
        self.assertEqual([(p["line"], p["expected"]) for p in told["problems"]], [(2, "TOML syntax")])

    def test_a_file_that_is_not_there_is_told(self):
        for command in "check", "show":
            ended = shunt("config", command, self.file("none.toml"))
            self.assertEqual(ended.returncode, 2)
            self.assertIn("No such file or directory", ended.stdout + ended.stderr)

    def test_show_tells_value_and_origin_of_each_key(self):
        path = self.file("shunt.toml", '[producer]\nname_servers = ["a:1"]\nattempts = 5\n[policies.default]\nfault = { use = "latency-fault" }\n')
        lines = {}
        for line in self.ok("config", "show", path).splitlines():
            key, rest = line.split(" = ", 1)
            value, origin = rest.rsplit(" # ", 1)
            lines[key.strip()] = (value.strip(), origin)

        self.assertEqual(lines["producer.attempts"], ("5", f"{path}:3"))
        self.assertEqual(lines["producer.send_timeout"], ('"3s"', "default"))
        self.assertEqual(lines["policies.default.fault.probe"], ('"0ms"', "default"))

    def test_show_as_json(self):
        path = self.file("shunt.toml", '[producer]\nname_servers = ["a:1"]\n')
        told = json.loads(self.ok("config", "show", path, "--json"))
        self.assertShape(told, {"file": str, "settings": [{"key": str, "value": str, "from": str}]})
        self.assertIn({"key": "producer.name_servers", "value": '["a:1"]', "from": f"{path}:2"}, told["settings"])

    def test_show_of_a_wrong_file_tells_what_is_wrong(self):
        self.refused("config", "show", self.file("wrong.toml", WRONG), status=2, saying=["atempts", "none-such"])

    def test_commands_that_send_tell_all_of_it_too(self):
        self.refused("send", "-c", self.file("wrong.toml", WRONG), "-t", "t", "--body", "x", status=2,
                     saying=["did you mean 'attempts'?", "send_timeout", "did you mean 'hash'?", "profile", "none-such"])


if __name__ == "__main__":
    main()
