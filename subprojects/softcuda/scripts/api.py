#!/usr/bin/env python3
"""Writes docs/api.md: which functions of cuda.h and cuda_runtime_api.h are built, from the tables and the sources.

api.py [--check] --include FOLDER [--cc COMPILER]

--check writes nothing: fails when the document is not what would be written. Both forms fail when a function of the
headers is in no table."""
import argparse
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
DRIVER = ROOT / "src" / "driver"
RUNTIME = ROOT / "src" / "cudart"
DOCUMENT = ROOT / "docs" / "api.md"

ROW = re.compile(r"^SC_API\((\w+), (\w+), (\d+), (\w+)\)", re.M)
BODY = re.compile(r"((?:\b(?:static|EXPORT|unsigned|const|struct|enum)\s+)*)\b\w+[\s*]+(\w+)\s*\((?:[^(){};]|\([^()]*\))*\)\s*\{")
DECLARATION = re.compile(r"\bextern\b[^;{}]*?[\s*](%s[A-Z]\w*)\s*\(|\bCUresult\s+(%s[A-Z]\w*)\s*\(")


def declared(compiler, include, header, prefix, defines):
    """Names of the functions that a header declares under some setting of its switches."""
    source = f"#include <{header}>\n"
    text = subprocess.run([compiler, "-E", "-P", "-x", "c", "-I", include, *defines, "-"], input=source, text=True,
                          capture_output=True, check=True).stdout
    text = re.sub(r"__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)", "", text)
    pattern = re.compile(DECLARATION.pattern % (prefix, prefix))
    inline = set(re.findall(r"\bstatic\s+\w+\s+\w+\s+(\w+)\s*\(", text))
    return {a or b for a, b in pattern.findall(text)} - inline


def driver_rows(name):
    return ROW.findall((DRIVER / name).read_text())


def own_text(compiler, include, path):
    """A source after the preprocessor, without what it includes."""
    text = subprocess.run([compiler, "-E", "-D_GNU_SOURCE", "-I", include, "-I", ROOT / "src", path], text=True,
                          capture_output=True, check=True).stdout
    lines, inside = [], False
    for line in text.splitlines():
        marker = re.match(r'# \d+ "([^"]*)"', line)
        if marker:
            inside = pathlib.Path(marker.group(1)) == path
        elif inside:
            lines.append(line)
    return "\n".join(lines)


def definitions(compiler, include):
    """What each function of the runtime's sources mentions, and which of them are exported."""
    uses, exported = {}, set()
    for path in sorted(RUNTIME.glob("*.c")):
        text = own_text(compiler, include, path)
        text = re.sub(r"__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)", "EXPORT", text)
        marks = list(BODY.finditer(text))
        for mark, after in zip(marks, marks[1:] + [None]):
            name, body = mark.group(2), text[mark.end():after.start() if after else len(text)]
            uses.setdefault(name, set()).update(re.findall(r"\b(?:driver->)?[A-Za-z_]\w+", body))
            if not mark.group(1).startswith("static"):
                exported.add(name)
    return uses, exported


# How every runtime function begins and ends, and what loads the program's code: of no interest for one function.
COMMON = {"sc_enter", "sc_enter_driver", "sc_finish", "sc_context_lost", "sc_driver_get", "sc_kernel_find",
          "sc_symbol_find"}


def driver_calls(name, uses):
    """The driver functions that a runtime function can reach through its helpers."""
    seen, todo, calls = set(COMMON), [name], set()
    while todo:
        at = todo.pop()
        if at in seen:
            continue
        seen.add(at)
        for word in uses.get(at, ()):
            if word.startswith("driver->"):
                calls.add(word[len("driver->"):])
            elif word in uses and not word.startswith("cuda"):
                todo.append(word)
    return calls


def version(number):
    return f"{int(number) // 1000}.{int(number) % 1000 // 10}"


def driver_section(built, refused):
    lines = ["## Driver API", "",
             "Symbols of one name are its versions and per-thread forms; `cuGetProcAddress` chooses among them.", "",
             "| function | since | state | symbols |", "| --- | --- | --- | --- |"]
    names = {}
    for state, rows in (("built", built), ("refused", refused)):
        for name, symbol, since, _ in rows:
            names.setdefault(name, []).append((int(since), symbol, state))
    count = {"built": 0, "refused": 0, "partly": 0}
    for name in sorted(names):
        forms = sorted(names[name])
        states = {state for _, _, state in forms}
        state = states.pop() if len(states) == 1 else "partly"
        count[state] += 1
        shown = [f"{s}{' (refused)' if state == 'partly' and st == 'refused' else ''}" for _, s, st in forms]
        lines.append(f"| {name} | {version(forms[0][0])} | {state} | {', '.join(shown)} |")
    summary = (f"{len(names)} functions with {len(built) + len(refused)} symbols: {count['built']} functions built, "
               f"{count['partly']} in some of their forms, {count['refused']} refused.")
    return lines[:3] + [summary, ""] + lines[3:]


def runtime_section(names, refused, missing_driver, uses):
    lines, count = [], {"built": 0, "refused": 0}
    for name in sorted(names):
        note = ""
        if name in refused:
            state = "refused"
        else:
            calls = {re.sub(r"_v\d+$", "", call) for call in driver_calls(name, uses)}
            state = "refused" if calls and calls <= missing_driver else "built"
            if state == "refused":
                note = "needs " + ", ".join(sorted(calls))
        count[state] += 1
        lines.append(f"| {name} | {state} | {note} |")
    return ["## Runtime API", "",
            f"{len(names)} functions: {count['built']} built, {count['refused']} refused.", "",
            "| function | state | why |", "| --- | --- | --- |"] + lines


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--include", required=True)
    parser.add_argument("--cc", default="cc")
    options = parser.parse_args()
    if "#define CUDA_VERSION 13000" not in pathlib.Path(options.include, "cuda.h").read_text():
        print("skipped: the tables are those of CUDA 13.0")
        sys.exit(77)
    built, refused = driver_rows("api_built.def"), driver_rows("api_refused.def")
    symbols = {row[1] for row in built + refused}
    functions = declared(options.cc, options.include, "cuda.h", "cu", ["-D__CUDA_API_VERSION_INTERNAL"])
    functions |= declared(options.cc, options.include, "cuda.h", "cu", [])
    functions |= declared(options.cc, options.include, "cuda.h", "cu", ["-DCUDA_API_PER_THREAD_DEFAULT_STREAM"])
    runtime = declared(options.cc, options.include, "cuda_runtime_api.h", "cuda", [])
    uses, exported = definitions(options.cc, options.include)
    runtime_refused = set(re.findall(r"REFUSED\((\w+)\)", (RUNTIME / "refused.def").read_text()))
    if len(functions) < 500 or len(runtime) < 250:
        sys.exit("the headers were not understood")
    missing = sorted(functions - symbols) + sorted(runtime - exported - runtime_refused)
    if missing:
        sys.exit("in no table: " + ", ".join(missing))
    both = {row[1] for row in built} & {row[1] for row in refused}
    if both:
        sys.exit("built and refused: " + ", ".join(sorted(both)))
    missing_driver = {row[0] for row in refused} - {row[0] for row in built}
    text = "\n".join([
        "# What is built", "",
        "Every function of cuda.h and cuda_runtime_api.h of CUDA 13.0. All of them resolve; what is refused returns",
        "`CUDA_ERROR_NOT_SUPPORTED` or `cudaErrorNotSupported` and names itself in the log. A function that is built may",
        "still refuse a flag or a kind of memory in the same way. Written by scripts/api.py from the tables; a test",
        "compares.", ""] + driver_section(built, refused) + [""] +
        runtime_section(runtime, runtime_refused, missing_driver, uses)) + "\n"
    if not options.check:
        DOCUMENT.write_text(text)
    elif not DOCUMENT.exists() or DOCUMENT.read_text() != text:
        sys.exit("docs/api.md is not up to date: run scripts/api.py --include TOOLKIT/include")


if __name__ == "__main__":
    main()
