"""Runs the parts of run.sh under one deadline, and brings their results home whatever happens.

Usage: run.sh calls it: session.py MODE BUILD OUT ...

OUT gets two files: gpu-results.tar.gz, with all that the parts left, and digest.md, which is printed last. Both are renewed
every 10 s, after each part, and when the session ends or is told to end by SIGTERM, SIGINT or SIGHUP.
"""
import argparse
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import archive
import digest
import report
from machine import KernelLog
from parts import LIMITS, make_parts

RENEWAL_SECONDS = 10
GRACE_SECONDS = 1  # from SIGTERM to SIGKILL, and from that until a part is left behind
REPORT_SECONDS = 3
# Left of the deadline when the last part's time is up: for the end of a part that does not end, and for the report.
RESERVE_SECONDS = 2 * GRACE_SECONDS + REPORT_SECONDS + 1
STOPPED, LOST = 124, 137  # as timeout(1) says it; the latter of a part that no signal ends
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class Told(BaseException):
    """A signal told the session to end."""


def signal_group(process, number):
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def end_group(process):
    """Ends a part and all that it started. What hangs in the driver outlives even this. The status of timeout(1)."""
    for number, status in ((signal.SIGTERM, STOPPED), (signal.SIGKILL, STOPPED)):
        signal_group(process, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(GRACE_SECONDS)
            signal_group(process, signal.SIGKILL)  # what of it still runs
            return status
    return LOST


class Guard:
    """A process that ends the running part when the session is gone, even by SIGKILL: the next call has the device for itself."""

    def __init__(self):
        read, self.write = os.pipe()
        if os.fork() == 0:
            os.close(self.write)
            os.setsid()
            self.watch(read)
        os.close(read)

    def watch(self, read):
        """The pipe has the groups to end, a line each, and ends with the session."""
        group = 0
        with open(read) as lines:
            for line in lines:
                group = int(line)
        if group:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(group, signal.SIGKILL)
        os._exit(0)

    def set(self, group):
        """0: none."""
        with contextlib.suppress(BrokenPipeError):
            os.write(self.write, b"%d\n" % group)


class Session:
    def __init__(self, options):
        self.options = options
        self.end = time.monotonic() - options.elapsed + options.seconds
        self.process = None
        self.starting, self.told = False, None
        self.guard = Guard()
        self.log = KernelLog()
        self.lock = threading.Lock()  # of the files in OUT
        self.ended = threading.Event()

    def left(self):
        return self.end - RESERVE_SECONDS - time.monotonic()

    def note(self, **record):
        with open(os.path.join(self.options.parts, "parts.jsonl"), "a") as file:
            file.write(json.dumps(record) + "\n")

    def free_bytes(self):
        found = report.load(self.options.parts).get("device", [{}])
        return found[0].get("free_bytes", 0)

    def run_part(self, part):
        """Runs it for as long as it may; what it printed stays even when it is ended."""
        limit = min(part.limit or self.left(), self.left())
        if limit < 1:
            self.note(part="part", name=part.name, status=None, seconds=0, limit_seconds=0)
            return
        print(f"run.sh: {part.name}, at most {limit:.0f} s", file=sys.stderr, flush=True)
        words = {"{limit}": f"{max(0.5, limit - GRACE_SECONDS):.1f}", "{free}": str(self.free_bytes())}
        command = [words.get(word, word) for word in part.command]
        self.note(part="begun", name=part.name)
        start = time.monotonic()
        path = os.path.join(self.options.parts, part.name)
        with open(path + ".jsonl", "w") as out, open(path + ".log", "w") as err:
            try:
                self.start(command, part.environment, None if part.shown else out, err)
                status = self.process.wait(limit)
                status = status if status >= 0 else 128 - status
            except subprocess.TimeoutExpired:
                status = end_group(self.process)
            except OSError as error:
                err.write(f"{error}\n")
                status = 127
        self.process = None
        self.guard.set(0)
        self.note(part="part", name=part.name, status=status, seconds=round(time.monotonic() - start, 1),
                  limit_seconds=round(limit, 1))
        trouble = self.log.new_trouble()
        if trouble:
            self.note(part="kernel_log", after=part.name, lines=trouble[-20:])

    def start(self, command, environment, out, err):
        """A signal that comes before the process is known has to wait: it would be left behind."""
        self.starting = True
        try:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                            env={**os.environ, **environment}, start_new_session=True)
            self.guard.set(self.process.pid)
        finally:
            self.starting = False
        if self.told:
            raise Told(self.told)

    def be_told(self, number, _):
        """A signal's handler."""
        self.told = number
        if not self.starting:
            raise Told(number)

    def write_report(self):
        """The tables and all numbers, for the archive."""
        work, script = self.options.work, os.path.join(os.path.dirname(__file__), "report.py")
        with open(os.path.join(work, "gpu-results.md"), "w") as file, contextlib.suppress(subprocess.TimeoutExpired):
            subprocess.run([sys.executable, script, self.options.parts, os.path.join(work, "gpu-results.json"), self.options.size,
                            self.options.mode], stdout=file, stderr=subprocess.STDOUT, timeout=REPORT_SECONDS)

    def renew(self, final=False):
        """Writes OUT anew; the digest's text. What fails here ends nothing."""
        with self.lock:
            if self.ended.is_set() and not final:
                return None  # the last ones are there
            try:
                text = digest.make(self.options.parts, self.options.size, self.options.mode, final)
            except Exception as error:  # whatever a part printed: the archive has to come home
                text = f"No digest: {type(error).__name__}: {error}\n"
            try:
                archive.replace(os.path.join(self.options.out, "digest.md"), text.encode())
                archive.replace(os.path.join(self.options.work, "digest.md"), text.encode())
                self.write_report()
                packed = archive.pack(self.options.work, "gpu-results")
                archive.replace(os.path.join(self.options.out, "gpu-results.tar.gz"), packed)
            except OSError as error:
                print(f"run.sh: {error}", file=sys.stderr)
        return text

    def renew_until_ended(self):
        while not self.ended.wait(RENEWAL_SECONDS):
            self.renew()

    def run(self):
        threading.Thread(target=self.renew_until_ended, daemon=True).start()
        for part in make_parts(self.options):
            self.run_part(part)
            self.renew()

    def finish(self):
        """Ends what still runs, and prints the digest."""
        for number in SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        if self.process:
            end_group(self.process)
            self.guard.set(0)
        self.ended.set()
        text = self.renew(final=True)
        with contextlib.suppress(OSError):
            print(text, flush=True)


def read_options():
    parser = argparse.ArgumentParser()
    parser.add_argument("mode", choices=LIMITS)
    parser.add_argument("build")
    parser.add_argument("out")
    for name in ("size", "data", "driver", "runtime", "nccl", "torch-libraries", "programs"):
        parser.add_argument("--" + name, default="")
    parser.add_argument("--elapsed", type=float, default=0)
    parser.add_argument("--change", action="append", default=[])
    options = parser.parse_args()
    options.seconds = float(os.environ.get("SECONDS_AT_MOST") or LIMITS[options.mode])
    return options


def main():
    options = read_options()
    os.makedirs(options.out, exist_ok=True)
    for name in ("gpu-results.tar.gz", "digest.md"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(options.out, name))
    options.work = tempfile.mkdtemp(prefix="sluice-gpu-")
    options.parts = os.path.join(options.work, "parts")
    os.makedirs(os.path.join(options.parts, "stats"))
    session, status = Session(options), 0
    try:
        for number in SIGNALS:
            signal.signal(number, session.be_told)
        session.run()
    except Told as told:
        session.note(part="told", signal=signal.Signals(told.args[0]).name)
        status = 128 + told.args[0]
    finally:
        session.finish()
        status = status or digest.status(options.parts, options.mode)
        shutil.rmtree(options.work, ignore_errors=True)
    return status


if __name__ == "__main__":
    sys.exit(main())
