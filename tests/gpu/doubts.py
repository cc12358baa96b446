"""Asks a driver what sluice's makers doubt, in a minute: each probe in a process of its own, with a time limit.

Usage: doubts.py BUILD FOLDER_OF_PARTS [--limit SECONDS] [-- OPTIONS OF um_probe]

Prints a line `probe NAME: figures` as soon as a probe has ended, or was ended; leaves NAME.jsonl with its answers (see
answer.h) and NAME.log with what it complained of. Status 1 if a probe did not end by itself, or found that something does
not hold that sluice relies on.
"""
import argparse
import json
import os
import subprocess
import sys
import time

# In the order of the damage that a wrong guess does. Limits in seconds: a device is opened in up to two.
PROBES = {"names": 20, "reuse": 10, "discards": 10, "events": 8, "prefetches": 8, "memory": 8, "queue": 15, "nodes": 8, "tensormap": 5}
LAZY = ("memory", "reuse")  # ask what the driver does when a kernel is first used
STOPPED, LOST = 124, 137  # as timeout(1) says it; the latter also of a process that no signal ends


def stop(process):
    """A process that hangs in the driver may outlive even this; then it is left behind."""
    process.kill()
    try:
        process.wait(2)
        return STOPPED
    except subprocess.TimeoutExpired:
        return LOST


def run_probe(command, environment, answers, complaints, limit):
    """(status as a shell says it, seconds)"""
    start = time.monotonic()
    with open(answers, "w") as out, open(complaints, "w") as err:
        process = subprocess.Popen(command, env=environment, stdout=out, stderr=err)
        try:
            status = process.wait(max(limit, 0.1))
        except subprocess.TimeoutExpired:
            status = stop(process)
    return status if status >= 0 else 128 - status, time.monotonic() - start


def read_answers(path):
    """A line that was cut off when its probe ended is left out."""
    with open(path, errors="replace") as file:
        for line in file:
            try:
                yield json.loads(line)
            except ValueError:
                pass


def figure(answer):
    if "holds" in answer:
        return f"{answer['what']}: {'yes' if answer['holds'] else 'NO'}"
    if "value" in answer:
        return f"{answer['what']}: {answer['value']:.4g} {answer['unit']}".rstrip()
    return f"{answer['what']}: {answer['answer']}"


def ending(status, seconds, complaints):
    """What a reader has to know besides the figures."""
    if status == 0:
        return []
    if status == STOPPED:
        return [f"HUNG, ended after {seconds:.0f} s"]
    if status == LOST:
        return [f"HUNG after {seconds:.0f} s, and cannot be ended"]
    with open(complaints, errors="replace") as file:
        last = file.read().splitlines()[-1:]
    return [": ".join([f"ended with status {status}", *last])]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("folder")
    parser.add_argument("--limit", type=float, default=60)
    at = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    options, for_probe = parser.parse_args(sys.argv[1:at]), sys.argv[at + 1:]
    end = time.monotonic() + options.limit
    good = True
    for name, limit in PROBES.items():
        environment = {**os.environ, **({"CUDA_MODULE_LOADING": "LAZY"} if name in LAZY else {})}
        answers, complaints = (os.path.join(options.folder, name + kind) for kind in (".jsonl", ".log"))
        command = [os.path.join(options.build, "tests", "gpu", "um_probe"), name, *for_probe]
        status, seconds = run_probe(command, environment, answers, complaints, min(limit, end - time.monotonic()))
        found = list(read_answers(answers))
        print(f"probe {name}:", "; ".join([*ending(status, seconds, complaints), *map(figure, found)]), flush=True)
        with open(os.path.join(options.folder, "probes.jsonl"), "a") as file:
            print(json.dumps({"part": "part", "name": name, "status": status, "seconds": round(seconds, 1),
                              "limit_seconds": limit}), file=file)
        good = good and status == 0 and all(answer.get("holds", True) for answer in found)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
