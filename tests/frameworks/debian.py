"""A root folder with a Debian release's packages, for programs that the system's own release does not have.

Nothing is installed: the packages are downloaded with an apt state of its own and unpacked by `dpkg -x`; none of their
scripts runs. The mirror is the system's own, as its apt is configured, and apt checks the release's signature. A stamp
says that the root is complete; without it those packages that are missing are downloaded and all are unpacked beside it, so
that what is there is never half of a root.
"""
import contextlib
import fcntl
import pathlib
import re
import shutil
import subprocess
from urllib.parse import quote

SUITE = "trixie"
PYTHON = "3.13"
WANTED = ["python3-torch-cuda", "python3-numpy", "base-files", "libc-bin"]
# cuDNN's package downloads when it is installed, headers and tests take much room, and nothing here needs them.
UNWANTED = re.compile(r"nvidia-cuda-dev|nvidia-cudnn|libtorch-cuda-test|.*-doc")
KEYRING = pathlib.Path("/usr/share/keyrings/debian-archive-keyring.gpg")
NEEDED_BYTES = 9 << 30


class Unavailable(Exception):
    """The root cannot be had here; the text says why."""


def run(command, **more):
    try:
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **more)
    except FileNotFoundError as error:
        raise Unavailable(f"no {command[0]} here") from error
    if done.returncode:
        lines = (done.stderr.strip() or done.stdout.strip() or "no message").splitlines()
        raise Unavailable(f"{command[0]} failed: {lines[-1]}")
    return done.stdout


def find_mirror():
    """Where the system's apt gets Debian from: not its updates, nor its security fixes, which are elsewhere."""
    listed = run(["apt-get", "indextargets", "--format", "$(CREATED_BY)|$(COMPONENT)|$(RELEASE)|$(SITE)"])
    for kind, component, release, site in (line.split("|") for line in listed.splitlines() if line.count("|") == 3):
        if (kind, component) == ("Packages", "main") and re.fullmatch("[a-z]+", release):
            return site
    raise Unavailable("apt's configuration names no mirror of Debian")


class Apt:
    """apt-get with a state of its own in `folder`."""

    def __init__(self, folder, archives):
        self.folder = folder
        for name in ("lists/partial", "etc/apt.conf.d", "etc/preferences.d", "etc/sources.list.d"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        (archives / "partial").mkdir(parents=True, exist_ok=True)
        (folder / "status").touch()
        if not KEYRING.exists():
            raise Unavailable(f"no {KEYRING}: install debian-archive-keyring")
        source = f"deb [signed-by={KEYRING}] {find_mirror()} {SUITE} main contrib non-free\n"
        (folder / "etc/sources.list").write_text(source, encoding="utf-8")
        settings = {"Dir::State": folder, "Dir::State::status": folder / "status", "Dir::State::lists": folder / "lists",
                    "Dir::Cache": folder, "Dir::Cache::archives": archives, "Dir::Etc": folder / "etc",
                    "Dir::Etc::sourcelist": folder / "etc/sources.list", "Dir::Etc::sourceparts": folder / "etc/sources.list.d",
                    "APT::Architecture": "amd64", "APT::Install-Recommends": "false", "APT::Sandbox::User": "",
                    "Debug::NoLocking": "1"}
        self.options = [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]

    def get(self, *arguments, **more):
        return run(["apt-get", *self.options, *arguments], **more)

    def has_lists(self):
        return any(self.folder.glob("lists/*_Packages*"))


def list_packages(apt):
    """(name, version, architecture) of each package that is needed."""
    simulated = apt.get("install", "-s", "-y", *WANTED)
    found = re.findall(r"^Inst (\S+) \((\S+) .*\[(\w+)\]\)", simulated, re.MULTILINE)
    return [package for package in found if not UNWANTED.fullmatch(package[0])]


def file_name(name, version, architecture):
    """As apt-get calls the file."""
    return f"{name}_{quote(version, safe='+~')}_{architecture}.deb".replace("%3A", "%3a")


def download(apt, archives):
    """The files of all packages. apt-get leaves those alone that are there already, whole."""
    if not apt.has_lists():
        apt.get("update")
    packages = list_packages(apt)
    apt.get("download", *(f"{name}={version}" for name, version, _ in packages), cwd=archives)
    return [archives / file_name(*package) for package in packages]


def unpack(files, root):
    """`root`, anew, from the packages. What was there without a stamp goes."""
    part, old = root.with_suffix(".part"), root.with_suffix(".old")
    for folder in (part, old):
        shutil.rmtree(folder, ignore_errors=True)
    part.mkdir()
    # The folders that are links, such as lib, must be there before what lies in them.
    for file in sorted(files, key=lambda file: not file.name.startswith("base-files_")):
        run(["dpkg", "-x", file, part])
    if root.exists():
        root.rename(old)
    part.rename(root)
    shutil.rmtree(old, ignore_errors=True)


def prepare_alone(cache, name):
    """One more package's files, without what it depends on, in a folder of its own in `cache`. The root is there already."""
    folder = cache / f"{SUITE}-{name}"
    with lock(cache):
        if folder.exists():
            return folder
        apt, part = Apt(cache / "apt", cache / "debs"), folder.with_suffix(".part")
        if not apt.has_lists():
            apt.get("update")
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir()
        apt.get("download", name, cwd=part)
        run(["dpkg", "-x", *part.glob("*.deb"), part])
        part.rename(folder)
    return folder


@contextlib.contextmanager
def lock(cache):
    """One process at a time prepares something."""
    cache.mkdir(parents=True, exist_ok=True)
    with open(cache / f"{SUITE}.lock", "w", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def prepare(cache):
    """The root's folder in `cache`, complete."""
    root, stamp = cache / SUITE, cache / f"{SUITE}.complete"
    with lock(cache):
        wanted = " ".join(WANTED) + "\n"
        if stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
            return root
        if shutil.disk_usage(cache).free < NEEDED_BYTES:
            raise Unavailable(f"less than {NEEDED_BYTES >> 30} GiB free in {cache}")
        print(f"preparing {root}: packages of Debian's {SUITE}, 1.6 GB", flush=True)
        archives = cache / "debs"
        unpack(download(Apt(cache / "apt", archives), archives), root)
        stamp.write_text(wanted, encoding="utf-8")
    return root
