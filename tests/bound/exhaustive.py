"""The best steady step of a tiny sequence, found by trying everything: what no lower bound may exceed.

Time passes in ticks, chunks have one size, a copy in takes `copy_in` ticks and one out `copy_out`; with `halved` each
direction has half of its speed while both run. Schedules are searched whole chunk by whole chunk: at each tick copies
may begin, one in each direction at a time, clean chunks may be dropped, and the next launch may begin.
"""
from collections import defaultdict, deque, namedtuple

# launch: the running one if `left` ticks of it remain, else the next; `clean`: resident, with a copy in host memory;
# entering, leaving: (chunk, work left) of copies, or None. All sets are frozen.
State = namedtuple("State", "launch left resident clean entering leaving")


class Search:
    def __init__(self, sequence, frames, copy_in, copy_out, halved):
        self.launches, self.frames = sequence["launches"], frames
        self.speed = 2 if halved else 1  # work done in a tick by a direction alone
        self.work_in, self.work_out = copy_in * self.speed, copy_out * self.speed
        self.ticks = [launch["ns"] // 10**9 for launch in self.launches]
        self.uses = [frozenset(launch["reads"] + launch["writes"]) for launch in self.launches]
        self.alive = self.content_before()

    def content_before(self):
        """Of each launch: the chunks that have content then, once the steps repeat."""
        alive, before = set(), None
        dying = {c for launch in self.launches for c in launch["deaths"]}
        alive = {c for uses in self.uses for c in uses} - dying
        for _ in range(2):
            before = []
            for launch, uses in zip(self.launches, self.uses):
                before.append(frozenset(alive))
                alive = (alive | uses) - set(launch["deaths"])
        return before

    def moves(self, state):
        """What may happen now without time passing."""
        pinned = self.uses[state.launch] if state.left else frozenset()
        alive = self.alive[state.launch] | pinned
        occupied = len(state.resident) + (state.entering is not None)
        out = {state.leaving[0]} if state.leaving else set()
        for chunk in state.clean - pinned - out:
            yield state._replace(resident=state.resident - {chunk}, clean=state.clean - {chunk})
        if not state.leaving:
            for chunk in state.resident - state.clean - pinned:
                yield state._replace(leaving=(chunk, self.work_out))
        if not state.entering and occupied < self.frames:
            for chunk in alive - state.resident:
                yield state._replace(entering=(chunk, self.work_in))
        if not state.left:
            uses, i = self.uses[state.launch], state.launch
            new = uses - self.alive[i]
            if (uses - new) <= state.resident - out and occupied + len(new) <= self.frames:
                written = frozenset(self.launches[i]["writes"]) | new
                yield state._replace(left=self.ticks[i], resident=state.resident | new, clean=state.clean - written)

    def tick(self, state):
        """One tick later."""
        both = state.entering and state.leaving
        done = 1 if both else self.speed
        resident, clean, launch, left = state.resident, state.clean, state.launch, state.left
        entering, leaving = state.entering, state.leaving
        if entering:
            entering = (entering[0], entering[1] - done)
            if entering[1] <= 0:
                resident, clean, entering = resident | {entering[0]}, clean | {entering[0]}, None
        if leaving:
            leaving = (leaving[0], leaving[1] - done)
            if leaving[1] <= 0:
                resident, leaving = resident - {leaving[0]}, None
        if left:
            left -= 1
            if not left:
                dead = frozenset(self.launches[launch]["deaths"])
                resident, clean = resident - dead, clean - dead
                entering = None if entering and entering[0] in dead else entering
                leaving = None if leaving and leaving[0] in dead else leaving
                launch = (launch + 1) % len(self.launches)
        return State(launch, left, resident, clean, entering, leaving)

    def step_from(self, start):
        """Ticks from the beginning of launch 0 in `start` to each state in which it begins again."""
        found, done, queue = {}, {}, deque([(0, start, False)])
        while queue:
            ticks, state, gone = queue.popleft()
            if done.get((state, gone), ticks + 1) <= ticks:
                continue
            done[state, gone] = ticks
            if gone and state.launch == 0 and state.left == self.ticks[0]:
                found.setdefault(state, ticks)
                continue
            for following in self.moves(state):
                queue.appendleft((ticks, following, gone))
            following = self.tick(state)
            queue.append((ticks + 1, following, gone or following.launch != 0 or len(self.ticks) == 1 and
                          not following.left))
        return found

    def best(self):
        """Ticks of the best steady step: the least mean of a cycle of states in which launch 0 begins."""
        first = State(0, 0, frozenset(), frozenset(), None, None)
        steps, unknown = {}, list(self.step_from_nothing(first))
        while unknown:
            state = unknown.pop()
            if state not in steps:
                steps[state] = self.step_from(state)
                unknown += steps[state]
        return least_mean_cycle(steps)

    def step_from_nothing(self, first):
        """States in which launch 0 may begin when nothing is resident before."""
        seen, queue = set(), deque([first])
        while queue:
            state = queue.popleft()
            if state in seen:
                continue
            seen.add(state)
            if state.left:
                yield state
                continue
            queue.extend(self.moves(state))
            queue.append(self.tick(state))


def least_mean_cycle(edges):
    """Karp 1978, from a source with an edge of no length to every node."""
    nodes = list(edges)
    infinite = float("inf")
    lengths = [dict.fromkeys(nodes, 0)]
    for _ in nodes:
        following = defaultdict(lambda: infinite)
        for a in nodes:
            for b, ticks in edges[a].items():
                following[b] = min(following[b], lengths[-1].get(a, infinite) + ticks)
        lengths.append(following)
    best, n = infinite, len(nodes)
    for a in nodes:
        last = lengths[n].get(a, infinite)
        if last < infinite:
            best = min(best, max((last - lengths[k].get(a, infinite)) / (n - k) for k in range(n)
                                 if lengths[k].get(a, infinite) < infinite))
    return best
