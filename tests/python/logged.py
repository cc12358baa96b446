"""A small training on the device, with an example of docs/python.md as it stands there. Prints what the loggers got, as JSON.

usage: logged.py transformers|lightning|tensorboard|wandb FOLDER     FOLDER: an empty one, for the loggers' files
"""
import glob
import json
import os
import pathlib
import re
import sys

NAME, FOLDER = sys.argv[1:]
os.environ.update(CUBLAS_WORKSPACE_CONFIG=":16:8", HF_HUB_OFFLINE="1", HF_HUB_DISABLE_TELEMETRY="1", WANDB_MODE="offline", WANDB_DIR=FOLDER,
                  WANDB_SILENT="true", WANDB_ERROR_REPORTING="false", WANDB_PROJECT="sluice")
import torch

import sluice

STEPS, EVERY, WIDTH, LAYERS, BATCH = 8, 2, 512, 4, 16
PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/python.md"


def example():
    """The page's block for this library."""
    return next(block for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.S) if f"import sluice.{NAME}\n" in block)


def perceptron():
    layers = [layer for _ in range(LAYERS) for layer in (torch.nn.Linear(WIDTH, WIDTH), torch.nn.ReLU())]
    return torch.nn.Sequential(*layers, torch.nn.Linear(WIDTH, 1))


def batches():
    generator = torch.Generator().manual_seed(1)
    return [torch.randn(BATCH, WIDTH, generator=generator) for _ in range(STEPS)]


def loss_of(model, batch):
    return model(batch).square().mean()


def own_loop():
    """A training step for the page's loops."""
    model = perceptron().cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

    def train(batch):
        loss = loss_of(model, batch.cuda())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss.item()

    return train


# --- what the loggers wrote: {step: {name: value}}

def of_tensorboard(folder):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    rows = {}
    for path in glob.glob(f"{folder}/**/events.out.*", recursive=True):
        events = EventAccumulator(path)
        events.Reload()
        for tag in events.Tags()["scalars"]:
            for event in events.Scalars(tag):
                rows.setdefault(event.step, {})[tag.removeprefix("train/")] = event.value
    return rows


def of_wandb(folder):
    from wandb.proto import wandb_internal_pb2
    from wandb.sdk.internal.datastore import DataStore
    import wandb
    wandb.teardown()  # until then a process of its own writes the file
    path, = glob.glob(f"{folder}/wandb/offline-run-*/*.wandb")
    store, rows = DataStore(), {}
    store.open_for_scan(path)
    while (data := store.scan_data()) is not None:
        record = wandb_internal_pb2.Record()
        record.ParseFromString(data)
        if record.WhichOneof("record_type") != "history":
            continue
        row = {"/".join(item.nested_key) or item.key: json.loads(item.value_json) for item in record.history.item}
        row = {name.removeprefix("train/"): value for name, value in row.items()}
        rows.setdefault(row.get("global_step", row["_step"]), {}).update(row)
    return rows


def of_csv(folder):
    import csv
    path, = glob.glob(f"{folder}/csv/**/metrics.csv", recursive=True)
    rows = {}
    with open(path, encoding="utf-8") as file:
        for line in csv.DictReader(file):
            rows.setdefault(int(line["step"]), {}).update({name: float(value) for name, value in line.items() if value})
    return rows


# --- the libraries: what an example needs, and what came of it

def run_transformers():
    import transformers

    class Data(torch.utils.data.Dataset):
        def __len__(self):
            return STEPS * 2

        def __getitem__(self, number):
            tokens = torch.randint(256, (32,), generator=torch.Generator().manual_seed(number))
            return {"input_ids": tokens, "labels": tokens}

    model = transformers.GPT2LMHeadModel(transformers.GPT2Config(
        vocab_size=256, n_positions=32, n_embd=256, n_layer=3, n_head=4, bos_token_id=0, eos_token_id=0))
    arguments = transformers.TrainingArguments(
        FOLDER, max_steps=STEPS, per_device_train_batch_size=2, logging_steps=EVERY, logging_dir=f"{FOLDER}/tensorboard",
        save_strategy="no", report_to=["tensorboard", "wandb"], disable_tqdm=True, seed=1)
    names = {"transformers": transformers, "model": model, "arguments": arguments, "data": Data()}
    exec(example(), names)
    import wandb
    wandb.finish()
    history = {row["step"]: row for row in names["trainer"].state.log_history if "loss" in row}
    return {"history": history, "tensorboard": of_tensorboard(FOLDER), "wandb": of_wandb(FOLDER)}


def run_lightning():
    import lightning
    from lightning.pytorch.loggers import CSVLogger, TensorBoardLogger

    class Model(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.model = perceptron()

        def training_step(self, batch, _):
            loss = loss_of(self.model, batch)
            self.log("loss", loss)
            return loss

        def configure_optimizers(self):
            return torch.optim.AdamW(self.parameters(), lr=1e-3)

    logger = [TensorBoardLogger(FOLDER, name="tensorboard"), CSVLogger(FOLDER, name="csv")]
    data = torch.utils.data.DataLoader(batches(), batch_size=None)
    # The example's Trainer has no more arguments than one needs.
    defaults = {"log_every_n_steps": EVERY, "enable_progress_bar": False, "enable_model_summary": False, "enable_checkpointing": False,
                "accelerator": "gpu", "devices": 1}
    trainer = lightning.Trainer
    lightning.Trainer = lambda **chosen: trainer(**defaults, **chosen)
    exec(example(), {"lightning": lightning, "model": Model(), "data": data, "logger": logger, "steps": STEPS})
    return {"tensorboard": of_tensorboard(FOLDER), "csv": of_csv(FOLDER)}


def run_tensorboard():
    from torch.utils.tensorboard import SummaryWriter
    with SummaryWriter(FOLDER) as writer:
        exec(example(), {"writer": writer, "data": batches(), "train": own_loop()})
    return {"tensorboard": of_tensorboard(FOLDER)}


def run_wandb():
    import wandb
    run = wandb.init(dir=FOLDER)
    exec(example(), {"run": run, "data": batches(), "train": own_loop()})
    run.finish()
    return {"wandb": of_wandb(FOLDER)}


def main():
    torch.manual_seed(1)
    torch.use_deterministic_algorithms(True)
    torch.backends.cudnn.enabled = False
    loggers = globals()[f"run_{NAME}"]()
    now = sluice.stats()
    print(json.dumps({"loggers": loggers, "stats": now and {**now._asdict(), "bytes_in": now.bytes_in, "bytes_out": now.bytes_out}}))


if __name__ == "__main__":
    main()
