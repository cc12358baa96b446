"""Trains transformers' Mixtral, small and with random weights, with AdamW. Batches have the same size, but the router gives each
expert another number of tokens at each step. No network is used.

Usage: mixtral.py [--steps N] [--layers N] [--width N] [--experts N] [--batch N] [--context N]
"""
import argparse
import os

os.environ.update(HF_HUB_OFFLINE="1", HF_HUB_DISABLE_TELEMETRY="1")

import common
import torch
import transformers

VOCABULARY = 512


def main():
    parser = argparse.ArgumentParser()
    for name, value in {"steps": 24, "layers": 2, "width": 192, "experts": 8, "batch": 4, "context": 32}.items():
        parser.add_argument("--" + name, type=int, default=value)
    options = parser.parse_args()
    common.begin()
    model = transformers.MixtralForCausalLM(transformers.MixtralConfig(
        vocab_size=VOCABULARY, hidden_size=options.width, intermediate_size=2 * options.width, num_hidden_layers=options.layers,
        num_attention_heads=options.width // 64, num_key_value_heads=options.width // 64, num_local_experts=options.experts,
        max_position_embeddings=options.context, use_cache=False, output_router_logits=True, bos_token_id=None,
        eos_token_id=None)).to("cuda")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    generator = torch.Generator().manual_seed(2)

    def take_step(_):
        tokens = torch.randint(VOCABULARY, (options.batch, options.context), generator=generator).to("cuda")
        optimizer.zero_grad(set_to_none=True)
        loss = model(input_ids=tokens, labels=tokens).loss
        loss.backward()
        optimizer.step()
        return loss

    common.train(options.steps, take_step)
    common.report(model)


if __name__ == "__main__":
    main()
