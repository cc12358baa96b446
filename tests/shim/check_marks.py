#!/usr/bin/env python3
"""Runs test_marks and test_nvtx under the shim: what they name is in the trace, in its order and at its ticks; where no
trace is written, without sluice, and where another tool listens, they run as before.

usage: check_marks.py PRELOAD SLUICE MARKS... [--nvtx PROGRAM]
"""
import ast
import os
import subprocess
import sys
import tempfile

from told import dumped, expect, traced

PRELOAD, SLUICE, *REST = sys.argv[1:]
NVTX = REST.pop() if "--nvtx" in REST else None


def marks(records, thread=1):
    return [(r["kind"], r.get("name", ""), r["tick"]) for r in records if r["type"] == "mark" and r["thread"] == thread]


def runs_without(program):
    """As if there were no sluice: none, one that writes no trace, and another tool's library that is not there."""
    for variables in ({}, {"LD_PRELOAD": PRELOAD}, {"NVTX_INJECTION64_PATH": "/no/such/library.so"}):
        subprocess.run([program], env=dict(os.environ, **variables), check=True)


def check_marks(program):
    records = traced(program, PRELOAD, SLUICE)
    expect(program, marks(records), [
        ("push", "forward", 0), ("push", "layer 1", 2), ("pop", "", 3), ("pop", "", 3), ("moment", "a moment", 4),
        ("push", "changed", 4), ("pop", "", 4), ("moment", "a" * 127, 4), ("moment", "", 4)])
    expect("another thread", marks(records, 2), [("push", "beside", 4), ("pop", "", 4)])
    expect("who says so", {r["source"] for r in records if r["type"] == "mark"}, {1})


def check_nvtx():
    records = traced(NVTX, PRELOAD, SLUICE)
    seen = marks(records)
    expect("the default domain", seen[:17], [
        ("push", "forward", 0), ("push", "Sch\u00fctze \u20ac \U0001f600", 1), ("pop", "", 2), ("push", "with attributes", 2),
        ("pop", "", 2), ("pop", "", 2), ("begin", "one", 2), ("begin", "two", 2), ("begin", "with attributes", 2),
        ("end", "", 3), ("end", "", 3), ("end", "", 3), ("moment", "a moment", 3), ("moment", "wide", 3),
        ("moment", "with attributes", 3), ("moment", "", 3), ("moment", "", 3)])
    ranges = [r["range"] for r in records if r["type"] == "mark" and r["kind"] in ("begin", "end")]
    expect("ranges by number", ranges[3:6], [ranges[0], ranges[2], ranges[1]])
    domains = [(r["kind"], r.get("name", ""), r["domain"]) for r in records if r["type"] == "mark"][17:]
    expect("domains", domains, [
        ("push", "registered", 1), ("push", "inner", 2), ("pop", "", 1), ("pop", "", 2), ("moment", "registered", 1),
        ("moment", "", 0), ("begin", "inner", 2), ("end", "", 2), ("moment", "a" * 126, 0)])
    facts = [r["name"] for r in records if r["type"] == "metadata" and r["name"].startswith("nvtx")]
    expect("names of domains", facts, ["nvtx_domain_1=library", "nvtx_domain_2=other"])
    expect("who says so", {r["source"] for r in records if r["type"] == "mark"}, {0})


def check_another_tool():
    """A tool that the program's user named is not replaced."""
    records = traced(NVTX, PRELOAD, SLUICE, NVTX_INJECTION64_PATH="/no/such/library.so")
    expect("marks that another tool gets", marks(records), [])


def check_environment(folder):
    """A process's environment names our library where a trace is asked for, is otherwise as it was, and can be changed."""
    script = ("import os, subprocess, sys; os.environ['NEW'] = 'new'; "
              "subprocess.run([sys.executable, '-c', 'import os; print(dict(os.environ))'])")

    def seen(**variables):
        plain = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
        environment = dict(plain, LD_PRELOAD=PRELOAD, ASAN_OPTIONS="detect_leaks=0", **variables)  # Python's
        done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
        found = ast.literal_eval(done.stdout.splitlines()[-1])
        return {name: value for name, value in found.items() if environment.get(name) != value}

    library = PRELOAD.split(":")[-1]
    asked = {"NEW": "new", "PYTORCH_CUDA_ALLOC_CONF": "backend:cudaMallocAsync", "TORCH_DIST_USE_NCCL2": "0"}  # of Python; what else: test_framework.c
    expect("without a trace", seen(), asked)
    expect("with nothing asked of frameworks", seen(SLUICE_FRAMEWORK="off"), {"NEW": "new"})
    expect("while the core only records", seen(SLUICE_POLICY="off"), {"NEW": "new"})
    expect("with a choice of the user's", seen(PYTORCH_CUDA_ALLOC_CONF="backend:native"), {"NEW": "new"})
    expect("with a setting of the user's", seen(PYTORCH_CUDA_ALLOC_CONF="pinned_num_register_threads:4"),
           {**asked, "PYTORCH_CUDA_ALLOC_CONF": "pinned_num_register_threads:4,backend:cudaMallocAsync"})
    expect("with a trace", seen(SLUICE_TRACE=os.path.join(folder, "none")), {**asked, "NVTX_INJECTION64_PATH": library})
    expect("with another tool", seen(SLUICE_TRACE=os.path.join(folder, "none"), NVTX_INJECTION64_PATH="/other"), asked)


def check_bounds(folder):
    """A program may give every step a name of its own."""
    path = os.path.join(folder, "steps")
    environment = dict(os.environ, LD_PRELOAD=PRELOAD, SLUICE_TRACE=path, SLUICE_TRACE_FULL="wait")
    done = subprocess.run([NVTX, "60000"], env=environment, capture_output=True, text=True, check=True)
    if int(done.stdout) > 16 << 10 and not os.environ.get("SANITIZED"):
        sys.exit(f"names of 60000 steps take {done.stdout.strip()} KiB")
    names = [r.get("name") for r in dumped(SLUICE, path) if r["type"] == "mark" and r["kind"] == "push"]
    expect("the first names", names[:2], ["first", "a step with a name of its own: 0"])
    expect("the last name", names[-1], "(too many texts)")


if NVTX:
    REST.remove("--nvtx")
    runs_without(NVTX)
    check_nvtx()
    check_another_tool()
    with tempfile.TemporaryDirectory() as temporary:
        check_bounds(temporary)
with tempfile.TemporaryDirectory() as temporary:
    check_environment(temporary)
for MARKS in REST:
    runs_without(MARKS)
    check_marks(MARKS)
