#!/usr/bin/env python3
"""Random programs of one process on several devices compute under sluice, on devices that are too small for them, what the host computes.

usage: random_devices.py BUILD FIRST COUNT [--alone | --races] [--daemon thread|inline] [--jobs N] [--seconds N]

Each seed is a program on 2 or 3 devices (see random_devices.cu), which compares all that it reads with what the host computed.
It is run without sluice, and then with it: budget, chunks, daemon, policy and the order of the devices' work are drawn by the seed. What is freed
by cudaFree may then be in use on other devices, which sluice waits for. No device may then hold more than its budget and what is
not sluice's. --alone leaves sluice out; --races does so, too, and shows
that the programs have no races of their own. A seed that fails is printed with the command that repeats it.
"""
import json
import os
import tempfile

import drawn


def run(build, seed, options, variables, preload=None):
    command = ["random_devices", "--seed", str(seed), "--seconds", str(options.seconds)]
    command += ["--careless"] * bool(preload)
    return drawn.run(build, command, {"SOFTCUDA_DEVICES": "3", **variables}, preload)


def check(build, seed, options):
    """What is wrong with the seed, or None."""
    peak_bytes, wrong = run(build, seed, options, drawn.alone_for(seed, options.races))
    if wrong:
        return f"without sluice: {wrong}"
    if options.alone or options.races:
        return None
    chosen = drawn.options_for(seed, peak_bytes, options.daemon)
    with tempfile.TemporaryDirectory() as folder:
        if "SLUICE_TRACE_SAMPLE" in chosen:
            chosen["SLUICE_TRACE"] = os.path.join(folder, "trace.%p")
        statistics = {"SOFTCUDA_STATS": os.path.join(folder, "device"), "SLUICE_STATS": os.path.join(folder, "stats")}
        wrong = run(build, seed, options, {**chosen, **statistics}, os.path.join(build, "shim", "libsluice.so"))[1]
        return wrong or beyond_budget(statistics, int(chosen["SLUICE_DEVICE_BUDGET"]), chosen)


def beyond_budget(statistics, budget_bytes, chosen):
    """Which device held more than it may, and how it was run; or None."""
    with open(statistics["SOFTCUDA_STATS"], encoding="ascii") as file:
        devices = json.load(file)["devices"]
    with open(statistics["SLUICE_STATS"], encoding="ascii") as file:
        first = json.load(file)
    managed = [first, *first.get("other_devices", [])]
    if len(managed) < 2 or not all(one["complete"] and one["total"]["launches"] for one in managed):
        return f"not all devices were managed: {len(managed)}"
    for device in devices:
        most = budget_bytes + device["peak_allocated_bytes"]
        if device["peak_device_bytes"] > most:
            return f"device {device['ordinal']} held {device['peak_device_bytes']} of {most} bytes: {chosen}"
    return None


def main():
    parser = drawn.parser_for(__doc__)
    drawn.check_all(parser.parse_args(), check, "random programs on several devices")


if __name__ == "__main__":
    main()
