"""What a program asks of the sluice that it runs under, and what it tells it.

    import sluice

    sluice.active()                  # does this process run under sluice?
    sluice.stats()                   # what was moved, and how long launches waited for it
    with sluice.range("forward"):    # names that the trace shows
        ...

Where sluice is not preloaded, everything here does nothing: active() is False and stats() None. No other package is needed;
sluice.transformers, sluice.lightning, sluice.tensorboard and sluice.wandb are for users of these. `python -m sluice` is the
command.
"""
from ._library import Stats, active, mark, range, range_pop, range_push, save_profile, stats
from ._steps import PerStep

__all__ = ["PerStep", "Stats", "active", "mark", "range", "range_pop", "range_push", "save_profile", "stats"]
