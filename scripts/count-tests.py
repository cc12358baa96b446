"""Counts the results in the given testlog.json files of Meson and prints `N passed, N failed, N skipped`.

Before that line it names every failed test with the end of what it printed: by then the test's own report lies thousands of
lines back, where a log that keeps only its end has lost it. For one that took too long, it prints the stacks that
scripts/stacks.sh wrote into build/stacks.txt.

Status 1 if a test failed, or if none ran at all: a run that tests nothing must not look good.
"""
import collections
import json
import os
import sys

PASSED = {"OK", "EXPECTEDFAIL"}
LINES_SHOWN, STACK_LINES_SHOWN = 25, 90


def report(path, test):
    print(f"failed: {test.get('name', '?')} ({test['result']}, {path})")
    printed = (test.get("stdout") or "") + (test.get("stderr") or "")
    for line in printed.splitlines()[-LINES_SHOWN:]:
        print(f"    {line}")
    if test["result"] == "TIMEOUT":
        for line in stacks({os.path.basename(word) for word in test.get("command", [])})[:STACK_LINES_SHOWN]:
            print(f"    {line}")


def stacks(programs):
    """The lines of build/stacks.txt that are about one of the programs."""
    try:
        with open("build/stacks.txt", encoding="utf-8", errors="replace") as file:
            sections = file.read().split("== ")[1:]
    except OSError:
        return []
    return [line for section in sections if section.split(",")[0] in programs for line in section.splitlines()]


counts = collections.Counter()
for path in sys.argv[1:]:
    try:
        with open(path) as log:
            for line in log:
                test = json.loads(line)
                result = test["result"]
                kind = "passed" if result in PASSED else "skipped" if result == "SKIP" else "failed"
                counts[kind] += 1
                if kind == "failed":
                    report(path, test)
    except OSError as error:
        print(f"no test log: {error}", file=sys.stderr)
        counts["failed"] += 1
print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
sys.exit(1 if counts["failed"] or not counts["passed"] else 0)
