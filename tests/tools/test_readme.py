"""README.md, docs/usage.md, docs/install.md: each command that they show runs as typed, on a copy of what is installed; each option that
they name exists; as the description of a wheel, the README has no links but whole ones."""
import os
import re
import subprocess
import sys
import unittest

from support import SOURCE, TOOL, clean_environment, sluice, ToolTest

DOCUMENTS = "README.md", "docs/usage.md", "docs/install.md"
TEXT = re.sub(r"(?ms)^```.*?^```$", "", "\n".join((SOURCE / name).read_text() for name in DOCUMENTS))
# What is not run here, and where it is.
ELSEWHERE = {
    "git clone … sluice && cd sluice": "the only line for which there is nothing to clone",
    "git clone … sluice && cd sluice && ./demo.sh": "the same, and demo.sh itself; below: that it has the options",
    "./demo.sh": "demo.sh itself",
    "./test.sh": "test.sh itself",
    "meson setup build && ninja -C build && meson install -C build": "test.sh, test_install.py",
    "ninja -C build uninstall": "test_install.py",
    "scripts/wheel.py": "tests/full/wheel.py",
    "python3 -m venv env && . env/bin/activate && pip install ./sluice_cuda-*.whl": "tests/full/wheel.py",
    "pip uninstall sluice-cuda": "tests/full/wheel.py",
    "docker build -t sluice .": "tests/full/container.py",
    "docker build -t sluice . && docker run --rm sluice demo": "tests/full/container.py",
    "docker run --rm sluice demo": "tests/full/container.py",
    "COPY --from=sluice /usr/local /usr/local": "tests/full/container.py",
    "sluice demo": "test_demo.py",
    "man sluice": "test_install.py has the page",
    "sluice help COMMAND": "test_main.py",
    "sluice top": "test_top.py",
    "sluice kernel install": "test_kernel.py",
}
NAMES = "sluice run", "sluice plan", "sluice trace", "sluice trace report"  # of commands, which are not typed so
STARTS = re.compile(r"sluice |LD_PRELOAD=|\./|git |meson |ninja |pip |python3 -m venv |docker |COPY |scripts/\w+\.py|man |cmake ")


def commands():
    """In the order of the text: lines of code blocks, and code within sentences."""
    for match in re.finditer(r"(?m)^    (\S.*)$|`([^`]+)`", TEXT):
        command = re.sub(r"\s+", " ", re.sub(r"\s+#.*", "", match[1] or match[2])).strip()
        if STARTS.match(command) and command not in NAMES:
            yield command


class Readme(ToolTest):
    def setUp(self):
        super().setUp()
        for link, target in (("sluice", TOOL), ("gpt", os.environ["GPT"]), ("python", sys.executable)):
            (self.folder / link).symlink_to(target)
        train = f"gpt --data {SOURCE}/workloads/data/gpl-3.txt --steps 4 --layers 2"
        (self.folder / "train.py").write_text(f"import os\nos.execvp('gpt', {train.split()})\n")
        (self.folder / "command").write_text(f"#!/bin/sh\nexec {train}\n")
        (self.folder / "command").chmod(0o755)
        device = sluice("path", "--softcuda").stdout.strip()
        self.environment = clean_environment(PATH=f"{self.folder}:{os.environ['PATH']}", LD_LIBRARY_PATH=device, SOFTCUDA_MEMORY="16G", SLUICE_OVERWRITE="1")

    def shell(self, command):
        result = subprocess.run(["bash", "-c", command], cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=120)
        self.assertEqual((result.returncode, result.stderr), (0, ""), command)
        return result.stdout

    @unittest.skipIf(os.environ.get("SANITIZED"), "a sanitized library needs its runtime preloaded before it")
    def test_commands(self):
        expected = self.shell("python train.py").splitlines()[-1]
        self.assertIn("weights_hash", expected)
        self.shell("sluice run --budget 8M --trace trace --trace-sample 1 --profile profile -- python train.py")
        run = 0
        for command in commands():
            if command in ELSEWHERE or command.split(" ")[0] in ELSEWHERE:
                continue
            run += 1
            with self.subTest(command):
                kind = "profile" if command.startswith("sluice profile") else "trace"
                typed = command.replace("FILE", kind).replace("OUT", "new")
                said = self.shell(typed.replace("sluice doctor", "sluice doctor --software"))
                if "train.py" in command or command.endswith("-- command"):
                    self.assertEqual(said.splitlines()[-1], expected)
        self.assertGreater(run, 6)
        self.assertEqual({name for name in ELSEWHERE} - {command for command in commands()} - {command.split(" ")[0] for command in commands()}, set(),
                         "the documents have these no more")

    def test_options(self):
        """Options that stand alone in a sentence are those of run, doctor, plan, top or one of the scripts."""
        known = "".join(sluice(*words, "--help").stdout for words in (["run"], ["doctor"], ["plan"], ["top"]))
        known += (SOURCE / "demo.sh").read_text() + (SOURCE / "test.sh").read_text()
        named = re.findall(r"`(--[\w-]+)[^`]*`", TEXT)
        self.assertGreater(len(named), 5)
        for option in named:
            self.assertIn(option, known)

    def test_trace_commands(self):
        """The paragraph "When it is slow" names commands of sluice trace alone."""
        paragraph = TEXT[TEXT.index("**When it is slow.**"):].split("\n\n")[0]
        known = set(re.findall(r"(?m)^  (\w+) +\S", sluice("trace", "--help").stdout))
        named = re.findall(r"`([a-z]+)`", paragraph)
        self.assertGreater(len(named), 5)
        self.assertEqual(set(named) - known, set())


class Description(unittest.TestCase):
    """Of a wheel (scripts/wheel_metadata.py)."""
    @classmethod
    def setUpClass(cls):
        sys.path.insert(0, str(SOURCE / "scripts"))
        import wheel_metadata
        cls.readme = (SOURCE / "README.md").read_text()
        cls.described = staticmethod(wheel_metadata.long_description)

    def test_links_lead_into_the_repository(self):
        text = self.described(self.readme, "https://host.example/sluice", "1.2.3")
        targets = re.findall(r"\]\(([^)]+)\)", text)
        self.assertEqual(len(targets), len(re.findall(r"\]\([^)]+\)|<img ", self.readme)))
        for target in targets:
            kind, path = re.fullmatch(r"https://host\.example/sluice/(blob|raw)/v1\.2\.3/([\w./-]+)(?:#[\w-]+)?", target).groups()
            self.assertTrue((SOURCE / path).exists(), path)
            self.assertEqual(kind == "raw", path.endswith((".png", ".svg")), path)
        self.assertNotIn("<picture>", text)

    def test_without_an_address_there_are_none(self):
        text = self.described(self.readme, None, "1.2.3")
        self.assertEqual(re.findall(r"\]\([^)]*\)|<img", text), [])
        self.assertIn("docs/guide.md", text)


if __name__ == "__main__":
    unittest.main()
