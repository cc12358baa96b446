#!/usr/bin/env python3
"""Every module has a unit test that is named after it.

usage: modules.py ROOT

For each src/FOLDER/NAME.c there is tests/unit/test_NAME.c, and tests/unit/meson.build builds it. What has its test elsewhere is
listed here with the reason. Prints what is missing, and exceptions that are none any more.
"""
import os
import re
import sys

ELSEWHERE = {
    # Empty but in libsluice-hooks.so and in that test, which are compiled with SLUICE_TEST_HOOKS.
    "ablation": "tests/bench/ablation.py",
    "guards": "tests/promise/test_guards.c",
    "test_delay": "tests/promise/hooks.py",
    "wrong_plan": "tests/promise/hooks.py",
    # What happens to plans that no longer fit, where plans are made.
    "plan_fit": "tests/unit/test_planning.c",
    # One set of broken structures for two each.
    "arena_valid": "tests/unit/test_memory_valid.c",
    "migrator_valid": "tests/unit/test_move_valid.c",
    "placement_valid": "tests/unit/test_memory_valid.c",
    "schedule_valid": "tests/unit/test_move_valid.c",
}


def modules_of(root):
    """Each module: its folder and its name."""
    for folder in sorted(os.listdir(os.path.join(root, "src"))):
        path = os.path.join(root, "src", folder)
        if os.path.isdir(path):
            yield from ((folder, name[:-2]) for name in sorted(os.listdir(path)) if name.endswith(".c"))


def check(root):
    """What is wrong."""
    modules = list(modules_of(root))
    with open(os.path.join(root, "tests", "unit", "meson.build"), encoding="utf-8") as file:
        built = set(re.findall(r"'(test_\w+\.c)'", file.read()))
    for folder, name in modules:
        test = f"test_{name}.c"
        there = os.path.exists(os.path.join(root, "tests", "unit", test))
        if there and name in ELSEWHERE:
            yield f"src/{folder}/{name}.c is an exception, and has tests/unit/{test}"
        elif there and test not in built:
            yield f"tests/unit/meson.build does not build {test}"
        elif not there and name not in ELSEWHERE:
            yield f"src/{folder}/{name}.c has no tests/unit/{test}"
    names = [name for _, name in modules]
    yield from (f"two modules are named {name}.c: they would share a test" for name in sorted(set(names)) if names.count(name) > 1)
    yield from (f"no module is named {name}.c" for name in sorted(set(ELSEWHERE) - set(names)))
    yield from (f"{name}: there is no {test}" for name, test in ELSEWHERE.items() if not os.path.exists(os.path.join(root, test)))


def main():
    root = sys.argv[1]
    wrong = list(check(root))
    print("\n".join(wrong) or f"{len(list(modules_of(root)))} modules have their tests, or a reason for none")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
