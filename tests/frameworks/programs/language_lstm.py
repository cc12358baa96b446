"""Trains a language model of LSTM cells on texts of varying lengths, packed, so that a step has as many launches as its longest
text has tokens; with Adam and a limit on the gradients' norm.

Usage: language_lstm.py [--steps N] [--batch N] [--width N] [--layers N] [--shortest N] [--longest N] [--vocabulary N]
"""
import argparse

import common
import torch
from torch import nn
from torch.nn.utils import rnn


class Model(nn.Module):
    def __init__(self, options):
        super().__init__()
        self.tokens = nn.Embedding(options.vocabulary, options.width)
        self.cells = nn.LSTM(options.width, options.width, options.layers, dropout=0.1)
        self.head = nn.Linear(options.width, options.vocabulary)

    def forward(self, texts):
        packed = rnn.PackedSequence(self.tokens(texts.data), texts.batch_sizes)
        return self.head(self.cells(packed)[0].data)


def main():
    parser = argparse.ArgumentParser()
    for name, value in {"steps": 24, "batch": 8, "width": 384, "layers": 2, "shortest": 4, "longest": 28,
                        "vocabulary": 1024}.items():
        parser.add_argument("--" + name, type=int, default=value)
    options = parser.parse_args()
    common.begin()
    model = Model(options).to("cuda")
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    generator = torch.Generator().manual_seed(2)

    def make_batch():
        """What comes into the model and what is to come out of it, the longest text first."""
        lengths = torch.randint(options.shortest, options.longest + 1, (options.batch,), generator=generator).tolist()
        texts = [torch.randint(options.vocabulary, (length + 1,), generator=generator) for length in sorted(lengths, reverse=True)]
        return [rnn.pack_sequence([text[part] for text in texts]).to("cuda") for part in (slice(0, -1), slice(1, None))]

    def take_step(_):
        come, leave = make_batch()
        optimizer.zero_grad(set_to_none=True)
        loss = nn.functional.cross_entropy(model(come), leave.data)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss

    common.train(options.steps, take_step)
    common.report(model)


if __name__ == "__main__":
    main()
