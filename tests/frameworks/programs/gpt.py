"""Trains a small GPT, eager, as people do.

Usage: gpt.py [--steps N] [--batch N] [--layers N] [--width N] [--heads N] [--context N] [--vocabulary N] [--dropout P]
              [--optimizer adamw|adamw-fused|sgd] [--accumulate N] [--evaluate-every N] [--autocast] [--checkpoint]
              [--workers N]
"""
import argparse
import contextlib

import common
import torch
import torch.utils.checkpoint
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Block(nn.Module):
    def __init__(self, width, heads, dropout):
        super().__init__()
        self.heads = heads
        self.norm_in, self.norm_out = nn.LayerNorm(width), nn.LayerNorm(width)
        self.mixed, self.projected = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wider, self.narrower = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.dropout = nn.Dropout(dropout)

    def attend(self, x):
        batch, context, width = x.shape
        q, k, v = (part.reshape(batch, context, self.heads, -1).transpose(1, 2)
                   for part in self.mixed(x).split(width, dim=2))
        scores = q @ k.transpose(2, 3) * (width // self.heads) ** -0.5
        later = torch.ones(context, context, dtype=torch.bool, device=x.device).triu(1)
        mixed = scores.masked_fill(later, float("-inf")).softmax(3) @ v
        return self.projected(mixed.transpose(1, 2).reshape(batch, context, width))

    def forward(self, x):
        x = x + self.dropout(self.attend(self.norm_in(x)))
        return x + self.dropout(self.narrower(nn.functional.gelu(self.wider(self.norm_out(x)))))


class Model(nn.Module):
    def __init__(self, options):
        super().__init__()
        self.checkpoint = options.checkpoint
        self.tokens = nn.Embedding(options.vocabulary, options.width)
        self.places = nn.Embedding(options.context, options.width)
        self.blocks = nn.ModuleList(Block(options.width, options.heads, options.dropout) for _ in range(options.layers))
        self.norm = nn.LayerNorm(options.width)
        self.head = nn.Linear(options.width, options.vocabulary, bias=False)

    def forward(self, tokens):
        x = self.tokens(tokens) + self.places(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.blocks:
            if self.checkpoint and self.training:
                x = torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False)
            else:
                x = block(x)
        return self.head(self.norm(x))


class Text(Dataset):
    """Texts of random tokens, each always the same."""

    def __init__(self, options):
        self.vocabulary, self.length = options.vocabulary, options.context + 1

    def __len__(self):
        return 1 << 12

    def __getitem__(self, number):
        generator = torch.Generator().manual_seed(number)
        return torch.randint(self.vocabulary, (self.length,), generator=generator)


def make_batches(options, seed=2):
    """Batches for ever, on the device."""
    loader = DataLoader(Text(options), options.batch, shuffle=True, num_workers=options.workers,
                        pin_memory=options.workers > 0, generator=torch.Generator().manual_seed(seed))
    while True:
        for text in loader:
            yield text.to("cuda", non_blocking=options.workers > 0)


def make_optimizer(name, model):
    if name == "sgd":
        return torch.optim.SGD(model.parameters(), lr=1e-2, momentum=0.9)
    return torch.optim.AdamW(model.parameters(), lr=1e-3, **{"fused" if name == "adamw-fused" else "foreach": True})


def read_options(add_more=lambda parser: None):
    parser = argparse.ArgumentParser()
    add_more(parser)
    for name, value in {"layers": 4, "width": 256, "heads": 4, "context": 64, "batch": 8, "vocabulary": 256, "steps": 16,
                        "accumulate": 1, "evaluate-every": 0, "workers": 0}.items():
        parser.add_argument("--" + name, type=int, default=value)
    parser.add_argument("--dropout", type=float, default=0)
    parser.add_argument("--optimizer", choices=["adamw", "adamw-fused", "sgd"], default="adamw")
    parser.add_argument("--autocast", action="store_true")
    parser.add_argument("--checkpoint", action="store_true")
    return parser.parse_args()


def main():
    options = read_options()
    common.begin()
    model = Model(options).to("cuda")
    optimizer = make_optimizer(options.optimizer, model)
    batches = make_batches(options)
    precision = torch.autocast("cuda", dtype=torch.bfloat16) if options.autocast else contextlib.nullcontext()
    held_out = next(batches)

    def find_loss(text):
        with precision:
            return nn.functional.cross_entropy(model(text[:, :-1]).flatten(0, 1), text[:, 1:].flatten())

    def take_step(number):
        if options.evaluate_every and number % options.evaluate_every == 0:
            model.eval()
            with torch.no_grad():
                print(f"evaluation {number} loss {find_loss(held_out).item().hex()}")
            model.train()
        optimizer.zero_grad(set_to_none=True)
        for _ in range(options.accumulate):
            loss = find_loss(next(batches)) / options.accumulate
            loss.backward()
        optimizer.step()
        return loss

    common.train(options.steps, take_step)
    common.report(model)


if __name__ == "__main__":
    main()
