"""A program for the driver's API by ctypes, whose data are three times its budget. Prints what it learns of its own run, as JSON."""
import json
import os

from device import Device
import sluice

COUNT, STEPS = 12, 6


def dictionary(stats):
    return stats and {**stats._asdict(), "bytes_in": stats.bytes_in, "bytes_out": stats.bytes_out}


def in_a_child():
    """What a child after fork says: whether it is under sluice, and whether it has figures."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.write(write, json.dumps([sluice.active(), sluice.stats()]).encode())
        os._exit(0)
    os.waitpid(child, 0)
    return json.loads(os.read(read, 1000))


@sluice.range("update")
def update(device, memory, byte):
    for address in memory:
        device.fill(address, byte)


def main():
    said = {"active": sluice.active(), "before": dictionary(sluice.stats()), "steps": []}
    device = Device()
    memory = [device.allocate() for _ in range(COUNT)]
    per_step = sluice.PerStep()
    for step in range(STEPS):
        with sluice.range("forward"):
            update(device, memory, step)
        sluice.mark(f"step {step} ends \N{CHECK MARK}")
        device.call("cuCtxSynchronize")
        said["steps"].append(per_step())
    said["two"] = per_step(2)
    said["child"] = in_a_child()
    said["other"] = [dictionary(sluice.stats(number)) for number in (1, 31, 32, -1, 1 << 40)]
    said["saved"] = sluice.save_profile()
    said["after"] = dictionary(sluice.stats())
    print(json.dumps(said))


main()
