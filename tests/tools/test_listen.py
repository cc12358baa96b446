"""`sluice top --listen`: Prometheus's own parser reads the figures of top; whatever a client sends or leaves unsaid, the next one is
answered."""
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import unittest
import urllib.error
import urllib.request

from support import SOURCE, TOOL, ToolTest, clean_environment, sluice
from test_top import GPT, SHM, after_step, stopped

sys.path.insert(0, str(SOURCE / "tests/frameworks"))
import debian
import running
import wheels

SECONDS = 60  # after which a hang is one


def parser():
    """prometheus_client's, from PyPI. Raises unittest.SkipTest where it cannot be had."""
    try:
        sys.path.insert(0, str(wheels.prepare(running.cache(), "prometheus-client", None)))
    except debian.Unavailable as reason:
        raise unittest.SkipTest(str(reason))
    from prometheus_client.parser import text_string_to_metric_families
    return text_string_to_metric_families


class ListenTest(ToolTest):
    def serve(self, *arguments, place="0"):
        """The URL of a server at any free port."""
        self.server = subprocess.Popen([TOOL, "top", "--listen", place, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                       text=True, env=clean_environment())
        self.addCleanup(self.end, self.server)
        self.url = self.server.stdout.readline().strip()
        self.port = int(self.url.removesuffix("/metrics").rpartition(":")[2])

    @staticmethod
    def end(process):
        if process.returncode is None:
            process.kill()
        process.communicate(timeout=SECONDS)

    def read(self):
        with urllib.request.urlopen(self.url, timeout=SECONDS) as answer:
            self.assertEqual(answer.headers["Content-Type"], "text/plain; version=0.0.4; charset=utf-8")
            return answer.read().decode()

    def say(self, *parts, end=False):
        """What the server answers to these bytes."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=SECONDS) as connection:
            for part in parts:
                connection.sendall(part)
            if end:
                connection.shutdown(socket.SHUT_WR)
            answer = b""
            while part := connection.recv(1 << 16):
                answer += part
        return answer


@unittest.skipIf(os.environ.get("SANITIZED"), "a sanitized library needs its runtime preloaded before it")
@unittest.skipUnless(os.path.isdir(SHM), "no shared memory")
class Figures(ListenTest):
    def test_prometheus_reads_the_figures_of_top(self):
        families_of = parser()
        program = subprocess.Popen([TOOL, "run", "--software", "--budget", "8M", "--chunk", "2M", "--", *GPT, "--steps", "100000"],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=clean_environment())
        self.addCleanup(self.end, program)
        self.serve(program.pid)
        self.assertEqual([family.samples for family in families_of(self.read())][:1], [[]])  # it has no device yet
        after_step(program, 6)
        stopped(program)
        (device,) = json.loads(sluice("top", "--once", "--json", program.pid).stdout)["runs"][0]["devices"]
        families = {family.name: family for family in families_of(self.read())}
        labels = {"process": str(program.pid), "program": "gpt", "rank": "", "device": "0"}
        for family in families.values():
            self.assertIn(family.type, ("gauge", "counter"))
            self.assertTrue(family.documentation)
            for sample in family.samples:
                self.assertLessEqual(labels.items(), sample.labels.items())

        def value(name, **more):
            sample, = [s for family in families.values() for s in family.samples if s.name == name and more.items() <= s.labels.items()]
            return sample.value

        self.assertEqual(value("sluice_budget_bytes"), device["memory"]["budget_bytes"])
        self.assertEqual(value("sluice_resident_bytes"), device["memory"]["resident_bytes"])
        self.assertEqual(value("sluice_launches_total"), device["total"]["launches"])
        self.assertEqual(value("sluice_steps_total"), device["steps"])
        self.assertEqual(value("sluice_copied_bytes_total", direction="in", cause="plan"), device["total"]["bytes_in"]["plan"])
        self.assertGreater(value("sluice_copied_bytes_total", direction="out", cause="plan"), 0)
        self.assertAlmostEqual(value("sluice_device_step_stall_seconds"), device["device_step"]["stall_seconds"], delta=1e-9)
        program.kill()
        program.wait()
        self.assertEqual([family.samples for family in families_of(self.read())], [[]] * len(families))


class Server(ListenTest):
    def test_only_this_machine_reaches_it(self):
        self.serve()
        self.assertEqual(self.url, f"http://127.0.0.1:{self.port}/metrics")
        of_port = [line.split() for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]]
        self.assertEqual([words[1] for words in of_port if words[1].endswith(f":{self.port:04X}") and words[3] == "0A"],
                         [f"0100007F:{self.port:04X}"])
        self.end(self.server)
        self.serve(place="0.0.0.0:0")
        self.assertEqual(self.url, f"http://0.0.0.0:{self.port}/metrics")
        self.read()

    def test_requests(self):
        self.serve()
        metrics = self.read().encode()
        self.assertIn(b"# TYPE sluice_budget_bytes gauge\n", metrics)
        for request, status, body in (
                (b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n", b"200 OK", metrics), (b"GET /metrics?a=b HTTP/1.0\n\n", b"200 OK", metrics),
                (b"HEAD /metrics HTTP/1.1\r\n\r\n", b"200 OK", b""), (b"GET / HTTP/1.1\r\n\r\n", b"200 OK", b"sluice top: the figures are at /metrics\n"),
                (b"GET /favicon.ico HTTP/1.1\r\n\r\n", b"404 Not Found", b"the figures are at /metrics\n"),
                (b"POST /metrics HTTP/1.1\r\nContent-Length: 70000\r\n\r\n" + 70000 * b"x", b"405 Method Not Allowed", b"only GET and HEAD\n"),
                (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"400 Bad Request", b"this is no request of HTTP/1\n"),
                (b"\x16\x03\x01\x02\x00\x01\n\n", b"400 Bad Request", b"this is no request of HTTP/1\n"),
                (b"GET /metrics HTTP/1.1\r\n" + 8192 * b"x", b"431 Request Header Fields Too Large", b"the request is too long\n")):
            answer = self.say(request, end=True)
            headers, _, found = answer.partition(b"\r\n\r\n")
            self.assertEqual((headers.split(b"\r\n")[0], found), (b"HTTP/1.1 " + status, body), request[:40])
            length = {name: int(value) for name, _, value in (line.partition(b": ") for line in headers.split(b"\r\n")) if name == b"Content-Length"}
            self.assertEqual(length, {b"Content-Length": len(metrics) if request.startswith(b"HEAD") else len(body)})

    def test_in_parts(self):
        """The server waits for the rest, of which each byte may come alone."""
        self.serve()
        answer = self.say(*(bytes([byte]) for byte in b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"))
        self.assertTrue(answer.endswith(b"/metrics\n"), answer)

    def test_clients_that_leave(self):
        self.serve()
        for parts in ((), (b"GET /met",), (b"GET /metrics HTTP/1.1\r\n",)):
            self.assertEqual(self.say(*parts, end=True), b"")
        stopped(self.server)  # it answers when the client is gone, connection and all
        with socket.create_connection(("127.0.0.1", self.port), timeout=SECONDS) as connection:
            connection.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
            connection.shutdown(socket.SHUT_WR)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        self.server.send_signal(signal.SIGCONT)
        self.read()

    def test_a_silent_client_does_not_keep_others_out(self):
        self.serve()
        with socket.create_connection(("127.0.0.1", self.port), timeout=SECONDS) as silent:
            silent.sendall(b"GET /metrics")
            self.read()

    def test_it_ends_by_signals(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            self.serve()
            self.server.send_signal(number)
            self.assertEqual((self.server.communicate(timeout=SECONDS), self.server.returncode), (("", ""), 0))

    def test_places(self):
        self.serve()
        result = sluice("top", "--listen", self.port)
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assert_one_line(result.stderr, f"cannot listen at {self.port}: Address already in use")
        for place in ("", "x", "65536", "localhost:80", "1.2.3.4"):
            self.assert_usage_error(sluice("top", "--listen", place), "--listen")
        self.assert_usage_error(sluice("top", "--listen", "0", "--once"), "--listen and --once exclude each other")
        self.assert_usage_error(sluice("top", "--listen", "0", "--prometheus", self.folder / "metrics"), "--listen and --prometheus exclude")


if __name__ == "__main__":
    unittest.main()
