"""Files that are named for sluice to write: one of another kind that is there stays, unless its user says otherwise."""
import os
import subprocess
import unittest

from support import SOURCE, TOOL, ToolTest, clean_environment, record_gpt, sluice, write_trace

LETTER = "Dear all, this is no file of sluice's.\n"
GPT = [os.environ["GPT"], "--data", str(SOURCE / "workloads/data/gpl-3.txt"), "--steps", "4"]
REFUSED = ("SLUICE_OVERWRITE=1 or --force would replace",)


@unittest.skipIf(os.environ.get("SANITIZED"), "a sanitized library needs its runtime preloaded before it")
class Runs(ToolTest):
    """--trace, --profile and --stats."""
    KINDS = ("trace", "profile", "stats")

    def run_gpt(self, *flags, **variables):
        return subprocess.run([TOOL, "run", "--software", "--budget", "16M", *map(str, flags), "--", *GPT],
                              capture_output=True, text=True, timeout=120, env=clean_environment(**variables))

    def preloaded(self, **variables):
        """Without sluice run."""
        folder = os.path.dirname(os.environ["LIBSLUICE"])
        return subprocess.run(GPT, capture_output=True, text=True, timeout=120, env=clean_environment(
            LD_PRELOAD=f"{folder}/libsluice.so", LD_LIBRARY_PATH=os.environ["DEVICE_FOLDER"], SLUICE_DEVICE_BUDGET="16M",
            **variables))

    def assert_is(self, kind, path):
        command = {"trace": ["trace", "info"], "profile": ["profile"]}.get(kind)
        if command:
            self.assertEqual(sluice(*command, path).returncode, 0)
        else:
            self.assertTrue(path.read_text().startswith('{"kind": "sluice statistics", "version": 1,'))

    def test_another_file_stays(self):
        for kind in self.KINDS:
            path = self.folder / kind
            path.write_text(LETTER)
            with self.subTest(kind):
                self.assert_usage_error(self.run_gpt(f"--{kind}", path), f"--{kind} {path}: ", *REFUSED)
                self.assertEqual(path.read_text(), LETTER)
                done = self.preloaded(**{f"SLUICE_{kind.upper()}": str(path)})
                self.assertEqual(done.returncode, 0)
                self.assertIn("weights_hash", done.stdout)
                self.assert_one_line(done.stderr, str(path), *REFUSED)
                self.assertEqual(path.read_text(), LETTER)

    def test_it_is_replaced_if_its_user_says_so(self):
        for kind in self.KINDS:
            with self.subTest(kind):
                path = self.folder / kind
                path.write_text(LETTER)
                done = self.run_gpt("--force", f"--{kind}", path)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assert_is(kind, path)
                path.write_text(LETTER)
                done = self.preloaded(SLUICE_OVERWRITE="1", **{f"SLUICE_{kind.upper()}": str(path)})
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assert_is(kind, path)

    def test_empty_files_and_those_of_the_kind_are_replaced(self):
        paths = {kind: self.folder / kind for kind in self.KINDS}
        for path in paths.values():
            path.touch()
        flags = [word for kind, path in paths.items() for word in (f"--{kind}", path)]
        for _ in range(2):
            done = self.run_gpt(*flags)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            for kind, path in paths.items():
                self.assert_is(kind, path)

    def test_one_kind_is_not_another(self):
        stats, trace = self.folder / "stats", self.folder / "trace"
        self.assertEqual(self.run_gpt("--stats", stats, "--trace", trace).returncode, 0)
        self.assert_usage_error(self.run_gpt("--trace", stats), f"--trace {stats}: ", *REFUSED)
        self.assert_usage_error(self.run_gpt("--profile", trace), f"--profile {trace}: ", *REFUSED)
        self.assert_is("stats", stats)

    def test_devices_have_nothing_to_lose(self):
        done = self.run_gpt("--stats", "/dev/null", "--trace", "/dev/null", "--profile", "/dev/null")
        self.assertEqual(done.returncode, 0)
        self.assertNotIn(REFUSED[0], done.stderr)


def small_trace(folder):
    return write_trace(folder / "small.slt", [
        ("kernel", {"id": 1}, "k"), ("alloc", {"id": 1, "time": 1, "a": 0x7f0000000000, "b": 4 << 20}),
        *[record for step in range(1, 9) for record in (
            ("launch", {"id": 1, "tick": step, "time": 1000 * step}), ("access", {"id": 1, "tick": step, "b": 4 << 20}),
            ("iteration", {"id": step, "tick": step, "time": 1000 * step, "a": 1}))]])


class Commands(ToolTest):
    """trace export, and plan."""
    def setUp(self):
        super().setUp()
        self.trace = small_trace(self.folder)

    def write_twice(self, out, *arguments):
        """`out` is what keeps the letter, and what is written in the end."""
        out.write_text(LETTER)
        refused = sluice(*arguments, self.trace)
        self.assertEqual(refused.returncode, 1, refused.stdout)
        self.assert_one_line(refused.stderr, *REFUSED)
        self.assertEqual(out.read_text(), LETTER)
        for way in ("--force", "variable", "again"):
            out.write_text(LETTER) if way != "again" else None
            forced = sluice(*arguments, *(["--force"] if way == "--force" else []), self.trace,
                            env=clean_environment(**({"SLUICE_OVERWRITE": "1"} if way == "variable" else {})))
            self.assertEqual((forced.returncode, forced.stderr), (0, ""))
            self.assertNotIn(LETTER.encode(), out.read_bytes())

    def test_perfetto(self):
        out = self.folder / "out"
        self.write_twice(out, "trace", "export", "--perfetto", out)

    def test_tables(self):
        folder = self.folder / "tables"
        folder.mkdir()
        for name in ("launch.csv", "trace.csv"):
            self.write_twice(folder / name, "trace", "export", "--csv", folder)

    def test_sequence(self):
        out = self.folder / "out"
        self.write_twice(out, "plan", "--no-least", "--sequence", out)

    @unittest.skipIf(os.environ.get("SANITIZED"), "nothing is recorded under a sanitizer")
    def test_profile(self):
        self.trace = record_gpt(self.folder)
        out = self.folder / "out"
        self.write_twice(out, "plan", "--no-least", "--chunk", "2M", "--profile", out)

    def test_a_pipe_is_written_to(self):
        done = subprocess.run(f"{TOOL} trace export --perfetto /dev/stdout {self.trace} | cat", shell=True,
                              capture_output=True, env=clean_environment(), timeout=60)
        self.assertIn(b"sluice trace export", done.stdout)


if __name__ == "__main__":
    unittest.main()
