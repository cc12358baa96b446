"""Uses the host's memory once, all at a time: on a machine that gets its memory as it uses it, what is measured later does not
pay for that.

Usage: touch_memory.py BYTES

At most three quarters of what is available. Prints a JSON object: bytes, seconds, and the host's free memory before and after.
"""
import json
import mmap
import os
import sys
import time

from machine import host_memory, spare_bytes

MAP_POPULATE = getattr(mmap, "MAP_POPULATE", 0x8000)


def populate(size, done, go_on):
    """In a child: has the memory until all children have theirs."""
    try:
        memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_POPULATE)
        os.write(done, b"+")
        os.read(go_on, 1)
        memory.close()
    finally:
        os._exit(0)


def touch(size, children):
    """How many children had their part. The pipe's end, which a read of `go_on` meets, lets them go."""
    done_read, done_write = os.pipe()
    go_on_read, go_on_write = os.pipe()
    pids = []
    for _ in range(children):
        pid = os.fork()
        if pid == 0:
            os.close(done_read)
            os.close(go_on_write)
            populate(size // children, done_write, go_on_read)
        pids.append(pid)
    os.close(done_write)
    os.close(go_on_read)
    had = 0
    while had < children and os.read(done_read, 1):
        had += 1
    os.close(go_on_write)
    for pid in pids:
        os.waitpid(pid, 0)
    return had


def main():
    children = len(os.sched_getaffinity(0))
    size = min(int(sys.argv[1]), spare_bytes() * 3 // 4) // children // mmap.PAGESIZE * mmap.PAGESIZE * children
    before, start = host_memory(), time.monotonic()
    had = touch(size, children) if size else 0
    print(json.dumps({"part": "touched", "bytes": size // children * had, "seconds": round(time.monotonic() - start, 3),
                      "before": before, "after": host_memory()}))
    return 0 if had == children else 1


if __name__ == "__main__":
    sys.exit(main())
