#!/usr/bin/env python3
"""Allocates from lines of Python under the shim: each line is a site of its own, whatever function calls CUDA for all of them,
and the same site in the next run.

usage: check_python.py PRELOAD SLUICE
"""
import ctypes
import os
import subprocess
import sys
import sysconfig
import tempfile
import threading

KNOWN = ((3, 11), (3, 12), (3, 13))
WARM_UP, BEGIN = 50, 9000  # rounds; the size of the allocation behind them


def expect(what, found, wanted):
    if found != wanted:
        sys.exit(f"{what}: {found} instead of {wanted}")


class Device:
    def __init__(self):
        self.driver = ctypes.CDLL("libcuda.so.1")
        context = ctypes.c_void_p()
        for result in (self.driver.cuInit(0), self.driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0),
                       self.driver.cuCtxSetCurrent(context)):
            expect("CUDA", result, 0)
        self.context = context

    def allocate(self, size):
        address = ctypes.c_uint64()
        expect("cuMemAlloc", self.driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(size)), 0)


def each_of(device, count):
    for _ in range(count):
        device.allocate(1000)
        device.allocate(2000)


def work(device):
    each_of(device, 3)
    each_of(device, 2)
    for size in (3000, 4000):
        list(map(device.allocate, [size]))


def program():
    device = Device()
    # The interpreter calls functions of Python by other functions of C, until it has seen them called.
    for _ in range(WARM_UP):
        work(device)
    device.allocate(BEGIN)
    work(device)
    thread = threading.Thread(target=lambda: (device.driver.cuCtxSetCurrent(device.context), device.allocate(5000)))
    thread.start()
    thread.join()


def sites(folder, preload, tool):
    """By size, the sites of all allocations of that size, in their order."""
    trace = os.path.join(folder, "trace.slt")
    environment = {**os.environ, "LD_PRELOAD": preload, "SLUICE_TRACE": trace, "SLUICE_OVERWRITE": "1",
                   "SLUICE_DEVICE_BUDGET": "64M", "SLUICE_CHUNK": "2M"}
    subprocess.run([sys.executable, __file__, "program"], env=environment, check=True)
    dump = subprocess.run([tool, "trace", "dump", trace], capture_output=True, text=True, check=True).stdout
    found = {}
    for line in dump.splitlines():
        words = line.split()
        if words[3:4] == ["alloc"]:
            fields = dict(word.split("=") for word in words[4:])
            if int(fields["bytes"]) == BEGIN:
                found = {}
            else:
                found.setdefault(int(fields["bytes"]), []).append(fields["site"])
    return found


def main():
    if sys.version_info[:2] not in KNOWN or sysconfig.get_config_var("Py_GIL_DISABLED"):
        print(f"skipped: this is Python {sys.version.split()[0]}")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        found, again = (sites(folder, *sys.argv[1:3]) for _ in range(2))
    expect("allocations", {size: len(each) for size, each in found.items()}, {1000: 5, 2000: 5, 3000: 1, 4000: 1, 5000: 1})
    first, second = found[1000], found[2000]
    expect("sites of a line that two lines call", [first.index(site) for site in first], [0, 0, 0, 3, 3])
    expect("sites of the next line", [second.index(site) for site in second], [0, 0, 0, 3, 3])
    expect("sites that two lines share", set(first) & set(second), set())
    expect("the same line, called by map", len({*found[3000], *found[4000]}), 1)
    expect("sites in the next run", again, found)


if __name__ == "__main__":
    if sys.argv[1:] == ["program"]:
        program()
    else:
        main()
