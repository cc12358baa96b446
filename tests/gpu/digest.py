"""The few lines of a session that have to be read first, short enough for a terminal that shows only the end of the output."""
import decisions
import report

MOST_BYTES = 6 << 10
MOST_CELL = 110


def shorten(value, most=MOST_CELL):
    text = " ".join(str(value).split()).replace("|", "/")
    return text if len(text) <= most else text[:most - 1] + "…"


def table(head, rows):
    if not rows:
        return []
    lines = [head, [" --- "] * len(head), *rows]
    return ["|" + "|".join(shorten(cell) for cell in line) + "|" for line in lines]


def number(value, digits=1):
    return "–" if value is None else f"{value:.{digits}f}"


def training_rows(records):
    for kind in ("framework", "gpt", "torch"):
        for run in records.get(kind, []):
            if run["status"] == "not run":
                yield run["name"], shorten(run["said"], 40), "", "", ""
            else:
                bits = {True: "same", False: "OTHER", None: "–"}[run.get("identical")]
                steady = (run.get("sluice") or {}).get("steady") or {}
                stall = steady.get("stall_seconds")
                yield (run["name"], number(run.get("step_ms")) if run["status"] == 0 else f"status {run['status']}", bits,
                       number(run.get("of_control"), 2), number(stall * 1e3 if stall is not None else None))


def ended(records):
    """How each part ended, in a line."""
    def ending(part):
        if part["status"] is None:
            return "not run"
        return f"{part['seconds']:.0f} s" if part["status"] == 0 else f"status {part['status']}"
    words = [f"{part['name']} {ending(part)}" for part in records.get("part", [])]
    return ["Parts: " + "; ".join(words)] if words else []


def kernel_log(records):
    facts = report.first(records, "facts")
    said = [f"after {record['after']}: {shorten(line)}" for record in records.get("kernel_log", []) for line in record["lines"]]
    if not said and facts and not facts.get("kernel_log_readable"):
        said = ["cannot be read"]
    return ["", "Kernel log: " + "; ".join(said[:6])] if said else []


def machine(records):
    facts, lines = report.first(records, "facts"), ["Machine: " + report.machine_line(report.describe_machine(records))]
    words = [f"{name.replace('_', ' ')} {facts[name]}" for name in ("addressing_mode", "confidential_computing", "virtualization")
             if facts.get(name)]
    words += [f"{name} {version}" for name, version in (facts.get("packages") or {}).items() if name in ("torch", "triton", "jax")]
    touched = report.first(records, "touched")
    if touched:
        words.append(f"touched {touched['bytes'] / 2**30:.0f} GiB in {touched['seconds']:.0f} s")
    return [*lines, "; ".join(words)] if words else lines


def doubts(records):
    """What waits for a stream that does not move, and what returns."""
    lines = []
    for probe in ("reuse", "queue"):
        for answer in ("waits", "returns"):
            found = [row["what"] for row in records.get("doubt", []) if row["probe"] == probe and row.get("answer") == answer]
            if found:
                lines.append(f"{probe}: {answer}: " + shorten("; ".join(found), 600))
    return ["", *lines] if lines else []


def fit(sections):
    """As many lines of the sections, in their order, as fit."""
    text, left_out = "", 0
    for lines in sections:
        for line in lines:
            if len((text + line).encode()) + 60 > MOST_BYTES:  # room for the last line
                left_out += 1
            else:
                text += line + "\n"
    return text + (f"{left_out} lines more in gpu-results.tar.gz: gpu-results.md\n" if left_out else "")


def make(folder, size, mode, final):
    """The digest of what the parts in the folder have left so far. `final`: all that there will be."""
    records = report.load(folder)
    problems = report.find_problems(records, folder, mode)
    rows = list(training_rows(records))
    told = [f"Ended by {record['signal']}." for record in records.get("told", [])]
    running = [record["name"] for record in records.get("begun", [])][-1:]
    state = " ".join(told or ["Complete." if final else f"Not complete: {'; '.join(running) or 'nothing'} runs."])
    return fit([
        [f"# sluice on this machine: --{mode}, sizes: {size}. {state}", "", *machine(records), ""],
        table(["question", "measured", "decision"], decisions.decide(records)),
        ["", *table(["run", "step ms", "bits", "of control", "stall ms"], rows)] if rows else [],
        ["", f"Problems: {len(problems)}" if problems else "No problems."],
        ["- " + shorten(problem, 160) for problem in problems[:12]],
        kernel_log(records), ["", *ended(records)], doubts(records)])


def status(folder, mode):
    """0 if nothing was wrong."""
    return 1 if report.find_problems(report.load(folder), folder, mode) else 0
