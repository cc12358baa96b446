"""Which parts each call of run.sh has, in which order and for how long at most."""
import os
import sys
from dataclasses import dataclass, field

from machine import python

HERE = os.path.dirname(os.path.abspath(__file__))
GIB, MIB = 1 << 30, 1 << 20
PROBE_OPTIONS = {
    "full": ["--repeat", "3"],
    "quick": ["--repeat", "1", "--bytes", str(512 * MIB), "--width", "1024"],
    "software": ["--repeat", "1", "--bytes", str(64 * MIB), "--width", "64", "--spin", "20000"],
}
TOUCH_BYTES = {"full": 64 * GIB, "quick": 64 * GIB, "software": 64 * MIB}
# Of all parts together.
LIMITS = {"first": 300, "again": 300, "doubts": 70, "all": 540, "frameworks": 540}


@dataclass(frozen=True)
class Part:
    """`limit`: in seconds; None takes all that is left. A word {limit} of the command becomes the seconds that it got, {free}
    the device's free bytes."""
    name: str
    limit: float
    command: list
    environment: dict = field(default_factory=dict)
    shown: bool = False  # its output is for the user to read at once, not for the results


def run_script(name, *arguments):
    return [sys.executable, os.path.join(HERE, name), *arguments]


def make_probes(options, limits):
    """Parts of um_probe, by their names."""
    probe = os.path.join(options.build, "tests", "gpu", "um_probe")
    patience = 5 if options.size == "software" else 1  # a software device is as fast as its machine
    return [Part(name, patience * limit, [probe, name, *PROBE_OPTIONS[options.size]]) for name, limit in limits.items()]


def make_machine(options):
    software = ["--software"] if options.size == "software" else []
    sluice = os.path.join(options.build, "tools", "sluice")
    facts = run_script("machine.py", os.path.join(options.parts, "machine"), *software)
    return [Part("machine", 15, facts), Part("touch", 30, run_script("touch_memory.py", str(TOUCH_BYTES[options.size]), "25")),
            Part("doctor", 15, [sluice, "doctor", *software]), *make_probes(options, {"device": 20})]


def make_doubts(options):
    command = run_script("doubts.py", options.build, options.parts, "--limit", "{limit}", "--", *PROBE_OPTIONS[options.size])
    return [Part("doubts", 62, command, shown=True)]


def make_frameworks(options, limit, *more):
    stats = os.path.join(options.parts, "stats")
    command = run_script("framework_runs.py", options.build, "--size", options.size, "--limit", "{limit}", "--free-bytes", "{free}",
                         "--stats", stats, *more)
    return [Part("frameworks", limit, command, {"LD_LIBRARY_PATH": options.torch_libraries})]


BASELINE = {"bandwidth": 20, "scaling": 45}
# What else sluice could do, or should not: the last, where time is left.
USES = {"beside": 20, "readmostly": 20, "streaming": 15, "copies": 15, "vmm": 20}


def make_all(options):
    others = dict.fromkeys(("residency", "moves", "remote", "calls", "allocate"), 20)
    size = ["--size", options.size, "--limit", "{limit}"]
    parts = make_probes(options, {**BASELINE, **others, **USES})
    if options.runtime:
        nccl = ["--nccl", options.nccl] if options.nccl else []
        parts.append(Part("gpt", 190, run_script("gpt.py", options.build, "--data", options.data, *size, *nccl)))
    parts.append(Part("torch", 100, [python(), os.path.join(HERE, "torch_runs.py"), options.build, *size],
                      {"LD_LIBRARY_PATH": options.torch_libraries}))
    # Last, because a program that the driver cannot stop may hold the device.
    parts.append(Part("programs", 110, run_script("programs.py", options.build, options.driver, "--limit", "{limit}")))
    return parts


def make_parts(options):
    """All parts of a call, what is worth most first."""
    if options.mode == "doubts":
        return make_doubts(options)
    if options.mode == "frameworks":
        only = ["--only", options.programs] if options.programs else []
        return [*make_probes(options, {"device": 20}), *make_frameworks(options, None, *only)]
    if options.mode == "first":
        return [*make_machine(options), *make_doubts(options), *make_probes(options, BASELINE),
                *make_frameworks(options, None, "--plan", "first"), *make_probes(options, USES)]
    if options.mode == "again":
        changes = [word for change in options.change for word in ("--change", change)]
        return [*make_machine(options), *make_probes(options, BASELINE),
                *make_frameworks(options, 150, "--plan", "again", *changes),
                *make_probes(options, {"remote": 20, "calls": 20, **USES})]
    return [*make_doubts(options), *make_machine(options), *make_all(options)]
