"""A sequence of what a program's launches really touched, and when they could begin, from softcuda's own record.

SOFTCUDA_TOUCHED says what each launch read and wrote, exact to 512 bytes, SOFTCUDA_TIMELINE when it ran, of one run on a
device that holds everything. The sequence's "chunks" are the largest pieces of memory that all launches use as a whole,
whatever their size: what bounds schedules of such pieces bounds those of whole chunks, however they are packed, too.
Everything that is not known makes more possible: content that the next launch to use it only writes is dead before that, and
so is what nobody uses any more; the program's own copies take nothing of the link.

A launch begins no earlier than `ready_ns` after the last launch that the program waited for, a copy to the host, or after
the beginning: for so long the program's own calls took, on a device where nothing waits.
"""
import bisect
import collections
import json

# Of one launch. `read`, `written`: (begin, end).
Use = collections.namedtuple("Use", "start end awaited read written")


class Overlap(Exception):
    """Launches ran at the same time, which a sequence has no word for."""


def load(touched, timeline):
    """All launches in submission order, a graph's nodes each by itself, and when each event was recorded, in ns."""
    with open(timeline, encoding="utf-8") as lines:
        times = [json.loads(line) for line in lines]
    records = [op["end_ns"] for op in times if op["kind"] == "record"]
    times, uses = {op["op"]: op for op in times}, []
    with open(touched, encoding="utf-8") as lines:
        for op in map(json.loads, lines):
            time = times.get(op["op"])
            if op["kind"] == "graph" or time is None:
                continue
            copy_in, copy_out = (op["kind"] == "copy" and time[way] > 0 for way in ("bytes_in", "bytes_out"))
            # The other side of a copy over the link may be pinned memory.
            read, written = ([] if skip else [(begin, begin + size) for begin, size in op[name]]
                             for name, skip in (("read", copy_in), ("written", copy_out)))
            uses.append(Use(time["start_ns"], time["end_ns"], copy_out, read, written))
    return uses, records


class Pieces:
    """Memory, cut at every border of a range that some launch uses."""

    def __init__(self, uses):
        self.borders = sorted({border for use in uses for part in use.read + use.written for border in part})

    def of(self, ranges):
        found = set()
        for begin, end in ranges:
            found.update(range(bisect.bisect_left(self.borders, begin), bisect.bisect_left(self.borders, end)))
        return found

    def bytes(self, piece):
        return self.borders[piece + 1] - self.borders[piece]


def find_deaths(used):
    """(launch, piece) of each launch behind which nobody reads what the piece holds before it is written; and the pieces whose
    content is read before any launch writes it. `used`: (pieces that are read, pieces that are written) of each launch."""
    deaths, is_read_next = set(), set()  # of what follows the launch that is looked at
    for number in range(len(used) - 1, -1, -1):
        read, written = used[number]
        for piece in read | written:
            if piece not in is_read_next:
                deaths.add((number, piece))
        is_read_next -= written
        is_read_next |= read
    return deaths, is_read_next


def sequence(uses, begin, end, name):
    """Of the launches from the time `begin` to `end`; those behind say what is still read then. All accesses are writes, as
    nobody knows what is only read."""
    uses = [use for use in uses if use.start >= begin]
    pieces = Pieces(uses)
    used = [(pieces.of(use.read), pieces.of(use.written)) for use in uses]
    deaths, alive = find_deaths(used)
    dying = collections.defaultdict(list)
    for number, piece in deaths:
        dying[number].append(piece)
    launches, now, origin = [launch(0, 0, True)], begin, begin
    inside = [use for use in uses if use.end <= end]
    for number, use in enumerate(inside):
        if use.start < now:
            raise Overlap(f"two launches run {now - use.start} ns at the same time")
        read, written = used[number]
        launches.append(launch(use.end - use.start, use.start - origin, use.awaited, sorted(read | written),
                               sorted(dying[number])))
        now, origin = use.end, use.end if use.awaited else origin
    launches.append(launch(0, end - origin, False))
    return numbered(name, pieces, launches, alive)


def launch(took, ready, awaited, writes=(), deaths=()):
    return {"ns": took, "ready_ns": ready, "awaited": awaited, "reads": [], "writes": list(writes), "deaths": list(deaths)}


def numbered(name, pieces, launches, alive):
    """With those pieces alone that the launches use, numbered from 0."""
    numbers = {}
    for one in launches:
        for field in ("writes", "deaths"):
            one[field] = [numbers.setdefault(piece, len(numbers)) for piece in one[field]]
    return {"name": name, "cyclic": False, "chunk_bytes": [pieces.bytes(piece) for piece in numbers],
            "alive": sorted(numbers[piece] for piece in alive if piece in numbers), "launches": launches}


def find_steps(records, milliseconds):
    """(begin, end) of the steps that took so long between two records of events: of each the first that fits behind the one
    before. None if one is not found."""
    steps, at = [], 0
    for took in milliseconds:
        step = next(((i, j) for i in range(at, len(records)) for j in range(i + 1, len(records))
                     if abs(records[j] - records[i] - 1e6 * took) <= 2), None)
        if step is None:
            return None
        steps.append((records[step[0]], records[step[1]]))
        at = step[1]
    return steps
