"""TensorBoard: what sluice did in each step, as scalars beside the program's own.

    writer = torch.utils.tensorboard.SummaryWriter()
    log = sluice.tensorboard.Log(writer)
    for step, batch in enumerate(batches):
        ...
        writer.add_scalar("loss", loss, step)
        log(step)
"""
from . import PerStep


class Log:
    """`writer`: anything with add_scalar(name, value, step), such as torch's and tensorboardX's SummaryWriter. Call it with the number
    of the step, after each step or after several."""

    def __init__(self, writer):
        self.writer, self.per_step, self.last = writer, PerStep(), None

    def __call__(self, step):
        steps = 1 if self.last is None else step - self.last
        self.last = step
        for name, value in self.per_step(steps).items():
            self.writer.add_scalar(name, value, step)
