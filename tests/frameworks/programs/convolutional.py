"""Trains a small residual network of convolutions on pictures made by chance, with SGD.

Usage: convolutional.py [--steps N] [--batch N] [--width N] [--size N]
"""
import argparse

import common
import torch
from torch import nn


class Residual(nn.Module):
    def __init__(self, come, leave, stride):
        super().__init__()
        self.first = nn.Conv2d(come, leave, 3, stride, padding=1, bias=False)
        self.second = nn.Conv2d(leave, leave, 3, padding=1, bias=False)
        self.norms = nn.ModuleList(nn.BatchNorm2d(leave) for _ in range(2))
        self.shortcut = nn.Conv2d(come, leave, 1, stride, bias=False)

    def forward(self, x):
        y = torch.relu(self.norms[0](self.first(x)))
        return torch.relu(self.norms[1](self.second(y)) + self.shortcut(x))


def make_model(width):
    return nn.Sequential(nn.Conv2d(3, width, 3, padding=1), Residual(width, 2 * width, 2), Residual(2 * width, 4 * width, 2),
                         Residual(4 * width, 8 * width, 2), nn.Flatten(2), nn.AvgPool1d(4), nn.Flatten(1),
                         nn.Linear(8 * width, 10))


def main():
    parser = argparse.ArgumentParser()
    for name, value in {"steps": 16, "batch": 8, "width": 48, "size": 16}.items():
        parser.add_argument("--" + name, type=int, default=value)
    options = parser.parse_args()
    common.begin()
    model = make_model(options.width).to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2, momentum=0.9, weight_decay=1e-4)
    generator = torch.Generator().manual_seed(2)

    def take_step(_):
        pictures = torch.randn(options.batch, 3, options.size, options.size, generator=generator).to("cuda")
        kinds = torch.randint(10, (options.batch,), generator=generator).to("cuda")
        optimizer.zero_grad(set_to_none=True)
        loss = nn.functional.cross_entropy(model(pictures), kinds)
        loss.backward()
        optimizer.step()
        return loss

    common.train(options.steps, take_step)
    common.report(model)


if __name__ == "__main__":
    main()
