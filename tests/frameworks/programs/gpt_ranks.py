"""Trains the GPT of gpt.py on several ranks, with the weights whole on each (DDP), sharded (FSDP2), or with the optimizer's state
sharded (ZeroRedundancyOptimizer). Started once for each rank, as torchrun does.

Usage: gpt_ranks.py [--sharding ddp|fsdp|zero] [--steps N] [options of gpt.py]
"""
import os

import common
import gpt
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel


def shard(model):
    from torch.distributed.fsdp import fully_shard
    for block in model.blocks:
        fully_shard(block)
    return fully_shard(model)


def make(options, rank):
    model = gpt.Model(options).to("cuda")
    model = shard(model) if options.sharding == "fsdp" else DistributedDataParallel(model, device_ids=[rank])
    if options.sharding == "zero":
        return model, ZeroRedundancyOptimizer(model.parameters(), torch.optim.AdamW, lr=1e-3, foreach=True)
    return model, gpt.make_optimizer(options.optimizer, model)


def local(values):
    """Of weights that are sharded, this rank's part."""
    return [value.to_local() if hasattr(value, "to_local") else value for value in values]


def main():
    options = gpt.read_options(lambda parser: parser.add_argument("--sharding", choices=["ddp", "fsdp", "zero"], default="ddp"))
    rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl")
    common.begin()
    model, optimizer = make(options, rank)
    batches = gpt.make_batches(options, 2 + dist.get_rank())

    def take_step(_):
        optimizer.zero_grad(set_to_none=True)
        text = next(batches)
        loss = nn.functional.cross_entropy(model(text[:, :-1]).flatten(0, 1), text[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        return loss

    common.train(options.steps, take_step)
    common.report_values(local(model.state_dict().values()))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
