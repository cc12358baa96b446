"""Dockerfile: what is installed in the image needs no library but glibc's, its own, and those of the packages that the image gets.

Without docker: the packages, with what they depend on, are this system's. Skipped where they are not Debian's, or not installed."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import unittest

from support import SOURCE

BUILD = pathlib.Path(os.environ["BUILD"])
DOCKERFILE = (SOURCE / "Dockerfile").read_text()
# Where each image has it, whatever else it has.
GLIBC = "libc6"


def packages():
    """Those that the last stage installs."""
    line = re.search(r"apt-get install (.*?) &&", DOCKERFILE[DOCKERFILE.rindex("\nFROM "):])[1]
    return [word for word in line.split() if not word.startswith("-")]


def printed(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def with_dependencies(wanted):
    found, left = set(), list(wanted)
    while left:
        package = left.pop()
        if package not in found:
            found.add(package)
            depends = printed("dpkg-query", "-W", "-f", "${Pre-Depends},${Depends}\n", package).splitlines()[0]
            left += [re.match(r"[\w.+-]+", word.strip())[0] for word in depends.split(",") if word.strip()]
    return found


def files_of(package):
    return {pathlib.Path(line).name for line in printed("dpkg", "-L", package).splitlines()}


def needed(path):
    return re.findall(r"NEEDED +(\S+)", printed("objdump", "-p", path))


@unittest.skipIf(os.environ.get("SANITIZED"), "the image is built without sanitizers")
@unittest.skipUnless(shutil.which("dpkg-query"), "not a Debian")
class Libraries(unittest.TestCase):
    def test_each_file_finds_what_it_needs(self):
        missing = [package for package in packages() if subprocess.run(["dpkg", "-L", package], capture_output=True).returncode]
        if missing:
            self.skipTest(f"not installed: {' '.join(missing)}")
        installed = json.loads(printed("meson", "introspect", "--installed", BUILD))  # by their paths in the build folder
        programs = [path for path in map(pathlib.Path, installed) if path.is_file() and path.read_bytes()[:4] == b"\x7fELF"]
        self.assertGreater(len(programs), 12)
        there = {pathlib.Path(path).name for path in installed.values()} | {path.name for path in programs}
        there.update(*map(files_of, with_dependencies([*packages(), GLIBC])))
        lacking = {(path.name, library) for path in programs for library in needed(path) if library not in there}
        self.assertEqual(lacking, set(), "Dockerfile installs no package with these")

    def test_the_page_on_installing_names_the_same_packages(self):
        text = " ".join((SOURCE / "docs/install.md").read_text().split())
        sentence = re.search(r"COPY --from=sluice[^.]*", text)[0]
        self.assertEqual(set(re.findall(r"\blib\w+", sentence)), set(packages()))


if __name__ == "__main__":
    unittest.main()
