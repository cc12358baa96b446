"""sluice run: what the command finds in its environment, its exit status, and what is refused before it starts."""
import os
import platform
import re
import struct
import unittest

from support import SOURCE, ToolTest, clean_environment, has_driver, sluice

SHOW = ["--", "sh", "-c", "env | grep -E '^(SLUICE_|LD_)' | sort"]


def static_program(exit_status):
    """An x86-64 program of one segment: exit(exit_status)."""
    code = struct.pack("<BIBI2s", 0xBF, exit_status, 0xB8, 60, b"\x0f\x05")  # mov edi; mov eax; syscall
    base, headers = 0x400000, 64 + 56
    size = headers + len(code)
    header = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\2\1\1", 2, 62, 1, base + headers, 64, 0, 0, 64, 56, 1, 0, 0, 0)
    segment = struct.pack("<IIQQQQQQ", 1, 5, 0, base, base, size, size, 0x1000)
    return header + segment + code


class Run(ToolTest):
    def shown(self, *arguments, env=None, **options):
        result = sluice("run", *arguments, *SHOW, tool=self.tool, env=env, **options)
        self.assertEqual(result.returncode, 0)
        said = {"-v", "-vv", "--verbose"} & set(arguments)
        told = said or ("--software" not in arguments and not has_driver())
        self.assertEqual(result.stderr.count("\n"), int(bool(told)), "that CUDA was not used, or that there is none")
        return dict(line.split("=", 1) for line in result.stdout.splitlines())

    def setUp(self):
        super().setUp()
        self.tool = self.install()
        self.preloaded = str(self.folder.resolve() / "lib/libsluice.so")
        self.software = str(self.folder.resolve() / "lib/sluice/softcuda")

    def test_flags_become_variables(self):
        self.assertEqual(self.shown(), {"LD_PRELOAD": self.preloaded})
        shown = self.shown("--budget", "8G", "--policy=demand", "--chunk", "32M", "--daemon", "inline", "--host-limit",
                           "1.5GiB", "-v")
        self.assertEqual(shown, {"LD_PRELOAD": self.preloaded, "SLUICE_DEVICE_BUDGET": "8G", "SLUICE_POLICY": "demand",
                                 "SLUICE_CHUNK": "32M", "SLUICE_DAEMON": "inline", "SLUICE_HOST_LIMIT": "1.5GiB",
                                 "SLUICE_VERBOSE": "1", "SLUICE_LIVE": shown["SLUICE_LIVE"]})
        self.assertEqual(self.shown("-vv")["SLUICE_VERBOSE"], "2")
        self.assertEqual(self.shown("-v", "--verbose")["SLUICE_VERBOSE"], "2")

    def test_flags_win_over_the_environment(self):
        env = clean_environment(SLUICE_DEVICE_BUDGET="4G", SLUICE_POLICY="off")
        shown = self.shown("--budget", "8G", env=env)
        self.assertEqual((shown["SLUICE_DEVICE_BUDGET"], shown["SLUICE_POLICY"]), ("8G", "off"))

    def test_lists_are_prepended(self):
        other = self.folder / "other.so"
        other.write_bytes((self.folder / "lib/libsluice.so").read_bytes())
        shown = self.shown("--software", env=clean_environment(LD_PRELOAD=str(other), LD_LIBRARY_PATH="/opt/lib"))
        self.assertEqual(shown["LD_PRELOAD"], f"{self.preloaded}:{other}")
        self.assertEqual(shown["LD_LIBRARY_PATH"], f"{self.software}:/opt/lib")
        self.assertEqual(self.shown("--software")["LD_LIBRARY_PATH"], self.software)

    def test_paths_become_absolute(self):
        percent = self.folder / "50%p"
        percent.mkdir()
        shown = self.shown("--trace", "t.%p", "--stats", "/tmp/s", cwd=percent)
        self.assertEqual(shown["SLUICE_TRACE"], os.path.realpath(self.folder) + "/50%%p/t.%p")
        self.assertEqual(shown["SLUICE_STATS"], "/tmp/s")

    def test_exit_status_is_the_commands(self):
        for status in (0, 1, 2, 77, 127):
            self.assertEqual(sluice("run", "--", "sh", "-c", f"exit {status}", tool=self.tool).returncode, status)
        self.assertEqual(sluice("run", "sh", "-c", "kill -9 $$", tool=self.tool).returncode, -9)

    def test_words_after_the_command_are_its_own(self):
        result = sluice("run", "echo", "--budget", "x", tool=self.tool)
        self.assertEqual((result.returncode, result.stdout), (0, "--budget x\n"))
        result = sluice("run", "--", "echo", "--", "-v", tool=self.tool)
        self.assertEqual((result.returncode, result.stdout), (0, "-- -v\n"))

    def test_commands_that_cannot_run(self):
        result = sluice("run", "no-such-command", tool=self.tool)
        self.assertEqual(result.returncode, 127)
        self.assert_one_line(result.stderr, "no-such-command", "No such file")
        result = sluice("run", "/", tool=self.tool)
        self.assertEqual(result.returncode, 126)
        self.assert_one_line(result.stderr, "it is a folder")

    @unittest.skipIf(platform.machine() != "x86_64", "the program is x86-64 code")
    @unittest.skipIf(os.environ.get("SANITIZED"), "a sanitized library needs its runtime preloaded before it")
    def test_the_remedy_for_a_launch_beyond_the_budget_works_as_typed(self):
        def warnings(*option):
            result = sluice("run", "--software", "--chunk", "2M", *option, "--", os.environ["GPT"], "--data", SOURCE / "workloads/data/gpl-3.txt",
                            "--steps", "1", "--optimizer", "fused", "--width", "256")
            self.assertEqual(result.returncode, 0, result.stderr)
            return result.stderr
        said = warnings("--budget", "8M")
        self.assertRegex(said, r"gemm_nn uses [\d.]+ MiB, more than the budget of 8 MiB: it runs partly in host memory")
        remedies = re.findall(r"\(sluice run (--budget) (\d+M)\) lets it fit", said)
        self.assertNotIn("more than the budget of", warnings(*remedies[-1]))

    def test_a_static_program_runs_without_sluice(self):
        program = self.folder / "static"
        program.write_bytes(static_program(exit_status=7))
        program.chmod(0o755)
        for command in (str(program), "static"):
            result = sluice("run", command, tool=self.tool,
                            env=clean_environment(PATH=f"/nonexistent:{self.folder}:{os.environ['PATH']}"))
            self.assertEqual(result.returncode, 7)
            self.assert_one_line(result.stderr, command, "statically linked")

    def test_refused_values(self):
        pipe = str(self.folder / "pipe")
        os.mkfifo(pipe)
        for arguments, words in (
                (["--chunk", "3M"], ["--chunk 3M", "a power of two from 2 MiB to 1 GiB"]),
                (["--budget", "8Q"], ["--budget 8Q", "a size"]),
                (["--budget="], ["--budget", "a size"]),
                (["--policy", "best"], ["--policy best", "plan|next|belady|lru|demand|driver|off"]),
                (["--daemon", ""], ["--daemon", "thread|inline"]),
                (["-vvv"], ["--verbose 3", "0 to 2"]),
                (["--verbose=1"], ["takes no value"]),
                (["--trace", "/no/such/folder/t"], ["--trace", "cannot write in this folder", "No such file"]),
                (["--stats", "x" * 5000], ["--stats", "a path"]),
                (["--stats", "/dev/stdout"], ["--stats /dev/stdout", "a link"]),
                (["--trace", "/dev/fd/1"], ["--trace /dev/fd/1", "a link"]),
                (["--profile", pipe], ["--profile", "a pipe"]),
                (["--stats", pipe], ["--stats", "a pipe"]),
                (["--budgt", "8G"], ["unknown option --budgt", "did you mean --budget?"]),
                (["--sofware"], ["did you mean --software?"]),
                (["-x"], ["unknown option -x"])):
            with self.subTest(arguments):
                result = sluice("run", *arguments, "--", "echo", "started", tool=self.tool)
                self.assert_usage_error(result, *words)

    def test_missing_words(self):
        self.assert_usage_error(sluice("run", tool=self.tool), "no command")
        self.assert_usage_error(sluice("run", "-v", "--", tool=self.tool), "no command")
        self.assert_usage_error(sluice("run", "--budget", tool=self.tool), "--budget needs a value")

    def test_missing_parts(self):
        for part, arguments, word in ((self.software + "/libcuda.so.1", ["--software"], "software device"),
                                      (self.preloaded, [], "libsluice.so")):
            os.unlink(part)
            result = sluice("run", *arguments, "echo", "started", tool=self.tool)
            self.assertEqual((result.returncode, result.stdout), (1, ""))
            self.assert_one_line(result.stderr, word)

    def test_a_folder_that_cannot_be_preloaded_from(self):
        spaced = self.folder / "with space"
        spaced.mkdir()
        for name in ("bin", "lib"):
            (self.folder / name).rename(spaced / name)
        result = sluice("run", "echo", "started", tool=str(spaced / "bin/sluice"))
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assert_one_line(result.stderr, "space or a colon")


if __name__ == "__main__":
    unittest.main()
