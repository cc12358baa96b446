#!/usr/bin/env python3
"""Writes docs/coverage.md: how sluice treats each function of cuda.h.

coverage.py [--check] --include FOLDER... [--cc COMPILER]

Looks up the functions that the headers in the folders declare, in all their versions and per-thread forms, in
shim/driver_api.def and shim/coverage.def. Fails on a function that neither file lists, and on a row that names no function.
--check writes nothing; it also fails if the document differs from the text that would be written. Rows and document are
compared with the header of CUDA 13.0 only, because it declares all functions of older headers.
"""
import argparse
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
DOCUMENT = ROOT / "docs" / "coverage.md"
NEWEST = "13000"
TITLES = {"passed": "Passed through", "refused": "Refused", "nothing": "Neither memory nor work"}


def declared(compiler, include):
    """The symbols that cuda.h declares under any setting of its switches."""
    names = set()
    for thread in ([], ["-DCUDA_API_PER_THREAD_DEFAULT_STREAM"]):
        for internal in ([], ["-D__CUDA_API_VERSION_INTERNAL"]):
            text = subprocess.run([compiler, "-E", "-P", "-x", "c", "-I", include, *thread, *internal, "-"],
                                  input="#include <cuda.h>\n", text=True, capture_output=True, check=True).stdout
            names |= set(re.findall(r"(?<!inline )\bCUresult\s+(cu[A-Z]\w*)\s*\(", text))
    return names


def intercepted():
    """Sections of driver_api.def, each with its symbols."""
    sections = []
    for line in (ROOT / "shim" / "driver_api.def").read_text().splitlines():
        title = re.match(r"/\* ([^:]+): ([\w/]+\.c)", line)
        row = re.match(r"SL_(ROW0?|PAIR)\((\w+), (\w+)?", line)
        if title:
            sections.append((title.group(1), title.group(2), []))
        elif row and sections:
            sections[-1][2].append(row.group(2))
            if row.group(1) == "PAIR":
                sections[-1][2].append(f"{row.group(2)}_{row.group(3)}")
    return sections


def plain(symbol):
    """The name without version and per-thread form."""
    return re.sub(r"(_v\d+)?(_ptsz|_ptds)?$", "", symbol)


class Row:
    def __init__(self, judgement, patterns, exactly, reason):
        self.judgement, self.patterns, self.exactly, self.reason = judgement, patterns, exactly, reason
        self.used, self.symbols = set(), []

    def match(self, symbol):
        """How exactly the row names the symbol, and by which pattern; 0: not at all."""
        best = 0, None
        for pattern in self.patterns:
            if self.exactly:
                found = 3000 if symbol == pattern else 0
            elif pattern.endswith("*"):
                found = len(pattern) if symbol.startswith(pattern[:-1]) else 0
            else:
                found = 2000 if plain(symbol) == pattern else 0
            best = max(best, (found, pattern), key=lambda x: x[0])
        return best


def judgements():
    rows = []
    for number, line in enumerate((ROOT / "shim" / "coverage.def").read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        parts = re.fullmatch(r"(passed|refused|nothing)\s+(exactly\s+)?([\w* ]+?)\s+: (\S.*)", line)
        if not parts:
            sys.exit(f"shim/coverage.def:{number}: not a row")
        rows.append(Row(parts.group(1), parts.group(3).split(), bool(parts.group(2)), parts.group(4)))
    return rows


def judge(symbols, rows, ours):
    """Gives every symbol to its row; returns those that have none."""
    unjudged = []
    for symbol in sorted(symbols):
        (found, pattern), row = max(((row.match(symbol), row) for row in rows), key=lambda x: x[0][0])
        if found:
            row.used.add(pattern)
        if symbol in ours and not (found and row.judgement == "refused"):
            continue
        if found:
            row.symbols.append(symbol)
        else:
            unjudged.append(symbol)
    return unjudged


def forms(symbols):
    """`name` with the endings of its forms."""
    names = {}
    for symbol in symbols:
        names.setdefault(plain(symbol), []).append(symbol[len(plain(symbol)):])
    shown = []
    for name, endings in sorted(names.items()):
        rest = [ending for ending in sorted(endings) if ending]
        shown.append(f"{name}{' (' + ', '.join(rest) + ('' if '' in endings else ' only') + ')' if rest else ''}")
    return ", ".join(shown)


def document(rows, sections, symbols):
    ours = {symbol for _, _, names in sections for symbol in names}
    count = {key: sum(len(row.symbols) for row in rows if row.judgement == key) for key in TITLES}
    virtual = len(ours & symbols) - count["refused"]
    lines = ["# Coverage of the Driver API", "",
             "This page lists how sluice treats each function of cuda.h, CUDA 12.4 to 13.0, in all its versions and per-thread",
             "forms. scripts/coverage.py generates it from shim/driver_api.def and shim/coverage.def. A test compares the page with",
             "these files and with the installed cuda.h, and fails on a function that neither file lists.", "",
             f"{len(symbols)} symbols: {virtual} virtualised, {count['refused']} refused for sluice's memory, "
             f"{count['passed']} passed through, {count['nothing']} that concern neither memory nor work.", "",
             "## Virtualised", "", "| what | in | functions |", "| --- | --- | --- |"]
    refused = {symbol for row in rows if row.judgement == "refused" for symbol in row.symbols}
    for title, file, names in sections:
        lines.append(f"| {title} | shim/{file} | {forms([n for n in names if n not in refused])} |")
    for judgement, title in TITLES.items():
        lines += ["", f"## {title}", "", "| functions | why |", "| --- | --- |"]
        lines += [f"| {forms(row.symbols)} | {row.reason} |" for row in rows if row.judgement == judgement and row.symbols]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--include", required=True, action="append")
    parser.add_argument("--cc", default="cc")
    options = parser.parse_args()
    headers = [pathlib.Path(folder, "cuda.h").read_text() for folder in options.include]
    newest = any(f"#define CUDA_VERSION {NEWEST}" in header for header in headers)
    symbols = set().union(*(declared(options.cc, folder) for folder in options.include))
    sections, rows = intercepted(), judgements()
    ours = {symbol for _, _, names in sections for symbol in names}
    problems = [f"nobody has judged {symbol}: add it to shim/coverage.def" for symbol in judge(symbols, rows, ours)]
    if newest:
        problems += [f"driver_api.def: no {symbol} in cuda.h" for symbol in sorted(ours - symbols)]
        problems += [f"coverage.def: {pattern} names no function" for row in rows for pattern in row.patterns
                     if pattern not in row.used and not any(row.match(symbol)[1] == pattern for symbol in symbols)]
        problems += [f"coverage.def: {pattern} is intercepted, and needs no row" for row in rows for pattern in row.patterns
                     if pattern in row.used and row.judgement != "refused" and not pattern.endswith("*")
                     and all(symbol in ours for symbol in symbols if row.match(symbol)[1] == pattern)]
        text = document(rows, sections, symbols)
        if not options.check and not problems:
            DOCUMENT.write_text(text)
        elif not problems and DOCUMENT.read_text() != text:
            problems.append("docs/coverage.md is stale: scripts/coverage.py --include $CUDA_HOME/include writes it")
    elif not problems:
        print("all functions are judged; the document is that of another header")
    sys.exit("\n".join(problems) if problems else 0)


if __name__ == "__main__":
    main()
