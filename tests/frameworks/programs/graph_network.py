"""Trains a small graph network on random subgraphs of one graph, whose nodes and edges are fewer or more at each step, with Lion.

Usage: graph_network.py [--steps N] [--layers N] [--width N] [--nodes N] [--degree N] [--least N] [--most N]

  --nodes, --degree  of the whole graph, on the host
  --least, --most    nodes of a step's subgraph
"""
import argparse

import common
import torch
from torch import nn

KINDS = 16


class Lion(torch.optim.Optimizer):
    """Takes the sign of a mean of gradients for the direction; of each weight one more value is kept."""

    def __init__(self, weights, lr=1e-4, betas=(0.9, 0.99), decay=1e-2):
        super().__init__(weights, {"lr": lr, "betas": betas, "decay": decay})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            (now, later), rate = group["betas"], group["lr"]
            for weight in group["params"]:
                mean = self.state[weight].setdefault("mean", torch.zeros_like(weight))
                direction = mean.lerp(weight.grad, 1 - now).sign_()
                weight.mul_(1 - rate * group["decay"]).add_(direction, alpha=-rate)
                mean.lerp_(weight.grad, 1 - later)


class Passing(nn.Module):
    """Each edge makes a message of its two nodes; each node adds up those that it gets."""

    def __init__(self, width):
        super().__init__()
        self.message = nn.Sequential(nn.Linear(2 * width, width), nn.ReLU(), nn.Linear(width, width))
        self.update = nn.Sequential(nn.Linear(2 * width, width), nn.ReLU(), nn.Linear(width, width))
        self.norm = nn.LayerNorm(width)

    def forward(self, nodes, senders, receivers):
        messages = self.message(torch.cat([nodes[senders], nodes[receivers]], 1))
        gathered = torch.zeros_like(nodes).index_add(0, receivers, messages)
        return self.norm(nodes + self.update(torch.cat([nodes, gathered], 1)))


class Model(nn.Module):
    def __init__(self, options):
        super().__init__()
        self.come = nn.Linear(KINDS, options.width)
        self.layers = nn.ModuleList(Passing(options.width) for _ in range(options.layers))
        self.leave = nn.Linear(options.width, KINDS)

    def forward(self, features, senders, receivers):
        nodes = self.come(features)
        for layer in self.layers:
            nodes = layer(nodes, senders, receivers)
        return self.leave(nodes)


class Graph:
    """Random edges. A subgraph is some of the nodes, with the edges between them."""

    def __init__(self, options, generator):
        self.options, self.generator = options, generator
        self.features = torch.randn(options.nodes, KINDS, generator=generator)
        self.kinds = torch.randint(KINDS, (options.nodes,), generator=generator)
        self.edges = torch.randint(options.nodes, (2, options.nodes * options.degree), generator=generator)

    def sample(self):
        count = int(torch.randint(self.options.least, self.options.most + 1, (1,), generator=self.generator))
        chosen = torch.randperm(self.options.nodes, generator=self.generator)[:count]
        place = torch.full((self.options.nodes,), -1)
        place[chosen] = torch.arange(count)
        ends = place[self.edges]
        senders, receivers = ends[:, (ends >= 0).all(0)]
        return [part.to("cuda") for part in (self.features[chosen], senders, receivers, self.kinds[chosen])]


def main():
    parser = argparse.ArgumentParser()
    for name, value in {"steps": 24, "layers": 4, "width": 256, "nodes": 1000, "degree": 12, "least": 150, "most": 400}.items():
        parser.add_argument("--" + name, type=int, default=value)
    options = parser.parse_args()
    common.begin()
    model = Model(options).to("cuda")
    optimizer = Lion(model.parameters())
    graph = Graph(options, torch.Generator().manual_seed(2))

    def take_step(_):
        *subgraph, kinds = graph.sample()
        optimizer.zero_grad(set_to_none=True)
        loss = nn.functional.cross_entropy(model(*subgraph), kinds)
        loss.backward()
        optimizer.step()
        return loss

    common.train(options.steps, take_step)
    common.report(model)


if __name__ == "__main__":
    main()
