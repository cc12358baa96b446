"""The command itself: help, version, and what it says to words it does not know."""
import re
import shutil
import subprocess
import unittest

from support import SOURCE, TOOL, ToolTest, clean_environment, sluice


class Main(ToolTest):
    def test_help_and_version(self):
        for arguments in (["--help"], ["-h"], ["help"]):
            result = sluice(*arguments)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            for command in ("run", "trace", "plan", "profile", "doctor"):
                self.assertIn(f"\n  {command} ", result.stdout)
        for command in ("run", "trace", "plan", "profile", "stats", "doctor", "path", "options"):
            result = sluice(command, "--help")
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            self.assertTrue(result.stdout.startswith(f"Usage: sluice {command}"))
        self.assertRegex(sluice("--version").stdout, r"^sluice \d+\.\d+\.\d+\n$")

    def test_help_of_a_command(self):
        for words in (["run"], ["trace"], ["trace", "kernels"], ["doctor"], ["options"]):
            result = sluice("help", *words)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            self.assertEqual(result.stdout, sluice(*words, "--help").stdout)
        self.assertEqual(sluice("help", "--help").stdout, sluice("--help").stdout)
        self.assert_usage_error(sluice("help", "rnu"), "unknown command rnu", "did you mean run?")
        self.assert_usage_error(sluice("help", "trace", "kernel"), "unknown trace command kernel", "did you mean kernels?")
        self.assert_usage_error(sluice("help", "plan", "trace"), "help takes a command")

    def test_help_in_a_file_is_80_columns_wide(self):
        for arguments in (["--help"], ["run", "--help"], ["options"], ["plan", "--help"], ["trace", "--help"]):
            text = sluice(*arguments, env=clean_environment(COLUMNS="132")).stdout
            self.assertEqual(text, sluice(*arguments).stdout)
            self.assertEqual([line for line in text.splitlines() if len(line) > 80], [])

    def test_wrong_words(self):
        self.assert_usage_error(sluice(), "--help")
        self.assert_usage_error(sluice("rnu"), "unknown command rnu", "did you mean run?")
        self.assert_usage_error(sluice("something"), "unknown command something", "--help")
        self.assert_usage_error(sluice("--verbose"), "unknown option --verbose")
        self.assert_usage_error(sluice("options", "--html"), "--html", "sluice options --help")
        self.assert_usage_error(sluice("options", "all"), "options takes no arguments")

    def test_a_full_disk_is_an_error(self):
        with open("/dev/full", "w") as full:
            result = subprocess.run([TOOL, "--help"], stdout=full, stderr=subprocess.PIPE, text=True,
                                    env=clean_environment())
        self.assertEqual(result.returncode, 1)
        self.assert_one_line(result.stderr, "No space left")


class Path(ToolTest):
    def test_it_names_what_run_preloads(self):
        tool = self.install()
        self.assertEqual(sluice("path", tool=tool).stdout, f"{self.folder}/lib/libsluice.so\n")
        self.assertEqual(sluice("path", "--softcuda", tool=tool).stdout, f"{self.folder}/lib/sluice/softcuda\n")
        preloaded = sluice("run", "--", "sh", "-c", "echo $LD_PRELOAD", tool=tool).stdout
        self.assertEqual(preloaded.strip().split(":")[0], sluice("path", tool=tool).stdout.strip())

    def test_nothing_is_installed(self):
        tool = self.install(library=False, software=False)
        for arguments, words in ((["path"], "cannot find libsluice.so"), (["path", "--softcuda"], "the software device is not installed")):
            result = sluice(*arguments, tool=tool)
            self.assertEqual((result.returncode, result.stdout), (1, ""))
            self.assert_one_line(result.stderr, words)

    def test_a_path_that_cannot_be_preloaded(self):
        self.folder /= "a folder"
        self.folder.mkdir()
        result = sluice("path", tool=self.install())
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assert_one_line(result.stderr, "cannot preload", "a space or a colon")
        self.assertEqual(sluice("path", "--softcuda", tool=self.folder / "bin/sluice").returncode, 0)


class Documents(unittest.TestCase):
    def test_options_page_is_the_table(self):
        page = (SOURCE / "docs/options.md").read_text()
        self.assertEqual(page, sluice("options", "--markdown").stdout,
                         "docs/options.md is old: sluice options --markdown > docs/options.md")

    def test_man_page_names_every_option(self):
        manual = (SOURCE / "docs/sluice.1").read_text().replace("\\-", "-")
        rows = [line.split("|") for line in sluice("options", "--markdown").stdout.splitlines()
                if line.startswith("| `SLUICE_")]
        self.assertGreater(len(rows), 10)
        for row in rows:
            self.assertIn(row[1].strip(" `"), manual)
            self.assertIn(row[2].strip(" `"), manual)

    def test_man_page_has_every_command(self):
        manual = (SOURCE / "docs/sluice.1").read_text().replace("\\-", "-")
        synopsis, section = manual.split(".SH DESCRIPTION")[0], manual[manual.index(".SH COMMANDS\n"):manual.index(".SH COMMANDS OF TRACE")]
        for name in re.findall(r"(?m)^  (\w+) +\S", sluice("--help").stdout):
            self.assertIn(f".B sluice {name}\n", synopsis)
            self.assertIn(f"\n.B {name}\n", section)

    def test_man_page_has_every_trace_command(self):
        manual = (SOURCE / "docs/sluice.1").read_text().replace("\\-", "-")
        section = manual[manual.index(".SH COMMANDS OF TRACE"):manual.index(".SH OPTIONS OF RUN")]
        names = re.findall(r"(?m)^  (\w+) +\S", sluice("trace", "--help").stdout)
        self.assertGreater(len(names), 5)
        for name in names:
            entries = re.findall(rf"(?m)^(?:\.B |\\fB){name}\b.*$", section)
            self.assertTrue(entries, f"docs/sluice.1 lacks trace {name}")
            for option in re.findall(r"(?m)^  --([\w-]+)", sluice("trace", name, "--help").stdout):
                if option not in ("help", "json"):
                    self.assertIn(f"--{option}", "".join(entries), f"docs/sluice.1 lacks --{option} of trace {name}")

    def test_man_page_has_the_options_of_run_and_plan_and_no_others(self):
        manual = (SOURCE / "docs/sluice.1").read_text().replace("\\-", "-")
        for command in ("run", "plan", "advise", "rehearse"):
            section = manual[manual.index(f".SH OPTIONS OF {command.upper()}"):].split("\n.SH")[0]
            options = set(re.findall(r"(?m)^  --([\w-]+)", sluice(command, "--help").stdout)) - {"help"}
            described = set(re.findall(r"(?m)^\.BR? ?I? *\"?--([\w-]+)", section))
            self.assertEqual(described - options, set(), f"docs/sluice.1 has options that {command} does not have")
            for option in options:
                self.assertIn(f"--{option}", section, f"docs/sluice.1 lacks --{option} of {command}")

    def test_man_page_has_every_record(self):
        manual = (SOURCE / "docs/sluice-trace.5").read_text()
        section = manual[manual.index(".SH RECORDS"):manual.index(".SH VERSIONS")]
        words = {word for line in re.findall(r"(?m)^\.B (.*)$", section) for word in line.split(", ")}
        types = re.findall(r"(?m)^    SLUICE_TRACE_(\w+) =", (SOURCE / "include/sluice/trace.h").read_text())
        self.assertGreater(len(types), 20)
        self.assertEqual({name.lower() for name in types} - words, set())

    @unittest.skipUnless(shutil.which("groff"), "groff is not installed")
    def test_man_pages_are_well_formed(self):
        for page in ("sluice.1", "sluice-trace.5"):
            result = subprocess.run(["groff", "-man", "-ww", "-Tutf8", SOURCE / "docs" / page],
                                    capture_output=True, text=True)
            self.assertEqual((result.returncode, result.stderr), (0, ""), page)


if __name__ == "__main__":
    unittest.main()
