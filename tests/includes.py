#!/usr/bin/env python3
"""Who may include whom.

usage: includes.py ROOT

The table "Folders" of docs/architecture.md says which folders of src/ each folder includes from; every #include between
quotes in src/, shim/ and tools/ is checked against it. The rows must not allow a circle. Every .c in src/ has its own .h.
Whatever the table says, core/core.h is for src/core/ alone: struct sl_core is nobody else's.
Prints what is wrong.
"""
import os
import re
import sys

ROW = re.compile(r"^\| `([a-z]+)/` \|[^|]*\|\s*([^|]*?)\s*\|$", re.M)
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
OUTSIDE = {"sluice"}  # include/
PRIVATE = {"core/core.h"}  # to its own folder
NO_HEADER = {"trace_library.c"}  # its header is include/sluice/trace_reader.h


def table_of(text):
    """Folder -> the folders, or headers, that it may include from."""
    section = text[text.index("## Folders"):]
    section = section[:section.index("\n## ", 1)] if "\n## " in section[1:] else section
    return {folder: set(re.findall(r"`([a-z_/]+?)/?`", allowed)) for folder, allowed in ROW.findall(section)}


def circle(table):
    """A folder that may include itself by way of others, or None."""
    done, under_way = set(), []

    def walk(folder):
        if folder in under_way:
            return folder
        if folder in done or folder not in table:
            return None
        under_way.append(folder)
        found = next(filter(None, map(walk, sorted(table[folder]))), None)
        under_way.pop()
        done.add(folder)
        return found

    return next(filter(None, map(walk, sorted(table))), None)


def files_of(root):
    for top in ("src", "shim", "tools"):
        for folder, _, names in os.walk(os.path.join(root, top)):
            for name in sorted(names):
                if name.endswith((".c", ".h", ".S", ".def")):
                    yield os.path.join(folder, name)


def check(path, root, table):
    """The includes of a file that the table does not allow."""
    parts = os.path.relpath(path, root).split(os.sep)
    own = parts[1] if parts[0] == "src" else parts[0]
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if parts[0] == "src" and path.endswith(".c") and not os.path.exists(path[:-1] + "h") and parts[-1] not in NO_HEADER:
        yield f"{path}: it has no header of its own"
    if parts[0] == "src" and len(parts) == 2:
        yield f"{path}: no file lies in src/ itself"
    for name in INCLUDE.findall(text):
        folder = name.split("/")[0]
        if "/" not in name:
            if os.path.exists(os.path.join(os.path.dirname(path), name)) and parts[0] != "src":
                continue
            yield f"{path}: {name} has no folder"
        elif folder != own and name in PRIVATE:
            yield f"{path}: {name} is for {folder} alone"
        elif folder != own and folder not in OUTSIDE and not {folder, name.removesuffix(".h")} & table.get(own, set()):
            yield f"{path}: {own} may not include {name}"


def main():
    root = sys.argv[1]
    with open(os.path.join(root, "docs", "architecture.md"), encoding="utf-8") as file:
        table = table_of(file.read())
    wrong = [problem for path in files_of(root) for problem in check(path, root, table)]
    if circle(table):
        wrong.append(f"the table allows a circle through {circle(table)}")
    missing = set(os.listdir(os.path.join(root, "src"))) - {"meson.build"} - set(table)
    wrong.extend(f"the table has no row for {folder}" for folder in sorted(missing))
    print("\n".join(wrong) or f"{len(table)} folders keep to the table")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
