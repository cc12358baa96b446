"""Gathers what the parts of run.sh printed into one JSON file, and prints Markdown tables of it.

Usage: report.py FOLDER_OF_PARTS JSON_FILE SIZE MODE

MODE: which parts were asked for (see parts.py). Status 1 if a part did not end well, a program failed, a run under sluice was not
identical to its control, or something does not hold that sluice relies on.
"""
import glob
import json
import os
import sys

MIB, GIB = 1 << 20, 1 << 30
# Parts whose status says something else: the doubts are judged one by one, sluice's doctor says what it found.
NOT_JUDGED = ("doubts", "doctor")
STOPPED = (124, 137)  # what timeout(1) answers


def load(folder):
    """All records of all parts, by their kind; a line that was cut off by a time limit is left out."""
    records = {}
    for path in sorted(glob.glob(os.path.join(folder, "*.jsonl"))):
        with open(path, errors="replace") as file:
            for line in file:
                try:
                    record = json.loads(line)
                    records.setdefault(record.pop("part"), []).append(record)
                except (ValueError, KeyError):
                    pass
    return records


def processor_name():
    with open("/proc/cpuinfo") as file:
        for line in file:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return os.uname().machine


def first(records, kind):
    return (records.get(kind) or [{}])[0]


def describe_machine(records):
    device, facts = first(records, "device"), first(records, "facts")
    names = ("driver", "link_generation", "link_width", "addressing_mode", "packages", "host", "nvidia_uvm")
    return {"device": device, **{name: facts.get(name) for name in names},
            "processor": processor_name(), "processors": len(os.sched_getaffinity(0)), "kernel": os.uname().release,
            "host_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")}


def machine_line(machine):
    device = machine["device"]
    parts = [f"{device.get('name', 'unknown device')}, {device.get('total_bytes', 0) / GIB:.0f} GiB",
             f"driver {machine['driver']}" if machine["driver"] else None,
             f"CUDA {device.get('cuda', '?')}",
             f"PCIe {machine['link_generation']} x{machine['link_width']}" if machine["link_generation"] else None,
             f"{machine['processors']} × {machine['processor']}", f"{machine['host_bytes'] / GIB:.0f} GiB host memory",
             f"Linux {machine['kernel']}"]
    return "; ".join(part for part in parts if part)


def read_lines(path):
    try:
        with open(path, errors="replace") as file:
            return file.read().splitlines()
    except OSError:
        return []


def find_problems(records, folder, mode):
    problems = [f"{answer['probe']}: does not hold: {answer['what']}"
                for answer in records.get("doubt", []) if answer.get("holds") is False]
    for part in records.get("part", []):
        if part["status"] is None:
            problems.append(f"part {part['name']} was not run: no time left")
            continue
        last = read_lines(os.path.join(folder, part["name"] + ".log"))[-1:]
        said = f": {last[0]}" if last else ""
        if part["status"] in STOPPED:
            problems.append(f"part {part['name']} was stopped after {part['seconds']} s{said}")
        elif part["status"] and part["name"] not in NOT_JUDGED:
            problems.append(f"part {part['name']} ended with status {part['status']}{said}")
    for program in records.get("program", []):
        if program["result"] in ("failed", "not run"):
            problems.append(f"program {program['name']}: {program['result']}")
        elif program.get("sluice_result", "passed") != "passed":
            problems.append(f"program {program['name']} under sluice: {program['sluice_result']}")
    for kind in ("gpt", "torch", "framework"):
        for run in records.get(kind, []):
            lacks = kind == "framework" or "libnccl" in run.get("said", "")
            if lacks and run["status"] == "not run":
                continue  # what the machine lacks, or what there was no time for
            if run["status"] != 0:
                problems.append(f"{kind} {run['name']}: status {run['status']}")
            elif run.get("identical") is False:
                problems.append(f"{kind} {run['name']}: other bits than its control")
    if mode == "all" and not records.get("program"):
        problems.append("no program of softcuda's tests was found")
    if mode == "all" and not records.get("gpt"):
        problems.append("gpt was not run")
    if mode == "frameworks" and not any(run["status"] == 0 for run in records.get("framework", [])):
        problems.append("no program of a framework was run")
    return problems


def number(value, digits=2):
    return "–" if value is None else f"{value:.{digits}f}"


def size_text(value):
    return f"{value / MIB:.0f} MiB"


def table(title, head, rows):
    rows = [[str(cell) for cell in row] for row in rows]
    if not rows:
        return
    print(f"\n### {title}\n")
    print("| " + " | ".join(head) + " |")
    print("|" + " --- |" * len(head))
    for row in rows:
        print("| " + " | ".join(row) + " |")


def print_doubts(answers):
    def text(answer):
        if "holds" in answer:
            return "yes" if answer["holds"] else "NO"
        return answer.get("answer") or f"{answer['value']:.4g} {answer['unit']}".strip()
    table("Doubts", ["probe", "what", "answer"], [(a["probe"], a["what"], text(a)) for a in answers])


def print_programs(programs):
    counts = {}
    for program in programs:
        counts[program["result"]] = counts.get(program["result"], 0) + 1
    under = sum(program.get("sluice_result") == "passed" for program in programs)
    if programs:
        counts["passed under sluice, too"] = under
    table("softcuda's test programs on this driver", ["result", "programs"], sorted(counts.items()))
    table("Programs that pass, but not under sluice", ["program", "result", "said"],
          [(p["name"], p["sluice_result"], p["sluice_said"].replace("\n", "<br>").replace("|", "\\|"))
           for p in programs if "sluice_said" in p])
    table("Programs that did not pass", ["program", "result", "said"],
          [(p["name"], p["result"], p["said"].replace("\n", "<br>").replace("|", "\\|"))
           for p in programs if p["result"] not in ("passed", "softcuda only")])


def print_runs(kind, runs):
    rows = []
    for run in runs:
        sluice = run.get("sluice") or {}
        steady = sluice.get("steady") or {}
        same = {True: "yes", False: "NO"}.get(run.get("identical"), "–")
        budget = run.get("budget_bytes") or run.get("peak_bytes")
        rows.append((run["name"], number(budget / GIB) if budget else "–", same, number(run.get("first_step_ms"), 1),
                     number(run.get("step_ms"), 1), number(steady.get("demand_misses"), 1),
                     number(steady.get("late_prefetches"), 1),
                     number(steady["stall_seconds"] * 1e3, 1) if steady else "–",
                     number(steady["bytes_in"] / GIB) if steady else "–",
                     number(steady["bytes_out"] / GIB) if steady else "–"))
    table(f"{kind}: with sluice against the control", ["run", "memory GiB", "same bits", "first step ms", "steady step ms",
          "demand misses", "late fetches", "stall ms", "in GiB", "out GiB"], rows)
    table(f"{kind}: runs that ended badly or said something", ["run", "status", "said"],
          [(run["name"], run["status"], run["said"].replace("\n", "<br>").replace("|", "\\|"))
           for run in runs if run.get("said")])


def print_transfers(records):
    table("Explicit copies, pinned", ["direction", "in GB/s", "out GB/s"],
          [(c["direction"], number(c["gbps_in"] or None, 1), number(c["gbps_out"] or None, 1))
           for c in records.get("copy", [])])
    table("Prefetches: speed, and how long calls hold up their thread",
          ["direction", "a call", "threads", "stream", "in GB/s", "out GB/s", "mean call µs", "longest call µs",
           "thread blocked"],
          [(b["direction"], size_text(b["call_bytes"]), b["threads"], b["stream"], number(b["gbps_in"] or None, 1),
            number(b["gbps_out"] or None, 1), number(b["call_us"], 1), number(b["longest_call_us"], 1),
            f"{min(100 * b['blocked_seconds'] / b['seconds'], 999):.0f} %" if b["seconds"] else "–")
           for b in records.get("bandwidth", [])])
    table("Moves of a chunk, and what a discard saves", ["move", "chunk", "call µs", "device µs", "of a fetch",
          "device memory taken"],
          [(m["move"], size_text(m["bytes"]), number(m["call_us"], 1), number(m["device_us"], 1),
            number(m["of_a_fetch"]), size_text(m["device_bytes_taken"])) for m in records.get("moves", [])])


def print_places(records):
    table("Where memory is after a kernel used it", ["advice", "history", "first use", "second use", "resident after",
          "device memory taken", "last prefetch"],
          [(r["advice"], r["history"], f"{r['first_seconds'] / r['device_memory_seconds']:.1f} ×",
            f"{r['second_seconds'] / r['device_memory_seconds']:.1f} ×", "yes" if r["resident_after"] else "no",
            size_text(r["device_bytes_taken"]), r["last_prefetch"]) for r in records.get("residency", [])])
    table("A kernel that streams through memory", ["place", "read GB/s", "write GB/s"],
          [(s["place"], number(s["read_gbps"], 1), number(s["write_gbps"], 1)) for s in records.get("stream", [])])
    table("A matrix product", ["operands", "width", "ms", "times slower"],
          [(p["operands"], p["width"], number(p["seconds"] * 1e3), number(p["times_slower"], 1))
           for p in records.get("product", [])])


def print_calls(records):
    table("What calls cost their thread", ["call", "state", "median µs", "99 % µs", "longest µs"],
          [(c["call"], c["state"], number(c["median_us"]), number(c["p99_us"]), number(c["longest_us"]))
           for c in records.get("calls", [])])
    table("Reserving managed memory without using it", ["size", "allocate µs", "advise µs", "free µs", "device memory taken",
          "after advice", "with 2 MiB fetched", "aligned to"],
          [(size_text(a["bytes"]), number(a["allocate_us"], 1), number(a["advise_us"], 1), number(a["free_us"], 1),
            size_text(a["device_bytes_taken"]), size_text(a["device_bytes_taken_advised"]),
            size_text(a["device_bytes_taken_with_2_mib_fetched"]), size_text(a["aligned_to_bytes"]))
           for a in records.get("allocate", [])])


# Kinds of records whose fields are their columns.
PLAIN = {"scaling": "Prefetches by threads, ranges and size of a call", "beside": "What calls wait beside prefetches",
         "readmostly": "Read-mostly: what a step costs, and whether the content is right",
         "streaming": "A kernel that streams host memory", "copies": "Copies from and to managed memory", "vmm": "The virtual-memory API", "touched": "Host memory, used once",
         "kernel_log": "Messages of the kernel"}


def print_plain(records):
    for kind, title in PLAIN.items():
        rows = records.get(kind, [])
        names = list(dict.fromkeys(name for row in rows for name in row))
        table(title, [name.replace("_", " ") for name in names], [[row.get(name, "–") for name in names] for row in rows])


def main():
    folder, path, size, mode = sys.argv[1:]
    records = load(folder)
    machine = describe_machine(records)
    problems = find_problems(records, folder, mode)
    with open(path, "w") as file:
        json.dump({"version": 1, "size": size, "machine": machine, "ok": not problems, "problems": problems,
                   "doctor": read_lines(os.path.join(folder, "doctor.jsonl")),
                   **{kind: rows for kind, rows in records.items() if kind != "device"}}, file, indent=1)
        file.write("\n")
    print(f"Machine: {machine_line(machine)}. Sizes: {size}.")
    print_doubts(records.get("doubt", []))
    print_programs(records.get("program", []))
    print_runs("gpt", records.get("gpt", []))
    for found in records.get("torch_version", []):
        print(f"\nPyTorch: {found['version'] or 'none'}.")
    print_runs("PyTorch", records.get("torch", []))
    for found in records.get("framework_versions", []):
        found = {name: version for name, version in found.items() if name != "device_free_bytes"}
        print("\nFrameworks:", ", ".join(f"{name} {version or 'missing'}" for name, version in found.items()))
    runs = records.get("framework", [])
    print_runs("Frameworks", [run for run in runs if run["status"] != "not run"])
    table("Frameworks: not run", ["run", "why"], [(run["name"], run["said"]) for run in runs if run["status"] == "not run"])
    print_transfers(records)
    print_places(records)
    print_calls(records)
    print_plain(records)
    print("\nProblems:" if problems else "\nNo problems.")
    for problem in problems:
        print(f"- {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
