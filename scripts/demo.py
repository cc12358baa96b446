#!/usr/bin/env python3
"""Trains workloads/gpt on a large device, on a device a third of the need, there under sluice, and there with the
program's own unified memory; prints a table and writes demo/summary.json in the build folder."""
import argparse
import ctypes.util
import json
import os
import subprocess
import sys

MIB = 1 << 20
# Computing a step takes 0.4 of the time that the link needs to bring everything once, as in a large training run:
# so the ratios of step times mean something.
SOFTWARE_PROFILE = "rtx4090"
SOFTWARE_MODEL = ["--layers", "4", "--width", "512", "--heads", "8", "--context", "64", "--batch", "2"]
SOFTWARE_STEPS = 8
GPU_MODEL = ["--layers", "24", "--width", "1024", "--heads", "16", "--context", "256", "--batch", "8"]
GPU_STEPS = 10

# summary.json keeps names that the statistics had before.
SUMMARY_NAMES = {"late_prefetches": "late_fetches"}


class Demo:
    def __init__(self, build, software, data):
        self.build, self.software = os.path.abspath(build), software
        self.folder = os.path.join(self.build, "demo")
        self.sluice = os.path.join(self.build, "tools", "sluice")
        self.gpt = os.path.join(self.build, "workloads", "gpt")
        self.steps = SOFTWARE_STEPS if software else GPU_STEPS
        self.model = [*(SOFTWARE_MODEL if software else GPU_MODEL), "--steps", str(self.steps), "--seed", "1",
                      "--data", data]
        os.makedirs(self.folder, exist_ok=True)

    def run(self, name, arguments, device_bytes=None, sluice=None):
        """gpt with `arguments`; `sluice`: options of `sluice run`, or None for a run without it."""
        env = {k: v for k, v in os.environ.items() if not k.startswith(("SLUICE_", "SOFTCUDA_"))}
        books, stats = (os.path.join(self.folder, f"{name}.{kind}.json") for kind in ("device", "sluice"))
        for path in (books, stats):
            if os.path.exists(path):
                os.remove(path)
        if self.software:
            env["LD_LIBRARY_PATH"] = os.path.join(self.build, "subprojects", "softcuda", "lib")
            env["SOFTCUDA_STATS"] = books
            env["SOFTCUDA_PROFILE"] = SOFTWARE_PROFILE
            if device_bytes:
                env["SOFTCUDA_MEMORY"] = str(device_bytes)
        command = [self.gpt, *self.model, *arguments]
        if sluice is not None:
            command = [self.sluice, "run", "--stats", stats, *sluice, "--", *command]
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
        return Result(done, load(books), load(stats))


class Result:
    def __init__(self, done, device, sluice):
        self.status, self.errors, self.device, self.sluice = done.returncode, done.stderr.strip(), device, sluice
        fields = [line.split() for line in done.stdout.splitlines()]
        self.losses = [(f[3], f[4]) for f in fields if f and f[0] == "step"]
        self.step_ms = [float(f[6]) for f in fields if f and f[0] == "step"]
        self.weights = next((f[1] for f in fields if f and f[0] == "weights_hash"), None)
        self.peak_bytes = next((int(f[1]) for f in fields if f and f[0] == "peak_bytes"), None)

    def steady_seconds(self):
        """The mean of the second half of the steps: by then every step repeats the one before."""
        half = self.step_ms[len(self.step_ms) // 2:]
        return sum(half) / len(half) / 1000 if half else None


def load(path):
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        return None


def gpu_present():
    return os.path.exists("/dev/nvidiactl") and ctypes.util.find_library("cuda") is not None


def fail(result, what):
    print(f"demo: {what} failed (status {result.status}): {result.errors.splitlines()[-1] if result.errors else ''}",
          file=sys.stderr)
    sys.exit(1)


def mib(count):
    return f"{count / MIB:.0f} MiB" if count is not None else "-"


def milliseconds(seconds):
    return f"{seconds * 1000:.2f} ms" if seconds is not None else "not run"


def directions(name, bytes_in, bytes_out):
    return f"  {name:<34}{mib(bytes_in):>10} in {mib(bytes_out):>10} out"


def print_table(summary, full, small, sluice):
    print("\nstep   loss on a large device   loss under sluice at a third   bits")
    for i, (a, b) in enumerate(zip(full.losses, sluice.losses), 1):
        print(f"{i:>4}   {a[0]:>22}   {b[0]:>28}   {'same' if a == b else 'DIFFER'}")
    print(f"\nweights after the last step: {full.weights} and {sluice.weights}: "
          f"{'same' if full.weights == sluice.weights else 'DIFFERENT'}")
    print(f"memory: needed {mib(summary['need_bytes'])}, given {mib(summary['budget_bytes'])}, "
          f"used {mib(summary['peak_bytes'])}")
    print(f"the same device without sluice: {summary['without_sluice']}")
    print("bytes moved in the whole run under sluice:")
    for cause, count in sluice.sluice["bytes_in_by_cause"].items():
        print(directions({"plan": "ahead of their use", "demand": "on demand", "late": "late"}[cause],
                         count, sluice.sluice["bytes_out_by_cause"][cause]))
    if sluice.device:
        print("as the software device counts them:")
        for cause, count in sluice.device["bytes_in"].items():
            print(directions(cause, count, sluice.device["bytes_out"][cause]))
    print("iteration   launches   demand misses   late fetches   in place        in       out   stalled")
    for it in summary["iterations"]:
        print(f"{it['number']:>9}   {it['launches']:>8}   {it['demand_misses']:>13}   {it['late_fetches']:>12}   "
              f"{mib(it['remote_bytes']):>8}  {mib(it['bytes_in']):>8}  {mib(it['bytes_out']):>8}  "
              f"{it['stall_seconds'] * 1000:>6.2f} ms")
    seconds = summary["step_seconds"]
    print(f"\nstep time, steady{' (simulated)' if summary['device'].startswith('softcuda') else ''}: large device "
          f"{milliseconds(seconds['full'])}, sluice at a third {milliseconds(seconds['sluice'])}, "
          f"unified memory left to itself at a third {milliseconds(seconds['unified'])}")


def print_next(demo):
    software = " --software" if demo.software else ""
    print(f"""
Try next:
  build/tools/sluice run{software} --budget 64M -- build/workloads/gpt --data workloads/data/gpl-3.txt
  build/tools/sluice run{software} --budget 64M --trace /tmp/gpt.trace -- build/workloads/gpt --data workloads/data/gpl-3.txt
  build/tools/sluice trace info /tmp/gpt.trace
  build/tools/sluice doctor{software}""")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build")
    parser.add_argument("--software", action="store_true")
    parser.add_argument("--data")
    options = parser.parse_args()
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    software = options.software or not gpu_present()
    demo = Demo(options.build, software, options.data or os.path.join(here, "workloads", "data", "gpl-3.txt"))
    print(f"demo: on {'softcuda, a CUDA device in software' if software else 'the GPU'}; four runs of {demo.steps} steps")

    print("  (a) a device large enough ...", flush=True)
    full = demo.run("full", [])
    if full.status or not full.weights:
        fail(full, "the run on a large device")
    third = full.peak_bytes // 3 // (2 * MIB) * (2 * MIB)

    small, without = None, "not run (the GPU's memory would have to be taken from others)"
    if software:
        print("  (b) a third of it, without sluice ...", flush=True)
        small = demo.run("small", [], device_bytes=third)
        without = small.errors.splitlines()[-1] if small.status and small.errors else f"status {small.status}"
        if small.status == 0:
            fail(small, "running out of memory on the small device")

    print("  (c) the same third, under sluice ...", flush=True)
    sluice = demo.run("sluice", [], device_bytes=third, sluice=["--budget", str(third), "--daemon", "inline", "--chunk", "2M"]
                      if software else ["--budget", str(third)])
    if sluice.status or not sluice.weights or not sluice.sluice:
        fail(sluice, "the run under sluice")

    unified = None
    if software:
        print("  (d) the same third, unified memory left to itself ...", flush=True)
        unified = demo.run("unified", ["--allocator", "managed"], device_bytes=third)
        if unified.status:
            fail(unified, "the run with unified memory")

    device = f"softcuda ({sluice.device['profile']})" if software else gpu_name()
    summary = {
        "identical": full.losses == sluice.losses and full.weights == sluice.weights,
        "need_bytes": full.peak_bytes,
        "budget_bytes": sluice.sluice["budget_bytes"],
        "peak_bytes": sluice.device["peak_device_bytes"] if software else sluice.sluice["peak_bytes"],
        "without_sluice": without,
        "step_seconds": {"full": full.steady_seconds(), "sluice": sluice.steady_seconds(),
                         "unified": unified.steady_seconds() if unified else None},
        "iterations": [{SUMMARY_NAMES.get(name, name): value for name, value in iteration.items()}
                       for iteration in sluice.sluice["iterations"]],
        "device": device,
    }
    with open(os.path.join(demo.folder, "summary.json"), "w", encoding="utf-8") as file:
        json.dump(summary, file, indent=1)
        file.write("\n")
    print_table(summary, full, small, sluice)
    print_next(demo)
    if not summary["identical"]:
        sys.exit("demo: the results differ")


def gpu_name():
    done = subprocess.run(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"], capture_output=True, text=True,
                          check=False)
    return done.stdout.strip().splitlines()[0] if done.stdout.strip() else "GPU"


if __name__ == "__main__":
    main()
