"""Runs the CUDA programs that test softcuda, which know nothing of it, on whatever driver the loader finds.

Usage: programs.py BUILD DRIVER_FOLDER [--limit SECONDS]
       programs.py BUILD --list

The programs are those tests of the build that have one executable from softcuda's test folders as their command and get
softcuda's libraries through LD_LIBRARY_PATH; a kit has a list of them in its build folder, as --list prints it. Prints a
JSON object a line: name, result (passed, failed, skipped, not run, softcuda only), exit status, seconds and, where it did not
pass, the end of what it said. What passed runs once more under sluice: sluice_result and sluice_said.
"""
import argparse
import json
import os
import subprocess
import time

SKIPPED = 77
ONLY_IN_SOFTWARE = "needs softcuda"  # what the programs say that test something no vendor's driver promises
PROGRAM_LIMIT_SECONDS = 20
SLUICE_BUDGET = "64M"
# Programs that break the device, or count the driver's calls: sluice's memory lies in larger arenas and is not lost with a context,
# and its own calls count as well. What they export has to be known to it from a run before.
NOT_UNDER_SLUICE = ("cudart/asserts", "driver/driver-crashes", "driver/driver-native", "driver/driver-spin", "driver/driver-faults",
                    "driver/driver-ipc", "driver/driver-ipc-dead")
LOCAL_VARIABLES = ("LD_LIBRARY_PATH", "MALLOC_PERTURB_", "ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS")


def read_json(build, name):
    with open(os.path.join(build, "meson-info", name)) as file:
        return json.load(file)


def find_programs(build):
    """(test name, path in the build, arguments, environment) of each program. The build may have been made elsewhere."""
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
        yield test["name"], os.path.relpath(program, made_in), command[1:], environment


def list_programs(build):
    """As --list prints it; in a kit, what was packed."""
    packed = os.path.join(build, "programs.json")
    if os.path.exists(packed):
        with open(packed) as file:
            return json.load(file)
    return [{"name": name, "program": program, "arguments": arguments, "environment": environment}
            for name, program, arguments, environment in find_programs(build)]


def driver_of(program):
    """Where the loader finds libcuda.so.1 for a program that is linked with it; None for one that is not."""
    listing = subprocess.run([program], env={**os.environ, "LD_TRACE_LOADED_OBJECTS": "1"}, capture_output=True, text=True)
    for line in listing.stdout.splitlines():
        if line.split()[:1] == ["libcuda.so.1"] and "=>" in line:
            return line.split("=>")[1].split("(")[0].strip()
    return None


def run_program(command, environment, limit):
    """(result, exit status or None, what it said)"""
    try:
        done = subprocess.run(command, env={**os.environ, **environment}, timeout=limit,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    except subprocess.TimeoutExpired as stopped:
        said = stopped.stdout or b""
        return "failed", None, f"stopped after {limit:.0f} s\n{said.decode(errors='replace')}"
    result = {0: "passed", SKIPPED: "skipped"}.get(done.returncode, "failed")
    if result == "skipped" and ONLY_IN_SOFTWARE in done.stdout:
        result = "softcuda only"
    return result, done.returncode, done.stdout


def judge(build, program, driver, limit):
    """The fields of a program's line that say what became of it."""
    path = os.path.join(build, program["program"])
    command, environment = [path, *program["arguments"]], program["environment"]
    if not os.path.exists(path):
        return {"result": "not run", "status": None, "said": "it was not built"}
    linked = driver_of(path)
    if linked and os.path.realpath(os.path.dirname(linked)) != os.path.realpath(driver):
        return {"result": "failed", "status": None, "said": f"it loads {linked} instead of the driver in {driver}"}
    result, status, said = run_program(command, environment, limit)
    record = {"result": result, "status": status}
    if result != "passed":
        return {**record, "said": last_lines(said)}
    if path.endswith(NOT_UNDER_SLUICE):
        return record
    sluice = [os.path.join(build, "tools", "sluice"), "run", "--budget", SLUICE_BUDGET, "--"]
    result, status, said = run_program([*sluice, *command], environment, limit)
    record["sluice_result"] = result
    return record if result == "passed" else {**record, "sluice_said": last_lines(said)}


def last_lines(text):
    return "\n".join(text.splitlines()[-5:])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("driver", nargs="?")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--limit", type=float, default=60)
    options = parser.parse_args()
    programs = list_programs(options.build)
    if options.list:
        print(json.dumps(programs, indent=1))
        return
    end = time.monotonic() + options.limit
    for program in programs:
        start = time.monotonic()
        record = {"part": "program", "name": program["name"]}
        if start >= end:
            record.update(result="not run", status=None, said="no time left")
        else:
            record.update(judge(options.build, program, options.driver, min(PROGRAM_LIMIT_SECONDS, end - start)))
        print(json.dumps({**record, "seconds": round(time.monotonic() - start, 3)}), flush=True)


if __name__ == "__main__":
    main()
