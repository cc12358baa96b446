"""Trains a small GPT with PyTorch, as people do: eager, AdamW. Knows nothing of sluice.

Usage: train_torch.py [--layers N] [--width N] [--heads N] [--context N] [--batch N] [--vocabulary N] [--steps N]
                      [--device NAME]

Prints like workloads/gpt: `step I loss DECIMAL HEX time_ms DECIMAL` for each step, then peak_bytes (as far as the allocator counts)
and weights_hash, of every byte of every weight.
"""
import argparse
import hashlib
import os
import time

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # without it cuBLAS may give other bits each time

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm_in, self.norm_out = nn.LayerNorm(width), nn.LayerNorm(width)
        self.mixed, self.projected = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wider, self.narrower = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def attend(self, x):
        batch, context, width = x.shape
        q, k, v = (part.reshape(batch, context, self.heads, -1).transpose(1, 2)
                   for part in self.mixed(x).split(width, dim=2))
        scores = q @ k.transpose(2, 3) * (width // self.heads) ** -0.5
        later = torch.ones(context, context, dtype=torch.bool, device=x.device).triu(1)
        mixed = scores.masked_fill(later, float("-inf")).softmax(3) @ v
        return self.projected(mixed.transpose(1, 2).reshape(batch, context, width))

    def forward(self, x):
        x = x + self.attend(self.norm_in(x))
        return x + self.narrower(nn.functional.gelu(self.wider(self.norm_out(x))))


class Model(nn.Module):
    def __init__(self, options):
        super().__init__()
        self.tokens = nn.Embedding(options.vocabulary, options.width)
        self.places = nn.Embedding(options.context, options.width)
        self.blocks = nn.ModuleList(Block(options.width, options.heads) for _ in range(options.layers))
        self.norm = nn.LayerNorm(options.width)
        self.head = nn.Linear(options.width, options.vocabulary, bias=False)

    def forward(self, tokens):
        x = self.tokens(tokens) + self.places(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def read_options():
    parser = argparse.ArgumentParser()
    for name, value in {"layers": 4, "width": 256, "heads": 4, "context": 64, "batch": 4, "vocabulary": 256,
                        "steps": 20}.items():
        parser.add_argument("--" + name, type=int, default=value)
    parser.add_argument("--device", default="cuda")
    return parser.parse_args()


def hash_weights(model):
    hashed = hashlib.sha256()
    for weight in model.parameters():
        hashed.update(weight.detach().cpu().numpy().tobytes())
    return hashed.hexdigest()


def main():
    options = read_options()
    torch.manual_seed(1)
    torch.use_deterministic_algorithms(True)
    torch.utils.deterministic.fill_uninitialized_memory = False  # nobody trains that way
    model = Model(options).to(options.device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=True)
    generator = torch.Generator().manual_seed(2)
    for step in range(options.steps):
        start = time.monotonic()
        text = torch.randint(options.vocabulary, (options.batch, options.context + 1), generator=generator)
        text = text.to(options.device)
        loss = nn.functional.cross_entropy(model(text[:, :-1]).flatten(0, 1), text[:, 1:].flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        value = loss.item()
        print(f"step {step} loss {value:.6f} {value.hex()} time_ms {1e3 * (time.monotonic() - start):.3f}", flush=True)
    if options.device != "cpu":
        print(f"peak_bytes {torch.cuda.max_memory_allocated()}")
    print(f"weights_hash {hash_weights(model)}")


if __name__ == "__main__":
    main()
