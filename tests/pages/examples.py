#!/usr/bin/env python3
"""The pages of docs/examples as they stand, on the software device: BUILD NAME...

What a page trains has the same losses as without sluice, and needs more memory than its budget. Exit status 77: what a page needs cannot be had."""
import json
import os
import re
import sys

from page import SOURCE, Page, expect, fail, launchers, python_of, run_each

sys.path.insert(0, str(SOURCE / "tests/frameworks"))
import debian
import frameworks
import running
import wheels


def had(*packages):
    framework = frameworks.PyTorch(*packages)
    framework.prepare(running.cache())
    return framework


def lora(room, page):
    python_of(had("transformers", "peft"), room)
    command, = page.commands
    room.with_and_without(command)


def trainer(room, page):
    python_of(had("transformers"), room)
    command, = page.commands
    printed, _ = room.with_and_without(command)
    fetched = re.findall(r"(?m)^stalled (\S+) s a step, (\d+) MiB fetched$", printed)
    expect("what the log has of sluice", len(fetched) == 4 and any(int(mib) > 0 for _, mib in fetched), printed)


def ddp(room, page):
    python_of(had("transformers"), room)
    launchers(room, "torchrun")
    room.variables["SOFTCUDA_DEVICES"] = "2"
    train, ranks = page.commands
    printed, said = room.with_and_without(train)
    expect("ranks", len(re.findall(r"(?m)^step \d+ rank [01] ", printed)) == 16 and said.count("sluice: host memory: ") == 2, (printed, said))
    printed, _ = room.shell(ranks)
    expect("trace ranks", re.search(r"(?m)^\s*(rank )?0\b", printed) and re.search(r"(?m)^\s*(rank )?1\b", printed), printed)


def notebook(room, page):
    """The cells, by Jupyter's client. This Python has no PyTorch: its path in kernel.json becomes that of Debian's."""
    own = wheels.prepare(running.cache(), "jupyter", f"{sys.version_info.major}.{sys.version_info.minor}")
    python_of(had(), room, [wheels.prepare(running.cache() / "notebook", "jupyter", debian.PYTHON)])
    command, = page.commands
    room.variables.update(JUPYTER_DATA_DIR=f"{room.folder}/data", JUPYTER_CONFIG_DIR=f"{room.folder}/config", JUPYTER_RUNTIME_DIR=f"{room.folder}/run",
                          JUPYTER_NO_CONFIG="1", IPYTHONDIR=f"{room.folder}/ipython", PYDEVD_DISABLE_FILE_VALIDATION="1", PYTHONPATH=str(own))
    room.shell(f"{command} --software --python {sys.executable}")
    kernel = room.folder / "data/kernels/small/kernel.json"
    told = kernel.read_text()
    kernel.write_text(told.replace(json.dumps(os.path.realpath(sys.executable)), json.dumps(str(room.folder / "bin/python")))
                      .replace(json.dumps(sys.executable), json.dumps(str(room.folder / "bin/python"))))
    expect("the Python of the kernel", kernel.read_text() != told, told)
    cells = [page.files[f"cell {number}"] for number in (1, 2, 3)]
    (room.folder / "cells.py").write_text(f"""
from jupyter_client import manager
kernel, client = manager.start_new_kernel(kernel_name="small", startup_timeout=300)
try:
    for cell in {cells!r}:
        reply = client.execute_interactive(cell, timeout=600, allow_stdin=False)
        assert reply["content"]["status"] == "ok", reply
finally:
    client.stop_channels()
    kernel.shutdown_kernel(now=True)
""")
    printed, _ = room.shell(f"{sys.executable} cells.py")
    found = re.search(r"(?m)^(\d+) MiB needed, (\d+) MiB given, (\d+) stalls", printed)
    expect("the last cell", found and int(found[1]) > 16 >= int(found[2]) > 0, printed)  # the kernels' code counts, too


def cuda(room, page):
    if "NVCC" in os.environ:
        room.variables["PATH"] += f":{os.path.dirname(os.environ['NVCC'])}"
    build, run = page.commands
    room.shell(build)
    room.with_and_without(run)


def slow(room, page):
    for name in ("build", "workloads"):
        (room.folder / name).symlink_to(room.build if name == "build" else SOURCE / name)
    room.variables["SLUICE_DAEMON"] = "inline"  # the same movements however busy the machine is
    printed = {command: room.shell(command)[0] for command in page.commands}
    for word, command in (("stalls", "sluice trace info"), ("backward", "sluice trace phases"), ("sweep", "sluice trace kernels"), ("device memory", "sluice advise"),
                          ("budget", "sluice plan"), ("weights_hash", "sluice run --software --budget 32M --trace fused.slt")):
        output = next(text for line, text in printed.items() if line.startswith(command))
        expect(f"{word} in the output of {command}", word in output, output)
    stalled = [json.loads(room.shell(f"sluice trace info --json {name}.slt")[0])["stall_ns"] for name in ("run", "fused")]
    expect("stalls, which a fused update makes fewer", 0 < stalled[1] < stalled[0], stalled)


PAGES = {"lora": lora, "trainer": trainer, "ddp": ddp, "notebook": notebook, "cuda": cuda, "slow": slow}


if __name__ == "__main__":
    if {path.stem for path in (SOURCE / "docs/examples").glob("*.md")} != set(PAGES):
        fail("pages and tests", sorted(PAGES))
    run_each(PAGES, lambda name: Page(f"docs/examples/{name}.md"))
