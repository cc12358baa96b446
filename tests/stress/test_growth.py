#!/usr/bin/env python3
"""Long runs: in its second half, a program under sluice grows neither in memory nor in descriptors nor in threads.

usage: test_growth.py BUILD STEPS PRESSED_STEPS

A small trainer (workloads/mlp: allocation in stream order in every step, several streams, graphs) runs STEPS steps with
everything resident, and PRESSED_STEPS with a budget below its need, each under some policies drawn by chance. What the
process has is looked at when it prints its step, so at the same point of its work in every run: its output is a pipe
that holds one line, so the program cannot be more than two steps past the one it is looked at for.
"""
import fcntl
import json
import os
import random
import subprocess
import sys
import tempfile

ALLOWED_KIB = 2048  # what an allocator's arenas may still move
# The predictor's history: so many symbols, of so many bytes each; its pages are first written as it fills.
HISTORY_SYMBOLS, SYMBOL_BYTES = 1 << 20, 28


def resources(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        status = dict(line.split(":", 1) for line in file)
    return {"rss_kib": int(status["VmRSS"].split()[0]), "threads": int(status["Threads"]),
            "descriptors": len(os.listdir(f"/proc/{pid}/fd"))}


def lines_of(command, environment):
    """Runs COMMAND and yields its process with each line that it writes, while it can write one more but no third."""
    reader, writer = os.pipe2(os.O_CLOEXEC | os.O_DIRECT)  # a packet for each write(), each in a page of its own
    with open(reader, "rb", buffering=0) as output:
        fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, os.sysconf("SC_PAGE_SIZE"))
        with subprocess.Popen(command, env=environment, stdout=writer) as process:
            os.close(writer)
            while packet := output.read(os.sysconf("SC_PAGE_SIZE")):
                for line in packet.decode().splitlines():
                    yield process, line
    assert process.returncode == 0, f"status {process.returncode}"


def run(build, steps, arguments, variables, folder):
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("SLUICE_", "SOFTCUDA_", "MALLOC_"))}
    environment["LD_LIBRARY_PATH"] = os.path.join(build, "subprojects", "softcuda", "lib")
    environment["LD_PRELOAD"] = os.path.join(build, "shim", "libsluice.so")
    environment.update(variables)
    command = [os.path.join(build, "workloads", "mlp"), "--steps", str(steps)] + arguments
    early, late = steps // 2, steps - 10
    seen = {}
    statistics = os.path.join(folder, "statistics")
    environment["SLUICE_STATS"] = statistics
    for process, line in lines_of(command, environment):
        words = line.split()
        if words[0] == "step" and int(words[1]) in (early, late):
            seen[int(words[1])] = resources(process.pid)
    with open(statistics, encoding="utf-8") as file:
        symbols = json.load(file)["fed"]
    kept = [min(HISTORY_SYMBOLS, symbols * at // steps) for at in (early, late)]
    return seen[early], seen[late], (kept[1] - kept[0]) * SYMBOL_BYTES >> 10


def main():
    build, steps, pressed_steps = os.path.abspath(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    chance = random.Random(20)
    failed = False
    for number in range(6):
        pressed = number % 2 == 1
        arguments = ["--graph", chance.choice(["none", "captured", "nodes"]), "--streams", chance.choice(["1", "2", "3"])]
        arguments += ["--layers", "4", "--width", "512", "--batch", "1"] if pressed else [
            "--layers", "2", "--width", "32", "--batch", "2"]
        variables = {"SLUICE_DEVICE_BUDGET": "8M", "SLUICE_CHUNK": "2M",
                     "SLUICE_DAEMON": chance.choice(["inline", "thread"]),
                     "SLUICE_POLICY": chance.choice(["plan", "plan", "demand"]),
                     "SOFTCUDA_SCHEDULE": chance.choice(["late", "eager"])}
        count = pressed_steps if pressed else steps
        with tempfile.TemporaryDirectory() as folder:
            early, late, history_kib = run(build, count, arguments, variables, folder)
        grown = (late["rss_kib"] > early["rss_kib"] + history_kib + ALLOWED_KIB or late["threads"] != early["threads"] or
                 late["descriptors"] != early["descriptors"])
        failed |= grown
        print(f"{count} steps, {' '.join(arguments)} {' '.join(f'{k}={v}' for k, v in variables.items())}:\n"
              f"  {early}\n  {late}, of which history {history_kib} KiB{'  GROWN' if grown else ''}", flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
