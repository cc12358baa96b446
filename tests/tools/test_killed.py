"""What is left of a run that a signal ended: statistics, summary and profile, told once, and by nobody that the program could
notice."""
import ctypes
import json
import os
import pathlib
import signal
import subprocess
import unittest

from support import SOURCE, TOOL, ToolTest, clean_environment, has_driver, sluice

GPT = [os.environ["GPT"], "--data", str(SOURCE / "workloads/data/gpl-3.txt")]
ENDLESS, SHORT = ["--steps", "100000"], ["--steps", "4"]
SUMMARY = ("memory: the program needed ", "moved: ", "plan: ")


def adopt_orphans():
    """So that the watcher can be waited for."""
    PR_SET_CHILD_SUBREAPER = 36
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)


def wait_for_orphans():
    """For all of them: those of earlier tests come here as well."""
    try:
        while True:
            os.waitpid(-1, 0)
    except ChildProcessError:
        pass


def after_step(program, number):
    """Reads what the program prints up to a step."""
    for line in program.stdout:
        if line.startswith(f"step {number} "):
            return
    raise AssertionError("the program ended by itself")


@unittest.skipIf(os.environ.get("SANITIZED"), "a sanitized library needs its runtime preloaded before it")
class Killed(ToolTest):
    def start(self, *flags, command=None, **options):
        return subprocess.Popen([TOOL, "run", "--software", "--budget", "8M", "--chunk", "2M", *map(str, flags), "--",
                                 *(command or GPT + ENDLESS)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                env=clean_environment(), **options)

    def assert_told_once(self, errors):
        for part in SUMMARY:
            self.assertEqual(errors.count(part), 1, errors)

    def read_stats(self, path, complete):
        stats = json.loads(path.read_text())
        self.assertEqual((stats["kind"], stats["complete"]), ("sluice statistics", complete))
        self.assertEqual([iteration["number"] for iteration in stats["iterations"]],
                         list(range(1, len(stats["iterations"]) + 1)))
        self.assertEqual(sum(iteration["launches"] for iteration in stats["iterations"]), stats["total"]["launches"])
        return stats

    def test_by_each_signal(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGKILL):
            with self.subTest(number):
                stats, profile = self.folder / f"stats{number}", self.folder / f"profile{number}"
                program = self.start("-v", "--stats", stats, "--profile", profile)
                after_step(program, 12)
                program.send_signal(number)
                _, errors = program.communicate(timeout=60)
                self.assertEqual(program.returncode, -number)
                self.assert_told_once(errors)
                told = self.read_stats(stats, complete=False)
                self.assertGreater(len(told["iterations"]), 8)
                self.assertGreater(told["total"]["bytes_in"], 0)
                self.assertEqual((told["budget_bytes"], told["policy"], told["daemon"]), (8 << 20, "plan", "thread"))
                self.assertIn(f"{told['total']['launches']} launches", errors)
                learned = json.loads(sluice("profile", "--json", profile).stdout)
                self.assertGreaterEqual(learned["iterations"], 4)
                self.assertEqual(sorted(path.name for path in self.folder.iterdir() if str(int(number)) in path.name),
                                 [f"profile{number}", f"stats{number}"])

    def test_without_a_handler_and_without_an_exit(self):
        """_exit runs no exit handler."""
        stats = self.folder / "stats"
        program = self.start("-v", "--stats", stats, command=["sh", "-c", '"$@" & read x; kill -9 $!; wait; echo over', "sh",
                                                              *GPT, *ENDLESS], stdin=subprocess.PIPE)
        after_step(program, 2)
        program.stdin.write("\n")
        program.stdin.flush()
        out, errors = program.communicate(timeout=60)
        self.assertEqual((program.returncode, out.splitlines()[-1]), (0, "over"), "the child was killed, not the command")
        self.assert_told_once(errors)
        self.read_stats(stats, complete=False)

    def test_a_normal_end_is_told_once(self):
        stats = self.folder / "stats"
        program = self.start("-v", "--stats", stats, command=GPT + SHORT)
        _, errors = program.communicate(timeout=60)
        self.assertEqual(program.returncode, 0)
        self.assert_told_once(errors)
        self.read_stats(stats, complete=True)
        self.assertEqual(list(self.folder.iterdir()), [stats])

    def preloaded(self, **variables):
        library = os.path.dirname(os.environ["LIBSLUICE"])
        return subprocess.Popen(GPT + ENDLESS, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                env=clean_environment(LD_PRELOAD=f"{library}/libsluice.so",
                                                      LD_LIBRARY_PATH=os.environ["DEVICE_FOLDER"],
                                                      SLUICE_DEVICE_BUDGET="8M", **variables))

    def test_without_sluice_run_a_file_is_left(self):
        for variable, value, left in (("SLUICE_STATS", "stats", "stats.live"), ("SLUICE_LIVE", "figures", "figures")):
            with self.subTest(variable):
                left = self.folder / left
                program = self.preloaded(**{variable: str(self.folder / value)})
                after_step(program, 3)
                self.assertRegex(sluice("stats", left).stdout, rf"^gpt \(process {program.pid}\) is running\nmemory: ")
                program.kill()
                program.communicate(timeout=60)
                said = sluice("stats", left)
                self.assertEqual((said.returncode, said.stderr), (0, ""))
                self.assertRegex(said.stdout, rf"^gpt \(process {program.pid}\) has ended\nmemory: the program needed ")
                told = json.loads(sluice("stats", "--json", left).stdout)
                self.assertGreater(told["total"]["launches"], 0)
                left.unlink()
        other = self.folder / "other"
        other.write_text("Dear all\n")
        refused = sluice("stats", other)
        self.assertEqual(refused.returncode, 1)
        self.assert_one_line(refused.stderr, str(other))
        program = self.preloaded(SLUICE_LIVE=str(other))
        after_step(program, 2)
        program.kill()
        program.communicate(timeout=60)
        self.assertEqual(other.read_text(), "Dear all\n")


class Watched(ToolTest):
    """Whatever the command is."""
    def setUp(self):
        super().setUp()
        self.tool = self.install()

    def run_python(self, code, *flags):
        result = sluice("run", "-v", *flags, "python3", "-c", code, tool=self.tool)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def test_the_command_sees_nothing_of_it(self):
        code = """
import json, os
try:
    os.waitpid(-1, 0)
    child = True
except ChildProcessError:
    child = False
files = [int(name) for name in os.listdir("/proc/self/fd") if os.path.exists("/proc/self/fd/" + name)]
print(json.dumps([child, files, os.getsid(0), os.getpgid(0), os.environ["SLUICE_LIVE"]]))"""
        child, files, session, group, live = self.run_python(code)
        self.assertFalse(child)
        self.assertEqual(files, [0, 1, 2])
        self.assertEqual((session, group), (os.getsid(0), os.getpgid(0)))
        self.assertFalse(pathlib.Path(live).parent.exists(), "the folder is gone when the watcher is")

    def test_who_asks_for_nothing_is_not_watched(self):
        result = sluice("run", "--software", "sh", "-c", "echo live=$SLUICE_LIVE", tool=self.tool)
        self.assertEqual((result.stdout, result.stderr), ("live=\n", ""))

    def test_a_command_that_cannot_run_is_not_told_of(self):
        result = sluice("run", "-v", "no-such-command", tool=self.tool)
        self.assertEqual(result.returncode, 127)
        self.assert_one_line(result.stderr, "no-such-command", "No such file")

    def test_a_program_without_cuda(self):
        result = sluice("run", "-v", "--software", "sh", "-c", "true; exit 3", tool=self.tool)
        self.assertEqual((result.returncode, result.stderr),
                         (3, "sluice: the program made no CUDA context: sluice had nothing to do\n"))
        self.assertEqual(sluice("run", "--software", "true", tool=self.tool).stderr, "")

    def test_a_machine_without_a_driver(self):
        """The log says so, too; stderr has said it when the program started."""
        if has_driver():
            self.skipTest("there is a driver here")
        log = self.folder / "log"
        adopt_orphans()
        result = sluice("run", "-v", "--log", log, "true", tool=self.tool)
        self.assert_one_line(result.stderr, "there is no CUDA driver (libcuda.so.1), so the program runs without sluice")
        wait_for_orphans()
        self.assertEqual(log.read_text(), "sluice: there is no CUDA driver (libcuda.so.1): the program ran without sluice\n")

    def test_it_goes_to_the_log(self):
        log = self.folder / "log"
        adopt_orphans()
        result = sluice("run", "-v", "--software", "--log", log, "true", tool=self.tool)
        self.assertEqual(result.stderr, "")
        wait_for_orphans()
        self.assertIn("no CUDA context", log.read_text())


if __name__ == "__main__":
    unittest.main()
