#!/usr/bin/env python3
"""What `sluice top` costs the program that it shows: gpt without a page, with one, and with readers beside it.

usage: top_cost.py SLUICE LIBSLUICE LIBRARIES GPT DATA [ROUNDS]

A round is a run without a page and a run with one, beside which readers come and go every few steps. One device thread and
SLUICE_DAEMON=inline, so that runs and steady steps differ in nothing else. What the programs print, with losses, weights and
simulated step times, must be equal to the last bit. Times are processor time of the program alone (user and system), step by
step, each with its caches as other work leaves them: on a machine with other work, which only ever adds to a step, the first decile
says more than the median. Prints a table for docs/benchmarks.md.
"""
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time

ENVIRONMENT = {"SLUICE_DEVICE_BUDGET": "8M", "SLUICE_CHUNK": "2M", "SLUICE_DAEMON": "inline", "SOFTCUDA_THREADS": "1"}
REFRESH_S = 1  # of the screen, and of --prometheus
FIRST, WINDOW, WINDOWS = 6, 3, 18  # steps before the first that counts; of a reader; number of readers in a run


class Reader:
    """`sluice top --once --json`, every REFRESH_S until it is told to stop."""
    looks = 0

    def __init__(self, tool, process):
        self.command = [tool, "top", "--once", "--json", str(process)]
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        while True:
            Reader.looks += subprocess.run(self.command, capture_output=True, check=False).returncode == 0
            if self.ended.wait(REFRESH_S):
                return

    def stop(self):
        self.ended.set()
        self.thread.join()


class Exporter:
    """`sluice top --prometheus`."""

    def __init__(self, tool, process):
        self.folder = tempfile.TemporaryDirectory()
        self.process = subprocess.Popen([tool, "top", "--prometheus", os.path.join(self.folder.name, "metrics"), str(process)])

    def stop(self):
        self.process.terminate()
        self.process.wait()
        self.folder.cleanup()


OFF, ALONE, JSON, PROMETHEUS = "SLUICE_TOP=off", "a page, no reader", "top --once --json every second", "top --prometheus"
READERS = ((ALONE, None), (JSON, Reader), (PROMETHEUS, Exporter))


def processor_time(process):
    """Of all its threads, in seconds."""
    return time.clock_gettime(~process << 3 | 2)  # what clock_getcpuclockid gives


def run(arguments, page, steps_of):
    """Adds the times of steps to steps_of; what the program printed."""
    tool, library, libraries, gpt, data = arguments
    environment = {k: v for k, v in os.environ.items() if not k.startswith("SLUICE_")}
    environment.update(ENVIRONMENT, SLUICE_TOP="on" if page else "off", LD_PRELOAD=library, LD_LIBRARY_PATH=libraries)
    program = subprocess.Popen([gpt, "--data", data, "--steps", str(FIRST + WINDOW * WINDOWS)], env=environment, stdout=subprocess.PIPE, text=True)
    printed, step, name, reader, before = [], 0, OFF, None, 0
    for line in program.stdout:
        printed.append(line)
        if not line.startswith("step "):
            continue
        now = processor_time(program.pid)
        if step >= FIRST:
            steps_of[name].append(now - before)
        step += 1
        if page and step >= FIRST and (step - FIRST) % WINDOW == 0:
            if reader:
                reader.stop()
            name, kind = READERS[(step - FIRST) // WINDOW % len(READERS)]
            reader = kind(tool, program.pid) if kind and step < FIRST + WINDOW * WINDOWS else None
        before = processor_time(program.pid)
    assert program.wait() == 0
    return printed


def main():
    arguments, rounds = sys.argv[1:6], int(sys.argv[6]) if len(sys.argv) > 6 else 8
    steps_of = {name: [] for name in (OFF, *(name for name, _ in READERS))}
    for number in range(rounds):
        first, second = (run(arguments, page, steps_of) for page in (number % 2, 1 - number % 2))
        assert first == second, "the programs did not print the same"
        print(f"round {number + 1}: " + ", ".join(f"{name} {statistics.median(steps):.3f} s" for name, steps in steps_of.items()), file=sys.stderr, flush=True)
    print(f"{rounds} rounds, {Reader.looks} looks with --json; both programs of a round printed the same\n"
          "| | steps | first decile | ratio | median | ratio | last decile |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for name, steps in steps_of.items():
        (low, high), (base, _) = ((tens[0], tens[8]) for tens in (statistics.quantiles(steps, n=10), statistics.quantiles(steps_of[OFF], n=10)))
        median, median_off = statistics.median(steps), statistics.median(steps_of[OFF])
        print(f"| {name} | {len(steps)} | {low:.4f} s | {low / base:.4f} | {median:.4f} s | {median / median_off:.4f} | {high:.4f} s |")


if __name__ == "__main__":
    main()
