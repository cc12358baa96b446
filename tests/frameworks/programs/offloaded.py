"""Trains the GPT of gpt.py with PyTorch's own offloading, to compare with: FSDP2 keeps weights, gradients and moments in host
memory, and the optimizer runs on the CPU. One rank.

Usage: offloaded.py [OPTION of gpt.py]...
"""
import os
import tempfile

import common
import gpt
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import CPUOffloadPolicy, fully_shard


def main():
    options = gpt.read_options()
    common.begin()
    torch.use_deterministic_algorithms(False)
    os.environ.setdefault("MASTER_ADDR", "localhost")
    with tempfile.TemporaryDirectory() as folder:
        dist.init_process_group("cpu:gloo,cuda:nccl", init_method=f"file://{folder}/rendezvous", rank=0, world_size=1)
        model = gpt.Model(options)
        policy = CPUOffloadPolicy()
        for block in model.blocks:
            fully_shard(block, offload_policy=policy)
        fully_shard(model, offload_policy=policy)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
        batches = gpt.make_batches(options)

        def take_step(number):
            optimizer.zero_grad(set_to_none=True)
            text = next(batches)
            loss = nn.functional.cross_entropy(model(text[:, :-1]).flatten(0, 1), text[:, 1:].flatten())
            loss.backward()
            optimizer.step()
            return loss.detach()

        common.train(options.steps, take_step)
        print(f"peak_bytes {torch.cuda.max_memory_allocated()} reserved {torch.cuda.max_memory_reserved()}")
        print(f"weights_hash {common.hash_values(value.full_tensor() for value in model.state_dict().values())}")
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
