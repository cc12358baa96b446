#!/usr/bin/env python3
"""sluice trace phases against what the kernels' names say, and its totals against softcuda's books.

usage: phases.py BUILD names|totals            gpt and mlp
       phases.py BUILD llm.c FOLDER            karpathy/llm.c, whose source is in FOLDER (needs nvcc and softcuda's cuBLAS)

Programs run whole on softcuda under a trace. The command labels their launches without looking at names; here the names
tell which phase each launch belongs to, and at least 98 % must agree.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

import llmc_files

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TEXT = os.path.join(SOURCE, "workloads", "data", "gpl-3.txt")
AGREE = 0.98
# Slabs of several chunks: where tensors in a smaller one end is not learned.
GPT = ["--layers", "2", "--width", "256", "--heads", "4", "--context", "32", "--batch", "2", "--steps", "4",
       "--evaluate-every", "2", "--seed", "3"]
MLP = ["--layers", "4", "--width", "64", "--batch", "16", "--steps", "6"]

# Names, the phase of a kernel of that name (None: names shared by phases), and of the shared ones that follow it. The first
# that matches counts.
GPT_NAMES = [(r"embedding_forward", "forward", "forward"), (r"sum_losses", "forward", "backward"),
             (r"_backward", "backward", "backward"), (r"_forward|cross_entropy", "forward", "forward"),
             (r"adamw|sweep_", "update", "update"), (r"gemm_", None, None)]
MLP_NAMES = [(r"cross_entropy", "forward", "forward"), (r"mean", "forward", "backward"),
             (r"sum_columns|rectify_gradient", "backward", "backward"), (r"adam", "update", "forward"),
             (r"product", None, None)]
LLMC_NAMES = [(r"encoder_forward", "forward", "forward"), (r"fused_classifier", "forward", "backward"),
              (r"_backward", "backward", "backward"), (r"_forward", "forward", "forward"),
              (r"adamw", "update", "update"), (r"gemm|permute", None, None)]


def run(build, program, arguments, folder, sluice=None, cwd=None):
    """A traced run; its trace, sluice's statistics and softcuda's."""
    trace, stats, device = (os.path.join(folder, name) for name in ("trace", "stats", "device"))
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("SLUICE_", "SOFTCUDA_"))}
    preload = [os.environ.get("E2E_PRELOAD"), os.path.join(build, "shim", "libsluice.so")]
    environment.update({
        "LD_LIBRARY_PATH": os.path.join(build, "subprojects", "softcuda", "lib"), "LD_PRELOAD": " ".join(filter(None, preload)),
        "SLUICE_TRACE": trace, "SLUICE_TRACE_FULL": "wait", "SLUICE_STATS": stats, "SOFTCUDA_STATS": device,
        "SLUICE_CHUNK": "2M"})
    environment.update({"SLUICE_" + name: str(value) for name, value in (sluice or {}).items()})
    done = subprocess.run([program, *arguments], env=environment, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{program} {arguments} ended with {done.returncode}: {done.stderr}")
    return trace, stats, device


def told(build, command, trace, *options):
    done = subprocess.run([os.path.join(build, "tools", "sluice"), "trace", command, "--json", *options, trace],
                          capture_output=True, text=True, check=False)
    if done.returncode or done.stderr:
        sys.exit(f"sluice trace {command} ended with {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)


def phases_of(build, trace, *options):
    return told(build, "phases", trace, *options)


def truth(launches, names):
    """What the names say: a phase for each launch, or None for copies, sets and what comes before the first name."""
    wanted, phase, stretch = [], None, []
    for launch in launches:
        name = launch["name"]
        if name in ("copy", "memset"):
            wanted.append(None)
            continue
        _, own, after = next((row for row in names if re.search(row[0], name)), (None, "unknown", "unknown"))
        own = own or phase
        # A forward pass that another one follows was an evaluation.
        if own == "forward":
            if stretch and own_is_start(name, names):
                close(wanted, stretch)
            stretch.append(len(wanted))
        elif own is not None:
            stretch = []
        wanted.append(own)
        phase = after or phase
    close(wanted, stretch)
    return wanted


def own_is_start(name, names):
    return bool(re.search(names[0][0], name)) and "forward" in names[0][0]


def close(wanted, stretch):
    for index in stretch:
        wanted[index] = "evaluation"
    stretch.clear()


def check_names(build, what, names, trace, steps):
    report = phases_of(build, trace, "--launches")
    launches = report["launches"]
    wanted = truth(launches, names)
    judged = [(w, l) for w, l in zip(wanted, launches) if w]
    wrong = [(w, l) for w, l in judged if w != l["phase"]]
    print(f"{what}: {len(judged)} launches, {len(wrong)} differ", flush=True)
    if not judged or len(wrong) > (1 - AGREE) * len(judged):
        sys.exit(f"FAILED: {what}: too many differ: {wrong[:20]}")
    if report["iterations"] != steps:
        sys.exit(f"FAILED: {what}: {report['iterations']} iterations, not {steps}")
    for copies in (l for l in launches if l["name"] == "copy"):
        if copies["phase"] not in ("copy", "other"):
            sys.exit(f"FAILED: {what}: a copy is called {copies}")


def names(build):
    """Every way in which the workloads train, at full device size, passed through, and at half of what they need."""
    gpt, mlp = (os.path.join(build, "workloads", name) for name in ("gpt", "mlp"))
    for optimizer in ("fused", "sweep"):
        for accumulate in ("1", "4"):
            small = {"DEVICE_BUDGET": "14M", "DAEMON": "inline"}
            for allocator, sluice in (("malloc", small), ("slab", {}), ("async", {"POLICY": "off"})):
                arguments = [*GPT, "--optimizer", optimizer, "--accumulate", accumulate, "--allocator", allocator]
                with tempfile.TemporaryDirectory() as folder:
                    trace = run(build, gpt, ["--data", TEXT, *arguments], folder, sluice)[0]
                    check_names(build, f"gpt {optimizer} x{accumulate} {allocator} {sluice}", GPT_NAMES, trace, 4)
    for streams in ("1", "3"):
        for sluice in ({}, {"POLICY": "off"}):
            with tempfile.TemporaryDirectory() as folder:
                trace = run(build, mlp, [*MLP, "--streams", streams], folder, sluice)[0]
                check_names(build, f"mlp {streams} streams {sluice}", MLP_NAMES, trace, 6)
    graphs(build, mlp)


def graphs(build, mlp):
    """Both passes in one graph are called so, and the update is told apart."""
    for kind in ("captured", "nodes"):
        with tempfile.TemporaryDirectory() as folder:
            trace = run(build, mlp, [*MLP, "--graph", kind], folder)[0]
            launches = phases_of(build, trace, "--launches")["launches"]
            for launch in launches:
                wanted = {"graph": "passes", "adam": "update"}.get(launch["name"])
                if wanted and launch["phase"] != wanted:
                    sys.exit(f"FAILED: mlp as a graph: {launch}")
            info = subprocess.run([os.path.join(build, "tools", "sluice"), "trace", "info", "--json", trace],
                                  capture_output=True, text=True, check=True).stdout
            peak = json.loads(info)["peak_by_class"]
            if not peak["parameters"] or peak["parameters"] != peak["gradients"] or \
                    2 * peak["parameters"] != peak["optimizer state"]:
                sys.exit(f"FAILED: mlp as a graph: {peak}")
            print(f"mlp, {kind}: {len(launches)} launches")


def totals(build):
    """Whatever sluice fetched and evicted is in one phase, and in one iteration or between them."""
    gpt = os.path.join(build, "workloads", "gpt")
    for daemon in ("inline", "thread"):
        for allocator in ("malloc", "slab"):
            with tempfile.TemporaryDirectory() as folder:
                sluice = {"DEVICE_BUDGET": "14M", "DAEMON": daemon}
                trace, stats, device = run(build, gpt, ["--data", TEXT, *GPT, "--allocator", allocator], folder, sluice)
                report = phases_of(build, trace)
                with open(stats, encoding="utf-8") as one, open(device, encoding="utf-8") as other:
                    stats, device = json.load(one), json.load(other)
                check_totals(f"{allocator}, {daemon}", report, stats, device)
                check_waste(f"{allocator}, {daemon}", told(build, "info", trace), stats)
                parts = [phases_of(build, trace, "--iteration", str(i + 1)) for i in range(report["iterations"])]
                for way in ("in", "out"):
                    within = sum(part["phases"][-1][way]["moved"] for part in parts)
                    if not 0 < within <= report["phases"][-1][way]["moved"]:
                        sys.exit(f"FAILED: iterations moved {within} bytes {way}")


def check_waste(what, info, stats):
    """What the trace tells of the chunks is what the core knew of them."""
    seen, wanted = info["in_chunks_at_most"], {"bytes": stats["placed_bytes"], "live_bytes": stats["placed_live_bytes"]}
    if seen != wanted:
        sys.exit(f"FAILED: {what}: in chunks were {seen}, not {wanted}")


def check_totals(what, report, stats, device):
    rows, whole = report["phases"][:-1], report["phases"][-1]
    for way in ("in", "out"):
        seen = whole[way]["moved"]
        sums = {"prefetch": (seen, device[f"bytes_{way}"]["prefetch"]),
                "rows": (sum(row[way]["moved"] for row in rows), seen),
                "copy": (whole[way]["program"], device[f"bytes_{way}"]["copy"])}
        for cause in ("plan", "demand", "late"):
            sums[cause] = (whole[way][cause], stats[f"bytes_{way}_by_cause"][cause])
        for name, (got, wanted) in sums.items():
            if got != wanted:
                sys.exit(f"FAILED: {what}: {name}, {way}: {got} bytes, not {wanted}")
    print(f"{what}: {whole['in']['moved']} bytes in, {whole['out']['moved']} out, as softcuda counted")


def llmc(build, source):
    """train_gpt2_fp32.cu, untouched: parameters, gradients, moments and activations in one allocation each."""
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "train")
        subprocess.run(["nvcc", "-O3", "-cudart", "shared", "-gencode", "arch=compute_75,code=compute_75", "-o", program,
                        os.path.join(os.path.abspath(source), "train_gpt2_fp32.cu"), "-lcublas", "-lcublasLt"],
                       check=True, capture_output=True)
        llmc_files.write(folder)
        arguments = ["-i", "train.bin", "-j", "val.bin", "-b", "2", "-t", "64", "-v", "3", "-m", "1", "-s", "4", "-g", "3"]
        for sluice in ({}, {"POLICY": "off"}, {"DEVICE_BUDGET": "64M"}):
            trace = run(build, program, arguments, folder, sluice, cwd=folder)[0]
            check_names(build, f"llm.c {sluice}", LLMC_NAMES, trace, 5)


def main():
    tests = {"names": names, "totals": totals, "llm.c": llmc}
    if len(sys.argv) != (4 if sys.argv[2:3] == ["llm.c"] else 3) or sys.argv[2] not in tests:
        sys.exit(__doc__)
    tests[sys.argv[2]](os.path.abspath(sys.argv[1]), *sys.argv[3:])


if __name__ == "__main__":
    main()
