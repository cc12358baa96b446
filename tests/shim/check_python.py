#!/usr/bin/env python3
"""Allocates from lines of Python under the shim: each line is a site of its own, whatever function calls CUDA for all of them,
and the same site in the next run. The trace names function, file and line of each frame.

usage: check_python.py PRELOAD SLUICE
"""
import ctypes
import inspect
import json
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


def line_of(function, text):
    """The number of the function's only line with the text."""
    lines, first = inspect.getsourcelines(function)
    (number,) = (first + i for i, line in enumerate(lines) if text in line)
    return number


def check_frames(folder, tool, found):
    said = subprocess.run([tool, "trace", "sites", "--json", os.path.join(folder, "trace.slt")], capture_output=True, text=True, check=True).stdout
    sites = {int(site["site"], 16): site for site in json.loads(said)["sites"]}
    frames = {number: site["python"] for number, site in sites.items()}
    allocate = ("Device.allocate", line_of(Device.allocate, "cuMemAlloc_v2"))
    for size, callers in ((1000, [("each_of", line_of(each_of, "1000")), ("work", line_of(work, "device, 3"))]),
                          (2000, [("each_of", line_of(each_of, "2000")), ("work", line_of(work, "device, 3"))]),
                          (3000, [("work", line_of(work, "map("))])):
        innermost = frames[int(found[size][0], 16)][:len(callers) + 1]
        expect(f"frames of {size} bytes", [(frame["function"], frame["line"]) for frame in innermost], [allocate, *callers])
        expect(f"the title of {size} bytes", sites[int(found[size][0], 16)]["title"], f"{allocate[0]} ({os.path.basename(__file__)}:{allocate[1]})")
        expect("their file", {os.path.basename(frame["file"]) for frame in innermost}, {os.path.basename(__file__)})


def main():
    if sys.version_info[:2] not in KNOWN or sysconfig.get_config_var("Py_GIL_DISABLED"):
        print(f"skipped: this is Python {sys.version.split()[0]}")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        found, again = (sites(folder, *sys.argv[1:3]) for _ in range(2))
        check_frames(folder, sys.argv[2], again)
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
