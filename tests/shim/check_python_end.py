#!/usr/bin/env python3
"""Ends the interpreter while a thread is in a call that allocates. The interpreter frees what it knew of the thread, and overwrites
it because of PYTHONMALLOC. The call goes on: nothing may read that from then on.

usage: check_python_end.py PRELOAD LIBRARY
"""
import ctypes
import os
import signal
import subprocess
import sys
import tempfile
import threading

LONGEST_S, TIMES, ROUNDS = 120, 3, 100


class AtTheVeryEnd:
    """Kept by a module that is deleted after the threads: waits until the call has gone on for a while."""

    def __init__(self, rounds):
        self.rounds = rounds

    def __del__(self, more=ROUNDS, write=os.write):
        begin = self.rounds()
        while self.rounds() < begin + more:
            pass
        write(1, b"went on\n")


def allocate(library, driver, context):
    driver.cuCtxSetCurrent(context)
    library.allocate_on_and_on()


def program(path):
    signal.alarm(LONGEST_S)
    driver, library, context = ctypes.CDLL("libcuda.so.1"), ctypes.CDLL(path), ctypes.c_void_p()
    for result in (driver.cuInit(0), driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)):
        if result:
            sys.exit(f"CUDA: {result}")
    threading.Thread(target=allocate, args=(library, driver, context), daemon=True).start()
    while library.rounds() < ROUNDS:
        pass
    sys.at_the_very_end = AtTheVeryEnd(library.rounds)


def main(preload, library):
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "LD_PRELOAD": preload, "SLUICE_TRACE": os.path.join(folder, "trace.slt"),
                       "SLUICE_OVERWRITE": "1", "PYTHONMALLOC": "debug", "SLUICE_DEVICE_BUDGET": "64M", "SLUICE_CHUNK": "2M"}
        for _ in range(TIMES):
            ended = subprocess.run([sys.executable, __file__, "program", library], env=environment, capture_output=True, text=True)
            if (ended.returncode, ended.stdout, ended.stderr) != (0, "went on\n", ""):
                sys.exit(f"status {ended.returncode}: {ended.stdout}{ended.stderr}")


if __name__ == "__main__":
    if sys.argv[1] == "program":
        program(sys.argv[2])
    else:
        main(*sys.argv[1:])
