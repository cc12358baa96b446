"""Trains Hugging Face's GPT-2, small and with random weights, with its Trainer. No network is used.

Usage: hugging_face.py [--steps N] [--layers N] [--width N] [--context N] [--batch N]
"""
import argparse
import os
import tempfile

os.environ.update(HF_HUB_OFFLINE="1", HF_HUB_DISABLE_TELEMETRY="1")

import common
import torch
import transformers

VOCABULARY = 512


class Text(torch.utils.data.Dataset):
    """Texts of random tokens, each always the same."""

    def __init__(self, context):
        self.context = context

    def __len__(self):
        return 1 << 10

    def __getitem__(self, number):
        tokens = torch.randint(VOCABULARY, (self.context,), generator=torch.Generator().manual_seed(number))
        return {"input_ids": tokens, "labels": tokens}


class Steps(transformers.TrainerCallback):
    """Prints each step as the other programs do: the loss comes from the Trainer's own log."""

    def __init__(self):
        self.timer = common.Timer()

    def on_step_begin(self, arguments, state, control, **more):
        self.timer.begin()

    def on_step_end(self, arguments, state, control, **more):
        self.timer.end()

    def on_log(self, arguments, state, control, logs=None, **more):
        if "loss" in logs:
            self.timer.tell(state.global_step - 1, logs["loss"])


def main():
    parser = argparse.ArgumentParser()
    for name, value in {"steps": 12, "layers": 3, "width": 256, "context": 32, "batch": 4}.items():
        parser.add_argument("--" + name, type=int, default=value)
    options = parser.parse_args()
    common.begin()
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config(
        vocab_size=VOCABULARY, n_positions=options.context, n_embd=options.width, n_layer=options.layers,
        n_head=options.width // 64, bos_token_id=0, eos_token_id=0))
    with tempfile.TemporaryDirectory() as folder:
        arguments = transformers.TrainingArguments(
            folder, max_steps=options.steps, per_device_train_batch_size=options.batch,
            learning_rate=1e-3, logging_steps=1, save_strategy="no",
            report_to=[], disable_tqdm=True, seed=1)
        transformers.Trainer(model, arguments, train_dataset=Text(options.context), callbacks=[Steps()]).train()
    common.report(model)


if __name__ == "__main__":
    main()
