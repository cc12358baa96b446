#!/usr/bin/env python3
"""Who may include whom.

usage: includes.py ROOT

tests/includes.txt says which folders, or headers of folders, each folder of src/, tools/ and the shim includes from; every
#include between quotes there is checked against it. A header of src/ is named from src/ on ("plan/plan.h"), one of tools/ from
the root on ("tools/plan/plan_report.h"), and only the shim's own headers have no folder. The rows must not allow a circle, nor
what nobody includes. Every .c in src/ has its own .h, or a header of its folder names it. Whatever the table says, core/core.h is for src/core/ alone: struct
sl_core is nobody else's.
Prints what is wrong.
"""
import os
import pathlib
import re
import sys

ROW = re.compile(r"^([a-z/]+):((?:.|\n )*)$", re.M)  # an indented line goes on with its row
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
OUTSIDE = {"sluice"}  # include/
PRIVATE = {"core/core.h"}  # to its own folder
NO_HEADER = {"trace_library.c"}  # its header is include/sluice/trace_reader.h


def table_of(text):
    """Folder -> the folders, or headers, that it may include from."""
    return {folder: set(allowed.split()) for folder, allowed in ROW.findall(text)}


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


def folder_of(path):
    """What the table calls the folder of a file or of a header that is included."""
    parts = path.split("/")[:-1]
    if parts[:1] == ["tools"]:
        return "/".join(parts[:2])
    return "/".join(parts[1:2] if parts[:1] == ["src"] else parts[:1])


def allows(table, own, name):
    """The entry of the row `own` that allows to include `name`, or None."""
    return next(iter({folder_of(name), name.removesuffix(".h")} & table.get(own, set())), None)


def files_of(root):
    for top in ("src", "shim", "tools"):
        for folder, _, names in os.walk(os.path.join(root, top)):
            for name in sorted(names):
                if name.endswith((".c", ".h", ".S", ".def")):
                    yield os.path.join(folder, name)


def has_header(path):
    """Whether a .c has a .h of its own, or is named in another one of its folder."""
    folder, name = os.path.split(path)
    headers = [pathlib.Path(folder, file).read_text(encoding="utf-8") for file in os.listdir(folder) if file.endswith(".h")]
    return os.path.exists(path[:-1] + "h") or any(re.search(rf"\b{re.escape(name)}\b", text) for text in headers)


def check(path, root, table, used):
    """The includes of a file that the table does not allow. Notes in `used` the entries that it needs."""
    relative = os.path.relpath(path, root)
    top, name_of_file, own = relative.split(os.sep)[0], os.path.basename(path), folder_of(relative)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if top == "src" and path.endswith(".c") and name_of_file not in NO_HEADER and not has_header(path):
        yield f"{path}: it has no header of its own"
    if top != "shim" and relative.count(os.sep) < 2:
        yield f"{path}: no file lies in {top}/ itself"
    for name in INCLUDE.findall(text):
        folder = folder_of(name)
        if not folder:
            if top != "shim" or not os.path.exists(os.path.join(os.path.dirname(path), name)):
                yield f"{path}: {name} has no folder"
        elif name.startswith("src/"):
            yield f"{path}: {name} is named without src/"
        elif folder == own or folder in OUTSIDE:
            continue
        elif name in PRIVATE:
            yield f"{path}: {name} is for {folder} alone"
        elif not allows(table, own, name):
            yield f"{path}: {own} may not include {name}"
        else:
            used.add((own, allows(table, own, name)))


def main():
    root = sys.argv[1]
    with open(os.path.join(root, "tests", "includes.txt"), encoding="utf-8") as file:
        table = table_of(file.read())
    used = set()
    wrong = [problem for path in files_of(root) for problem in check(path, root, table, used)]
    if circle(table):
        wrong.append(f"the table allows a circle through {circle(table)}")
    there = {"shim"} | {folder_of(os.path.relpath(path, root)) for path in files_of(root)}
    wrong.extend(f"the table has no row for {folder}" for folder in sorted(there - set(table) - {"", "tools"}))
    wrong.extend(f"the table has a row for {folder}, which is not there" for folder in sorted(set(table) - there))
    wrong.extend(f"the table allows {own} to include {name}, which it does not"
                 for own in table for name in sorted(table[own]) if (own, name) not in used)
    print("\n".join(wrong) or f"{len(table)} folders keep to the table")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
