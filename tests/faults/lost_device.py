"""The device is lost at each STRIDEth driver call of a small program in turn: a call of the program's says so, with that error.

usage: lost_device.py BUILD STRIDE
"""

import concurrent.futures
import itertools
import os
import re
import subprocess
import sys

IN_A_ROW = 8  # runs without a lost device: the program has made fewer calls than that


def run(build, calls):
    """None: the program ended before the device was lost; else what its failing call got."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("SLUICE_", "SOFTCUDA_"))}
    environment |= {"LD_LIBRARY_PATH": f"{build}/subprojects/softcuda/lib", "SOFTCUDA_LOG": "none", "SLUICE_DEVICE_BUDGET": "8M", "SLUICE_CHUNK": "2M",
                    "SOFTCUDA_FAULT": f"device-lost:after={calls}",
                    "LD_PRELOAD": " ".join(filter(None, [os.environ.get("E2E_PRELOAD"), f"{build}/shim/libsluice.so"]))}
    done = subprocess.run([f"{build}/tests/faults/lost_device"], env=environment, capture_output=True, text=True, timeout=120, check=False)
    return done.stderr.strip()[-300:] + f" (status {done.returncode})" if done.returncode else None


def main():
    build, stride = os.path.abspath(sys.argv[1]), int(sys.argv[2])
    unharmed = wrong = tried = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for first in itertools.count(0, 50 * stride):
            some = range(first, first + 50 * stride, stride)
            for calls, said in zip(some, pool.map(lambda calls: run(build, calls), some)):
                tried += 1
                unharmed = 0 if said else unharmed + 1
                if said and not re.search(r"error 46 \(status 3\)$", said):
                    wrong += 1
                    print(f"lost after {calls} calls: {said}")
            if unharmed >= IN_A_ROW:
                break
    print(f"{tried - wrong} of {tried} right")
    sys.exit(wrong != 0 or tried * stride < 100)


if __name__ == "__main__":
    main()
