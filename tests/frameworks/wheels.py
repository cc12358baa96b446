"""Packages of PyPI, each of one version and with a known hash (requirements/).

Nothing is installed: pip downloads the wheels, and they are unpacked into a folder of the cache. A stamp says that a folder is
complete.
"""
import fcntl
import pathlib
import shutil
import subprocess
import sys
import tempfile
import zipfile

from debian import Unavailable

REQUIREMENTS = pathlib.Path(__file__).resolve().parent / "requirements"


def pip(cache):
    """The command of a pip: that of this Python, or of an environment of its own."""
    if subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True, check=False).returncode == 0:
        return [sys.executable, "-m", "pip"]
    environment = cache / "venv"
    if not (environment / "bin/pip").exists():
        made = subprocess.run([sys.executable, "-m", "venv", environment], capture_output=True, check=False)
        if made.returncode:
            raise Unavailable("this Python has neither pip nor venv: install python3-venv")
    return [environment / "bin/pip"]


def requirements(name):
    return REQUIREMENTS / f"{name}.txt"


def download(cache, wanted, version, folder):
    others = ["--python-version", version] if version else []
    done = subprocess.run([*pip(cache), "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-cache-dir",
                           "--require-hashes", "--only-binary", ":all:", *others, "--dest", folder, "--requirement", wanted],
                          capture_output=True, text=True, check=False)
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or ["no message"]
        raise Unavailable(f"pip cannot download {wanted.stem} from PyPI: {lines[-1]}")


def unpack(wheels, folder):
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder)
            # What a program starts, such as Triton's assembler, is executable in the wheel.
            for entry in archive.infolist():
                if entry.external_attr >> 16 & 0o100:
                    (folder / entry.filename).chmod(0o755)


def prepare(cache, name, version):
    """The folder in `cache` with what requirements/NAME.txt lists, complete. `version`: of the Python that it is for; None: of
    any. One process at a time prepares it."""
    wanted = requirements(name)
    folder, stamp = cache / "wheels" / name, cache / "wheels" / f"{name}.complete"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with open(folder.parent / f"{name}.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        told = f"Python {version or 3}\n" + wanted.read_text(encoding="utf-8")
        if stamp.exists() and stamp.read_text(encoding="utf-8") == told:
            return folder
        print(f"preparing {folder} from PyPI", flush=True)
        stamp.unlink(missing_ok=True)
        shutil.rmtree(folder, ignore_errors=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as downloaded:
            download(cache, wanted, version, downloaded)
            unpack(sorted(pathlib.Path(downloaded).glob("*.whl")), folder)
        stamp.write_text(told, encoding="utf-8")
    return folder
