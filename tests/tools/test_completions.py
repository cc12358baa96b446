"""Completions: every word that --help names is a candidate, and bash, zsh and fish complete command lines with them."""
import os
import pathlib
import pty
import re
import shutil
import subprocess
import unittest

from support import SOURCE, TOOL, ToolTest, clean_environment, sluice

SCRIPTS = SOURCE / "data/completions"


def candidates(*words):
    """What sluice says may take the place of the last word."""
    result = sluice("complete", *words)
    assert (result.returncode, result.stderr) == (0, ""), (words, result)
    return [line.split("\t")[0] for line in result.stdout.splitlines()]


def named(*command):
    """What the command's help names: its subcommands, and {option: values}."""
    text = sluice(*command, "--help").stdout
    names = text[text.index("\nCommands:\n"):] if "\nCommands:\n" in text else ""
    options = dict(re.findall(r"(?m)^  (?:-\w, )?(--[\w-]+)(?: (\S+))?$", text))
    return re.findall(r"(?m)^  (\w+) +\S", names), {name: values.split("|") if "|" in values else [] for name, values in options.items()}


def commands():
    for name in named()[0]:
        subcommands, _ = named(name)
        yield from ((name, subcommand) for subcommand in subcommands)
        if not subcommands:
            yield (name,)


class Candidates(ToolTest):
    """A new command or option that does not use the tables of tools/text/command_line.h is found missing here."""

    def test_every_command(self):
        self.assertEqual(set(candidates("")), {*named()[0], "help", "--help", "--version"})
        self.assertEqual(set(candidates("help", "")), set(named()[0]))
        for name in {command[0] for command in commands() if len(command) == 2}:
            self.assertEqual(candidates(name, ""), named(name)[0])
            self.assertEqual(candidates("help", name, ""), named(name)[0])
        self.assertEqual(candidates("tr"), ["trace"])

    def test_every_option(self):
        every = list(commands())
        self.assertGreater(len(every), 12)
        for command in every:
            _, options = named(*command)
            with self.subTest(command):
                self.assertEqual(set(candidates(*command, "-")), {*options, "--help"})
                if command not in (("run",), ("rehearse",)):  # their operands belong to another command
                    self.assertEqual(set(candidates(*command, "some.slt", "-")), {*options, "--help"})

    def test_every_fixed_value(self):
        count = 0
        for command in commands():
            for option, values in named(*command)[1].items():
                if not values:
                    continue
                count += 1
                with self.subTest((command, option)):
                    self.assertEqual(candidates(*command, option, ""), values)
                    self.assertEqual(candidates(*command, option + "="), [f"{option}={value}" for value in values])
                    self.assertEqual(candidates(*command, option, "=", values[0]), [value for value in values if value.startswith(values[0])])
        self.assertGreater(count, 8)

    def test_files_and_other_commands(self):
        self.assertEqual(candidates("trace", "info", ""), [":files"])
        self.assertEqual(candidates("trace", "info", "--", "-"), [":files"])
        self.assertEqual(candidates("run", "--trace", "x"), [":files"])
        self.assertEqual(candidates("run", "--budget", ""), [])
        self.assertEqual(candidates("doctor", ""), [":files"])
        self.assertEqual(candidates("run", "--budget", "8G", "--", ""), [":command 5"])
        self.assertEqual(candidates("run", "--budget", "=", "8G", "python", "--v"), [":command 5"])
        self.assertEqual(candidates("run", "-v", "python", ""), [":command 3"])
        self.assertEqual(candidates("nothing", ""), [])
        self.assertEqual(candidates("help", "run", "-"), [])
        self.assertEqual(candidates("help", "trace", "info", "-"), [])
        self.assertEqual(candidates(), [])


class Shells(ToolTest):
    def setUp(self):
        super().setUp()
        (self.folder / "bin").mkdir()
        (self.folder / "bin/sluice").symlink_to(TOOL)
        self.work = self.folder / "work"
        self.work.mkdir()
        (self.work / "some file.slt").touch()
        self.environment = clean_environment(PATH=f"{self.folder / 'bin'}:{os.environ['PATH']}", HOME=str(self.folder), LC_ALL="C.UTF-8",
                                             TERM="dumb", XDG_CONFIG_HOME=str(self.folder), XDG_DATA_HOME=str(self.folder))

    def shell(self, *command):
        result = subprocess.run(command, capture_output=True, text=True, cwd=self.work, env=self.environment, timeout=60)
        self.assertEqual(result.stderr, "")
        return result.stdout

    def bash(self, *words, extra=""):
        """What the completion function replies. bash makes a word of each =."""
        words = " ".join(f"'{word}'" for word in ("sluice", *words))
        return self.shell("bash", "--norc", "-c", f"{extra}\n. '{SCRIPTS}/sluice.bash'\nCOMP_WORDS=({words})\n"
                          "COMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_sluice\nprintf '%s\\n' \"${COMPREPLY[@]}\"").splitlines()

    @unittest.skipUnless(shutil.which("bash"), "bash is not installed")
    def test_bash(self):
        self.assertEqual(self.bash("tr"), ["trace"])
        self.assertEqual(self.bash("trace", "k"), ["kernels"])
        self.assertEqual(self.bash("trace", "kernels", "--s"), ["--sort"])
        self.assertEqual(self.bash("trace", "kernels", "--sort", "=", "m"), ["misses"])
        self.assertEqual(self.bash("trace", "info", "some"), ["some file.slt"])
        self.assertEqual(self.bash("run", "--trace", "="), ["some file.slt"])
        self.assertIn("bash", self.bash("run", "--", "bas"))
        self.assertEqual(self.bash("run", "--", "bash", "some"), ["some file.slt"])
        self.assertEqual(self.bash("run", "-v", "bash", "x", extra="_command_offset() { COMPREPLY=(offset $1); }"), ["offset", "3"])
        for load in (f". '{SCRIPTS}/sluice.bash'", 'eval "$(sluice completion bash)"'):
            self.assertEqual(self.shell("bash", "--norc", "-c", load + "; complete -p sluice").strip(), "complete -F _sluice sluice")

    def test_the_command_prints_the_scripts(self):
        for shell, script in ("bash", "sluice.bash"), ("zsh", "_sluice"), ("fish", "sluice.fish"):
            self.assertEqual(sluice("completion", shell).stdout, (SCRIPTS / script).read_text())
        self.assert_usage_error(sluice("completion"), "no shell given (bash, zsh or fish)")
        self.assert_usage_error(sluice("completion", "bsh"), "unknown shell bsh", "did you mean bash?")
        self.assert_usage_error(sluice("completion", "bash", "more"), "takes no arguments")

    @unittest.skipUnless(shutil.which("fish"), "fish is not installed")
    def test_fish(self):
        script = "sluice completion fish | source\n"
        for line, expected in (("sluice tr", ["trace"]), ("sluice trace k", ["kernels"]), ("sluice trace kernels --s", ["--sort"]),
                               ("sluice trace kernels --sort m", ["misses"]), ("sluice trace kernels --sort=m", ["--sort=misses"]),
                               ("sluice trace info some", ["some file.slt"]), ("sluice run --trace=some", ["--trace=some file.slt"]),
                               ("sluice run -- sluice pl", ["plan"])):
            with self.subTest(line):
                said = self.shell("fish", "--no-config", "-c", script + f"complete -C '{line}'")
                self.assertEqual([word.split("\t")[0].replace("\\ ", " ") for word in said.splitlines()], expected)

    @unittest.skipUnless(shutil.which("zsh"), "zsh is not installed")
    def test_zsh(self):
        for load in f"fpath=({SCRIPTS} $fpath); autoload -Uz compinit; compinit -u -D", 'autoload -Uz compinit; compinit -u -D; eval "$(sluice completion zsh)"':
            with self.subTest(load):
                self.zsh(load)

    def zsh(self, load):
        """Keys are typed into a terminal; ^T writes the line that they made to a file."""
        lines = {"sluice tr": "sluice trace ", "sluice trace ker": "sluice trace kernels ", "sluice trace kernels --so": "sluice trace kernels --sort ",
                 "sluice trace kernels --sort mi": "sluice trace kernels --sort misses ", "sluice trace kernels --sort=mi": "sluice trace kernels --sort=misses ",
                 "sluice trace info so": "sluice trace info some\\ file.slt ", "sluice run --trace=so": "sluice run --trace=some\\ file.slt ",
                 "sluice run -- sluice pl": "sluice run -- sluice plan "}
        out = self.folder / "lines"
        out.unlink(missing_ok=True)
        (self.folder / ".zshrc").write_text(
            f"{load}; unsetopt beep; PROMPT='ready> '\n"
            f"keep() {{ print -r -- \"$BUFFER\" >>{out}; }}; zle -N keep; bindkey '^T' keep; bindkey '^U' kill-whole-line\n")
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(self.work)
            os.execvpe("zsh", ["zsh", "-d", "-i"], {**self.environment, "ZDOTDIR": str(self.folder)})
        said, typed = b"", False
        try:
            while part := os.read(terminal, 4096):
                said += part
                if b"ready> " in said and not typed:
                    typed = True
                    os.write(terminal, b"".join(line.encode() + b"\t\x14\x15" for line in lines) + b"exit\n")
        except OSError:
            pass  # the shell has ended
        os.waitpid(pid, 0)
        os.close(terminal)
        self.assertTrue(out.exists(), said)
        self.assertEqual(pathlib.Path(out).read_text().splitlines(), list(lines.values()))


if __name__ == "__main__":
    unittest.main()
