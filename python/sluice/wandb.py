"""Weights & Biases: what sluice did in each step, beside the program's own values.

    run = wandb.init(...)
    log = sluice.wandb.Log(run)
    for batch in batches:
        ...
        log()
        run.log({"loss": loss})
"""
from . import PerStep


class Log:
    """Call it before the `run.log` that ends the step: its values get the same step. `run`: None means wandb.run, the latest.
    `step`: as run.log takes it, for programs that count steps themselves; `steps`: how many there were since the last call."""

    def __init__(self, run=None):
        self.run, self.per_step = run, PerStep()

    def __call__(self, step=None, steps=1):
        run = self.run
        if run is None:
            import wandb
            run = wandb.run
        values = self.per_step(steps)
        if values:
            run.log(values, step=step, commit=False)
