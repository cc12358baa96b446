"""What becomes of chunks between their uses: the gaps of a sequence, from which the bound's program is made.

Launches are numbered 0, 1, ... A gap begins when the launch `start` has ended (-1: it lasts since before the first
launch) and ends with a use by the launch `end`, or with nothing to come back for: the content's death after the launch
`end`, or the end of a sequence that is not cyclic. `inside` are the launches during which the chunk may be away. In a
cyclic sequence numbers are taken modulo the launches.
"""
from collections import namedtuple

# written: the content is new since the launch `start`, so that no host copy of it exists when the gap begins
Gap = namedtuple("Gap", "start end comes_back written inside")

# Chunks that are used alike count as one, with their bytes together. A life is one after another: gaps through which
# the same content lives, and its host copy with it. cyclic: it has neither birth nor death.
Life = namedtuple("Life", "bytes gaps cyclic")


def events_of(sequence):
    """For each chunk its (launch, kind) in order; kind: r, w, d (death)."""
    events = [[] for _ in sequence["chunk_bytes"]]
    for i, launch in enumerate(sequence["launches"]):
        for kind, field in (("r", "reads"), ("w", "writes"), ("d", "deaths")):
            for chunk in launch[field]:
                events[chunk].append((i, kind))
    return events


def gaps_between(events, count):
    """Gaps of a content from event to event; the first is no death."""
    gaps = []
    for (start, kind), (end, following) in zip(events, events[1:]):
        last = end if following == "d" else end - 1
        gaps.append(Gap(start % count if start >= 0 else -1, end % count, following != "d", kind == "w",
                        tuple(i % count for i in range(start + 1, last + 1))))
        if following == "d":
            break
    return gaps


def split_at_deaths(events):
    """Each content's own events, and whether its beginning is among them: new content is written, whatever the launch
    says that makes it, because no host copy of it exists."""
    contents, present, known = [], [], False
    for event in events:
        if event[1] == "d":
            if present:
                contents.append((present + [event], known))
            present, known = [], True
        else:
            present.append((event[0], "w") if known and not present else event)
    if present:
        contents.append((present, known))
    return contents


def lives_of_chunk(events, count, cyclic, alive):
    """(gaps, cyclic) of each content of a chunk. `alive`: it has content before the first launch."""
    if not any(kind != "d" for _, kind in events):
        return []
    if not cyclic:
        lives = []
        for content, known in split_at_deaths(events):
            if not known:
                content = [(-1, "r")] + content if alive else [(content[0][0], "w")] + content[1:]
            gaps = gaps_between(content, count)
            if content[-1][1] != "d":
                last, kind = content[-1]
                gaps.append(Gap(last, count, False, kind == "w", tuple(range(last + 1, count))))
            lives.append((gaps, False))
        return lives
    deaths = [k for k, event in enumerate(events) if event[1] == "d"]
    if deaths:  # begin behind the last one
        first = deaths[-1] + 1
        turned = events[first:] + [(i + count, kind) for i, kind in events[:first]]
        turned = [(turned[0][0], "d")] + turned
        return [(gaps_between(content, count), False) for content, _ in split_at_deaths(turned)]
    writes = [k for k, event in enumerate(events) if event[1] == "w"]
    first = writes[0] if writes else 0
    turned = events[first:] + [(i + count, kind) for i, kind in events[:first + 1]]
    return [(gaps_between(turned, count), True)]


def lives_of(sequence):
    """All lives of a sequence, those of chunks that are used alike together."""
    count, cyclic = len(sequence["launches"]), sequence.get("cyclic", True)
    alive = set(sequence.get("alive", ()))
    alike = {}
    for chunk, events in enumerate(events_of(sequence)):
        key = (tuple(events), chunk in alive)
        alike[key] = alike.get(key, 0) + sequence["chunk_bytes"][chunk]
    return [Life(size, gaps, turns) for (events, lives), size in alike.items()
            for gaps, turns in lives_of_chunk(list(events), count, cyclic, lives)]


def used_bytes(sequence):
    """By each launch."""
    size = sequence["chunk_bytes"]
    return [sum(size[c] for c in launch["reads"] + launch["writes"]) for launch in sequence["launches"]]


def live_bytes(sequence, lives):
    """During each launch: bytes of chunks with content, those that it uses included."""
    live = used_bytes(sequence)
    for life in lives:
        for gap in life.gaps:
            for i in gap.inside:
                live[i] += life.bytes
    return live
