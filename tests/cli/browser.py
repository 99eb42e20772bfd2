"""A headless browser, driven by its own protocol over a pipe."""

import base64
import fcntl
import itertools
import json
import os
import selectors
import shutil
import subprocess
import tempfile
import time

BROWSER = "chromium-headless-shell"


class Browser:
    """One page in a browser of its own. No host but the loopback addresses is found; the browser's sandbox, which root may not have, is off."""

    def __init__(self, width=1280, height=900, dark=False, patience=60):
        self.patience = patience
        self.wrong = []  # what the page complained of on its console
        self.ids = itertools.count(1)
        self.kept = b""
        self.folder = tempfile.mkdtemp(prefix="shunt-browser-")
        to_browser, self.write_end = os.pipe()
        self.read_end, from_browser = os.pipe()

        def place():  # the protocol is spoken on descriptors 3 and 4
            high = [fcntl.fcntl(fd, fcntl.F_DUPFD, 16) for fd in (to_browser, from_browser)]
            for fd, at in zip(high, (3, 4)):
                os.dup2(fd, at)

        self.process = subprocess.Popen(
            [BROWSER, "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
             "--remote-debugging-pipe", f"--user-data-dir={self.folder}"],
            preexec_fn=place, pass_fds=(3, 4), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.call("Page.enable")
        self.call("Runtime.enable")
        self.call("Log.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def close(self):
        os.close(self.write_end)
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.read_end)
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def call(self, method, **parameters):
        number = next(self.ids)
        message = {"id": number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.write_end, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + self.patience
        while True:
            heard = self.next(deadline)
            if heard.get("id") == number:
                if "error" in heard:
                    raise AssertionError(f"{method}: {heard['error']}")
                return heard["result"]

    def next(self, deadline):
        with selectors.DefaultSelector() as ready:
            ready.register(self.read_end, selectors.EVENT_READ)
            while b"\0" not in self.kept:
                if not ready.select(max(0, deadline - time.monotonic())):
                    raise AssertionError(f"the browser says nothing for {self.patience} s")
                piece = os.read(self.read_end, 1 << 16)
                if not piece:
                    raise AssertionError(f"the browser ended: {self.process.poll()}")
                self.kept += piece
        first, self.kept = self.kept.split(b"\0", 1)
        message = json.loads(first)
        about = message.get("params", {})
        if message.get("method") == "Runtime.exceptionThrown":
            self.wrong.append(about["exceptionDetails"].get("exception", {}).get("description") or about["exceptionDetails"]["text"])
        elif message.get("method") == "Runtime.consoleAPICalled" and about["type"] in ("error", "warning"):
            self.wrong.append(" ".join(str(a.get("value", a.get("description"))) for a in about["args"]))
        elif message.get("method") == "Log.entryAdded" and about["entry"]["level"] == "error":
            self.wrong.append(about["entry"]["text"] + " " + about["entry"].get("url", ""))
        return message

    def open(self, address):
        told = self.call("Page.navigate", url=address)
        if "errorText" in told:
            raise AssertionError(f"{address}: {told['errorText']}")
        self.until("document.readyState === 'complete' && location.href !== 'about:blank'")

    def value(self, expression):
        """What the expression is in the page, awaited; it must be JSON."""
        told = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in told:
            details = told["exceptionDetails"]
            raise AssertionError(f"{expression}: {details.get('exception', {}).get('description') or details['text']}")
        return told["result"].get("value")

    def until(self, expression):
        """Waits for the expression to be true in the page, and gives its value."""
        deadline = time.monotonic() + self.patience
        while True:
            value = self.value(expression)
            if value:
                return value
            if time.monotonic() > deadline:
                raise AssertionError(f"not in {self.patience} s: {expression}")
            self.value("new Promise(done => setTimeout(done, 50))")

    def click(self, selector):
        """A click of a mouse in the middle of what the selector names."""
        place = self.value(f"(() => {{ const e = document.querySelector({json.dumps(selector)}); e.scrollIntoView({{ block: 'center' }});"
                           " const b = e.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; })()")
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=place[0], y=place[1], button="left", clickCount=1)

    def picture(self, path):
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        told = self.call("Page.captureScreenshot", captureBeyondViewport=True, clip={"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1})
        with open(path, "wb") as file:
            file.write(base64.b64decode(told["data"]))
