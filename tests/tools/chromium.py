"""Drives a headless Chromium over its DevTools pipe: loads pages, and says what the page's console said."""
import base64
import json
import os
import shutil
import subprocess
import tempfile

CODES = {"Tab": 9, "Enter": 13}  # of keys that do something without a listener
PATH = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


class Chromium:
    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="sluice-chromium-")
        from_browser, to_us = os.pipe()
        to_browser, from_us = os.pipe()

        def wire():
            """The browser reads its descriptor 3 and writes 4."""
            incoming, outgoing = os.dup(to_browser), os.dup(to_us)
            os.dup2(incoming, 3)
            os.dup2(outgoing, 4)

        self.process = subprocess.Popen(
            [PATH, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--remote-debugging-pipe",
             f"--user-data-dir={self.folder}", "about:blank"],
            preexec_fn=wire, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_us)
        os.close(to_browser)
        self.incoming, self.outgoing = os.fdopen(from_browser, "rb"), os.fdopen(from_us, "wb")
        self.number, self.session, self.events, self.rest = 0, None, [], b""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def close(self):
        self.outgoing.close()  # ends the browser
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.incoming.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def read(self):
        while b"\0" not in self.rest:
            part = os.read(self.incoming.fileno(), 1 << 20)
            if not part:
                raise RuntimeError("the browser ended")
            self.rest += part
        message, _, self.rest = self.rest.partition(b"\0")
        return json.loads(message)

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        self.outgoing.write(json.dumps(message).encode() + b"\0")
        self.outgoing.flush()
        while True:
            answer = self.read()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def show_as(self, width=1100, height=900, dark=False, medium=""):
        """The size of the window, the preferred colours, and the medium: "print", or the screen."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500)
        self.call("Emulation.setEmulatedMedia", media=medium, features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def load(self, path, width=1100, height=900, dark=False):
        """Loads a file and waits until it is drawn. Returns what went wrong: errors, warnings, and requests for anything else."""
        self.events.clear()
        self.show_as(width, height, dark)
        self.call("Page.navigate", url=f"file://{path}")
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self.read())
        self.wait_until_drawn()
        return self.problems()

    def wait_until_drawn(self):
        self.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(done))))")

    def problems(self):
        found = []
        for event in self.events:
            method, said = event.get("method"), event.get("params", {})
            if method == "Runtime.exceptionThrown":
                found.append(said["exceptionDetails"].get("exception", {}).get("description", "an exception"))
            elif method == "Log.entryAdded" and said["entry"]["level"] in ("error", "warning"):
                found.append(said["entry"]["text"])
            elif method == "Runtime.consoleAPICalled":
                found.append(f"console: {said['args']}")
            elif method == "Network.requestWillBeSent" and not said["request"]["url"].startswith("file://"):
                found.append(f"request: {said['request']['url']}")
            elif method == "Page.javascriptDialogOpening":
                found.append(f"dialog: {said['message']}")
        return found

    def evaluate(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"])
        return result["result"].get("value")

    def press(self, key):
        more = {"windowsVirtualKeyCode": CODES[key]} if key in CODES else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, code=key, **more, **({"text": "\r"} if key == "Enter" else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, code=key, **more)

    def picture(self, selector="html"):
        """Of an element, as PNG."""
        box = self.evaluate(f"(r => ({{x: r.left + scrollX, y: r.top + scrollY, width: r.width, height: r.height, scale: 1}}))"
                            f"(document.querySelector({json.dumps(selector)}).getBoundingClientRect())")
        return base64.b64decode(self.call("Page.captureScreenshot", captureBeyondViewport=True, clip=box)["data"])

    def print(self):
        """The page on paper, as PDF."""
        return base64.b64decode(self.call("Page.printToPDF", printBackground=True)["data"])
