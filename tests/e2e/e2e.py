#!/usr/bin/env python3
"""End-to-end tests: gpt and mlp, unmodified, on softcuda, without and with sluice.

usage: e2e.py BUILD TEST [ARGUMENT...]

Each test compares whole runs: every printed loss (as a hexadecimal float) and the hash of the final weights must be those
of a run on a device that is large enough. softcuda's own books, not sluice's, say how much of the device was used.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

MIB = 1 << 20
# 150 MiB of parameters, gradients and moments, and activations beside them: more than 64 chunks of 2 MiB.
MODEL = ["--layers", "3", "--width", "512", "--heads", "8", "--context", "16", "--batch", "1", "--seed", "7"]
POLICIES = ("plan", "next", "belady", "lru", "demand", "driver")
# 44 MiB of parameters, gradients and moments, in tensors of 1 MiB that share their chunks.
PERCEPTRON = ["--layers", "12", "--width", "512", "--batch", "8", "--streams", "3", "--seed", "7"]


class Run:
    """One finished run: exit status, output, the program's results, the books of softcuda and of sluice."""

    def __init__(self, status, output, errors, device, sluice, seconds=0):
        self.status, self.output, self.errors, self.device, self.sluice = status, output, errors, device, sluice
        lines = [line.split() for line in output.splitlines()]
        self.results = [(f[0], f[1], f[4]) for f in lines if f and f[0] in ("step", "evaluation")]
        self.step_ms = [float(f[6]) for f in lines if f and f[0] == "step"]
        self.weights = next((f[1] for f in lines if f and f[0] == "weights_hash"), None)
        self.peak = next((int(f[1]) for f in lines if f and f[0] == "peak_bytes"), None)

    def same_bits(self, other):
        return self.weights is not None and self.weights == other.weights and self.results == other.results


class Bench:
    """Knows where things are in the build folder and runs a workload there, gpt if nothing else is said."""

    def __init__(self, build):
        self.build = os.path.abspath(build)
        self.source = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        self.data = os.path.join(self.source, "workloads", "data", "gpl-3.txt")

    def run(self, arguments, device_bytes=None, sluice=None, schedule="late", environment=None, timeout=300, program="gpt"):
        """The program with `arguments`; `sluice`: None, or the SLUICE_ variables without their prefix."""
        with tempfile.TemporaryDirectory() as folder:
            env = {k: v for k, v in os.environ.items() if not k.startswith(("SLUICE_", "SOFTCUDA_"))}
            device_stats, sluice_stats = os.path.join(folder, "device.json"), os.path.join(folder, "sluice.json")
            env.update({"LD_LIBRARY_PATH": os.path.join(self.build, "subprojects", "softcuda", "lib"),
                        "SOFTCUDA_SCHEDULE": schedule, "SOFTCUDA_STATS": device_stats,
                        "SOFTCUDA_STRICT_HANDLES": "1", "SLUICE_NODE": os.path.join(folder, "node")})
            if os.environ.get("E2E_RACES"):  # off, report, error
                env["SOFTCUDA_RACES"] = os.environ["E2E_RACES"]
            if os.environ.get("E2E_DRIVER"):  # another one than softcuda's default: ideal
                env["SOFTCUDA_DRIVER"] = os.environ["E2E_DRIVER"]
            if device_bytes:
                env["SOFTCUDA_MEMORY"] = str(device_bytes)
            preload = [os.environ.get("E2E_PRELOAD")]  # a sanitizer's runtime
            if sluice is not None:
                preload.append(os.environ.get("E2E_LIBRARY", os.path.join(self.build, "shim", "libsluice.so")))
                env["SLUICE_STATS"] = sluice_stats
                env.update({"SLUICE_" + name: str(value) for name, value in sluice.items()})
            env["LD_PRELOAD"] = " ".join(filter(None, preload))
            env.update(environment or {})
            data = ["--data", self.data] if program == "gpt" else []
            done = subprocess.run([os.path.join(self.build, "workloads", program), *data, *arguments], env=env,
                                  capture_output=True, text=True, timeout=timeout, check=False)
            run = Run(done.returncode, done.stdout, done.stderr, load(device_stats), load(sluice_stats))
            need(not run.sluice or not run.sluice["checks_failed"], "no check of sluice's failed", run)
            return run


def load(path):
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except FileNotFoundError:
        return None


def need(condition, message, *runs):
    if condition:
        return
    print("FAILED:", message)
    for run in runs:
        print(f"--- status {run.status}\n{run.output}{run.errors}{json.dumps(run.sluice, indent=1)}\n{json.dumps(run.device)}")
    sys.exit(1)


def whole_blocks(size):
    return size // (2 * MIB) * (2 * MIB)


def reference(bench, arguments, program="gpt"):
    run = bench.run(arguments, schedule="eager", program=program)
    need(run.status == 0 and run.weights, "the reference run ends well", run)
    return run


def identical(bench, allocator, accumulate, orders="half"):
    """Same bits at 1/2 and 1/3 of the need, with evaluation, in both daemon modes and five legal orders; budget kept. Every
    two of share, daemon mode and order come together; with orders "every", all three do."""
    steps = "4" if accumulate == "1" else "3"
    arguments = MODEL + ["--steps", steps, "--allocator", allocator, "--accumulate", accumulate, "--evaluate-every", "2"]
    whole = reference(bench, arguments)
    need(whole.peak >= 64 * 2 * MIB, "the model has at least 64 chunks of 2 MiB", whole)
    for share in (2, 3):
        budget = whole_blocks(whole.peak // share)
        for daemon in ("inline", "thread"):
            for seed in range(5):
                if orders == "half" and (share + seed + (daemon == "thread") + (allocator == "slab")) % 2:
                    continue
                options = {"DEVICE_BUDGET": budget, "CHUNK": "2M", "DAEMON": daemon}
                run = bench.run(arguments, sluice=options, schedule=f"random:{seed}")
                what = f"{allocator}, accumulate {accumulate}, 1/{share}, {daemon}, order {seed}"
                need(run.status == 0, f"{what}: ends well", run)
                need(run.same_bits(whole), f"{what}: every loss and the weights agree bit for bit", whole, run)
                check_budget(run, budget, what)
                print("ok", what, "peak", run.device["peak_device_bytes"], "of", budget, flush=True)


def under(bench, arguments, policy, budget, chunk="2M", daemon="inline", more=None, **how):
    """The program under a policy and on `budget` bytes, which is the device's size where the driver moves its memory; `more`
    are other variables of sluice's."""
    options = {"CHUNK": chunk, "DAEMON": daemon, "POLICY": policy, **(more or {})}
    if policy == "driver":
        return bench.run(arguments, device_bytes=budget, sluice=options, **how)
    return bench.run(arguments, sluice=dict(options, DEVICE_BUDGET=budget), **how)


def check_same(run, whole, budget, what):
    need(run.status == 0, f"{what}: ends well", run)
    need(run.same_bits(whole), f"{what}: every loss and the weights agree bit for bit", whole, run)
    check_budget(run, budget, what)
    print("ok", what, "peak", run.device["peak_device_bytes"], "of", budget, flush=True)


def perceptron(bench, graph):
    """mlp, on the Driver API alone, in stream order on three streams: same bits at 1/2 and 1/3, budget kept."""
    arguments = PERCEPTRON + ["--steps", "6", "--graph", graph]
    whole = reference(bench, arguments, "mlp")
    for share in (2, 3):
        budget = whole_blocks(whole.peak // share)
        for daemon in ("inline", "thread"):
            for seed in range(2):
                options = {"DEVICE_BUDGET": budget, "CHUNK": "2M", "DAEMON": daemon}
                run = bench.run(arguments, sluice=options, schedule=f"random:{seed}", program="mlp")
                what = f"graph {graph}, 1/{share}, {daemon}, order {seed}"
                need(run.status == 0, f"{what}: ends well", run)
                need(run.same_bits(whole), f"{what}: every loss and the weights agree bit for bit", whole, run)
                check_budget(run, budget, what)
                need(run.sluice["total"]["bytes_in"] > 0, f"{what}: chunks came and went", run)
                print("ok", what, "peak", run.device["peak_device_bytes"], "of", budget, flush=True)


def check_budget(run, budget, what):
    need(run.sluice is not None and run.device is not None, f"{what}: both books are written", run)
    peak = run.device["peak_device_bytes"]
    need(peak <= budget, f"{what}: the device held {peak} bytes, the budget is {budget}", run)


def steady(bench, table=None):
    """In the steady state at 1/2: no demand misses, nothing remote but by a plan's choice, no slower than any other policy after six steps. With a
    table, if that is said."""
    runs = {}
    for steps in (6, 9):
        arguments = MODEL + ["--steps", str(steps), "--allocator", "malloc"]
        whole = reference(bench, arguments)
        budget = whole_blocks(whole.peak // 2)
        for policy in POLICIES if table or steps == 6 else ("plan",):
            run = under(bench, arguments, policy, budget)
            need(run.same_bits(whole), f"{policy}: same bits", whole, run)
            check_budget(run, budget, policy)
            runs[policy, steps] = run
    early, late = runs["plan", 6], runs["plan", 9]
    more = sum(late.device[way]["fault"] - early.device[way]["fault"] for way in ("bytes_in", "bytes_out"))
    need(more == 0, f"three more steps move {more} bytes by faults", early, late)
    # The first iterations learn; in the last ones gpt reads its weights back and ends.
    settled = late.sluice["iterations"][2:-1]
    need(len(settled) >= 4, "most steps are iterations", late)
    for iteration in settled:
        need(iteration["demand_misses"] == 0, "no demand misses in the last iterations", late)
        need(iteration["remote_bytes"] == iteration["in_place_bytes"], "nothing but what the plan chose is used in place", late)
    if table:
        print_steady(runs)
    times = {policy: sum(run.step_ms[-3:]) / 3 for (policy, _), run in runs.items()}  # the later run's
    for policy in POLICIES:
        need(times["plan"] <= 1.01 * times[policy], f"no slower than {policy}: {times}", late, runs[policy, 6])
    # What the driver evicts by itself leaves without page-table work (docs/driver-model.md); on `ideal` it is six times.
    need(2 * times["plan"] < times["driver"], f"twice as fast as the driver: {times}", late, runs["driver", 6])


def print_steady(runs):
    """The table of docs/benchmarks.md, from the last three of nine steps."""
    print("| policy | step (simulated) | stalled in a step | into the device | out of it |\n| --- | ---: | ---: | ---: | ---: |")
    for policy in POLICIES:
        late, early = runs[policy, 9], runs[policy, 6]
        moved = [sum(late.device[way].values()) - sum(early.device[way].values()) for way in ("bytes_in", "bytes_out")]
        stall = late.sluice["total"]["stall_seconds"] - early.sluice["total"]["stall_seconds"]
        stalled = "in its kernels" if policy == "driver" else f"{stall / 3 * 1e3:.2f} ms"
        print(f"| `{policy}` | {sum(late.step_ms[-3:]) / 3:.2f} ms | {stalled} | {moved[0] / 3 / MIB:.0f} MiB | "
              f"{moved[1] / 3 / MIB:.0f} MiB |")


def irregular(bench, steps="30"):
    """What cannot be predicted costs hardly more than under lru, in simulated time; same bits. With a table."""
    program = os.path.join("..", "tests", "e2e", "irregular")
    # Room that is made ahead pays where both directions are in use at once; by one thread of the driver's they take turns.
    most = 1.05 if os.environ.get("E2E_DRIVER") == "ideal" else 1.25
    print("| program | lru | plan | lru, a quarter | plan, a quarter |\n| --- | ---: | ---: | ---: | ---: |")
    for mode in ("uniform", "popular", "shuffled", "experts", "lengths", "skipped", "calls", "favoured"):
        whole = bench.run([mode, steps, "1"], schedule="eager", program=program)
        times = []
        for budget in (52 * MIB, 26 * MIB):  # of the 104 MiB that all but lengths have
            runs = {policy: under(bench, [mode, steps, "1"], policy, budget, program=program) for policy in ("lru", "plan")}
            results = {policy: run.output.split() for policy, run in runs.items()}
            for policy, run in runs.items():
                need(run.status == 0 and results[policy][3] == whole.output.split()[3], f"{mode}, {policy}: same bits", whole, run)
                check_budget(run, budget, f"{mode}, {policy}")
                times.append(float(results[policy][1]))
            need(times[-1] <= most * times[-2], f"{mode}: at most {most} times as long as lru", runs["lru"], runs["plan"])
        print(f"| {mode} | " + " | ".join(f"{time:.1f} ms" for time in times) + " |", flush=True)


def slab(bench):
    """An update that is one launch over everything exceeds the budget: it runs partly in place, and that is said once."""
    arguments = MODEL + ["--steps", "3", "--allocator", "slab"]
    whole = reference(bench, arguments)
    budget = whole_blocks(whole.peak // 3)
    run = bench.run(arguments, sluice={"DEVICE_BUDGET": budget, "CHUNK": "2M", "DAEMON": "inline"})
    need(run.same_bits(whole), "same bits", whole, run)
    check_budget(run, budget, "slab")
    lines = [line for line in run.errors.splitlines() if "more than the budget" in line]
    need(len(lines) == 1 and "MiB" in lines[0], "said once, with the need", run)


def out_of_memory(bench):
    """Without sluice the small device really runs out, and gpt says so itself."""
    arguments = MODEL + ["--steps", "2"]
    whole = reference(bench, arguments)
    run = bench.run(arguments, device_bytes=whole.peak // 3)
    need(run.status == 3 and "out of device memory" in run.errors, "gpt's own message and status", run)
    plain = bench.run(arguments, device_bytes=whole.peak // 3, sluice={"CHUNK": "2M"})
    need(plain.same_bits(whole), "the same device is enough with sluice, whatever its size says by itself", whole, plain)
    check_budget(plain, whole.peak // 3, "automatic budget")


def resident(bench):
    """With a budget above the need nothing moves after each chunk came once."""
    arguments = MODEL + ["--steps", "4"]
    whole = reference(bench, arguments)
    run = bench.run(arguments, sluice={"DEVICE_BUDGET": whole.peak * 2, "CHUNK": "2M"})
    need(run.same_bits(whole), "same bits", whole, run)
    need(run.sluice["total"]["bytes_in"] == 0 and run.sluice["total"]["bytes_out"] == 0, "no copies", run)
    need(run.sluice["plans"] == 0, "no plan", run)


def large_chunks(bench):
    """Chunks of 8 MiB, packed and tail chunks, sweep optimizer: same bits, budget kept."""
    arguments = MODEL + ["--steps", "3", "--optimizer", "sweep"]
    whole = reference(bench, arguments)
    budget = whole_blocks(whole.peak // 2)
    for daemon in ("inline", "thread"):
        run = bench.run(arguments, sluice={"DEVICE_BUDGET": budget, "CHUNK": "8M", "DAEMON": daemon})
        need(run.same_bits(whole), "same bits", whole, run)
        check_budget(run, budget, daemon)


def off(bench):
    """Policy off passes everything through."""
    arguments = MODEL + ["--steps", "2"]
    whole = reference(bench, arguments)
    run = bench.run(arguments, sluice={"POLICY": "off"})
    need(run.same_bits(whole) and run.device["bytes_in"]["prefetch"] == 0, "as without sluice", whole, run)


def largest_sites(bench, arguments, count, program="gpt"):
    """The sites of the `count` largest sets of tensors, of equal ones those first that live shortest; and the bytes that they held."""
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, "trace")
        run = bench.run(arguments, sluice={"TRACE": trace, "CHUNK": "2M"}, program=program)
        need(run.status == 0, "the traced run ends well", run)
        tool = os.path.join(bench.build, "tools", "sluice")
        told = subprocess.run([tool, "trace", "sites", "--json", trace], capture_output=True, text=True, check=True)
        sites = sorted(json.loads(told.stdout)["sites"], key=lambda site: (-site["peak_bytes"], site["median_launches"]))
        return [(site["site"], site["peak_bytes"]) for site in sites[:count]]


def backing(bench):
    """State in pinned memory, by site or by size, at a third of the need: same bits, used in place, and no part of the budget."""
    arguments = MODEL + ["--steps", "6", "--evaluate-every", "2"]
    whole = reference(bench, arguments)
    budget = whole_blocks(whole.peak // 3)
    sites = largest_sites(bench, MODEL + ["--steps", "1"], 2)
    held = sum(peak for _, peak in sites)
    cases = [(",".join(f"site:{site}=pinned" for site, _ in sites), held, held),
             ("from:3M=pinned", 3 * MIB, whole.peak),
             (f"site:{sites[0][0]}=unified,from:3M=pinned", 3 * MIB, whole.peak - sites[0][1])]
    for rules, least, most in cases:
        for i, (daemon, policy, chunk) in enumerate((("inline", "plan", "2M"), ("thread", "plan", "8M"), ("thread", "lru", "4M"))):
            options = {"DEVICE_BUDGET": budget, "CHUNK": chunk, "DAEMON": daemon, "POLICY": policy, "BACKING": rules}
            run = bench.run(arguments, sluice=options, schedule=f"random:{i}")
            what = f"{rules}, {daemon}, {policy}, {chunk}"
            check_same(run, whole, budget, what)
            pinned = run.sluice["pinned_peak_bytes"]
            need(least <= pinned <= most, f"{what}: {pinned} bytes were pinned", run)
            for step in run.sluice["iterations"][1:-1]:
                need(step["remote_bytes"] >= step["pinned_bytes"], f"{what}: what is pinned is used in place", run)
            total = run.sluice["total"]
            need(total["pinned_bytes"] >= 6 * least, f"{what}: each step uses it", run)
            need(sum(run.device["bytes_" + way]["remote"] for way in ("in", "out")) > 0, f"{what}: over the link", run)
            need(total["remote_bytes"] == total["pinned_bytes"] + total["in_place_bytes"], f"{what}: nothing else is used in place", run)
    limited = bench.run(arguments, sluice={"CHUNK": "2M", "HOST_LIMIT": "64M", "DEVICE_BUDGET": "32M", "BACKING": "from:0=pinned"})
    need(limited.status == 3 and "out of device memory" in limited.errors, "pinned memory counts as host memory", limited)


def bad_options(bench):
    """A bad value and an unknown variable are one line each, and the default holds."""
    arguments = MODEL + ["--steps", "1"]
    run = bench.run(arguments, sluice={"CHUNK": "3M", "POLICI": "plan", "BACKING": "from:3M=pined"})
    need(run.status == 0, "runs", run)
    need(sum("SLUICE_BACKING" in line for line in run.errors.splitlines()) == 1, "one line for the bad rule", run)
    need(run.sluice["pinned_peak_bytes"] == 0, "and no rules", run)
    need(sum("SLUICE_CHUNK" in line for line in run.errors.splitlines()) == 1, "one line for the bad value", run)
    need(sum("SLUICE_POLICI" in line for line in run.errors.splitlines()) == 1, "one line for the unknown name", run)


def host_memory(bench):
    """Beyond the host limit the device takes as much as half of the budget; then an allocation fails as on a full device, and gpt
    ends with its own message."""
    arguments = MODEL + ["--steps", "1"]
    run = bench.run(arguments, sluice={"CHUNK": "2M", "HOST_LIMIT": "64M", "DEVICE_BUDGET": "32M"})
    need(run.status == 3 and "out of device memory" in run.errors, "a clear error, not a crash", run)
    for allocator in ("malloc", "async"):
        arguments = MODEL + ["--steps", "3", "--alloc", allocator]
        whole = reference(bench, arguments)
        budget, limit = whole_blocks(whole.peak // 2), whole_blocks(whole.peak - whole.peak // 8)
        for daemon in ("inline", "thread"):
            run = bench.run(arguments, sluice={"CHUNK": "2M", "HOST_LIMIT": limit, "DEVICE_BUDGET": budget, "DAEMON": daemon})
            need(run.same_bits(whole), f"{allocator}, {daemon}: same bits", whole, run)
            check_budget(run, budget, f"{allocator}, {daemon}, a part on the device")


# 45 MiB, in chunks of 50 MiB, and more in the eighth step.
INSURED = ["--layers", "3", "--width", "256", "--heads", "4", "--context", "32", "--batch", "4", "--steps", "13",
           "--allocator", "async", "--peak-step", "8"]
SHORT = r"sluice: the program needs (\d+) MiB of device memory, (\d+) MiB more than its budget of 52 MiB: .*; (.*)"


def insurance(bench):
    """Without a budget: while all fits, nothing is said, and steps cost what they do without sluice. The eighth batch is the
    largest and does not fit: one line says so, and what would avoid it; a device without sluice ends the program. Later steps
    fit again."""
    device = 56 * MIB
    for batch, remedy in (("4", None), ("6", "SLUICE_DEVICE_BUDGET=54M (sluice run --budget 54M) lets it fit"),
                          ("8", "the device has not so much: smaller batches or tensors let it fit")):
        arguments = INSURED + ["--peak-batch", batch]
        whole = reference(bench, arguments)
        run = bench.run(arguments, device_bytes=device, sluice={})
        need(run.status == 0 and run.same_bits(whole), "same bits", whole, run)
        check_budget(run, 52 * MIB, "automatic budget")
        said = [line for line in run.errors.splitlines() if line.startswith("sluice:")]
        for number in range(2, 13 if remedy is None else 7):
            need(run.step_ms[number] <= 1.01 * whole.step_ms[number] + 0.05, f"step {number + 1}: {run.step_ms}", whole, run)
        need(min(run.step_ms[10:]) <= 1.01 * whole.step_ms[9], f"later steps are as before: {run.step_ms}", whole, run)
        if remedy is None:
            need(not said and not run.sluice["total"]["bytes_out"], f"nothing moves, nothing is said: {said}", run)
            continue
        line = re.fullmatch(SHORT, said[0]) if len(said) == 1 else None
        need(line and int(line[1]) - int(line[2]) == 52 and line[3] == remedy, f"one line: {said}", run)
        moved = run.step_ms[7] - whole.step_ms[7]
        print("ok batch", batch, said[0], f"{moved:.2f} ms more")
    need(bench.run(arguments, device_bytes=device - 8 * MIB).status == 3, "without sluice the program ends")


def python_out_of_memory(bench):
    """What sluice says of a Python program whose third allocation has no room."""
    with tempfile.TemporaryDirectory() as folder:
        env = {**os.environ, "LD_LIBRARY_PATH": os.path.join(bench.build, "subprojects/softcuda/lib"), "SLUICE_HOST_LIMIT": "8M",
               "LD_PRELOAD": " ".join(filter(None, [os.environ.get("E2E_PRELOAD"), os.path.join(bench.build, "shim/libsluice.so")])),
               "SLUICE_DEVICE_BUDGET": "8M", "SLUICE_NODE": os.path.join(folder, "node"), "PYTHONPATH": os.path.join(bench.source, "tests/python")}
        code = "import device; one = device.Device(); one.allocate(); one.allocate(); one.allocate()"
        return subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=120, check=False).stderr


def memory_ends(bench):
    """Host memory ends: a line says who wanted how much, what limits it, and what would suffice; and that does."""
    arguments = MODEL + ["--steps", "1"]
    lines, limit = [], "64M"
    for _ in range(8):
        run = bench.run(arguments, sluice={"CHUNK": "2M", "HOST_LIMIT": limit, "DEVICE_BUDGET": "32M"})
        said = [line for line in run.errors.splitlines() if line.startswith("sluice: no memory for ")]
        if run.status == 0:
            break
        need(run.status == 3 and len(said) == 1, "the program's own end, and one line", run)
        line = re.fullmatch(r"sluice: no memory for (\S+ \S+), allocated by gpt\+0x[0-9a-f]+: the program has (\S+) MiB, and may have "
                            r"(\S+) MiB of host memory \(SLUICE_HOST_LIMIT\)\. So far (\d+) MiB of host memory and a budget of "
                            r"\S+ MiB would be enough: see \"When memory ends\" in docs/usage.md", said[0])
        need(line and int(line[4]) > int(line[3]), f"what would suffice: {said}", run)
        lines.append(said[0])
        limit = f"{max(int(line[4]), int(line[3]) * 5 // 4)}M"
    need(run.status == 0 and lines, f"with more of it the program ends well: {lines}", run)
    said = python_out_of_memory(bench)
    need(re.search(r"no memory for 4 MiB, allocated by device\.py:\d+ in Device\.call: the program has 8 MiB", said), f"a line of Python: {said}")
    print("ok", len(lines), "times short; enough:", limit)


def two_at_once(bench):
    """Two programs on one device: each is told, has an equal part while the other runs, and all afterwards; the weights are those
    of a device of one's own. One with a budget of its own keeps that."""
    model = [argument for argument in INSURED[:INSURED.index("--steps")]] + ["--allocator", "async", "--steps"]
    first_alone, second_alone = reference(bench, model + ["40"]), reference(bench, model + ["6"])
    for given, parts in ((None, (30, 30)), ("20M", (40, 20))):
        with tempfile.TemporaryDirectory() as folder:
            both = {"SOFTCUDA_SHARED": os.path.join(folder, "shared"), "SOFTCUDA_MANAGED_COUNTS": "1", "SOFTCUDA_MEMORY": "64M",
                    "SLUICE_NODE": os.path.join(folder, "node"), "LD_LIBRARY_PATH": os.path.join(bench.build, "subprojects/softcuda/lib"),
                    "LD_PRELOAD": " ".join(filter(None, [os.environ.get("E2E_PRELOAD"), os.path.join(bench.build, "shim/libsluice.so")]))}
            first = subprocess.Popen([os.path.join(bench.build, "workloads/gpt"), "--data", bench.data, *model, "40"], text=True,
                                     env={**os.environ, **both}, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            begun = "".join(iter_to(first.stdout, "step 3 "))
            second = bench.run(model + ["6"], sluice={"DEVICE_BUDGET": given} if given else {}, environment=both)
            rest, errors = first.communicate(timeout=300)
        run = Run(first.returncode, begun + rest, errors, None, None)
        need(run.same_bits(first_alone) and second.same_bits(second_alone), "same bits", run, second)
        need(second.device["peak_device_bytes"] <= parts[1] * MIB, "the second keeps its part", second)
        told = [re.search(r"(.*) program.* under sluice .*: the budget is (\d+) MiB", line) for line in errors.splitlines()]
        need([line.groups() for line in told if line] == [("sluice: 1 other", str(parts[0])), ("sluice: no other", "60")], "told twice", run)
        said = re.findall(r"1 other program under sluice .* is (\d+) MiB", second.errors)
        need(said == ([] if given else ["30"]), "and the second, if it gave no budget", second)
        need("others took" not in errors + second.errors, "nobody else is blamed", run, second)
        print("ok", given, *parts)


def iter_to(lines, beginning):
    """The lines up to the first one that begins so."""
    for line in lines:
        yield line
        if line.startswith(beginning):
            return


def small_budget(bench):
    """A budget smaller than one launch's working set: it runs, partly in place, and the kernel is named once."""
    arguments = MODEL + ["--steps", "2"]
    whole = reference(bench, arguments)
    run = bench.run(arguments, sluice={"CHUNK": "2M", "DEVICE_BUDGET": "8M", "DAEMON": "inline"})
    need(run.same_bits(whole), "same bits", whole, run)
    check_budget(run, 8 * MIB, "small")
    need(sum("more than the budget" in line for line in run.errors.splitlines()) == 1, "said once", run)


def others(bench):
    """All of the program fits, until another process takes a part of the device. Then the driver evicts what sluice keeps there,
    but only until sluice sees it, says so, and keeps less."""
    evicted = {}
    for steps in ("6", "10"):
        arguments = MODEL + ["--steps", steps]
        whole = reference(bench, arguments)
        device, taken = whole.peak * 3 // 2, whole.peak // 2 + whole.peak // 32
        run = bench.run(arguments, device_bytes=device, sluice={"CHUNK": "2M", "DAEMON": "inline"}, environment={
            "SOFTCUDA_MANAGED_COUNTS": "1", "SOFTCUDA_OTHERS": str(taken), "SOFTCUDA_OTHERS_AFTER": "300"})
        need(run.same_bits(whole), "same bits", whole, run)
        need(sum("others took" in line for line in run.errors.splitlines()) == 1, "said once", run)
        need(run.sluice["plans"] > 0, "sluice gives way by plans", run)
        evicted[steps] = run.device["bytes_out"]["eviction"]
        print("ok", steps, "steps:", evicted[steps], "bytes evicted by the driver")
    need(0 < evicted["10"] == evicted["6"], f"the driver evicts for a while only: {evicted}")


TESTS = {t.__name__: t for t in (identical, insurance, memory_ends, two_at_once, perceptron, steady, irregular, slab, out_of_memory, resident, large_chunks, off,
                                 bad_options, host_memory, small_budget, others, backing)}


def main():
    if len(sys.argv) < 3 or sys.argv[2] not in TESTS:
        sys.exit(__doc__ + "\ntests: " + " ".join(TESTS))
    TESTS[sys.argv[2]](Bench(sys.argv[1]), *sys.argv[3:])


if __name__ == "__main__":
    main()
