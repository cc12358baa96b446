"""Trains a small GPT with tinygrad: each operation by itself, or the whole step by its TinyJit (with JIT=1 in CUDA graphs, with
JIT=2 without).

Usage: tinygrad_gpt.py [--steps N] [--layers N] [--width N] [--jit]
"""
import argparse
import ctypes
import hashlib

from tinygrad import Tensor, TinyJit, nn
from tinygrad.runtime.autogen import cuda

VOCABULARY, CONTEXT, HEADS, BATCH = 256, 32, 4, 8


class Block:
    def __init__(self, width):
        self.norm_in, self.norm_out = nn.LayerNorm(width), nn.LayerNorm(width)
        self.mixed, self.projected = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wider, self.narrower = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def attend(self, x):
        batch, context, width = x.shape
        q, k, v = (part.reshape(batch, context, HEADS, width // HEADS).transpose(1, 2) for part in self.mixed(x).chunk(3, dim=-1))
        return self.projected(q.scaled_dot_product_attention(k, v, is_causal=True).transpose(1, 2).reshape(batch, context, width))

    def __call__(self, x):
        x = x + self.attend(self.norm_in(x))
        return x + self.narrower(self.wider(self.norm_out(x)).gelu())


class Model:
    def __init__(self, layers, width):
        self.tokens, self.places = nn.Embedding(VOCABULARY, width), nn.Embedding(CONTEXT, width)
        self.blocks = [Block(width) for _ in range(layers)]
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, VOCABULARY, bias=False)

    def __call__(self, tokens):
        x = self.tokens(tokens) + self.places(Tensor.arange(tokens.shape[1]).reshape(1, -1))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


class Mark:
    """An event on the stream that tinygrad uses, the default one. tinygrad has no interface for that."""

    def __init__(self):
        self.event = cuda.CUevent()
        cuda.cuEventCreate(ctypes.byref(self.event), 0)
        cuda.cuEventRecord(self.event, None)

    def wait(self):
        cuda.cuEventSynchronize(self.event)

    def milliseconds_since(self, earlier):
        took = ctypes.c_float()
        cuda.cuEventElapsedTime(ctypes.byref(took), earlier.event, self.event)
        return took.value


def main():
    parser = argparse.ArgumentParser()
    for name, value in {"steps": 12, "layers": 2, "width": 256}.items():
        parser.add_argument("--" + name, type=int, default=value)
    parser.add_argument("--jit", action="store_true")
    options = parser.parse_args()
    Tensor.manual_seed(1)
    model = Model(options.layers, options.width)
    optimizer = nn.optim.AdamW(nn.state.get_parameters(model), lr=1e-3)

    def take_step(text):
        optimizer.zero_grad()
        loss = model(text[:, :-1]).sparse_categorical_crossentropy(text[:, 1:]).backward()
        return loss.realize(*optimizer.schedule_step())

    if options.jit:
        take_step = TinyJit(take_step)
    end = None
    for number in range(options.steps):
        last, start = end, Mark()
        text = Tensor.randint(BATCH, CONTEXT + 1, high=VOCABULARY).contiguous().realize()
        loss = take_step(text)
        end = Mark()
        value = loss.item()
        end.wait()
        print(f"step {number} loss {value:.6f} {value.hex()} device_ms {end.milliseconds_since(start):.6f}", flush=True)
        if last:
            print(f"from_end_to_end {number} device_ms {end.milliseconds_since(last):.6f}", flush=True)
    hashed = hashlib.sha256()
    for value in nn.state.get_parameters(model):
        hashed.update(value.data())
    print(f"weights_hash {hashed.hexdigest()}")


if __name__ == "__main__":
    main()
