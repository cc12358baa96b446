"""What the measurements decide: a question, the figures that answer it, and what follows for sluice.

Each decision is a function of all records, by their kind (report.load()). It returns (question, figures, what follows), or None
where what it needs was not measured.
"""
MIB = 1 << 20
GOOD_SHARE = 0.9     # of the best bandwidth, at which more threads or larger pieces are not worth it
WORTH_MORE = 1.2     # times faster, which is worth a change
SHARED_LINK = 1.3    # both directions together, of one
LONG_HOLD_US = 1000  # that a launch of another thread may wait


def select(records, kind, **wanted):
    return [row for row in records.get(kind, []) if all(row.get(name) == value for name, value in wanted.items())]


def speed(row):
    return row["gbps_in"] + row["gbps_out"]


def best(rows):
    return max(map(speed, rows), default=0)


def mib(value):
    return f"{value // MIB} MiB"


def series(pairs):
    return ", ".join(f"{name}: {value:.1f}" for name, value in pairs) + " GB/s"


def smallest_good(pairs):
    """The first name whose value is close to the largest."""
    most = max(value for _, value in pairs)
    return next(name for name, value in pairs if value >= GOOD_SHARE * most)


def by(rows, name):
    """(value of the field, best bandwidth), ascending."""
    return [(value, best([row for row in rows if row[name] == value])) for value in sorted({row[name] for row in rows})]


def threads(records, direction):
    pairs = by(select(records, "scaling", direction=direction, slabs="several", state="idle", sweep="threads"), "threads")
    if len(pairs) < 2:
        return None
    count = smallest_good(pairs)
    return f"does {direction} scale with threads?", series(pairs), f"{count} worker{'s' * (count > 1)} for {direction}"


def out_threads(records):
    return threads(records, "out")


def in_threads(records):
    return threads(records, "in")


def slabs(records):
    of = {kind: [row for row in select(records, "scaling", direction="out", slabs=kind, state="idle", sweep="threads")
                 if row["threads"] > 1] for kind in ("one", "several")}
    if not of["one"] or not of["several"]:
        return None
    one, several = best(of["one"]), best(of["several"])
    follows = "give each worker a slab of its own" if several > WORTH_MORE * one else "workers may share a slab"
    return "out: must threads work on different slabs?", series([("one", one), ("several", several)]), follows


def finished_event(records):
    """A deferred call returns before the copy, or the copies of several threads are made by one."""
    rows = {state: select(records, "scaling", direction="out", slabs="several", state=state, sweep="threads")
            for state in ("idle", "wait done")}
    if not all(rows.values()):
        return None
    speeds = {state: best(found) for state, found in rows.items()}
    calls = {state: min(row["call_us"] / (row["call_bytes"] / MIB) for row in found) for state, found in rows.items()}
    deferred = calls["wait done"] * 2 < calls["idle"] or speeds["wait done"] * WORTH_MORE < speeds["idle"]
    figures = "; ".join(f"{state} {speeds[state]:.1f} GB/s, call {calls[state]:.0f} µs/MiB" for state in rows)
    return "does a wait for a finished event defer a prefetch?", figures, "skip it" if deferred else "waits do no harm"


def pieces(records, direction="out"):
    pairs = by(select(records, "scaling", direction=direction, slabs="several", state="idle", sweep="pieces"), "call_bytes")
    if len(pairs) < 2:
        return None
    size = smallest_good(pairs)
    figures = series([(mib(value), gbps) for value, gbps in pairs])
    return f"{direction}: how large must a piece be?", figures, f"pieces of {mib(size)}"


def in_pieces(records):
    return pieces(records, "in")


def both_directions(records):
    one = best(select(records, "scaling", slabs="several", direction="in") + select(records, "scaling", slabs="several",
                                                                                      direction="out"))
    ours, copies = best(select(records, "scaling", direction="both")), best(select(records, "copy", direction="both"))
    if not one or not ours:
        return None
    link = f"; copies both {copies:.1f}" if copies else ""
    return ("both directions, of the faster one?", f"one {one:.1f}, both {ours:.1f} GB/s: {ours / one:.2f}{link}",
            "the shared factor: plan with one link for both" if ours < SHARED_LINK * one else "plan each direction alone")


def discards(records):
    answers = [row for row in select(records, "doubt", probe="discards") if "holds" in row]
    wrong = [row["what"] for row in answers if not row["holds"]]
    if not answers:
        return None
    figures = f"{len(answers) - len(wrong)} of {len(answers)} right" + (f"; not: {wrong[0]}" if wrong else "")
    return ("do writes undo a discard?", figures, "SLUICE_DISCARD=off" if wrong else "discard")


def held_up(records):
    """The largest piece beside which launches do not wait long."""
    rows = [row for row in select(records, "beside", call="launch") if row["traffic"] != "none"]
    if not rows:
        return None
    sizes = sorted({row["call_bytes"] for row in rows})
    worst = {size: max(row["p99_us"] for row in rows if row["call_bytes"] == size) for size in sizes}
    fine = [size for size, wait in worst.items() if wait <= LONG_HOLD_US]
    figures = ", ".join(f"{mib(size)}: {wait:.0f}" for size, wait in worst.items()) + " µs (99 %)"
    return ("launches beside prefetches wait how long?", figures,
            f"pieces of at most {mib(max(fine))}" if fine else "launching threads must hand over")


def held_locks(records):
    """Of other calls, which wait longest."""
    rows = [row for row in records.get("beside", []) if row["traffic"] != "none" and row["call"] != "launch"]
    if not rows:
        return None
    names = sorted({row["call"] for row in rows})
    worst = {call: max(row["p99_us"] for row in rows if row["call"] == call) for call in names}
    slow = [call for call, wait in worst.items() if wait > LONG_HOLD_US]
    return ("what else waits beside prefetches?", ", ".join(f"{call} {wait:.0f}" for call, wait in worst.items()) + " µs (99 %)",
            f"no {' or '.join(slow)} while moving, or smaller pieces" if slow else "nothing for long")


def read_mostly(records):
    found = records.get("readmostly", [])
    size = max((row["bytes"] for row in found), default=0)
    rows = {row["step"]: row for row in found if row["bytes"] == size}
    wrong = [row["step"] for row in found if not row["right"]]
    needed = ("unset, clean", "evict, clean")
    if not all(step in rows for step in needed) and not wrong:
        return None
    if wrong:
        return "read-mostly: is the content right?", f"wrong: {wrong[0]}", "never use it"
    unset, evict = (rows[step]["until_done_us"] for step in needed)
    return ("read-mostly: dropping a clean copy, of an eviction?", f"unset {unset:.0f}, eviction {evict:.0f} µs for {mib(size)}",
            "drop clean chunks by it" if 2 * unset < evict else "evict them")


def in_place(records):
    rows = records.get("streaming", [])
    host = [row for row in rows if row["memory"].startswith("managed")]
    moved = best(select(records, "scaling", direction="both"))
    if not host or not moved:
        return None
    top = max(host, key=lambda row: row["both_gbps"])
    small = min(row["both_gbps"] for row in rows if row["memory"] != "device")
    figures = f"{top['both_gbps']:.1f} GB/s ({top['memory']}), least {small:.1f}; moved {moved:.1f}"
    return ("a kernel streams host memory both ways?", figures,
            "in place for what one launch uses once" if top["both_gbps"] > GOOD_SHARE * moved else "move it")


def copies(records):
    rows = {}
    for row in records.get("copies", []):
        rows.setdefault((row["managed"], row["partner"], row["direction"]), {})[row["form"]] = row["gbps"]
    pairs = [(key, forms["untyped"] / forms["typed"]) for key, forms in rows.items() if forms.get("typed") and "untyped" in forms]
    if not pairs:
        return None
    (managed, partner, direction), ratio = min(pairs, key=lambda pair: pair[1])
    return ("untyped copies of managed memory, of typed ones?", f"at worst {ratio:.2f} ({managed}, {direction} {partner})",
            "forward with a direction" if ratio * WORTH_MORE < 1 else "forward as they are")


def vmm(records):
    rows = records.get("vmm", [])
    lacking = [row["memory"] for row in rows if "said" in row]
    cost = {memory: sum(row["median_us"] for row in rows if row["memory"] == memory and row.get("state") == "idle" and
                        row.get("bytes") == 2 * MIB and row["step"] in ("map", "access", "unmap")) for memory in ("device", "host")}
    if not rows:
        return None
    figures = ", ".join(f"{memory} {cost[memory]:.0f} µs for 2 MiB" if cost[memory] else f"{memory} not supported"
                        for memory in cost)
    return ("VMM: map, access and unmap cost what?", figures,
            "no remapping: " + ", ".join(lacking) + " not supported" if lacking else "compare with evictions by threads")


def tensor_maps(records):
    answers = select(records, "doubt", probe="tensormap")
    shown = [row for row in answers if row["what"].startswith("the address is shown")]
    if not answers:
        return None
    if not shown:
        return "does a tensor map show its address?", answers[0]["what"], "not known: remember maps when they are made"
    return ("does a tensor map show its address?", shown[0].get("answer", ""),
            "scan parameters for it" if shown[0]["answer"].startswith("yes") else "remember maps when they are made")


def link(records):
    rows = [row for row in records.get("copy", []) if row.get("link_speed")]
    facts = (records.get("facts") or [{}])[0]
    if not rows:
        return None
    width, most = rows[-1].get("link_width", "?"), facts.get("link_generation")
    possible = f", at most PCIe {most} x{facts['link_width']}" if most else ""
    return ("which link is in use?", f"{rows[-1]['link_speed']} x{width}{possible}",
            series([(row["direction"], speed(row)) for row in rows]) + " by pinned copies")


def huge_pages(records):
    touched = (records.get("touched") or [{}])[0]
    if not touched:
        return None
    host = touched["after"]
    share = (host["free_2_mib_bytes"] or 0) / max(1, host["free_bytes"] or 1)
    return ("can host pages come as 2 MiB blocks?", f"{100 * share:.0f} % of {(host['free_bytes'] or 0) / 2**30:.0f} GiB free",
            "yes" if share > 0.5 else "fragmented: expect 4 KiB copies")


def offloading(records):
    """Of the GPT, with PyTorch's own offloading and with sluice."""
    runs = {run["name"]: run["step_ms"] for run in records.get("framework", []) if run.get("step_ms")}
    offloaded = [ms for name, ms in runs.items() if name.startswith("offloaded")]
    ours = {name: ms for name, ms in runs.items() if name in ("gpt, 1/2", "gpt, 1/3", "gpt, 1/4")}
    if not offloaded or not ours:
        return None
    slowest = max(ours.values())
    figures = ", ".join(f"{name} {ms:.0f}" for name, ms in ours.items())
    return ("a step with sluice and with FSDP2's offloading?", f"{figures}, offloaded {offloaded[0]:.0f} ms",
            f"{offloaded[0] / slowest:.1f} times as fast as offloading" if slowest else "–")


# What changes most comes first.
ALL = (out_threads, slabs, finished_event, pieces, both_directions, discards, offloading, in_threads, in_pieces, held_up,
       held_locks, read_mostly, in_place, copies, vmm, tensor_maps, link, huge_pages)


def decide(records):
    """All that can be decided. A decision that cannot be made of its records says so and is none of the others' business."""
    rows = []
    for decision in ALL:
        try:
            row = decision(records)
        except (KeyError, ValueError, TypeError, ZeroDivisionError, IndexError, AttributeError) as error:
            row = decision.__name__, f"{type(error).__name__}: {error}", "read the records"
        if row:
            rows.append(row)
    return rows
