"""How long the commands take to open a long trace, and how much memory. usage: trace_open.py SLUICE BIG_TRACE [LAUNCHES]"""
import os
import subprocess
import sys
import tempfile
import time


def measure(command):
    """Seconds on the clock, seconds of it on a processor, and MiB at the most of a command that must succeed."""
    begin = time.monotonic()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    if status:
        sys.exit(f"{' '.join(command)} ended with {status}")
    return time.monotonic() - begin, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main():
    tool, writer, launches = sys.argv[1], sys.argv[2], (sys.argv[3:] or ["10000000"])[0]
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, "big.slt")
        subprocess.run([writer, trace, launches], check=True)
        size = os.path.getsize(trace)
        print(f"{launches} launches: {size / 1e6:.1f} MB, {size / int(launches):.1f} bytes a launch")
        for command in (["trace", "info"], ["trace", "phases"], ["trace", "timeline"], ["plan"]):
            wall, busy, memory = measure([tool, *command, trace])
            print(f"{' '.join(command):16} {wall:6.2f} s ({busy:.2f} s of it on a processor) {memory:6.0f} MiB")


if __name__ == "__main__":
    main()
