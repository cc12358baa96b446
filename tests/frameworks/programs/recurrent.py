"""Trains a small LSTM on sequences of random tokens, with Adam and a limit on the gradients' norm.

Usage: recurrent.py [--steps N] [--batch N] [--width N] [--layers N] [--context N] [--vocabulary N]
"""
import argparse

import common
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, options):
        super().__init__()
        self.tokens = nn.Embedding(options.vocabulary, options.width)
        self.cells = nn.LSTM(options.width, options.width, options.layers, batch_first=True)
        self.head = nn.Linear(options.width, options.vocabulary)

    def forward(self, tokens):
        return self.head(self.cells(self.tokens(tokens))[0])


def main():
    parser = argparse.ArgumentParser()
    for name, value in {"steps": 16, "batch": 8, "width": 384, "layers": 2, "context": 16, "vocabulary": 512}.items():
        parser.add_argument("--" + name, type=int, default=value)
    options = parser.parse_args()
    common.begin()
    model = Model(options).to("cuda")
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    generator = torch.Generator().manual_seed(2)

    def take_step(_):
        shape = (options.batch, options.context + 1)
        text = torch.randint(options.vocabulary, shape, generator=generator).to("cuda")
        optimizer.zero_grad(set_to_none=True)
        loss = nn.functional.cross_entropy(model(text[:, :-1]).flatten(0, 1), text[:, 1:].flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss

    common.train(options.steps, take_step)
    common.report(model)


if __name__ == "__main__":
    main()
