#!/usr/bin/env python3
"""Every unit test is built: tests/unit/meson.build names each tests/unit/test_NAME.c, as NAME in its list or as a file.

usage: built.py ROOT
"""
import pathlib
import sys


def main():
    folder = pathlib.Path(sys.argv[1], "tests", "unit")
    build = (folder / "meson.build").read_text(encoding="utf-8")
    forgotten = [path.name for path in sorted(folder.glob("test_*.c*"))
                 if f"'{path.stem.removeprefix('test_').replace('_', '-')}'" not in build and f"'{path.name}'" not in build]
    for name in forgotten:
        print(f"tests/unit/meson.build does not build {name}")
    sys.exit(bool(forgotten))


if __name__ == "__main__":
    main()
