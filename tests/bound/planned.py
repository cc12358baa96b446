"""A simple schedule to compare with, simulated by itself: it shares nothing with sluice but its input.

Belady's victims (1966: of what is resident, that whose next use is furthest) leave right after their last use; what is
needed comes in the order of need, as soon as a frame is free; new content takes a frame and dead content gives it
back. Launches wait for what they use. Each direction of the link always has 0.92 of its speed.
"""
import bisect
import heapq

STEPS = 5  # the third and the fourth are like all later ones: of the last it is not known yet what leaves


class Uses:
    """When chunks are used next, in a step that repeats."""

    def __init__(self, launches):
        self.count, self.at = len(launches), {}
        for i, launch in enumerate(launches):
            for chunk in launch["reads"] + launch["writes"]:
                self.at.setdefault(chunk, []).append(i)

    def after(self, chunk, tick):
        step, i = divmod(tick, self.count)
        later = bisect.bisect_right(self.at[chunk], i)
        if later < len(self.at[chunk]):
            return step * self.count + self.at[chunk][later]
        return (step + 1) * self.count + self.at[chunk][0]


def choose(launches, frames, ticks):
    """For each tick: what comes before it, as (is copied), and what leaves behind it, as (is copied)."""
    uses = Uses(launches)
    comes, leaves = [[] for _ in range(ticks)], [[] for _ in range(ticks)]
    content, dirty, used_at, furthest = set(), set(), {}, []  # used_at: of what is resident
    for tick in range(ticks):
        launch = launches[tick % len(launches)]
        used = set(launch["reads"]) | set(launch["writes"])
        for chunk in sorted(used - used_at.keys()):
            if len(used_at) == frames:
                victim = next_victim(furthest, used_at, used)
                leaves[used_at.pop(victim)].append(victim in dirty)
                dirty.discard(victim)
            comes[tick].append(chunk in content)
            used_at[chunk] = tick
        content |= used
        dirty.update(launch["writes"])
        for chunk in used:
            used_at[chunk] = tick
            heapq.heappush(furthest, (-uses.after(chunk, tick), chunk, tick))
        for chunk in launch["deaths"]:
            content.discard(chunk)
            dirty.discard(chunk)
            if used_at.pop(chunk, None) is not None:
                leaves[tick].append(False)
    return comes, leaves


def next_victim(furthest, used_at, pinned):
    kept = []
    while True:
        entry = heapq.heappop(furthest)  # IndexError: a launch needs more than the budget
        chunk, tick = entry[1:]
        if used_at.get(chunk) != tick:
            continue  # has left, or was used since
        if chunk not in pinned:
            break
        kept.append(entry)
    for entry in kept:
        heapq.heappush(furthest, entry)
    return chunk


def planned(sequence, budget_bytes, link_bytes_per_s):
    """(seconds, bytes in, bytes out) of a steady step. ValueError if a launch needs more than the budget."""
    size, launches = max(sequence["chunk_bytes"]), sequence["launches"]
    frames, copy = budget_bytes // size, size / (0.92 * link_bytes_per_s)
    if max(len(launch["reads"] + launch["writes"]) for launch in launches) > frames:
        raise ValueError("a launch needs more than the budget")
    comes, leaves = choose(launches, frames, STEPS * len(launches))
    free, now, in_until, out_until = [0.0] * frames, 0.0, 0.0, 0.0
    copied_in, copied_out, ends = 0, 0, []
    for tick, (coming, leaving) in enumerate(zip(comes, leaves)):
        start = now
        for is_copied in coming:
            there = heapq.heappop(free)
            if is_copied:
                there = in_until = max(in_until, there) + copy
                copied_in += size
            start = max(start, there)
        now = start + launches[tick % len(launches)]["ns"] * 1e-9
        for is_copied in leaving:
            if is_copied:
                out_until = max(out_until, now) + copy
                copied_out += size
            heapq.heappush(free, out_until if is_copied else now)
        if (tick + 1) % len(launches) == 0:
            ends.append((now, copied_in, copied_out))
    return tuple(after - before for before, after in zip(ends[2], ends[3]))
