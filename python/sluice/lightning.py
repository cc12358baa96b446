"""Lightning: what sluice did in each step goes to the Trainer's loggers, beside the loss.

    lightning.Trainer(callbacks=[sluice.lightning.SluiceCallback()], ...)
"""
import sys

from . import PerStep, range_pop, range_push

if "pytorch_lightning" in sys.modules and "lightning" not in sys.modules:
    from pytorch_lightning import Callback
else:
    from lightning.pytorch import Callback


class SluiceCallback(Callback):
    """Logs the values of sluice.PerStep in the steps in which Lightning logs (`log_every_n_steps`), and names each batch in
    sluice's trace. The values go to the loggers directly: by `log` they would become tensors on the device."""

    @staticmethod
    def steps_before(trainer):
        """The number that Lightning logs the present step with."""
        return trainer.fit_loop.epoch_loop._batches_that_stepped

    def on_train_start(self, trainer, pl_module):
        self.per_step, self.logged = PerStep(), self.steps_before(trainer)

    def on_train_batch_start(self, trainer, pl_module, batch, batch_idx):
        range_push("step")

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        range_pop()
        steps = self.steps_before(trainer) + 1
        if not trainer.loggers or steps % trainer.log_every_n_steps or steps == self.logged:
            return
        values = self.per_step(steps - self.logged)
        self.logged = steps
        for logger in trainer.loggers if values else []:
            logger.log_metrics(values, step=steps - 1)
