"""What a small program needs goes away at each STRIDEth call in turn: a call of the program's says so, with that error.

usage: lost_device.py BUILD KIND STRIDE

KIND: device, lost at a driver call of program or sluice; memory, which sluice gets no more from a call on.
"""

import concurrent.futures
import itertools
import os
import re
import subprocess
import sys

# Runs that end well: there were fewer calls than that. Without memory from the beginning on, sluice leaves the program alone.
IN_A_ROW = {"device": 8, "memory": 80}


ERRORS = {"device": 46, "memory": 2}


def run(build, kind, calls):
    """None: the program ended well; else what its failing call got."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("SLUICE_", "SOFTCUDA_"))}
    environment |= {"LD_LIBRARY_PATH": f"{build}/subprojects/softcuda/lib", "SOFTCUDA_LOG": "none", "SLUICE_DEVICE_BUDGET": "8M", "SLUICE_CHUNK": "2M",
                    **({"FAULTS": f"memory:{calls + 1}+"} if kind == "memory" else {"SOFTCUDA_FAULT": f"device-lost:after={calls}"})}
    preloaded = f"{build}/tests/faults/libsluice-faults.so" if kind == "memory" else f"{build}/shim/libsluice.so"
    environment["LD_PRELOAD"] = " ".join(filter(None, [os.environ.get("E2E_PRELOAD"), preloaded]))
    done = subprocess.run([f"{build}/tests/faults/lost_device"], env=environment, capture_output=True, text=True, timeout=120, check=False)
    return done.stderr.strip()[-300:] + f" (status {done.returncode})" if done.returncode else None


def main():
    build, kind, stride = os.path.abspath(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    unharmed = wrong = tried = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for first in itertools.count(0, 50 * stride):
            some = range(first, first + 50 * stride, stride)
            for calls, said in zip(some, pool.map(lambda calls: run(build, kind, calls), some)):
                tried += 1
                unharmed = 0 if said else unharmed + 1
                if said and not re.search(rf"error {ERRORS[kind]} \(status 3\)$", said):
                    wrong += 1
                    print(f"{kind} gone after {calls} calls: {said}")
            if unharmed >= IN_A_ROW[kind]:
                break
    print(f"{tried - wrong} of {tried} right")
    sys.exit(wrong != 0 or tried * stride < 100)


if __name__ == "__main__":
    main()
