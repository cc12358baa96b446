"""Trains two small networks against each other (DCGAN), with an Adam each. Every few steps the gradient of the discriminator by
the true pictures is penalized, which goes through its backward pass a second time.

Usage: adversarial.py [--steps N] [--batch N] [--width N] [--noise N] [--penalty-every N]
"""
import argparse

import common
import torch
from torch import nn

SIZE = 16


def make_generator(noise, width):
    return nn.Sequential(
        nn.ConvTranspose2d(noise, 4 * width, 4, bias=False), nn.BatchNorm2d(4 * width), nn.ReLU(),
        nn.ConvTranspose2d(4 * width, 2 * width, 4, 2, 1, bias=False), nn.BatchNorm2d(2 * width), nn.ReLU(),
        nn.ConvTranspose2d(2 * width, 3, 4, 2, 1), nn.Tanh())


def make_discriminator(width):
    return nn.Sequential(
        nn.Conv2d(3, width, 4, 2, 1), nn.LeakyReLU(0.2),
        nn.Conv2d(width, 2 * width, 4, 2, 1, bias=False), nn.BatchNorm2d(2 * width), nn.LeakyReLU(0.2),
        nn.Conv2d(2 * width, 4 * width, 3, 1, 1, bias=False), nn.BatchNorm2d(4 * width), nn.LeakyReLU(0.2),
        nn.Conv2d(4 * width, 1, 4), nn.Flatten(0))


def main():
    parser = argparse.ArgumentParser()
    for name, value in {"steps": 24, "batch": 8, "width": 96, "noise": 64, "penalty-every": 4}.items():
        parser.add_argument("--" + name, type=int, default=value)
    options = parser.parse_args()
    common.begin()
    maker, judge = make_generator(options.noise, options.width).to("cuda"), make_discriminator(options.width).to("cuda")
    optimizers = [torch.optim.Adam(model.parameters(), lr=2e-4, betas=(0.5, 0.999)) for model in (maker, judge)]
    chance = torch.Generator().manual_seed(2)

    def judge_as(value, pictures):
        verdicts = judge(pictures)
        return nn.functional.binary_cross_entropy_with_logits(verdicts, torch.full_like(verdicts, value))

    def penalty(pictures):
        pictures.requires_grad_()
        gradient, = torch.autograd.grad(judge(pictures).sum(), pictures, create_graph=True)
        return gradient.square().sum((1, 2, 3)).mean()

    def take_step(number):
        true = torch.randn(options.batch, 3, SIZE, SIZE, generator=chance).tanh().to("cuda")
        false = maker(torch.randn(options.batch, options.noise, 1, 1, generator=chance).to("cuda"))
        optimizers[1].zero_grad(set_to_none=True)
        loss = judge_as(1.0, true) + judge_as(0.0, false.detach())
        if number % options.penalty_every == 0:
            loss = loss + penalty(true)
        loss.backward()
        optimizers[1].step()
        optimizers[0].zero_grad(set_to_none=True)
        judge_as(1.0, false).backward()
        optimizers[0].step()
        return loss

    common.train(options.steps, take_step)
    common.report(nn.ModuleList([maker, judge]))


if __name__ == "__main__":
    main()
