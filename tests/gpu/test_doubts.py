"""doubts.py ends a probe that hangs, names it, keeps what it had said, and goes on with the next.

Usage: test_doubts.py   (a program takes the place of um_probe)
"""
import json
import os
import subprocess
import sys
import tempfile
import time
import unittest

DOUBTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "doubts.py")
# Takes the probe's name, as um_probe does.
PROBE = """#!/bin/sh
case $1 in
names) echo '{"part": "doubt", "probe": "names", "what": "a question", "answer": "crash, signal 11"}' ;;
reuse)
    echo '{"part": "doubt", "probe": "reuse", "what": "a rule", "holds": %s}'
    ;;
discards)
    echo '{"part": "doubt", "probe": "discards", "what": "a time", "value": 12.5, "unit": "us"}'
    printf '{"part": "doubt", "probe": "disc'
    %s
    ;;
events) echo 'a last word' >&2; kill -SEGV $$ ;;
memory) [ "$CUDA_MODULE_LOADING" = LAZY ] ;;
*) [ "$2" = --given ] ;;
esac
"""


def run(holds="true", hang=":", limit="60"):
    with tempfile.TemporaryDirectory() as folder:
        probe = os.path.join(folder, "tests", "gpu", "um_probe")
        os.makedirs(os.path.dirname(probe))
        with open(probe, "w") as file:
            file.write(PROBE % (holds, hang))
        os.chmod(probe, 0o755)
        done = subprocess.run([sys.executable, DOUBTS, folder, folder, "--limit", limit, "--", "--given"],
                              capture_output=True, text=True)
        with open(os.path.join(folder, "probes.jsonl")) as file:
            parts = {part["name"]: part["status"] for part in map(json.loads, file)}
    return done, parts


class Doubts(unittest.TestCase):
    def test_answers_and_deaths(self):
        done, parts = run()
        lines = done.stdout.splitlines()
        self.assertEqual(lines[0], "probe names: a question: crash, signal 11")
        self.assertEqual(lines[1], "probe reuse: a rule: yes")
        self.assertEqual(lines[2], "probe discards: a time: 12.5 us")
        self.assertEqual(lines[3], "probe events: ended with status 139: a last word")
        self.assertEqual(parts.pop("events"), 139)
        self.assertEqual(set(parts.values()), {0}, "options and environment reach the probes")
        self.assertEqual(done.returncode, 1)

    def test_what_does_not_hold_is_said(self):
        done, _ = run(holds="false")
        self.assertIn("probe reuse: a rule: NO", done.stdout)
        self.assertEqual(done.returncode, 1)

    def test_hang(self):
        start = time.monotonic()
        done, parts = run(hang="exec sleep 1000", limit="3")
        self.assertLess(time.monotonic() - start, 500, "ended by the limit, not by the sleep")
        self.assertRegex(done.stdout, r"probe discards: HUNG, ended after \d+ s; a time: 12.5 us")
        self.assertEqual(parts["discards"], 124)
        self.assertEqual(len(done.stdout.splitlines()), 9, "the rest is named, too")


if __name__ == "__main__":
    unittest.main()
