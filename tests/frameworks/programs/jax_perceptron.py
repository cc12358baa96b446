"""Trains a perceptron with JAX: one jitted step with Adam, arguments donated. Knows nothing of sluice.

Usage: jax_perceptron.py [--steps N] [--layers N] [--width N] [--batch N]
"""
import argparse
import hashlib
import time

import jax
import numpy
from jax import numpy as jnp


def find_loss(weights, batch):
    x = batch
    for weight in weights:
        x = jnp.tanh(x @ weight)
    return jnp.mean((x - batch) ** 2)


def take_step(weights, means, squares, batch, number):
    """Adam."""
    loss, gradients = jax.value_and_grad(find_loss)(weights, batch)
    means = [0.9 * mean + 0.1 * gradient for mean, gradient in zip(means, gradients)]
    squares = [0.999 * square + 0.001 * gradient**2 for square, gradient in zip(squares, gradients)]
    steps = (mean / (1 - 0.9**number) / (jnp.sqrt(square / (1 - 0.999**number)) + 1e-8) for mean, square in zip(means, squares))
    return [weight - 1e-3 * step for weight, step in zip(weights, steps)], means, squares, loss


def main():
    parser = argparse.ArgumentParser()
    for name, value in {"steps": 12, "layers": 8, "width": 512, "batch": 64}.items():
        parser.add_argument("--" + name, type=int, default=value)
    options = parser.parse_args()
    keys = jax.random.split(jax.random.key(1), options.layers)
    weights = [jax.random.normal(key, (options.width, options.width)) * options.width**-0.5 for key in keys]
    means, squares = ([jnp.zeros_like(weight) for weight in weights] for _ in range(2))
    update = jax.jit(take_step, donate_argnums=(0, 1, 2))
    for number in range(options.steps):
        start = time.monotonic()
        batch = jax.random.normal(jax.random.key(100 + number), (options.batch, options.width))
        weights, means, squares, loss = update(weights, means, squares, batch, jnp.float32(number + 1))
        value = float(loss)
        print(f"step {number} loss {value:.6f} {value.hex()} time_ms {1e3 * (time.monotonic() - start):.3f}", flush=True)
    hashed = hashlib.sha256()
    for weight in weights:
        hashed.update(numpy.asarray(weight).tobytes())
    used = jax.devices()[0].memory_stats() or {}  # None on the CPU
    print(f"peak_bytes {used.get('peak_bytes_in_use', 0)}")
    print(f"weights_hash {hashed.hexdigest()}")


if __name__ == "__main__":
    main()
