"""What a page of docs/ shows: the files, which stand behind a line "NAME:", and the commands, which are indented by four spaces. They
are run in a folder, in order, with what stands in for the commands of a machine with a GPU."""
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
FILE = re.compile(r"(?ms)^([\w. -]+):\n\n```\w+\n(.*?)^```$")
SECONDS = 900  # after which a hang is one


def fail(what, found):
    sys.exit(f"{what}: {str(found)[-3000:]}")


def expect(what, good, found):
    if not good:
        fail(what, found)


class Page:
    def __init__(self, path, section=None):
        """`section`: only what stands below this title."""
        text = (SOURCE / path).read_text(encoding="utf-8")
        if section:
            text = re.search(rf"(?ms)^## {re.escape(section)}$(.*?)(?=^## |\Z)", text)[1]
        self.files = dict(FILE.findall(text))
        self.commands = re.findall(r"(?m)^    (\S.*)$", re.sub(r"(?ms)^```.*?^```$", "", text))


class Room:
    """A folder with a page's files, `sluice` and other commands in PATH."""

    def __init__(self, folder, build, page, **variables):
        self.folder, self.build = pathlib.Path(folder), pathlib.Path(build).resolve()
        self.variables = {"PATH": f"{self.folder}/bin:{os.environ['PATH']}", "HOME": str(self.folder), "LC_ALL": "C.UTF-8", "SOFTCUDA_PROFILE": "rtx4090",
                          "CUBLAS_WORKSPACE_CONFIG": ":16:8", "HF_HUB_OFFLINE": "1", "PYTHONDONTWRITEBYTECODE": "1", **variables}
        (self.folder / "bin").mkdir()
        self.link("sluice", self.build / "tools/sluice")
        for name, text in page.files.items():
            (self.folder / name).write_text(text, encoding="utf-8")

    def link(self, name, target):
        (self.folder / "bin" / name).symlink_to(target)

    def script(self, name, *lines):
        path = self.folder / "bin" / name
        path.write_text("\n".join(["#!/bin/sh", *lines]) + "\n", encoding="utf-8")
        path.chmod(0o755)

    def shell(self, command, **variables):
        """(what it prints, what it says on stderr) of a command that has to succeed."""
        result = subprocess.run(["bash", "-c", command], cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS,
                                env={**self.variables, **variables}, check=False)
        expect(command, result.returncode == 0, result.stdout[-500:] + result.stderr)
        return result.stdout, result.stderr

    def with_and_without(self, command):
        """Runs `sluice run ... -- PROGRAM` on the software device, and the program alone there: the same lines that begin with "step", and
        with sluice more memory than the budget. Returns what the former prints and says."""
        words = shlex.split(command)
        program = shlex.join(words[words.index("--") + 1:])
        stats = self.folder / "stats.%r.json"
        printed, said = self.shell(command.replace("sluice run", "sluice run --software", 1), SLUICE_STATS=str(stats))
        alone, _ = self.shell("sluice run --software --policy off -- " + program)
        steps, its = (sorted(line for line in text.splitlines() if line.startswith("step")) for text in (printed, alone))
        expect(f"the steps of {command}", steps and steps == its, (steps, its))
        found = re.findall(r"sluice: memory: the program needed ([\d.]+) MiB, was given ([\d.]+) MiB", said)
        expect(f"what {command} says of memory", found and all(float(given) < float(needed) for needed, given in found), said)
        expect(f"what {command} says of moves", all(float(out) > 0 for out in re.findall(r"sluice: moved: .* in, ([\d.]+)", said)), said)
        return printed, said


def python_of(framework, room, packages=()):
    """Makes `python` in the room that of a framework of tests/frameworks, and returns the words that start it."""
    sys.path.insert(0, str(SOURCE / "tests/frameworks"))
    import running
    bench = running.Bench(room.build)
    environment, words = framework.start(bench, False)
    own = {**environment, "LD_AUDIT": bench.libraries / "libsoftcuda_find.so", "PYTHONPYCACHEPREFIX": bench.folder / "pycache",
           "PYTHONPATH": ":".join(map(str, [*packages, SOURCE / "python", environment["PYTHONPATH"]]))}
    room.script("python", *(f"export {name}={shlex.quote(str(value))}" for name, value in own.items()), f'exec {shlex.join(map(str, words))} "$@"')
    room.variables["PYTHON_EXEC"] = str(room.folder / "bin/python")
    return own, words


def launchers(room, *names):
    """torchrun and accelerate of the room's Python. Debian's PyTorch has no libuv, which torchrun's own store wants: the ranks meet by a file."""
    room.variables.update(USE_LIBUV="0", TORCH_DISABLE_SHARE_RDZV_TCP_STORE="1", TMPDIR=str(room.folder))
    for name in names:
        module = {"torchrun": "torch.distributed.run", "accelerate": "accelerate.commands.accelerate_cli"}[name]
        room.script(name, f"exec {room.folder}/bin/python - \"$@\" <<'END'", "import sys, tempfile", f'sys.executable = "{room.folder}/bin/python"',
                    "import torch.distributed.run as runner", "run = runner.run", "def by_file(args):",
                    '    args.rdzv_backend, args.rdzv_conf = "c10d", "store_type=file"', '    args.rdzv_endpoint = tempfile.mkdtemp() + "/rendezvous"',
                    "    run(args)", "runner.run = by_file", f"from {module} import main", f'sys.argv[0] = "{name}"', "main()", "END")


def run_each(tests, page_of):
    """The tests that sys.argv names behind BUILD, each in a room of its page's; skipped where something cannot be had."""
    sys.path.insert(0, str(SOURCE / "tests/frameworks"))
    import debian
    build = pathlib.Path(sys.argv[1])
    for name in sys.argv[2:]:
        page = page_of(name)
        with tempfile.TemporaryDirectory() as folder:
            try:
                tests[name](Room(folder, build, page), page)
            except debian.Unavailable as reason:
                print("skipped:", reason)
                sys.exit(77)
        print(f"{name}: all is well", flush=True)
