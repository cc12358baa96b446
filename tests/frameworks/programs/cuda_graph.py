"""Trains a perceptron whose whole step is a CUDA graph that PyTorch captured, as its documentation shows.

Usage: cuda_graph.py [--steps N] [--batch N] [--width N] [--layers N]
"""
import argparse

import common
import torch
from torch import nn

WARM_UP = 3


def main():
    parser = argparse.ArgumentParser()
    for name, value in {"steps": 16, "batch": 32, "width": 512, "layers": 6}.items():
        parser.add_argument("--" + name, type=int, default=value)
    options = parser.parse_args()
    common.begin()
    parts = [part for _ in range(options.layers) for part in (nn.Linear(options.width, options.width), nn.GELU())]
    model = nn.Sequential(*parts, nn.Linear(options.width, 1)).to("cuda")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, capturable=True)
    generator = torch.Generator().manual_seed(2)
    given = torch.randn(options.batch, options.width, device="cuda")
    wanted = torch.randn(options.batch, 1, device="cuda")

    def train_once():
        loss = nn.functional.mse_loss(model(given), wanted)
        loss.backward()
        optimizer.step()
        return loss

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(WARM_UP):
            optimizer.zero_grad(set_to_none=True)
            train_once()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    optimizer.zero_grad(set_to_none=True)
    with torch.cuda.graph(graph):
        loss = train_once()

    def take_step(_):
        given.copy_(torch.randn(given.shape, generator=generator))
        wanted.copy_(torch.randn(wanted.shape, generator=generator))
        graph.replay()
        return loss

    common.train(options.steps, take_step)
    common.report(model)


if __name__ == "__main__":
    main()
