#!/usr/bin/env python3
"""What the documents name is there.

usage: paths.py ROOT

Every file or folder of the tree that README.md, CONTRIBUTING.md, docs/ or a README below names by its path exists, and so does
what their links lead to. A program may be named as the build folder has it: by its source without the ending, which may lie a
folder deeper. Prints what is not there.
"""
import glob
import os
import re
import sys

TOPS = "docs|include|python|scripts|shim|src|subprojects|tests|tools|workloads"
PATH = re.compile(rf"(?<![\w/.-])((?:{TOPS})/[\w./*+-]*\w/?)")
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")


def documents(root):
    for pattern in ("*.md", "docs/*.md", "docs/*/*.md", "tests/*/*.md", "workloads/*.md"):
        yield from sorted(glob.glob(os.path.join(root, pattern)))


def missing(root, document):
    """What the document names and is not there: the names."""
    with open(document, encoding="utf-8") as file:
        text = file.read()
    for name in sorted(set(PATH.findall(text))):
        path = os.path.join(root, name)
        below = os.path.join(os.path.dirname(path), "*", os.path.basename(path) + ".c")
        if not any(map(glob.glob, (path, path + ".*", below))):
            yield name
    folder = os.path.dirname(document)
    yield from (name for name in sorted(set(LINK.findall(text))) if not os.path.exists(os.path.join(folder, name)))


def main():
    root = sys.argv[1]
    wrong = [f"{os.path.relpath(document, root)}: no {name}" for document in documents(root) for name in missing(root, document)]
    print("\n".join(wrong) or f"{len(list(documents(root)))} documents name what is there")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
