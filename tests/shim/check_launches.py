#!/usr/bin/env python3
"""Runs test_launches, or another program of its kind, under the shim and asks the software device what its kernels saw.

Every kernel's pointers are in its parameters, so each block must have been brought to the device before its
launch: nothing may be read in place or by a fault, and the budget must hold.
"""
import json
import os
import subprocess
import sys
import tempfile

program, preload = sys.argv[1:3]
with tempfile.TemporaryDirectory() as folder:
    stats = os.path.join(folder, "device.json")
    environment = dict(os.environ, LD_PRELOAD=preload, SOFTCUDA_STATS=stats)
    result = subprocess.run([program], env=environment, check=False)
    if result.returncode:
        sys.exit(result.returncode)
    with open(stats, encoding="utf-8") as file:
        device = json.load(file)

for direction in ("bytes_in", "bytes_out"):
    for cause in ("fault", "remote", "eviction"):
        if device[direction][cause]:
            sys.exit(f"{direction} by {cause}: {device[direction][cause]}, expected none")
if device["peak_device_bytes"] > int(os.environ["BUDGET_BYTES"]):
    sys.exit(f"{device['peak_device_bytes']} bytes on the device, beyond the budget")
