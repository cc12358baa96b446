"""A small training for pages whose own is left open: memory of the software device by the driver's API, three times the pages' budgets.
`train` returns, and the program prints, whether it has been right, and what sluice says of it."""
import ctypes
import os
import sys

from device import SIZE, Device

COUNT = 12


def train(steps):
    device, right, byte = Device(), True, ctypes.c_ubyte()
    memory = [device.allocate() for _ in range(COUNT)]
    for step in range(steps):
        for number, address in enumerate(memory):
            device.fill(address, step + number)
        for number, address in enumerate(memory):
            device.call("cuMemcpyDtoH_v2", ctypes.byref(byte), ctypes.c_uint64(address.value + SIZE - 1), ctypes.c_size_t(1))
            right = right and byte.value == step + number
    return right, os.environ.get("CUDA_VISIBLE_DEVICES")


if __name__ == "__main__":
    print("step", os.environ.get("SLURM_PROCID", "0"), train(int(sys.argv[1]) if len(sys.argv) > 1 else 4), flush=True)
    if os.environ.get("WAIT_FOR"):  # a file that appears when the figures have been read
        while not os.path.exists(os.environ["WAIT_FOR"]):
            os.sched_yield()
