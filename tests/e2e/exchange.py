#!/usr/bin/env python3
"""Memory that a program exports to another process: refused where nobody knew, the driver's memory where it was known.

usage: exchange.py BUILD

Breaks if what is refused is not said, if the next run with the same profile, or one with the rule that was named, does not work, if
it has other bits than without sluice, or if a device holds more than the budgets.
"""
import os
import re
import socket
import subprocess
import sys
import tempfile

from e2e import MIB, Run, load, need

STEPS = "12"
BUDGET = 16 * MIB  # of 35 MiB


def run_both(build, sluice=None, schedule="late"):
    """The exporting and the importing process."""
    program = os.path.join(build, "tests", "e2e", "exchange")
    ends = socket.socketpair()
    with tempfile.TemporaryDirectory() as folder:
        processes, stats = [], []
        for role, end in zip(("export", "import"), ends):
            env = {k: v for k, v in os.environ.items() if not k.startswith(("SLUICE_", "SOFTCUDA_"))}
            stats.append([os.path.join(folder, f"{role}.{whose}") for whose in ("device", "sluice")])
            env.update({"LD_LIBRARY_PATH": os.path.join(build, "subprojects", "softcuda", "lib"), "SOFTCUDA_SCHEDULE": schedule,
                        "SOFTCUDA_STATS": stats[-1][0], "SOFTCUDA_LOG": "none"})
            preload = [os.environ.get("E2E_PRELOAD")]
            if sluice is not None:
                preload.append(os.path.join(build, "shim", "libsluice.so"))
                env.update({"SLUICE_" + name: str(value).replace("ROLE", role) for name, value in sluice.items()})
                env["SLUICE_STATS"] = stats[-1][1]
            env["LD_PRELOAD"] = " ".join(filter(None, preload))
            processes.append(subprocess.Popen([program, role, str(end.fileno()), STEPS], env=env, pass_fds=[end.fileno()], text=True,
                                              stdout=subprocess.PIPE, stderr=subprocess.PIPE))
            end.close()
        said = [process.communicate(timeout=120) for process in processes]
        return [Run(process.returncode, *texts, *map(load, files)) for process, texts, files in zip(processes, said, stats)]


def need_same(runs, whole, what):
    for run, alone in zip(runs, whole):
        need(run.status == 0 and run.output == alone.output, f"{what}: same bits", run, alone)
        need(not run.sluice["checks_failed"], f"{what}: no check failed", run)
        # Beyond the budget: modules. The buffer is the exporter's; who opened it does not hold it.
        need(run.device["peak_device_bytes"] <= BUDGET + MIB, f"{what}: the budget is kept", run)


def main():
    build = os.path.abspath(sys.argv[1])
    whole = run_both(build, schedule="eager")
    need(all(run.status == 0 and "hash" in run.output for run in whole), "it runs without sluice", *whole)
    with tempfile.TemporaryDirectory() as folder:
        options = {"DEVICE_BUDGET": BUDGET, "CHUNK": "2M", "PROFILE": os.path.join(folder, "ROLE.profile")}
        first = run_both(build, options)
        need(first[0].status == 3 and "not supported" in first[0].errors, "nobody knew: refused", *first)
        rule = re.findall(r"SLUICE_BACKING=(site:[0-9a-f]{16}=device)", first[0].errors)
        need(len(rule) == 1, "the rule is named, once", first[0])
        for daemon, schedule in (("inline", "random:1"), ("thread", "late"), ("thread", "random:2")):
            runs = run_both(build, {**options, "DAEMON": daemon}, schedule)
            need_same(runs, whole, f"known from the profile, {daemon}, {schedule}")
            need("export" not in runs[0].errors, "nothing is said", runs[0])
        del options["PROFILE"]
        need_same(run_both(build, {**options, "BACKING": rule[0]}), whole, "known from a rule")
        # The rule of the profile stands beside rules of the environment.
        options["PROFILE"] = os.path.join(folder, "ROLE.profile")
        need_same(run_both(build, {**options, "BACKING": "from:1G=pinned"}), whole, "rules of both")


if __name__ == "__main__":
    main()
