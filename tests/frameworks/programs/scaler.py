"""Trains the GPT of gpt.py in float16 with a gradient scaler that skips updates, and a mean of the weights. Activations are
recomputed. In the midst of it a checkpoint is written, and some steps later training goes back to it.

Usage: scaler.py [--save-at N] [--resume-at N] and the options of gpt.py

  --save-at    a checkpoint is written before this step
  --resume-at  it is read again before this one
"""
import pathlib
import tempfile

import common
import gpt
import torch
from torch import nn
from torch.optim import swa_utils

# So large a scale overflows float16 at first, and again whenever it has grown.
SCALE, STEPS_UNTIL_GROWTH = 2.0**22, 4


def add_more(parser):
    parser.add_argument("--save-at", type=int, default=10)
    parser.add_argument("--resume-at", type=int, default=16)


def main():
    options = gpt.read_options(add_more)
    options.checkpoint = True
    common.begin()
    model = gpt.Model(options).to("cuda")
    mean = swa_utils.AveragedModel(model, multi_avg_fn=swa_utils.get_ema_multi_avg_fn(0.9))
    optimizer = gpt.make_optimizer(options.optimizer, model)
    scaler = torch.amp.GradScaler("cuda", init_scale=SCALE, growth_interval=STEPS_UNTIL_GROWTH)
    batches = gpt.make_batches(options)
    kept = {"model": model, "mean": mean, "optimizer": optimizer, "scaler": scaler}

    def find_loss(text):
        with torch.autocast("cuda", dtype=torch.float16):
            return nn.functional.cross_entropy(model(text[:, :-1]).flatten(0, 1), text[:, 1:].flatten())

    def take_step(number):
        if number == options.save_at:
            torch.save({name: part.state_dict() for name, part in kept.items()}, checkpoint)
        if number == options.resume_at and checkpoint.exists():
            for name, state in torch.load(checkpoint, map_location="cuda").items():
                kept[name].load_state_dict(state)
        optimizer.zero_grad(set_to_none=True)
        loss = find_loss(next(batches))
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        before = scaler.get_scale()
        scaler.update()
        if scaler.get_scale() < before:
            print(f"step {number} was skipped, the scale is {scaler.get_scale():g}")
        else:
            mean.update_parameters(model)
        return loss

    with tempfile.TemporaryDirectory() as folder:
        checkpoint = pathlib.Path(folder) / "checkpoint.pt"
        common.train(options.steps, take_step)
    common.report(mean)


if __name__ == "__main__":
    main()
