#!/usr/bin/env python3
"""The kernel of `sluice kernel install` by Jupyter's own client: SLUICE, the command.

The client finds it and starts it; cells use three times the budget, and ask what sluice did; an endless cell can be interrupted, and
the kernel restarted. Skipped where Jupyter cannot be had from PyPI."""
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parents[1]
sys.path.insert(0, str(SOURCE / "tests/frameworks"))
import debian
import running
import wheels

SECONDS = 120  # after which a hang is one
TRAIN = """
import sluice
from device import Device
device = Device()
memory = [device.allocate() for _ in range(12)]
per_step = sluice.PerStep()
for step in range(4):
    for address in memory:
        device.fill(address, step)
    device.call("cuCtxSynchronize")
    values = per_step()
now = sluice.stats()
print(sluice.active(), now.budget_bytes >> 20, now.need_bytes >> 20, now.bytes_out > 0, values["sluice/bytes_out"] > 0)
"""
ENDLESS = """
print("begins", flush=True)
while True:
    pass
"""


def expect(what, found, wanted):
    if found != wanted:
        sys.exit(f"{what}: {found!r} instead of {wanted!r}")


def run(client, code, output=None):
    """(how it ended, what it printed). `output`: called at its first output."""
    printed = []

    def heard(message):
        kind, content = message["msg_type"], message["content"]
        if kind == "stream" and content["name"] == "stdout":
            printed.append(content["text"])
            if output and len(printed) == 1:
                output()
        elif kind == "error":
            printed.append(content["ename"])

    reply = client.execute_interactive(code, timeout=SECONDS, output_hook=heard, allow_stdin=False)
    return reply["content"]["status"], "".join(printed).strip()


def check(manager, client):
    expect("a cell that trains", run(client, TRAIN), ("ok", "True 16 48 True True"))
    expect("an endless cell", run(client, ENDLESS, manager.interrupt_kernel), ("error", "begins\nKeyboardInterrupt"))
    expect("after the interrupt", run(client, "print(sluice.stats().live_bytes >> 20)"), ("ok", "48"))
    manager.restart_kernel(now=True)
    client.wait_for_ready(timeout=SECONDS)
    expect("after a restart", run(client, "import sluice; print(sluice.active(), sluice.stats())"), ("ok", "True None"))


def main():
    command = sys.argv[1]
    try:
        packages = wheels.prepare(running.cache(), "jupyter", f"{sys.version_info.major}.{sys.version_info.minor}")
    except debian.Unavailable as reason:
        print("skipped:", reason)
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("SLUICE_", "JUPYTER_", "LD_", "PYTHON"))}
        os.environ.clear()
        os.environ.update(kept, JUPYTER_DATA_DIR=f"{folder}/data", JUPYTER_CONFIG_DIR=f"{folder}/config", JUPYTER_RUNTIME_DIR=f"{folder}/run",
                          JUPYTER_NO_CONFIG="1", IPYTHONDIR=f"{folder}/ipython", PYTHONPATH=f"{packages}:{SOURCE}/python:{HERE}",
                          PYTHONDONTWRITEBYTECODE="1", PYDEVD_DISABLE_FILE_VALIDATION="1")
        subprocess.run([command, "kernel", "install", "--name", "small", "--budget", "16M", "--software", "--python", sys.executable],
                       check=True, stdout=subprocess.DEVNULL)
        sys.path.insert(0, str(packages))
        from jupyter_client import kernelspec, manager
        expect("the kernel's name", kernelspec.KernelSpecManager().get_kernel_spec("small").display_name,
               "Python 3 (sluice, software device, 16M)")
        running_kernel, client = manager.start_new_kernel(kernel_name="small", startup_timeout=SECONDS)
        try:
            check(running_kernel, client)
        finally:
            client.stop_channels()
            running_kernel.shutdown_kernel(now=True)
    print("all is well")


if __name__ == "__main__":
    main()
