"""Uses the host's memory once, all at a time: on a machine that gets its memory as it uses it, what is measured later does not
pay for that.

Usage: touch_memory.py BYTES SECONDS

At most three quarters of what is available, and no longer than SECONDS. Prints a JSON object: bytes, seconds, and the host's free
memory before and after.
"""
import json
import mmap
import os
import sys
import time

from machine import host_memory, spare_bytes

MAP_POPULATE = getattr(mmap, "MAP_POPULATE", 0x8000)
PIECE_BYTES = 32 << 20


def populate(pieces, end, done, go_on):
    """In a child: has its memory until all children have theirs."""
    try:
        memory = []
        while len(memory) < pieces and time.monotonic() < end:
            memory.append(mmap.mmap(-1, PIECE_BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_POPULATE))
            os.write(done, b"+")
        os.close(done)
        os.read(go_on, 1)
    finally:
        os._exit(0)


def touch(pieces, children, end):
    """How many pieces the children had. The end of the pipe that `go_on` reads lets them go."""
    done_read, done_write = os.pipe()
    go_on_read, go_on_write = os.pipe()
    pids = []
    for child in range(children):
        pid = os.fork()
        if pid == 0:
            os.close(done_read)
            os.close(go_on_write)
            populate(pieces // children + (child < pieces % children), end, done_write, go_on_read)
        pids.append(pid)
    os.close(done_write)
    os.close(go_on_read)
    had = 0
    while words := os.read(done_read, 4096):
        had += len(words)
    os.close(go_on_write)
    for pid in pids:
        os.waitpid(pid, 0)
    return had


def main():
    size, seconds = int(sys.argv[1]), float(sys.argv[2])
    before, start = host_memory(), time.monotonic()
    had = touch(min(size, spare_bytes() * 3 // 4) // PIECE_BYTES, len(os.sched_getaffinity(0)), start + seconds)
    print(json.dumps({"part": "touched", "bytes": had * PIECE_BYTES, "asked_bytes": size,
                      "seconds": round(time.monotonic() - start, 3), "before": before, "after": host_memory()}))


if __name__ == "__main__":
    main()
