#!/usr/bin/env python3
"""The largest model that four ranks can train, without and with sluice, where a node has little memory: the devices' and the host's
are in the ratio of the machine on which PatrickStar was measured (8 x 32 GB and 240 GB).

usage: largest_model.py BUILD [--device-mib N]

Prints the number of parameters, parameters for each byte of all devices' memory, and what the next larger model lacked.
PatrickStar (arXiv 2108.05818): 12e9 parameters on that machine, which its best rival, DeepSpeed, trains 8e9 of.
"""
import argparse
import os
import pathlib
import re
import subprocess

RANKS = 4
HOST_OF_DEVICES = 240 / (8 * 32)
PATRICKSTAR = 12e9 / (8 * 32e9)
TEXT = pathlib.Path(__file__).resolve().parents[2] / "workloads/data/gpl-3.txt"
# A chunk holds one layer: 12 * width^2 parameters, about.
MODEL = ["--width", "252", "--heads", "4", "--context", "4", "--batch", "1", "--steps", "2", "--chunk-mib", "3"]
LAYERS_MOST = 512


class Node:
    def __init__(self, build, device_mib):
        self.build = build.resolve()
        self.device_mib, self.host_mib = device_mib, int(RANKS * device_mib * HOST_OF_DEVICES)

    def train(self, layers, zero, sluice):
        """(parameters, None), or (None, why not)."""
        env = {name: value for name, value in os.environ.items() if not name.startswith(("SLUICE_", "SOFTCUDA_"))}
        env.update({"LD_LIBRARY_PATH": str(self.build / "subprojects/softcuda/lib"), "SOFTCUDA_DEVICES": str(RANKS),
                    "SOFTCUDA_MEMORY": f"{self.device_mib}M"})
        if sluice:
            env.update({"LD_PRELOAD": str(self.build / "shim/libsluice.so"), "SLUICE_CHUNK": "1M",
                        "SLUICE_HOST_LIMIT": f"{self.host_mib // RANKS}M"})
        command = [self.build / "workloads/ddp", "--data", TEXT, "--ranks", str(RANKS), "--zero", str(zero), *MODEL,
                   "--layers", str(layers)]
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
        if done.returncode == 3:
            lines = [line for line in done.stderr.splitlines() if line]
            return None, lines[-1] if lines else "out of memory"
        if done.returncode:
            raise SystemExit(f"{' '.join(map(str, command))}: status {done.returncode}\n{done.stderr}")
        return int(re.search(r"^model parameters (\d+)", done.stdout, re.MULTILINE).group(1)), None

    def largest(self, zero, sluice):
        fits, too_many, found, why = 0, LAYERS_MOST, 0, None
        tried = 4
        while too_many - fits > 1:
            parameters, reason = self.train(tried, zero, sluice)
            if reason:
                too_many, why = tried, reason
            else:
                fits, found = tried, parameters
            tried = min(2 * tried, LAYERS_MOST - 1) if too_many == LAYERS_MOST else (fits + too_many) // 2
        return found, why


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--device-mib", type=int, default=128)
    options = parser.parse_args()
    node = Node(options.build, options.device_mib)
    device_bytes = RANKS * options.device_mib << 20
    print(f"{RANKS} devices of {options.device_mib} MiB, {node.host_mib} MiB of host memory; PatrickStar: {PATRICKSTAR:.4f} "
          "parameters for each byte of the devices\n")
    print("| --zero | without sluice | for each byte | with sluice | for each byte | times PatrickStar | what limits it |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | --- |")
    for zero in range(4):
        without, _ = node.largest(zero, False)
        found, why = node.largest(zero, True)
        print(f"| {zero} | {without / 1e6:.2f} M | {without / device_bytes:.4f} | {found / 1e6:.2f} M | "
              f"{found / device_bytes:.4f} | {found / device_bytes / PATRICKSTAR:.2f} | {why} |", flush=True)


if __name__ == "__main__":
    main()
