"""Trains the residual network of convolutional.py in rounds through the same pictures: the last batch of a round is smaller, and an
evaluation follows it, with all that is held out in one batch.

Usage: residual.py [--steps N] [--batch N] [--width N] [--size N] [--pictures N] [--held-out N]
"""
import argparse

import common
import convolutional
import torch
from torch import nn

KINDS = 10


def make_pictures(count, size, generator):
    return torch.randn(count, 3, size, size, generator=generator), torch.randint(KINDS, (count,), generator=generator)


def main():
    parser = argparse.ArgumentParser()
    for name, value in {"steps": 24, "batch": 8, "width": 48, "size": 16, "pictures": 35, "held-out": 12}.items():
        parser.add_argument("--" + name, type=int, default=value)
    options = parser.parse_args()
    common.begin()
    model = convolutional.make_model(options.width).to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2, momentum=0.9, nesterov=True, weight_decay=1e-4)
    generator = torch.Generator().manual_seed(2)
    pictures, kinds = make_pictures(options.pictures, options.size, generator)
    held_out = make_pictures(options.held_out, options.size, generator)
    steps_of_round = -(-options.pictures // options.batch)
    order = None

    def find_loss(pictures, kinds):
        return nn.functional.cross_entropy(model(pictures.to("cuda")), kinds.to("cuda"))

    def take_step(number):
        nonlocal order
        within = number % steps_of_round
        if within == 0:
            order = torch.randperm(options.pictures, generator=generator).split(options.batch)
        optimizer.zero_grad(set_to_none=True)
        loss = find_loss(pictures[order[within]], kinds[order[within]])
        loss.backward()
        optimizer.step()
        if within == steps_of_round - 1:
            model.eval()
            with torch.no_grad():
                print(f"evaluation {number} loss {find_loss(*held_out).item().hex()}")
            model.train()
        return loss

    common.train(options.steps, take_step)
    common.report(model)


if __name__ == "__main__":
    main()
