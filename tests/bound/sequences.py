#!/usr/bin/env python3
"""Sequences to bound and to plan: one steady iteration of training as launches over chunks.

A sequence is a dict, as `sluice plan TRACE --sequence FILE` writes it:
  {"name": text, "chunk_bytes": [bytes of chunk 0, ...],
   "launches": [{"ns": duration, "reads": [chunks], "writes": [chunks], "deaths": [chunks]}, ...]}
Each chunk is at most once in a launch: `reads` are not written, `writes` perhaps are. What dies after a launch has
no content until it is used again, and then a new one.

usage: sequences.py NAME > FILE     NAME: fused-1, fused-4, foreach-1, foreach-4 (optimizer, micro-batches)
"""
import argparse
import json
import sys

MIB, GIB = 1 << 20, 1 << 30
DEVICE_BYTES_PER_S = 3e12
SYNTHETIC = ("fused-1", "fused-4", "foreach-1", "foreach-4")


class Builder:
    """Numbers chunks by name and collects launches."""

    def __init__(self, name, chunk):
        self.name, self.chunk, self.ids, self.launches = name, chunk, {}, []

    def chunks(self, kind, place, count):
        return [self.ids.setdefault((kind, place, i), len(self.ids)) for i in range(count)]

    def launch(self, seconds, reads, writes, deaths=()):
        writes = list(dict.fromkeys(writes))
        reads = [c for c in dict.fromkeys(reads) if c not in set(writes)]
        self.launches.append(dict(ns=round(seconds * 1e9), reads=reads, writes=writes, deaths=list(deaths)))

    def sweep(self, operands, written):
        """An elementary operation: the device's memory is what it takes time for."""
        self.launch((len(operands) + 1) * self.chunk / DEVICE_BYTES_PER_S, operands, [written])

    def finish(self, dying_kinds):
        """What is of these kinds dies at the step's end."""
        self.launches[-1]["deaths"] += [c for key, c in self.ids.items() if key[0] in dying_kinds]
        return dict(name=self.name, chunk_bytes=[self.chunk] * len(self.ids), launches=self.launches)


def gpt(optimizer, accumulate, layers=48, params=1.5e9, activation_bytes=12 * GIB, chunk=64 * MIB, flops_per_s=250e12,
        tokens=8192):
    """A step of GPT: forward and backward for each micro-batch, then AdamW. Activations die in backward, gradients
    and temporaries at the step's end. `optimizer`: fused, which passes over the state once, or foreach, which does
    once for each elementary operation."""
    b = Builder(f"{optimizer}-{accumulate}", chunk)
    p = max(1, round(4 * params / layers / chunk))
    a = max(1, round(activation_bytes / layers / chunk))
    forward = 2 * params / layers * tokens / flops_per_s
    for _ in range(accumulate):
        for layer in range(layers):
            b.launch(forward, b.chunks("parameters", layer, p), b.chunks("activations", layer, a))
        for layer in reversed(range(layers)):
            activations = b.chunks("activations", layer, a)
            b.launch(2 * forward, b.chunks("parameters", layer, p) + activations, b.chunks("gradients", layer, p),
                     activations)
    places = [(layer, i) for layer in range(layers) for i in range(p)]

    def state(kind, layer, i):
        return b.chunks(kind, layer, i + 1)[i]

    if optimizer == "fused":
        for place in places:
            parameter, gradient, mean, variance = (state(kind, *place) for kind in
                                                   ("parameters", "gradients", "means", "variances"))
            b.launch(8 * chunk / DEVICE_BYTES_PER_S, [gradient], [parameter, mean, variance])
        return b.finish(("gradients",))
    for operands, written in ((("gradients", "means"), "means"), (("variances",), "variances"),
                              (("gradients", "variances"), "variances"), (("variances",), "temporaries"),
                              (("temporaries",), "temporaries"),
                              (("parameters", "means", "temporaries"), "parameters")):
        for place in places:
            b.sweep([state(kind, *place) for kind in operands], state(written, *place))
    return b.finish(("gradients", "temporaries"))


def synthetic(name):
    optimizer, accumulate = name.rsplit("-", 1)
    return gpt(optimizer, int(accumulate))


def every_access_writes(sequence):
    """The same, as it looks where nobody knows what is only read."""
    launches = [dict(l, reads=[], writes=l["reads"] + l["writes"]) for l in sequence["launches"]]
    return dict(sequence, launches=launches)


def budget_bytes(sequence, share):
    """The share of the need, in whole chunks. The need is the most that ever lives at once; where all chunks have one
    size and none lives elsewhere than in this step, that is their number."""
    count = len(sequence["chunk_bytes"])
    return int(count * share) * max(sequence["chunk_bytes"], default=0)


if __name__ == "__main__":
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("name", choices=SYNTHETIC)
    json.dump(synthetic(ap.parse_args().name), sys.stdout)
    print()
