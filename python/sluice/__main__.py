"""`python -m sluice ARGUMENT...`: the command sluice, as installed with this package."""
import importlib.metadata
import os
import pathlib
import shutil
import sys
import sysconfig


def command():
    """The path of the command: the one of this package's wheel, else beside this Python, else in PATH. None: there is none."""
    package = pathlib.Path(__file__).resolve()
    try:
        files = [pathlib.Path(file.locate()).resolve() for file in importlib.metadata.files("sluice-cuda") or []]
    except importlib.metadata.PackageNotFoundError:
        files = []
    found = [path for path in files if path.name == "sluice" and os.access(path, os.X_OK) and path.is_file()]
    if found and package in files:
        return str(found[0])
    return shutil.which("sluice", path=sysconfig.get_path("scripts")) or shutil.which("sluice")


def main():
    path, arguments = command(), sys.argv[1:]
    if path is None:
        sys.exit("sluice: the command is neither beside this Python nor in PATH")
    if arguments[:2] == ["kernel", "install"]:  # a kernel of this Python; --python behind it wins
        arguments[2:2] = ["--python", sys.executable]
    os.execv(path, [path, *arguments])


if __name__ == "__main__":
    main()
