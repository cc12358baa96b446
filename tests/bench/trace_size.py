"""How large a trace gets. usage: trace_size.py SLUICE GPT DATA"""
import json
import os
import subprocess
import sys
import tempfile

MODEL = ["--steps", "40"]
RUNS = [("resident", "1G", []), ("half of the need", "14M", []), ("elementary optimizer", "1G", ["--optimizer", "sweep"]),
        ("accumulation 4, evaluation", "1G", ["--accumulate", "4", "--evaluate-every", "10"])]


def launches(tool, trace):
    lines = subprocess.run([tool, "trace", "dump", "--json", trace], check=True, stdout=subprocess.PIPE, text=True)
    records = [json.loads(line) for line in lines.stdout.splitlines()]
    return sum(record["type"] == "launch" for record in records), len(records)


def main():
    tool, gpt, data = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, "gpt.slt")
        for name, budget, options in RUNS:
            subprocess.run([tool, "run", "--software", "--budget", budget, "--trace", trace, "--",
                            gpt, "--data", data, *MODEL, *options], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            count, records = launches(tool, trace)
            size = os.path.getsize(trace)
            print(f"{name:28} {count:7} launches {records:7} records {size:8} bytes {size / count:6.2f} bytes a launch")


if __name__ == "__main__":
    main()
