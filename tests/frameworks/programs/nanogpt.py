"""Runs karpathy/nanoGPT's train.py, as it is, on random text; times its steps by a hook of PyTorch's optimizers.

Usage: NANOGPT=FOLDER nanogpt.py [ARGUMENT of train.py]... --steps N
"""
import os
import pathlib
import pickle
import runpy
import sys
import tempfile

import common
import numpy
import torch
from torch.optim.optimizer import register_optimizer_step_post_hook

TOKENS, VOCABULARY = 1 << 14, 256


def arrange(source, folder):
    """What train.py expects of its working folder."""
    for path in source.glob("*.py"):
        (folder / path.name).symlink_to(path)
    data = folder / "data/random"
    data.mkdir(parents=True)
    for number, name in enumerate(("train.bin", "val.bin")):
        numpy.random.default_rng(number).integers(VOCABULARY, size=TOKENS, dtype=numpy.uint16).tofile(data / name)
    (data / "meta.pkl").write_bytes(pickle.dumps({"vocab_size": VOCABULARY}))


def main():
    source, (*arguments, _, steps) = pathlib.Path(os.environ["NANOGPT"]).resolve(), sys.argv[1:]
    torch.backends.cudnn.enabled = False
    marks = []

    def mark(*_):
        marks.append(torch.cuda.Event(enable_timing=True))
        marks[-1].record()

    register_optimizer_step_post_hook(mark)
    with tempfile.TemporaryDirectory() as folder:
        arrange(source, pathlib.Path(folder))
        os.chdir(folder)
        sys.path.insert(0, folder)
        # Of itself it takes one step more than max_iters.
        sys.argv = ["train.py", "--dataset=random", "--compile=False", f"--max_iters={int(steps) - 1}", *arguments]
        left = runpy.run_path("train.py", run_name="__main__")
        os.chdir("/")
    for number, (start, end) in enumerate(zip(marks, marks[1:])):
        print(f"step {number + 1} device_ms {start.elapsed_time(end):.6f}")
    common.report(left["raw_model"])


if __name__ == "__main__":
    main()
