#!/usr/bin/env python3
"""What karpathy/llm.c's trainers read: a model with random weights, and texts of random tokens.

usage: llmc_files.py FOLDER [LAYERS WIDTH HEADS VOCABULARY BATCHES]     batches of 256 tokens, as with -b 4 -t 64
"""
import array
import os
import random
import struct
import sys

CONTEXT = 64


def write(folder, layers=4, width=64, heads=4, vocabulary=50257, batches=(5, 2), batch_tokens=128):
    """gpt2_124M.bin, and train.bin and val.bin of so many batches."""
    padded = -(-vocabulary // 128) * 128
    tensors = [padded * width, CONTEXT * width, layers * width, layers * width, layers * 3 * width * width, layers * 3 * width,
               layers * width * width, layers * width, layers * width, layers * width, layers * 4 * width * width,
               layers * 4 * width, layers * 4 * width * width, layers * width, width, width]
    gains, biases = (2, 8, 14), (3, 5, 7, 9, 11, 13, 15)
    numbers = random.Random(1)
    block = array.array("f", [numbers.gauss(0, 0.02) for _ in range(1 << 14)])
    with open(os.path.join(folder, "gpt2_124M.bin"), "wb") as file:
        file.write(struct.pack("256i", 20240326, 3, CONTEXT, vocabulary, layers, heads, width, padded, *[0] * 248))
        for index, count in enumerate(tensors):
            constant = 1.0 if index in gains else 0.0 if index in biases else None
            values = (block * (count // len(block) + 1))[:count] if constant is None else array.array("f", [constant]) * count
            file.write(values.tobytes())
    for name, count in zip(("train.bin", "val.bin"), batches):
        tokens = count * batch_tokens + 1
        with open(os.path.join(folder, name), "wb") as file:
            file.write(struct.pack("256i", 20240520, 1, tokens, *[0] * 253))
            file.write(array.array("H", [numbers.randrange(1000) for _ in range(tokens)]).tobytes())


if __name__ == "__main__":
    if len(sys.argv) not in (2, 7):
        sys.exit(__doc__.strip())
    sizes = list(map(int, sys.argv[2:]))
    if sizes:
        write(sys.argv[1], *sizes[:4], batches=(sizes[4], 1), batch_tokens=4 * CONTEXT)
    else:
        write(sys.argv[1])
