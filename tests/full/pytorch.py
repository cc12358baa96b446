#!/usr/bin/env python3
"""PyTorch's CUDA wheel from PyPI under the preload, on a machine without a GPU: PRELOAD OBSERVER DRIVER-FOLDER.

Every part of torch_cpu.py prints the same and ends with the same status with and without the preload, and what the
wheel's libraries ask a driver for leads through it. The wheel and what it needs (6 GB) are installed once, into
$SLUICE_CACHE or ~/.cache/sluice; skipped where PyPI cannot be reached or the disk is too small."""
import os
import pathlib
import resource
import shutil
import statistics
import subprocess
import sys
import time

VERSION = "2.15.0"
NEEDED_BYTES = 14 << 30
PARTS = ["train", "fork", "spawn", "processes", "no-device", "exit"]
IMPORTS = 5
PROGRAM = pathlib.Path(__file__).with_name("torch_cpu.py")

COUNT = """
import ctypes, torch
torch.cuda.is_available(), torch.cuda.device_count()
ours, slipped, direct, name = ctypes.c_int(), ctypes.c_int(), ctypes.c_int(), ctypes.c_char_p()
driver = ctypes.CDLL("libcuda.so.1")
driver.numbers_requests(ctypes.byref(ours), ctypes.byref(direct))
assert ours.value > 400 and direct.value == 0, (ours.value, direct.value)
print(ours.value, "requests;", end=" ")
ctypes.CDLL(None).observer_counts(ctypes.byref(ours), ctypes.byref(slipped), ctypes.byref(name))
assert slipped.value == 0, name.value
print(ours.value, "functions of the table, all the preload's")
"""


def skip(reason):
    print("skipped:", reason)
    sys.exit(77)


def python_with_torch():
    cache = pathlib.Path(os.environ.get("SLUICE_CACHE") or pathlib.Path.home() / ".cache/sluice")
    folder = cache / f"pytorch-{VERSION}"
    python = folder / "bin/python"
    if not (folder / "complete").exists():
        cache.mkdir(parents=True, exist_ok=True)
        if shutil.disk_usage(cache).free < NEEDED_BYTES:
            skip(f"less than {NEEDED_BYTES >> 30} GiB free in {cache}")
        commands = [[sys.executable, "-m", "venv", folder],
                    [python, "-m", "pip", "install", "-q", f"torch=={VERSION}", "numpy"]]
        for command in commands:
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                skip(f"cannot install PyTorch: {done.stderr.strip().splitlines()[-1:]}")
        (folder / "complete").touch()
    return python


def run(python, preload, *arguments, **more):
    environment = {key: value for key, value in os.environ.items() if key not in ("LD_PRELOAD", "LD_LIBRARY_PATH")}
    if preload:
        environment["LD_PRELOAD"] = preload
    environment.update(more)
    return subprocess.run([python, *arguments], env=environment, capture_output=True, text=True)


def cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def import_seconds(python, preload):
    """On the clock, and of the processor: the former depends on what else the machine does."""
    start, cpu_start = time.perf_counter(), cpu_seconds()
    run(python, preload, PROGRAM, "import").check_returncode()
    return time.perf_counter() - start, cpu_seconds() - cpu_start


def main():
    preload, observer, driver_folder = sys.argv[1:]
    python = python_with_torch()
    failed = False
    for part in PARTS:
        plain, loaded = (run(python, objects, PROGRAM, part) for objects in (None, preload))
        same = (plain.returncode, plain.stdout) == (loaded.returncode, loaded.stdout)
        print(f"{part}: {'same' if same else 'DIFFERENT'} (status {plain.returncode})")
        if not same or (plain.returncode and part != "exit"):
            print(plain.stdout, plain.stderr, "with the preload:", loaded.returncode, loaded.stdout, loaded.stderr)
            failed = True
    counted = run(python, f"{observer}:{preload}", "-c", COUNT, LD_LIBRARY_PATH=driver_folder)
    print("look-ups:", counted.stdout.strip() or counted.stderr)
    failed |= counted.returncode != 0
    times = [import_seconds(python, None) + import_seconds(python, preload) for _ in range(IMPORTS)]
    plain, plain_cpu, loaded, loaded_cpu = (statistics.median(column) for column in zip(*times))
    print(f"import torch: {plain:.2f} s ({plain_cpu:.2f} s of processor time) without, "
          f"{loaded:.2f} s ({loaded_cpu:.2f} s) with the preload")
    sys.exit(failed)


main()
