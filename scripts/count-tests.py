"""Counts the results in the given testlog.json files of Meson and prints `N passed, N failed, N skipped`.

Status 1 if a test failed, or if none ran at all: a run that tests nothing must not look good.
"""
import collections
import json
import sys

PASSED = {"OK", "EXPECTEDFAIL"}

counts = collections.Counter()
for path in sys.argv[1:]:
    try:
        with open(path) as log:
            for line in log:
                result = json.loads(line)["result"]
                counts["passed" if result in PASSED else "skipped" if result == "SKIP" else "failed"] += 1
    except OSError as error:
        print(f"no test log: {error}", file=sys.stderr)
        counts["failed"] += 1
print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
sys.exit(1 if counts["failed"] or not counts["passed"] else 0)
