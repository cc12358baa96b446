#!/usr/bin/env python3
"""What sluice asks of the C library and of the driver fails once, one call at a time: results stay what they are.

usage: test_faults.py BUILD KIND MOST [--forever]

KIND: memory, driver, context (only cuCtxGetCurrent), thread or file. Random programs run under libsluice-faults.so; their calls of the kind are
counted, then each is made to fail in a run of its own (MOST of them, evenly spread, for each program); with --forever,
every later one fails, too. The program must end with the same results, or with the error that the driver has for it: out
of memory. It must not crash nor hang.
KIND device: the device is lost after so many driver calls of program and sluice together; the program sees errors, and
must end by itself.
"""
import argparse
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile

# Random programs (their numbers) and how they run: between them every part of sluice is at work.
SEEDS = [
    (3, {"SLUICE_DEVICE_BUDGET": "8M", "SLUICE_CHUNK": "2M", "SLUICE_DAEMON": "inline"}),
    (10, {"SLUICE_DEVICE_BUDGET": "8M", "SLUICE_CHUNK": "2M", "SLUICE_DAEMON": "thread"}),
    (8, {"SLUICE_DEVICE_BUDGET": "10M", "SLUICE_CHUNK": "4M", "SLUICE_DAEMON": "thread", "SLUICE_POLICY": "demand"}),
]
OUT_OF_MEMORY = "error 2"
DEVICE_LOST = "error 46"


def last_words(errors):
    """All that a sanitizer says, or the end."""
    return errors if "Sanitizer" in errors or "runtime error" in errors else errors.strip()[-300:]


def run(build, seed, variables, folder, preload):
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("SLUICE_", "SOFTCUDA_", "FAULTS"))}
    environment["LD_LIBRARY_PATH"] = os.path.join(build, "subprojects", "softcuda", "lib")
    environment["SOFTCUDA_LOG"] = "none"
    environment.update(variables)
    preloaded = [os.environ.get("E2E_PRELOAD")]  # a sanitizer's runtime
    if preload:
        preloaded.append(os.path.join(build, "tests", "faults", "libsluice-faults.so"))
        environment.update({"SLUICE_TRACE": os.path.join(folder, "trace"), "SLUICE_STATS": os.path.join(folder, "stats"),
                            "SLUICE_LOG": os.path.join(folder, "log"), "FAULTS_WHERE": os.path.join(folder, "where")})
    environment["LD_PRELOAD"] = " ".join(filter(None, preloaded))
    program = os.path.join(build, "tests", "random", "random_program")
    try:
        done = subprocess.run([program, str(seed)], env=environment, capture_output=True, text=True, timeout=120,
                              check=False)
    except subprocess.TimeoutExpired:
        return None, "it hangs"
    results = [line for line in done.stdout.splitlines() if line.startswith("log ")]
    error = None if done.returncode == 0 else f"status {done.returncode}: {last_words(done.stderr)}"
    if preload and os.path.exists(environment["SLUICE_LOG"]):
        with open(environment["SLUICE_LOG"], encoding="utf-8") as file:
            error = next((line.strip() for line in file if "check failed" in line), error)
    return results, error


def where(build, folder):
    """The functions that led to the call that failed, innermost first."""
    path = os.path.join(folder, "where")
    if not os.path.exists(path):
        return ""
    with open(path, encoding="utf-8") as file:
        offsets = re.findall(r"libsluice-faults\.so\(.*?\+?(0x[0-9a-f]+)?\)", file.read())
    ours = os.path.join(build, "tests", "faults", "libsluice-faults.so")
    try:
        said = subprocess.run(["addr2line", "-sfe", ours] + [offset for offset in offsets if offset], capture_output=True,
                              text=True, timeout=60, check=False).stdout.split()
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return " < ".join(f"{function} {line}" for function, line in list(zip(said[::2], said[1::2]))[2:9])


def count(build, seed, variables):
    with tempfile.TemporaryDirectory() as folder:
        counts = os.path.join(folder, "counts")
        results, error = run(build, seed, dict(variables, FAULTS_COUNT=counts), folder, True)
        assert not error, error
        with open(counts, encoding="utf-8") as file:
            return results, {kind: int(calls) for kind, calls in (line.split() for line in file)}


def check(build, seed, variables, right, kind, call, forever):
    """What is wrong when the call fails, or None."""
    fault = {"FAULTS": f"{kind}:{call}{'+' if forever else ''}"}
    if kind == "device":
        fault = {"SOFTCUDA_FAULT": f"device-lost:after={call}"}
    with tempfile.TemporaryDirectory() as folder:
        results, error = run(build, seed, dict(variables, **fault), folder, True)
        led_there = where(build, folder) if error or results != right else ""
    due = DEVICE_LOST if kind == "device" else OUT_OF_MEMORY
    if error and due in error and error.startswith("status 3:"):
        return None
    if not error and results != right:
        error = f"results differ: {right} and {results}"
    return f"{error}\n    where: {led_there}" if error else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("kind", choices=["memory", "driver", "context", "thread", "file", "device"])
    parser.add_argument("most", type=int)
    parser.add_argument("--forever", action="store_true")
    options = parser.parse_args()
    build = os.path.abspath(options.build)
    failed = tried = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for seed, variables in SEEDS:
            right, error = run(build, seed, {}, None, False)
            assert not error, error
            results, counts = count(build, seed, variables)
            assert results == right, f"seed {seed}: without any fault, {right} and {results}"
            total = counts["driver" if options.kind == "device" else options.kind]
            stride = max(1, (total + options.most - 1) // options.most)
            calls = range(1, total + 1, stride)
            for call, wrong in zip(calls, pool.map(
                    lambda call: check(build, seed, variables, right, options.kind, call, options.forever), calls)):
                tried += 1
                if wrong:
                    failed += 1
                    print(f"program {seed}, {options.kind} call {call} of {total}: {wrong}", flush=True)
    print(f"{tried - failed} of {tried} faults ended as they should")
    sys.exit(failed != 0 or tried == 0)


if __name__ == "__main__":
    main()
