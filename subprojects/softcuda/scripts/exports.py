#!/usr/bin/env python3
"""Prints the linker's version script for the libcuda.so.1 of an older driver: it exports what that driver has.

exports.py DRIVER DRIVERS-TABLE API-TABLE...

DRIVER is a name of the first table, drivers.def; the other tables have a row for each function (api_built.def).
"""
import pathlib
import re
import sys


def main():
    driver, drivers, *tables = sys.argv[1:]
    versions = dict(re.findall(r'^SC_DRIVER\("(\w+)", (\d+),', pathlib.Path(drivers).read_text(), re.M))
    newest = int(versions[driver])
    print("{\n    global:")
    for table in tables:
        rows = re.findall(r"^SC_API\(\w+, (\w+), (\d+), \w+\)", pathlib.Path(table).read_text(), re.M)
        for symbol, since in rows:
            if int(since) <= newest:
                print(f"    {symbol};")
    print("    local: *;\n};")


if __name__ == "__main__":
    main()
