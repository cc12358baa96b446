"""Trains a small vision transformer on pictures made by chance, with AdamW and a rate that falls. The number of pictures is not a
multiple of the batch, so that the last batch of each round is smaller.

Usage: vision_transformer.py [--steps N] [--layers N] [--width N] [--heads N] [--batch N] [--pictures N] [--size N] [--patch N]
"""
import argparse

import common
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

KINDS = 10


class Model(nn.Module):
    def __init__(self, options):
        super().__init__()
        self.patches = nn.Conv2d(3, options.width, options.patch, options.patch)
        self.first = nn.Parameter(torch.zeros(1, 1, options.width))
        self.places = nn.Parameter(0.02 * torch.randn(1, (options.size // options.patch) ** 2 + 1, options.width))
        layer = nn.TransformerEncoderLayer(options.width, options.heads, 4 * options.width, 0.0, "gelu", batch_first=True,
                                           norm_first=True)
        self.layers = nn.TransformerEncoder(layer, options.layers, nn.LayerNorm(options.width), enable_nested_tensor=False)
        self.head = nn.Linear(options.width, KINDS)

    def forward(self, pictures):
        patches = self.patches(pictures).flatten(2).transpose(1, 2)
        x = torch.cat([self.first.expand(len(patches), -1, -1), patches], 1) + self.places
        return self.head(self.layers(x)[:, 0])


def make_batches(options):
    """Rounds through the same pictures for ever, in another order each time."""
    generator = torch.Generator().manual_seed(2)
    pictures = torch.randn(options.pictures, 3, options.size, options.size, generator=generator)
    kinds = torch.randint(KINDS, (options.pictures,), generator=generator)
    loader = DataLoader(TensorDataset(pictures, kinds), options.batch, shuffle=True, generator=generator)
    while True:
        for batch in loader:
            yield [part.to("cuda") for part in batch]


def main():
    parser = argparse.ArgumentParser()
    for name, value in {"steps": 24, "layers": 4, "width": 256, "heads": 4, "batch": 8, "pictures": 35, "size": 32,
                        "patch": 4}.items():
        parser.add_argument("--" + name, type=int, default=value)
    options = parser.parse_args()
    common.begin()
    model = Model(options).to("cuda")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    rate = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, options.steps)
    batches = make_batches(options)

    def take_step(_):
        pictures, kinds = next(batches)
        optimizer.zero_grad(set_to_none=True)
        loss = nn.functional.cross_entropy(model(pictures), kinds, label_smoothing=0.1)
        loss.backward()
        optimizer.step()
        rate.step()
        return loss

    common.train(options.steps, take_step)
    common.report(model)


if __name__ == "__main__":
    main()
