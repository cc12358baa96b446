"""Trains a small GPT by torch.compile: forward, backward and optimizer are Triton kernels and cuBLAS.

What PyPI's PyTorch would do by kernels of its own, which are machine code, is done on the CPU or left to the compiler.

Usage: compiled.py [--steps N] [--layers N] [--width N] [--context N] [--batch N]
"""
import argparse
import types

import common
import torch
from gpt import Model
from torch import nn

VOCABULARY = 256


def make_batch(options, number):
    text = torch.randint(VOCABULARY, (options.batch, options.context + 1), generator=torch.Generator().manual_seed(number))
    return text[:, :-1].contiguous().to("cuda"), text[:, 1:].contiguous().to("cuda")


def main():
    parser = argparse.ArgumentParser()
    for name, value in {"steps": 12, "layers": 3, "width": 256, "context": 64, "batch": 8}.items():
        parser.add_argument("--" + name, type=int, default=value)
    options = parser.parse_args()
    torch.manual_seed(1)
    torch._inductor.config.joint_graph_constant_folding = False  # it computes on the device
    model = Model(types.SimpleNamespace(checkpoint=False, vocabulary=VOCABULARY, width=options.width, context=options.context,
                                        heads=options.width // 64, dropout=0.0, layers=options.layers)).to("cuda")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    gradient = torch.ones(()).to("cuda")

    @torch.compile
    def find_loss(text, following):
        return nn.functional.cross_entropy(model(text).flatten(0, 1), following.flatten())

    update = torch.compile(optimizer.step)

    def take_step(number):
        optimizer.zero_grad(set_to_none=True)
        loss = find_loss(*make_batch(options, number))
        loss.backward(gradient)
        update()
        return loss.detach()

    common.train(options.steps, take_step)
    common.report(model)


if __name__ == "__main__":
    main()
