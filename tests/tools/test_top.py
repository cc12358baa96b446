"""What `sluice top` shows of running programs: their own figures, and nothing happens to them."""
import json
import os
import pty
import re
import select
import signal
import subprocess
import unittest

from support import SOURCE, TOOL, ToolTest, clean_environment, sluice

GPT = [os.environ["GPT"], "--data", str(SOURCE / "workloads/data/gpl-3.txt")]
SHM = "/dev/shm"


def after_step(program, number):
    """Reads what the program prints up to a step."""
    for line in program.stdout:
        if line.startswith(f"step {number} "):
            return
    raise AssertionError("the program ended by itself")


def stopped(program):
    """Once it has returned, the program does nothing until SIGCONT."""
    program.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, program.pid, os.WSTOPPED | os.WNOWAIT)


def has_page(process):
    return os.path.exists(f"{SHM}/sluice-monitor-{os.geteuid()}-{process}")


@unittest.skipIf(os.environ.get("SANITIZED"), "a sanitized library needs its runtime preloaded before it")
@unittest.skipUnless(os.path.isdir(SHM), "no shared memory")
class Top(ToolTest):
    def start(self, *flags, steps=100000, **variables):
        program = subprocess.Popen([TOOL, "run", "--software", "--budget", "8M", "--chunk", "2M", *map(str, flags), "--", *GPT, "--steps", str(steps)],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=clean_environment(**variables))
        self.addCleanup(self.end, program)
        return program

    @staticmethod
    def end(program):
        if program.returncode is None:
            program.kill()
            program.communicate(timeout=60)
        program.stdout.close()
        program.stderr.close()

    def look(self, program, *more):
        result = sluice("top", "--once", "--json", str(program.pid), *more)
        self.assertEqual(result.returncode, 0, result.stderr)
        (run,) = json.loads(result.stdout)["runs"]
        return run

    def test_figures_are_those_of_the_statistics(self):
        live = self.folder / "live"
        program = self.start("--live", live)
        after_step(program, 10)
        stopped(program)
        run = self.look(program)
        told = json.loads(sluice("stats", "--json", live).stdout)
        (device,) = run["devices"]
        self.assertEqual((run["process"], run["program"], run["rank"]), (program.pid, "gpt", None))
        self.assertEqual((device["policy"], device["daemon"]), (told["policy"], told["daemon"]))
        memory = device["memory"]
        self.assertEqual(memory["budget_bytes"], told["budget_bytes"])
        self.assertEqual(memory["chunk_bytes"], told["chunk_bytes"])
        self.assertEqual(memory["need_bytes"], told["need_bytes"])
        self.assertLessEqual(memory["resident_bytes"], memory["budget_bytes"])
        self.assertGreater(memory["resident_bytes"], 0)
        # Stored once in 64 events, so a little less than what is counted at every launch.
        launches = told["total"]["launches"]
        self.assertTrue(launches - 64 <= device["total"]["launches"] <= launches, (launches, device["total"]))
        self.assertTrue(0 < device["total"]["bytes_in"]["plan"] <= told["bytes_in_by_cause"]["plan"])
        self.assertGreaterEqual(device["steps"], 4)
        self.assertGreater(device["step_seconds"], 0)
        self.assertLess(device["last_step"]["launches"], device["total"]["launches"])

    def test_asking_shows_what_fills_the_budget(self):
        program = self.start()
        after_step(program, 8)
        self.look(program)
        after_step(program, 10)
        stopped(program)
        (device,) = self.look(program)["devices"]
        memory = device["memory"]
        parts = memory["lasting_resident_bytes"] + memory["temporary_resident_bytes"]
        self.assertGreater(memory["lasting_bytes"], memory["budget_bytes"])  # parameters and optimizer state
        self.assertTrue(0 < parts <= memory["resident_bytes"] + memory["chunk_bytes"], memory)

    def test_names_ranks_and_hidden_runs(self):
        programs = [self.start(OMPI_COMM_WORLD_LOCAL_RANK=str(r), OMPI_COMM_WORLD_RANK=str(r), OMPI_COMM_WORLD_LOCAL_SIZE="2") for r in range(2)]
        hidden = self.start("--top", "off")
        for program in programs + [hidden]:
            after_step(program, 2)
            stopped(program)
        self.assertEqual([self.look(program)["rank"] for program in programs], ["0", "1"])
        runs = json.loads(sluice("top", "--once", "--json", "gpt").stdout)["runs"]
        seen = {run["process"] for run in runs}
        self.assertTrue({program.pid for program in programs} <= seen)
        self.assertNotIn(hidden.pid, seen)
        result = sluice("top", "--once", str(hidden.pid))
        self.assertEqual(result.returncode, 1)
        self.assert_one_line(result.stderr, "no managed program of that name or number is running")
        text = sluice("top", "--once", str(programs[1].pid)).stdout
        self.assertIn(f"gpt, process {programs[1].pid}, rank 1", text)
        for label in ("memory", "step", "in", "out", "plan", "misses", "host"):
            self.assertRegex(text, rf"(?m)^  {label} ")

    def test_metrics_are_prometheus_text_with_the_same_figures(self):
        program, path = self.start(), self.folder / "metrics"
        after_step(program, 6)
        stopped(program)
        (device,) = self.look(program)["devices"]
        self.assertEqual(sluice("top", "--once", "--prometheus", path, str(program.pid)).returncode, 0)
        values, types = {}, {}
        for line in path.read_text().splitlines():
            if line.startswith("# TYPE "):
                _, _, name, kind = line.split()
                self.assertNotIn(name, types)
                types[name] = kind
            elif not line.startswith("# HELP "):
                name, labels, value = re.fullmatch(r'(\w+)\{((?:\w+="(?:[^"\\]|\\.)*",?)+)\} (\S+)', line).groups()
                self.assertIn(f'process="{program.pid}"', labels)
                cause = re.search(r'direction="(\w+)",cause="(\w+)"', labels)
                values[(name, *(cause.groups() if cause else ()))] = float(value)
        self.assertEqual({name for name, *_ in values}, set(types))
        self.assertTrue(all((kind == "counter") == name.endswith("_total") for name, kind in types.items()))
        self.assertEqual(values[("sluice_budget_bytes",)], device["memory"]["budget_bytes"])
        self.assertEqual(values[("sluice_launches_total",)], device["total"]["launches"])
        self.assertEqual(values[("sluice_copied_bytes_total", "in", "plan")], device["total"]["bytes_in"]["plan"])
        self.assertEqual(values[("sluice_copied_bytes_total", "out", "demand")], device["total"]["bytes_out"]["demand"])
        letter = self.folder / "letter"
        letter.write_text("a letter")
        result = sluice("top", "--once", "--prometheus", letter)
        self.assertEqual(result.returncode, 1)
        self.assert_one_line(result.stderr, "letter", "no metrics of sluice's")
        self.assertEqual(letter.read_text(), "a letter")

    def test_nothing_happens_to_a_program_that_is_watched(self):
        alone, _ = self.start(steps=8).communicate(timeout=120)
        watched = self.start(steps=8)
        after_step(watched, 1)
        watchers = [subprocess.Popen([TOOL, "top", "--interval", "0.05", "--prometheus", str(self.folder / name)], env=clean_environment())
                    for name in ("one", "other")]
        after_step(watched, 4)
        watchers[0].kill()
        watchers[1].send_signal(signal.SIGINT)
        self.assertEqual([watcher.wait(timeout=60) for watcher in watchers], [-signal.SIGKILL, 0])
        rest, errors = watched.communicate(timeout=120)
        self.assertEqual(watched.returncode, 0, errors)
        alone, rest = ([re.sub(r" time_ms \S+", "", line) for line in text.splitlines()] for text in (alone, rest))
        self.assertIn("weights_hash", rest[-1])
        self.assertEqual(alone[-len(rest):], rest)

    def test_a_killed_program_is_gone(self):
        program = self.start()
        after_step(program, 2)
        self.assertTrue(has_page(program.pid))
        program.kill()
        program.wait()
        self.assertTrue(has_page(program.pid))
        self.assertEqual(sluice("top", "--once", str(program.pid)).returncode, 1)
        after_step(self.start(), 1)  # the next one cleans up
        self.assertFalse(has_page(program.pid))
        ended = self.start(steps=2)
        after_step(ended, 1)
        self.assertTrue(has_page(ended.pid))
        ended.communicate(timeout=60)
        self.assertFalse(has_page(ended.pid))

    def test_the_screen_comes_and_goes(self):
        program = self.start()
        after_step(program, 4)
        child, terminal = pty.fork()
        if child == 0:
            os.execve(TOOL, [TOOL, "top", "--interval", "0.1", str(program.pid)], clean_environment(TERM="xterm-256color", LINES="30", COLUMNS="100"))
        shown, keys = b"", iter([b"j", b"k", b" ", b"p", b"q"])
        while select.select([terminal], [], [], 60)[0]:
            try:
                part = os.read(terminal, 1 << 16)
            except OSError:
                break
            shown += part
            if f"process {program.pid}".encode() in shown:
                os.write(terminal, next(keys, b"q"))
        _, status = os.waitpid(child, 0)
        os.close(terminal)
        self.assertEqual(status, 0)
        self.assertIn(b"sluice top", shown)
        self.assertIn(b"paused", shown)
        self.assertIn(b"\x1b[?1049l", shown)  # the terminal is as it was
        self.assertIsNone(program.poll())

    def test_wrong_use(self):
        for value in ("0", "-1", "nan", "1s", "", "99999999"):
            self.assert_usage_error(sluice("top", "--once", "--interval", value), "--interval")
        self.assert_usage_error(sluice("top", "--json"), "--once")
        self.assert_usage_error(sluice("top", "--often"), "--often")
        result = sluice("top", "--once", "no-such-program")
        self.assertEqual((result.returncode, result.stdout), (1, ""))


if __name__ == "__main__":
    unittest.main()
