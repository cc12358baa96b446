"""A session leaves one archive and a digest however it ends: complete, told to end, killed, at its deadline with a part that hangs.
The archive and the digest keep their limits.

Usage: test_session.py   (programs take the place of um_probe and sluice)
"""
import io
import json
import os
import signal
import subprocess
import sys
import tarfile
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import archive  # noqa: E402
import digest  # noqa: E402
from parts import LIMITS  # noqa: E402

MOST_ARCHIVE_BYTES = 16 << 20
# Hangs in the part that HANG names; DEAF: and lets no SIGTERM end it.
PROBE = """#!/bin/sh
[ "$1" != device ] || echo '{"part": "device", "name": "stub", "free_bytes": 0, "total_bytes": 0}'
echo '{"part": "said", "by": "'$1'", "pid": '$$'}'
[ "$1" = "$HANG" ] || exit 0
[ -z "$DEAF" ] || trap '' TERM
exec tail -f /dev/null
"""
SESSION = "import sys, session; session.RENEWAL_SECONDS = 0.5; session.RESERVE_SECONDS = 3; sys.exit(session.main())"


class Run:
    """A session in its own folder."""

    def __init__(self, folder, mode="first", **environment):
        self.out = os.path.join(folder, "out")
        build = os.path.join(folder, "build")
        for name, text in (("tests/gpu/um_probe", PROBE), ("tools/sluice", "#!/bin/sh\n")):
            path = os.path.join(build, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w") as file:
                file.write(text)
            os.chmod(path, 0o755)
        self.process = subprocess.Popen([sys.executable, "-c", SESSION, mode, build, self.out, "--size", "software"],
                                        env={**os.environ, "PYTHONPATH": HERE, "TMPDIR": folder, **environment}, text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def wait_for(self, part):
        """Until the part begins."""
        for line in self.process.stderr:
            if line.startswith(f"run.sh: {part},"):
                return
        raise AssertionError(f"{part} did not begin")

    def wait_for_record(self, by):
        """Until an archive and a digest have what a part said that still runs."""
        while self.process.poll() is None:
            if by in self.said() and f"{by} runs" in self.read("digest.md"):
                return
        raise AssertionError(self.process.stderr.read())

    def end(self, number=None):
        if number:
            self.process.send_signal(number)
        self.stdout, self.stderr = self.process.communicate()
        return self.process.returncode

    def read(self, name):
        try:
            with open(os.path.join(self.out, "gpu-results.tar.gz"), "rb") as file:
                with tarfile.open(fileobj=io.BytesIO(file.read())) as found:
                    return found.extractfile(f"gpu-results/{name}").read().decode()
        except (FileNotFoundError, KeyError):
            return ""

    def wait_for_end(self, by):
        """Until the process of a part is gone."""
        pid = self.said_by()[by]
        while True:
            try:
                with open(f"/proc/{pid}/stat") as file:
                    if file.read().rpartition(")")[2].split()[0] == "Z":
                        return
            except (FileNotFoundError, ProcessLookupError):
                return

    def said(self):
        return list(self.said_by())

    def said_by(self):
        """What parts said, with their process ids."""
        text = "".join(self.read(f"parts/{part}.jsonl") for part in ("device", "bandwidth"))
        records = [json.loads(line) for line in text.splitlines() if '"said"' in line]
        return {record["by"]: record["pid"] for record in records}

    def parts(self):
        return {record["name"]: record for record in map(json.loads, self.read("parts/parts.jsonl").splitlines())
                if record["part"] == "part"}


class Session(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def check_left(self, run):
        self.assertEqual(sorted(os.listdir(run.out)), ["digest.md", "gpu-results.tar.gz"])
        with open(os.path.join(run.out, "digest.md")) as file:
            text = file.read()
        self.assertLessEqual(len(text.encode()), digest.MOST_BYTES)
        return text

    def test_complete(self):
        run = Run(self.folder)
        run.end()
        text = self.check_left(run)
        self.assertTrue(run.stdout.endswith(text + "\n"), "the digest is printed last")
        self.assertIn("Complete.", text)
        self.assertEqual(run.said(), ["device", "bandwidth"])
        self.assertEqual(json.loads(run.read("gpu-results.json"))["machine"]["device"]["name"], "stub")
        self.assertIn("Machine: stub", run.read("gpu-results.md"))
        self.assertIn("MemTotal", run.read("parts/machine/proc-meminfo.txt"))
        self.assertEqual(sorted(os.listdir(self.folder)), ["build", "out"], "the parts' folder is removed")

    def test_told_to_end(self):
        run = Run(self.folder, "again", HANG="bandwidth")
        run.wait_for("bandwidth")
        run.wait_for_record("bandwidth")
        self.assertEqual(run.end(signal.SIGTERM), 128 + signal.SIGTERM)
        text = self.check_left(run)
        self.assertTrue(run.stdout.endswith(text + "\n"))
        self.assertIn("Ended by SIGTERM.", text)
        run.wait_for_end("bandwidth")
        self.assertIn("device", run.said())

    def test_killed(self):
        """What the archive had at its last renewal stays, of a part that still ran as well."""
        run = Run(self.folder, "again", HANG="bandwidth")
        run.wait_for("bandwidth")
        run.wait_for_record("bandwidth")
        run.end(signal.SIGKILL)
        self.assertLessEqual({"digest.md", "gpu-results.tar.gz"}, set(os.listdir(run.out)))
        self.assertEqual(run.said(), ["device", "bandwidth"])
        self.assertNotIn("bandwidth", run.parts(), "it still ran")
        with open(os.path.join(run.out, "digest.md")) as file:
            self.assertIn("Not complete: bandwidth runs.", file.read())
        run.wait_for_end("bandwidth")

    def test_deadline(self):
        """A part that no SIGTERM ends gets what is left, and what comes behind it is named."""
        run = Run(self.folder, "frameworks", HANG="device", DEAF="1", SECONDS_AT_MOST="6")
        self.assertEqual(run.end(), 1)
        text, parts = self.check_left(run), run.parts()
        self.assertEqual(parts["device"]["status"], 124)
        run.wait_for_end("device")
        self.assertLessEqual(parts["device"]["limit_seconds"], 3, "of six seconds three are the report's")
        self.assertIsNone(parts["frameworks"]["status"])
        self.assertIn("part device was stopped", text)
        self.assertIn("part frameworks was not run", text)

    def test_every_call_has_a_deadline(self):
        self.assertLessEqual(LIMITS["first"], 300)
        self.assertLessEqual(LIMITS["first"] + LIMITS["again"], 600)
        self.assertLess(max(LIMITS.values()), 600)


class Archive(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def fill(self, name, size):
        with open(os.path.join(self.folder, name), "wb") as file:
            file.write(os.urandom(size))

    def names(self, packed):
        with tarfile.open(fileobj=io.BytesIO(packed)) as found:
            return {name: found.extractfile(name).read() for name in found.getnames()}

    def test_is_small(self):
        """Whatever the parts leave, by its size what can be had of it is there."""
        for i in range(12):
            self.fill(f"log-{i}", 3 << 20)
        self.fill("figures", 1000)
        packed = archive.pack(self.folder, "top")
        self.assertLessEqual(len(packed), MOST_ARCHIVE_BYTES)
        found = self.names(packed)
        self.assertEqual(len(found["top/figures"]), 1000)
        self.assertIn(b"log-9", found["top/left-out.txt"])

    def test_keeps_both_ends_of_a_long_file(self):
        self.fill("log", 5 << 20)
        with open(os.path.join(self.folder, "log"), "rb") as file:
            content = file.read()
        kept = self.names(archive.pack(self.folder, "top"))["top/log"]
        self.assertTrue(kept.startswith(content[:1 << 20]))
        self.assertTrue(kept.endswith(content[-(1 << 20):]))


if __name__ == "__main__":
    unittest.main()
