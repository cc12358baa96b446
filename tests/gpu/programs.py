"""Runs the CUDA programs that test softcuda, which know nothing of it, on whatever driver the loader finds.

Usage: programs.py BUILD DRIVER_FOLDER [--limit SECONDS]

The programs are those tests of the build that have one executable from softcuda's test folders as their command and get
softcuda's libraries through LD_LIBRARY_PATH. Prints a JSON object a line: name, result (passed, failed, skipped, not
run, softcuda only), exit status, seconds and, where it did not pass, the end of what it said.
"""
import argparse
import json
import os
import subprocess
import time

SKIPPED = 77
ONLY_IN_SOFTWARE = "needs softcuda"  # what the programs say that test something no vendor's driver promises
PROGRAM_LIMIT_SECONDS = 20
LOCAL_VARIABLES = ("LD_LIBRARY_PATH", "MALLOC_PERTURB_", "ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS")


def read_json(build, name):
    with open(os.path.join(build, "meson-info", name)) as file:
        return json.load(file)


def find_programs(build):
    """(test name, path here, arguments, environment) of each program. The build may have been made elsewhere."""
    made_in = read_json(build, "meson-info.json")["directories"]["build"]
    software = os.path.join(made_in, "subprojects", "softcuda", "lib")
    folders = tuple(os.path.join(made_in, "subprojects", "softcuda", "tests", kind) + os.sep
                    for kind in ("driver", "cudart"))
    seen = set()
    for test in read_json(build, "intro-tests.json"):
        command = test["cmd"]
        if command and os.path.basename(command[0]) == "env":
            command = command[1:]
        if not command or software not in test["env"].get("LD_LIBRARY_PATH", "").split(":"):
            continue
        program = os.path.normpath(os.path.join(made_in, command[0]))
        key = (program, tuple(command[1:]))
        if not program.startswith(folders) or key in seen:
            continue
        seen.add(key)
        environment = {name: value for name, value in test["env"].items() if name not in LOCAL_VARIABLES}
        yield test["name"], os.path.join(build, os.path.relpath(program, made_in)), command[1:], environment


def driver_of(program):
    """Where the loader finds libcuda.so.1 for a program that is linked with it; None for one that is not."""
    listing = subprocess.run([program], env={**os.environ, "LD_TRACE_LOADED_OBJECTS": "1"}, capture_output=True, text=True)
    for line in listing.stdout.splitlines():
        if line.split()[:1] == ["libcuda.so.1"] and "=>" in line:
            return line.split("=>")[1].split("(")[0].strip()
    return None


def run_program(program, arguments, environment, driver, limit):
    """(result, exit status or None, what it said)"""
    if not os.path.exists(program):
        return "not run", None, "it was not built"
    linked = driver_of(program)
    if linked and os.path.realpath(os.path.dirname(linked)) != os.path.realpath(driver):
        return "failed", None, f"it loads {linked} instead of the driver in {driver}"
    try:
        done = subprocess.run([program, *arguments], env={**os.environ, **environment}, timeout=limit,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    except subprocess.TimeoutExpired as stopped:
        said = stopped.stdout or b""
        return "failed", None, f"stopped after {limit:.0f} s\n{said.decode(errors='replace')}"
    result = {0: "passed", SKIPPED: "skipped"}.get(done.returncode, "failed")
    if result == "skipped" and ONLY_IN_SOFTWARE in done.stdout:
        result = "softcuda only"
    return result, done.returncode, done.stdout


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("driver")
    parser.add_argument("--limit", type=float, default=60)
    options = parser.parse_args()
    end = time.monotonic() + options.limit
    for name, program, arguments, environment in find_programs(options.build):
        start = time.monotonic()
        if start >= end:
            result, status, said = "not run", None, "no time left"
        else:
            result, status, said = run_program(program, arguments, environment, options.driver,
                                               min(PROGRAM_LIMIT_SECONDS, end - start))
        record = {"part": "program", "name": name, "result": result, "status": status,
                  "seconds": round(time.monotonic() - start, 3)}
        if result != "passed":
            record["said"] = "\n".join(said.splitlines()[-5:])
        print(json.dumps(record), flush=True)


if __name__ == "__main__":
    main()
