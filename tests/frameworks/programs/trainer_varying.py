"""Trains transformers' BERT, small and with random weights, to classify texts of varying lengths by the Trainer: in float16, two
micro-batches for each step, activations recomputed, Adafactor, and an evaluation and a checkpoint every few steps. A batch is
padded to its longest text. No network is used.

Usage: trainer_varying.py [--steps N] [--layers N] [--width N] [--batch N] [--shortest N] [--longest N] [--evaluate-every N]
                          [--save-every N]
"""
import argparse
import os
import tempfile

os.environ.update(HF_HUB_OFFLINE="1", HF_HUB_DISABLE_TELEMETRY="1")

import common
import tokenizers
import torch
import transformers
from hugging_face import Steps

VOCABULARY, KINDS, PADDING = 1024, 4, "[PAD]"


class Text(torch.utils.data.Dataset):
    """Texts of random tokens and lengths, each always the same."""

    def __init__(self, options, first, count):
        self.options, self.first, self.count = options, first, count

    def __len__(self):
        return self.count

    def __getitem__(self, number):
        generator = torch.Generator().manual_seed(self.first + number)
        length = int(torch.randint(self.options.shortest, self.options.longest + 1, (1,), generator=generator))
        tokens = torch.randint(1, VOCABULARY, (length,), generator=generator)
        return {"input_ids": tokens.tolist(), "labels": int(tokens[0]) % KINDS}


def make_tokenizer():
    """Of a vocabulary of numbers; the collator asks it how to pad."""
    words = {PADDING: 0, **{str(number): number for number in range(1, VOCABULARY)}}
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token=PADDING)), pad_token=PADDING)


def main():
    parser = argparse.ArgumentParser()
    for name, value in {"steps": 24, "layers": 4, "width": 256, "batch": 4, "shortest": 8, "longest": 64, "evaluate-every": 6,
                        "save-every": 8}.items():
        parser.add_argument("--" + name, type=int, default=value)
    options = parser.parse_args()
    common.begin()
    model = transformers.BertForSequenceClassification(transformers.BertConfig(
        vocab_size=VOCABULARY, hidden_size=options.width, num_hidden_layers=options.layers, intermediate_size=4 * options.width,
        num_attention_heads=options.width // 64, max_position_embeddings=options.longest, num_labels=KINDS))
    with tempfile.TemporaryDirectory() as folder:
        arguments = transformers.TrainingArguments(
            folder, max_steps=options.steps, per_device_train_batch_size=options.batch, gradient_accumulation_steps=2, fp16=True,
            gradient_checkpointing=True, optim="adafactor", learning_rate=1e-3, logging_steps=1, eval_strategy="steps",
            eval_steps=options.evaluate_every, save_steps=options.save_every, save_total_limit=1, report_to=[], disable_tqdm=True,
            seed=1)
        transformers.Trainer(model, arguments, data_collator=transformers.DataCollatorWithPadding(make_tokenizer()),
                             train_dataset=Text(options, 0, 1 << 10), eval_dataset=Text(options, 1 << 20, 2 * options.batch),
                             callbacks=[Steps()]).train()
    common.report(model)


if __name__ == "__main__":
    main()
