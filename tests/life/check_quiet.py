#!/usr/bin/env python3
"""Compares a process that never uses CUDA with and without the preload: PROGRAM COUNTER OBJECT. The same calls of the
allocator, threads and descriptors, and no mapping but the object's own; whatever files its options name."""
import os
import subprocess
import sys
import tempfile

program, counter, preload = sys.argv[1:]
TRIES = 5


def look(folder, *objects):
    environment = {**os.environ, "LD_PRELOAD": ":".join(objects), "SLUICE_TRACE": folder + "/trace",
                   "SLUICE_STATS": folder + "/stats", "SLUICE_LOG": folder + "/log", "SLUICE_VERBOSE": "1"}
    out = subprocess.run([program], env=environment, check=True, capture_output=True, text=True).stdout.splitlines()
    mappings = []
    for line in out[1:]:
        fields = line.split(maxsplit=5)
        low, high = (int(address, 16) for address in fields[0].split("-"))
        mappings.append((low, high, fields[5] if len(fields) > 5 else ""))
    return out[0].split(), mappings


def names(mappings):
    return sorted(name for _, _, name in mappings if name.startswith("/"))


def others(folder):
    """How many mappings have no name, without the preload and with it: in the latter case without the object's variables, behind its file."""
    facts, mappings = look(folder, counter)
    loaded_facts, loaded_mappings = look(folder, counter, preload)
    assert loaded_facts == facts, f"allocator calls, threads, descriptors: {loaded_facts}, without {facts}"
    assert not os.listdir(folder), os.listdir(folder)
    own = os.path.realpath(preload)
    assert [name for name in names(loaded_mappings) if name != own] == names(mappings), loaded_mappings
    unnamed = [(low, high) for low, high, name in loaded_mappings if not name]
    ends = {high for _, high, name in loaded_mappings if name == own}
    variables = [(low, high) for low, high in unnamed if low in ends]
    return sum(not name for _, _, name in mappings), len(unnamed) - len(variables), loaded_mappings


# Where mappings lie is for chance, and two that touch are one: a mapping of the object's would be there each time.
with tempfile.TemporaryDirectory() as directory:
    for _ in range(TRIES):
        without, loaded, all_loaded = others(directory)
        if loaded == without:
            break
    assert loaded == without, all_loaded
