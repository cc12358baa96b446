#!/usr/bin/env python3
"""A training on all devices in one process computes the same under sluice, with less memory on each device than it needs.

usage: one_process.py BUILD one|each

one_process.cu compares its results with the host's. Every device must have been managed and have kept its budget; nobody may hang, as
where a movement of one device waited behind a collective that waits for another one.
"""
import json
import os
import subprocess
import sys
import tempfile

MIB = 1 << 20
BUDGET = 10 * MIB  # of 27 MiB


def run(build, arguments, variables, preload):
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("SLUICE_", "SOFTCUDA_"))}
    environment.update({"LD_LIBRARY_PATH": os.path.join(build, "subprojects", "softcuda", "lib"), **variables})
    environment["LD_PRELOAD"] = " ".join(filter(None, [os.environ.get("E2E_PRELOAD"), preload]))
    done = subprocess.run([os.path.join(build, "tests", "e2e", "one_process"), *arguments], env=environment, capture_output=True,
                          text=True, check=False)
    if done.returncode or "CUDA_ERROR" in done.stderr or "check failed" in done.stderr:
        sys.exit(f"{arguments} {variables}: status {done.returncode}\n{done.stderr}")


def check(build, arguments, variables, folder):
    files = {"SOFTCUDA_STATS": os.path.join(folder, "device"), "SLUICE_STATS": os.path.join(folder, "stats")}
    run(build, arguments, {**variables, **files}, os.path.join(build, "shim", "libsluice.so"))
    with open(files["SLUICE_STATS"], encoding="ascii") as file:
        first = json.load(file)
    with open(files["SOFTCUDA_STATS"], encoding="ascii") as file:
        devices = json.load(file)["devices"]
    managed = [first, *first.get("other_devices", [])]
    if len(managed) != len(devices):
        sys.exit(f"{len(managed)} of {len(devices)} devices were managed")
    for one in managed:
        if not one["complete"] or not one["total"]["bytes_out"] or one["peak_bytes"] > BUDGET:
            sys.exit(f"{variables}: peak {one['peak_bytes']}, {one['total']}")
    for device in devices:
        if device["peak_device_bytes"] > BUDGET + device["peak_allocated_bytes"]:
            sys.exit(f"{variables}: device {device['ordinal']} held {device['peak_device_bytes']} bytes")
    misses = [one["total"]["demand_misses"] for one in managed]
    print("ok", arguments, variables, misses)
    return misses


def check_profile(build, arguments, folder):
    """What a run learned of each device, the next one knows from its beginning."""
    variables = {"SOFTCUDA_DEVICES": "3", "SOFTCUDA_SCHEDULE": "late", "SLUICE_DAEMON": "inline", "SLUICE_DEVICE_BUDGET": str(BUDGET),
                 "SLUICE_CHUNK": "2M", "SLUICE_PROFILE": os.path.join(folder, "profile")}
    first, second, third = [check(build, arguments, variables, folder) for _ in range(3)]
    if not all(first) or any(second) or any(third):
        sys.exit(f"misses without a profile {first}, with one {second}, again {third}")


def main():
    build, threads = os.path.abspath(sys.argv[1]), sys.argv[2]
    arguments = ["--threads"] if threads == "each" else []
    run(build, arguments, {"SOFTCUDA_DEVICES": "3"}, None)
    with tempfile.TemporaryDirectory() as folder:
        if threads == "one":
            check_profile(build, arguments, folder)
        for devices, daemon, schedule in [("2", "inline", "late"), ("3", "thread", "late"), ("3", "inline", "eager"), ("3", "thread", "random:1"),
                                          ("4", "thread", "random:2")]:
            check(build, arguments, {"SOFTCUDA_DEVICES": devices, "SOFTCUDA_SCHEDULE": schedule, "SLUICE_DAEMON": daemon,
                                     "SLUICE_DEVICE_BUDGET": str(BUDGET), "SLUICE_CHUNK": "2M"}, folder)


if __name__ == "__main__":
    main()
