"""What the training programs of this folder share: a seed, steps timed on the device, the weights' hash at the end."""
import hashlib
import os

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":16:8")  # without it cuBLAS may give other bits each time

import torch


def begin(seed=1):
    torch.manual_seed(seed)
    torch.use_deterministic_algorithms(True)
    torch.utils.deterministic.fill_uninitialized_memory = False  # nobody trains that way
    torch.backends.cudnn.enabled = False


class Timer:
    """How long a step takes on the device. `before`: the timer of the step before, or None."""

    def __init__(self, before=None):
        self.before = before

    def begin(self):
        self.start, self.stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        self.start.record()

    def end(self):
        self.stop.record()

    def tell(self, number, loss):
        self.stop.synchronize()
        print(f"step {number} loss {loss:.6f} {loss.hex()} device_ms {self.start.elapsed_time(self.stop):.6f}", flush=True)
        if self.before:
            print(f"from_end_to_end {number} device_ms {self.before.stop.elapsed_time(self.stop):.6f}", flush=True)
            self.before = None


def train(steps, take_step):
    """Calls take_step(number) for each step, which returns the loss, and prints that and how long the step took on the device."""
    timer = None
    for number in range(steps):
        timer = Timer(timer)
        timer.begin()
        loss = take_step(number)
        timer.end()
        timer.tell(number, loss.item())


def hash_values(values):
    hashed = hashlib.sha256()
    for value in values:
        hashed.update(value.detach().cpu().numpy().tobytes())
    return hashed.hexdigest()


def report(model):
    report_values(model.state_dict().values())


def report_values(values):
    print(f"peak_bytes {torch.cuda.max_memory_allocated()} reserved {torch.cuda.max_memory_reserved()}")
    print(f"weights_hash {hash_values(values)}")
