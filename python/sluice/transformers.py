"""Hugging Face's Trainer: what sluice did in each step, beside the loss.

    trainer = transformers.Trainer(...)
    sluice.transformers.add_to(trainer)
    trainer.train()
"""
from transformers import TrainerCallback

from . import PerStep, range_pop, range_push


class SluiceCallback(TrainerCallback):
    """Adds the values of sluice.PerStep to what the Trainer logs with the loss, and names each step in sluice's trace.

    Callbacks behind this one get the values. The Trainer puts those of `report_to` (TensorBoard, W&B, ...) before those of
    `callbacks=`, so use add_to. Of several ranks, the Trainer reports the first one's."""

    def on_train_begin(self, args, state, control, **kwargs):
        self.per_step, self.logged = PerStep(), state.global_step

    def on_step_begin(self, args, state, control, **kwargs):
        range_push("step")

    def on_step_end(self, args, state, control, **kwargs):
        range_pop()

    def on_log(self, args, state, control, logs=None, **kwargs):
        if "loss" not in (logs or {}):
            return
        values = self.per_step(state.global_step - self.logged)
        self.logged = state.global_step
        logs.update(values)
        if state.log_history and "loss" in state.log_history[-1]:  # already has a copy of the logs
            state.log_history[-1].update(values)


def add_to(trainer):
    """Gives the Trainer a SluiceCallback in front of its other callbacks, and returns it."""
    callback = SluiceCallback()
    trainer.callback_handler.callbacks.insert(0, callback)
    return callback
