"""What sluice did in each training step, as values for a logger."""
from ._library import Stats, stats

COUNTED = ("stalls", "stall_seconds", "bytes_in", "bytes_in_demand", "bytes_out", "remote_bytes", "demand_misses", "mispredictions")
NOW = ("budget_bytes", "need_bytes")
NOTHING = Stats(*[0] * len(Stats._fields))


class PerStep:
    """Call it after a step, or after several: it returns what sluice did in each of them on the average since the last call, on all
    devices of the process together, and how much memory there is now:

        {"sluice/stalls": 3.0, "sluice/bytes_in": 1048576.0, ..., "sluice/budget_bytes": 8589934592}

    Empty where sluice manages nothing."""

    def __init__(self):
        self.before = self.look()

    @staticmethod
    def look():
        found = []
        while device := stats(len(found)):
            found.append(device)
        return found

    def __call__(self, steps=1):
        now, before = self.look(), self.before
        self.before = now
        if not now:
            return {}
        pairs = [*zip(now, before + [NOTHING] * len(now))]
        values = {name: sum(getattr(found, name) - getattr(old, name) for found, old in pairs) / max(steps, 1) for name in COUNTED}
        values.update({name: sum(getattr(found, name) for found in now) for name in NOW})
        return {f"sluice/{name}": value for name, value in values.items()}
