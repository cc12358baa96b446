"""Trains LoRA adapters by peft on a small Llama of transformers with random weights, with AdamW. The model is frozen, and the
texts of a batch are padded to the longest of them, so that steps differ in size. No network is used.

Usage: lora.py [--steps N] [--layers N] [--width N] [--rank N] [--batch N] [--shortest N] [--longest N] [--pad-to N]

  --pad-to  pads to a multiple of this
"""
import argparse
import os

os.environ.update(HF_HUB_OFFLINE="1", HF_HUB_DISABLE_TELEMETRY="1")

import common
import peft
import torch
import transformers

VOCABULARY, PADDING = 1024, 0


def make_batch(options, generator):
    """Texts of random tokens and lengths, more of them short, padded to a common length; what is padded is masked and has no
    loss."""
    lengths = options.shortest * (options.longest / options.shortest) ** torch.rand(options.batch, generator=generator)
    lengths = lengths.round().long()
    padded = -(-int(lengths.max()) // options.pad_to) * options.pad_to
    mask = (torch.arange(padded) < lengths[:, None]).long()
    tokens = torch.randint(1, VOCABULARY, (options.batch, padded), generator=generator)
    tokens = torch.where(mask > 0, tokens, PADDING)
    labels = torch.where(mask > 0, tokens, -100)
    return {name: value.to("cuda") for name, value in {"input_ids": tokens, "attention_mask": mask, "labels": labels}.items()}


def make_model(options):
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(
        vocab_size=VOCABULARY, hidden_size=options.width, intermediate_size=options.width * 8 // 3,
        num_hidden_layers=options.layers, num_attention_heads=options.width // 64, max_position_embeddings=2 * options.longest,
        use_cache=False, pad_token_id=PADDING, bos_token_id=None, eos_token_id=None))
    adapters = peft.LoraConfig(r=options.rank, lora_alpha=2 * options.rank, target_modules="all-linear", task_type="CAUSAL_LM")
    return peft.get_peft_model(model, adapters).to("cuda")


def main():
    parser = argparse.ArgumentParser()
    for name, value in {"steps": 24, "layers": 5, "width": 384, "rank": 8, "batch": 3, "shortest": 12, "longest": 80,
                        "pad-to": 1}.items():
        parser.add_argument("--" + name, type=int, default=value)
    options = parser.parse_args()
    common.begin()
    model = make_model(options)
    optimizer = torch.optim.AdamW((weight for weight in model.parameters() if weight.requires_grad), lr=1e-3)
    generator = torch.Generator().manual_seed(2)

    def take_step(_):
        optimizer.zero_grad(set_to_none=True)
        loss = model(**make_batch(options, generator)).loss
        loss.backward()
        optimizer.step()
        return loss

    common.train(options.steps, take_step)
    common.report(model)


if __name__ == "__main__":
    main()
