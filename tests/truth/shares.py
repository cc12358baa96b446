"""How much of what launches touched sluice had claimed for them.

Claims are the access records of sluice's trace; what was really touched is softcuda's SOFTCUDA_TOUCHED. Both are exact to
512 bytes and looked at inside the live allocations of sluice's arenas only. A launch is a kernel, a copy, a memset or a
whole graph; a copy that softcuda lists as several (a batch) is one.
"""
import bisect
import json

GRANULE = 512
CHUNK = 2 << 20


class Mismatch(Exception):
    """The two files do not list the same launches."""


def union(ranges):
    """Sorted, disjoint ranges, widened to granules."""
    joined = []
    for begin, end in sorted((b // GRANULE * GRANULE, -(-e // GRANULE) * GRANULE) for b, e in ranges if e > b):
        if joined and begin <= joined[-1][1]:
            joined[-1][1] = max(joined[-1][1], end)
        else:
            joined.append([begin, end])
    return joined


def common(left, right):
    """What lies in both of two unions."""
    both, l, r = [], 0, 0
    while l < len(left) and r < len(right):
        begin, end = max(left[l][0], right[r][0]), min(left[l][1], right[r][1])
        if begin < end:
            both.append([begin, end])
        if left[l][1] < right[r][1]:
            l += 1
        else:
            r += 1
    return both


def size(ranges):
    return sum(end - begin for begin, end in ranges)


def chunks(ranges):
    return {c for begin, end in ranges for c in range(begin // CHUNK, (end - 1) // CHUNK + 1)}


class Live:
    """sluice's live allocations, by address."""

    def __init__(self):
        self.begins, self.ends, self.slots = [], {}, {}

    def allocate(self, slot, address, size_bytes):
        bisect.insort(self.begins, address)
        self.ends[address] = address + size_bytes
        self.slots[slot] = address

    def free(self, address):
        self.begins.remove(address)
        del self.ends[address]

    def inside(self, ranges):
        """The parts of a union that lie in live allocations."""
        found = []
        for begin, end in ranges:
            at = max(bisect.bisect_right(self.begins, begin) - 1, 0)
            while at < len(self.begins) and self.begins[at] < end:
                low, high = self.begins[at], self.ends[self.begins[at]]
                if max(begin, low) < min(end, high):
                    found.append((max(begin, low), min(end, high)))
                at += 1
        return union(found)


KINDS = {"set": "memset"}  # the device's words, where the trace has others


class Launch:
    def __init__(self, kind, name):
        self.kind, self.name, self.claims, self.accesses, self.live = kind, name, [], [], None


def claim(launch, live, access):
    begin = live.slots[access["slot"]] + access["offset"]
    launch.accesses.append(access)
    launch.claims.append((begin, begin + access["bytes"]))


def read_claims(lines):
    """Launches in their order, each with the ranges that were claimed for it and a function that restricts ranges to what
    was allocated then."""
    events = [json.loads(line) for line in lines]
    for event in events:
        if event["type"] == "gap":
            raise Mismatch("the trace has gaps; record it with SLUICE_TRACE_FULL=wait")
    names = {event["kernel"]: event["name"] for event in events if event["type"] == "kernel"}
    live, launches, by_tick = Live(), [], {}
    events = [event for event in events if event["type"] in ("alloc", "free", "launch", "access")]
    events.sort(key=lambda event: event["time_ns"])
    for event in events:
        if event["type"] == "alloc":
            live.allocate(event["slot"], int(event["address"], 16), event["bytes"])
        elif event["type"] == "free":
            live.free(int(event["address"], 16))
        elif event["type"] == "launch":
            kernel = event.get("kernel", 0)
            launches.append(Launch(event["kind"], kernel if isinstance(kernel, str) else names.get(kernel, "")))
            by_tick[event["tick"]] = launches[-1]
            for access in by_tick[event["as"]].accesses if "as" in event else []:
                claim(launches[-1], live, access)
            yield launches[-1], live
        else:
            claim(launches[-1], live, event)


def read_touched(lines):
    """Launches in their order: kind, name, list of (begin, end)."""
    launches, graph = [], None
    for line in lines:
        op = json.loads(line)
        ranges = [(begin, begin + length) for begin, length in op["read"] + op["written"]]
        if op["kind"] == "graph":
            graph = op["graph"]
            launches.append(["graph", "", []])
        elif op["graph"]:
            if op["graph"] != graph:
                raise Mismatch(f"operation {op['op']} is of a graph that is not the last")
            launches[-1][2].extend(ranges)
        else:
            launches.append([KINDS.get(op["kind"], op["kind"]), op["name"], ranges])
    return launches


class Sum:
    def __init__(self):
        self.launches = self.touched = self.claimed = self.both = 0
        self.touched_chunks = self.claimed_chunks = self.both_chunks = 0

    def add(self, claimed, touched):
        self.launches += 1
        self.touched += size(touched)
        self.claimed += size(claimed)
        self.both += size(common(claimed, touched))
        in_claims, in_touched = chunks(claimed), chunks(touched)
        self.touched_chunks += len(in_touched)
        self.claimed_chunks += len(in_claims)
        self.both_chunks += len(in_claims & in_touched)

    def shares(self):
        """caught and excess, in bytes and in chunks, as fractions."""
        def share(part, whole, nothing):
            return part / whole if whole else nothing
        return {"caught": share(self.both, self.touched, 1.0),
                "excess": share(self.claimed - self.both, self.claimed, 0.0),
                "caught_chunks": share(self.both_chunks, self.touched_chunks, 1.0),
                "excess_chunks": share(self.claimed_chunks - self.both_chunks, self.claimed_chunks, 0.0)}


class Report:
    """`whole`: all launches; `steady`: the second half, in which the program repeats itself; `kernels`: those by name."""

    def __init__(self, claim_lines, touched_lines):
        touched = read_touched(touched_lines)
        self.whole, self.steady, self.kernels = Sum(), Sum(), {}
        at, waiting = 0, None
        half = len(touched) // 2
        for launch, live in read_claims(claim_lines):
            if waiting:
                self.finish(*waiting, at > half)
            if at == len(touched):
                raise Mismatch(f"softcuda lists {at} launches, the trace more")
            kind, name, ranges = touched[at]
            if (kind, name) != (launch.kind, launch.name):
                raise Mismatch(f"launch {at + 1} is a {launch.kind} {launch.name} in the trace, "
                               f"a {kind} {name} on the device")
            at += 1
            waiting = launch, live.inside(union(ranges))
        if waiting:
            self.finish(*waiting, True)
        if at != len(touched):
            raise Mismatch(f"softcuda lists {len(touched)} launches, the trace {at}")

    def finish(self, launch, touched, steady):
        claimed = union(launch.claims)
        self.whole.add(claimed, touched)
        if steady:
            self.steady.add(claimed, touched)
            self.kernels.setdefault(launch.name or launch.kind, Sum()).add(claimed, touched)

    def worst(self, count):
        """The names with the most bytes missed or claimed too much."""
        rows = [(s.touched - s.both + s.claimed - s.both, name, s) for name, s in self.kernels.items()]
        return [(name, s) for wrong, name, s in sorted(rows, key=lambda row: (-row[0], row[1]))[:count] if wrong]
