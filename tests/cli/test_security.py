"""Credentials and TLS, from the configuration to the brokers: every command that talks honours them, and none shows a secret."""

import os
import subprocess

from support import Case, main, shunt

SECRET = "hunter2secret"


class Security(Case):
    cluster_arguments = None

    def credentials(self, secret=SECRET):
        return self.file("credentials.toml", f'access_key = "app"\nsecret_key = "{secret}"\n')

    def fails(self, command, status, saying, **more):
        """All it said."""
        ended = shunt(*command, **more)
        self.assertEqual(ended.returncode, status, (command, ended))
        self.assertIn(saying, ended.stderr + ended.stdout)
        return ended.stderr + ended.stdout

    def test_show_never_shows_a_secret(self):
        path = self.file("shunt.toml", f'[producer]\nname_servers = ["a:1"]\n[acl]\naccess_key = "app"\nsecret_key = "{SECRET}"\n'
                                       f'security_token = "{SECRET}"\n[tls]\nkey_password = "{SECRET}"\n')
        for arguments in (["config", "show", path], ["config", "show", path, "--json"], ["config", "check", path]):
            told = self.ok(*arguments)
            self.assertNotIn(SECRET, told)
        self.assertIn('"(hidden)"', self.ok("config", "show", path))
        self.assertIn('"app"', self.ok("config", "show", path))

    def test_wrong_files_are_told_without_the_secret(self):
        for text in (f'access_key = "app"\nsecret_key = {SECRET}\n', f'access_key = "app"\nsecret_key = "{SECRET}\n', f'secret_key = "{SECRET}"\n'):
            acl = self.file("bad.toml", text)
            config = self.file("shunt.toml", f'[producer]\nname_servers = ["127.0.0.1:9"]\n[acl]\nfile = "{acl}"\n')
            for command in (["send", "-c", config, "-t", "T", "--body", "x"], ["tail", "-c", config, "-t", "T"], ["route", "-c", config, "T"],
                            ["topic", "offsets", "-c", config, "-t", "T"], ["config", "check", config], ["cluster", "--acl", acl]):
                self.assertNotIn(SECRET, self.fails(command, 2, "bad.toml"))

    def test_commands_sign_what_they_ask(self):
        acl = self.credentials()
        cluster = self.new_cluster("--acl", acl)
        signed = self.file("signed.toml", f'[producer]\nname_servers = ["{cluster.address}"]\n[acl]\nfile = "credentials.toml"\n')
        unsigned = self.file("unsigned.toml", f'[producer]\nname_servers = ["{cluster.address}"]\n')
        self.ok("topic", "create", "-c", signed, "-t", "T")
        self.ok("send", "-c", signed, "-t", "T", "--body", "x", "--count", 5)
        self.assertEqual(len(self.ok("tail", "-c", signed, "-t", "T").splitlines()), 5)
        self.ok("topic", "offsets", "-c", signed, "-t", "T")
        self.ok("route", "-c", unsigned, "T")  # name servers do not look
        self.fails(["send", "-c", unsigned, "-t", "T", "--body", "x"], 1, "username cannot be null.")
        self.fails(["tail", "-c", unsigned, "-t", "T"], 1, "username cannot be null.")

    def test_the_environment_gives_credentials(self):
        cluster = self.new_cluster("--acl", self.credentials(), "--acl-form", "1.0")
        path = self.file("shunt.toml", f'[producer]\nname_servers = ["{cluster.address}"]\n[acl]\nenvironment = "RMQ"\n')
        right = dict(os.environ, RMQ_ACCESS_KEY="app", RMQ_SECRET_KEY=SECRET)
        self.assertEqual(shunt("send", "-c", path, "-t", "T", "--body", "x", env=right).returncode, 0)
        self.fails(["send", "-c", path, "-t", "T", "--body", "x"], 1, "Check signature failed for accessKey=app", env=dict(right, RMQ_SECRET_KEY="wrong"))
        self.refused("send", "-c", path, "-t", "T", "--body", "x", status=2, saying=["RMQ_ACCESS_KEY"])

    def test_commands_speak_tls(self):
        key, certificate = self.file("server.key"), self.file("server.crt")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=broker", "-addext",
                        "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate], check=True, capture_output=True)
        cluster = self.new_cluster("--tls-certificate", certificate, "--tls-key", key)
        trusting = self.file("tls.toml", f'[producer]\nname_servers = ["{cluster.address}"]\n[tls]\nenabled = true\nca = "{certificate}"\n')
        self.ok("config", "check", trusting)
        self.ok("topic", "create", "-c", trusting, "-t", "T")
        self.ok("send", "-c", trusting, "-t", "T", "--body", "x", "--count", 5)
        self.assertEqual(len(self.ok("tail", "-c", trusting, "-t", "T").splitlines()), 5)
        self.ok("route", "-c", trusting, "T")
        plain = self.file("plain.toml", f'[producer]\nname_servers = ["{cluster.address}"]\n')
        self.refused("route", "-c", plain, "T", status=1, saying=["it may want TLS"])
        system = self.file("system.toml", f'[producer]\nname_servers = ["{cluster.address}"]\n[tls]\nenabled = true\n')
        self.refused("route", "-c", system, "T", status=1, saying=["its certificate, which CN = broker signed, is not trusted"])
        lost = self.file("lost.toml", '[producer]\nname_servers = ["127.0.0.1:9"]\n[tls]\nenabled = true\nca = "none.crt"\n')
        for command in (["route", "-c", lost, "T"], ["send", "-c", lost, "-t", "T", "--body", "x"], ["config", "check", lost]):
            self.fails(command, 2, "none.crt")

    def test_wrong_use_of_the_cluster_is_told(self):
        self.refused("cluster", "--tls-certificate", "x.crt", status=2, saying=["--tls-key"])
        self.refused("cluster", "--acl-form", "2.0", status=2, saying=["--acl"])
        self.refused("cluster", "--tls-certificate", "none.crt", "--tls-key", "none.key", status=1, saying=["none.crt", "cannot be read"])


if __name__ == "__main__":
    main()
