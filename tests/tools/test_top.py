"""What `sluice top` shows of running programs: their own figures, and nothing happens to them."""
import ctypes
import json
import os
import pathlib
import pty
import re
import select
import signal
import subprocess
import time
import unittest

from support import SOURCE, TOOL, ToolTest, clean_environment, sluice

GPT = [os.environ["GPT"], "--data", str(SOURCE / "workloads/data/gpl-3.txt")]
SHM = "/dev/shm"


def adopt_orphans():
    """So that a watcher is a child of this process."""
    PR_SET_CHILD_SUBREAPER = 36
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)


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


def page_of(process):
    return f"{SHM}/sluice-monitor-{os.geteuid()}-{process}-{os.stat('/proc/self/ns/pid').st_ino}"


def has_page(process):
    return os.path.exists(page_of(process))


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

    def live_once_it_counts(self, program, live, launches):
        """Lets the stopped program go on until its live file, which is written from time to time, has so many launches."""
        program.send_signal(signal.SIGCONT)
        while True:
            told = json.loads(sluice("stats", "--json", live).stdout)
            if told["total"]["launches"] >= launches:
                return told
            self.assertIsNone(program.poll())

    def test_figures_are_those_of_the_statistics(self):
        live = self.folder / "live"
        program = self.start("--live", live)
        after_step(program, 10)
        stopped(program)
        run = self.look(program)
        (device,) = run["devices"]
        told = self.live_once_it_counts(program, live, device["total"]["launches"])
        self.assertEqual((run["process"], run["program"], run["rank"]), (program.pid, "gpt", None))
        self.assertEqual((device["policy"], device["daemon"]), (told["policy"], told["daemon"]))
        memory = device["memory"]
        self.assertEqual(memory["budget_bytes"], told["budget_bytes"])
        self.assertEqual(memory["chunk_bytes"], told["chunk_bytes"])
        self.assertEqual(memory["need_bytes"], told["need_bytes"])
        self.assertLessEqual(memory["resident_bytes"], memory["budget_bytes"])
        self.assertGreater(memory["resident_bytes"], 0)
        stopped(program)
        (later,) = self.look(program)["devices"]
        # Stored once in 64 events, so at most that much less than what is counted at every launch.
        self.assertGreaterEqual(later["total"]["launches"], told["total"]["launches"] - 64)
        self.assertTrue(0 < device["total"]["bytes_in"]["plan"] <= told["bytes_in_by_cause"]["plan"])
        self.assertGreaterEqual(device["steps"], 4)
        self.assertGreater(device["step_seconds"], 0)
        self.assertLess(device["last_step"]["launches"], device["total"]["launches"])

    def answered(self, program):
        """A device whose allocations were seen all at once, when its other figures were stored. One thread moves and counts."""
        while True:
            (device,) = self.look(program)["devices"]
            memory = device["memory"]
            if "kinds" in memory and memory["seen_seconds_before"] == memory["seen_for_seconds"] == 0:
                return device

    def test_the_kinds_add_up_and_are_those_of_the_trace(self):
        trace = self.folder / "trace"
        program = self.start("--daemon", "inline", "--trace", trace)
        after_step(program, 6)
        answers = []  # how many steps they take is a matter of the machine
        while len(answers) < 4:
            memory = self.answered(program)["memory"]
            kinds = memory["kinds"]
            for kind in kinds.values():
                self.assertEqual(kind["allocated_bytes"], kind["resident_bytes"] + kind["host_bytes"] + kind["empty_bytes"])
                self.assertLessEqual(kind["arriving_bytes"], kind["resident_bytes"])
            self.assertEqual(sum(kind["allocated_bytes"] for kind in kinds.values()), memory["allocated_bytes"])
            resident = sum(kind["resident_bytes"] for kind in kinds.values())
            self.assertEqual(resident + memory["unused_resident_bytes"], memory["resident_bytes"])
            answers.append(kinds)
            program.stdout.readline()
            program.stdout.readline()
        program.terminate()
        _, errors = program.communicate(timeout=120)
        self.assertEqual(program.returncode, -signal.SIGTERM, errors)
        of_class = json.loads(sluice("trace", "info", "--json", trace).stdout)["peak_by_class"]
        kept = sum(of_class[name] for name in ("parameters", "gradients", "optimizer state", "inputs"))
        for kinds in answers:
            lasting = kinds["lasting"]["allocated_bytes"] + kinds["idle"]["allocated_bytes"]
            self.assertAlmostEqual(lasting, kept, delta=4096)  # sums, such as of the loss
            self.assertLessEqual(kinds["temporary"]["allocated_bytes"], of_class["activations"] + of_class["workspaces"] + 4096)
            self.assertEqual(kinds["unknown"]["allocated_bytes"] + kinds["pinned"]["allocated_bytes"], 0)

    def test_the_parts_of_a_step_are_on_one_clock(self):
        program = self.start("--daemon", "inline")
        after_step(program, 8)
        line = program.stdout.readline()
        told = float(re.search(r" time_ms (\S+)", line).group(1)) * 1e-3  # the same clock, a software device's
        stopped(program)
        (device,) = self.look(program)["devices"]
        step = device["device_step"]
        self.assertAlmostEqual(step["seconds"], told, delta=0.1 * told)
        self.assertAlmostEqual(step["seconds"], step["stall_seconds"] + step["other_seconds"], delta=2e-9)
        self.assertGreater(step["stall_seconds"], 0.2 * step["seconds"])  # the budget is a third of the need
        text = sluice("top", "--once", str(program.pid)).stdout
        self.assertRegex(text, r"(?m)^ +by the device's clock .*: .* stalled \(\d+\.\d %\), .* not$")

    def test_movers(self):
        program = self.start("--daemon", "thread", "--movers", "2")
        after_step(program, 8)
        stopped(program)
        (device,) = self.look(program)["devices"]
        movers = device["movers"]
        self.assertEqual(movers["to_host"], 2)
        self.assertTrue(0 < movers["host_cores"] < 3, movers)  # and one to the device
        self.assertTrue(0 < movers["link_part_in"] < 1 and 0 < movers["link_part_out"] < 1, movers)
        self.assertIn(movers["limit"], ("link", "threads"))
        self.assertRegex(sluice("top", "--once", str(program.pid)).stdout,
                         r"(?m)^  movers  \d\.\d\d cores of the host; \d+ % of the link in, \d+ % out; limit: (link|threads)$")

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
                cause = re.search(r'(?:direction|kind)="(\w+)",(?:cause|place)="(\w+)"', labels)
                values[(name, *(cause.groups() if cause else ()))] = float(value)
        self.assertEqual({name for name, *_ in values}, set(types))
        self.assertTrue(all((kind == "counter") == name.endswith("_total") for name, kind in types.items()))
        self.assertEqual(values[("sluice_budget_bytes",)], device["memory"]["budget_bytes"])
        self.assertIn(("sluice_kind_bytes", "temporary", "host"), values)
        self.assertAlmostEqual(values[("sluice_device_step_seconds",)], device["device_step"]["seconds"], delta=1e-9)
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

    def test_a_watcher_outlives_the_program(self):
        program, path = self.start(), self.folder / "metrics"
        after_step(program, 2)
        watcher = subprocess.Popen([TOOL, "top", "--interval", "0.05", "--prometheus", str(path), str(program.pid)],
                                   env=clean_environment(), stderr=subprocess.PIPE, text=True)
        self.addCleanup(watcher.stderr.close)
        self.wait_for(lambda: path.exists() and "sluice_budget_bytes{" in path.read_text())
        program.kill()
        program.wait()
        self.wait_for(lambda: "sluice_budget_bytes{" not in path.read_text())
        watcher.send_signal(signal.SIGTERM)
        self.assertEqual((watcher.wait(timeout=60), watcher.stderr.read()), (0, ""))

    @staticmethod
    def wait_for(condition):
        end = time.monotonic() + 60
        while not condition():
            assert time.monotonic() < end
            os.sched_yield()

    def foreign_page(self, number, content):
        """A page of this process, under another number."""
        path, file = page_of(number), os.memfd_create("sluice-monitor")
        self.addCleanup(os.close, file)
        os.write(file, content)
        os.symlink(f"/proc/{os.getpid()}/fd/{file}", path)
        self.addCleanup(os.unlink, path)

    def test_pages_that_cannot_be_read_are_passed_over(self):
        program = self.start()
        after_step(program, 2)
        stopped(program)
        with open(page_of(program.pid), "rb") as file:
            page = file.read()
        first = 1 << 30  # no process has such a number
        self.foreign_page(first, page[:len(page) // 2])
        self.foreign_page(first + 1, b"a letter" * 100)
        self.foreign_page(first + 2, b"")
        self.foreign_page(first + 3, page[:8] + (999).to_bytes(4, "little") + page[12:])
        result = sluice("top", "--once", "--json")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        runs = json.loads(result.stdout)
        self.assertIn(program.pid, {run["process"] for run in runs["runs"]})
        self.assertGreaterEqual(runs["of_other_versions"], 1)
        self.assertRegex(sluice("top", "--once").stdout, r"(?m)^\d+ programs? (is|are) managed by another version of sluice")
        self.look(program)

    def test_programs_in_other_namespaces_leave_it_alone(self):
        program = self.start()
        after_step(program, 2)
        for namespaces in (["--user", "--map-root-user"], ["--user", "--map-root-user", "--pid", "--fork", "--mount-proc"]):
            within = subprocess.run(["unshare", *namespaces, TOOL, "run", "--software", "--", *GPT, "--steps", "1"],
                                    capture_output=True, text=True, env=clean_environment())
            if within.stderr.startswith("unshare:"):
                self.skipTest(within.stderr)
            self.assertEqual(within.returncode, 0, within.stderr)
            self.look(program)

    def test_a_killed_program_is_gone(self):
        program = self.start()
        after_step(program, 2)
        self.assertTrue(has_page(program.pid))
        program.kill()
        program.wait()
        after_step(self.start(), 1)  # the next one cleans up
        self.assertFalse(has_page(program.pid))
        self.assertEqual(sluice("top", "--once", str(program.pid)).returncode, 1)
        ended = self.start(steps=2)
        after_step(ended, 1)
        self.assertTrue(has_page(ended.pid))
        ended.communicate(timeout=60)
        self.assertFalse(has_page(ended.pid))

    def folders(self):
        return {path for path in pathlib.Path(SHM).glob("sluice-??????") if path.is_dir()}

    def start_watched(self):
        """The program, the process id of its watcher, and their folder."""
        adopt_orphans()
        before = self.folders()
        program = self.start("-v")
        after_step(program, 2)
        (watcher,) = (int(child) for child in pathlib.Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
                      if pathlib.Path(f"/proc/{child}/comm").read_text() == "sluice-watch\n")
        (folder,) = (path for path in self.folders() - before if (path / str(program.pid)).exists())
        return program, watcher, folder

    def test_a_look_leaves_what_a_watcher_will_report(self):
        program, watcher, folder = self.start_watched()
        os.kill(watcher, signal.SIGSTOP)
        os.waitid(os.P_PID, watcher, os.WSTOPPED | os.WNOWAIT)
        program.kill()
        program.wait()
        os.utime(folder, (0, 0))
        sluice("top", "--once")
        os.kill(watcher, signal.SIGCONT)
        self.assertIn("memory: the program needed", program.communicate(timeout=60)[1])
        os.waitpid(watcher, 0)
        self.assertFalse(folder.exists())

    def test_a_look_removes_what_the_killed_left(self):
        """Also the folder that their watcher would have removed, which was killed, too."""
        program, watcher, folder = self.start_watched()
        os.kill(watcher, signal.SIGKILL)
        os.waitpid(watcher, 0)
        live = folder / str(program.pid)
        os.utime(folder, (0, 0))
        sluice("top", "--once")
        self.assertTrue(live.exists(), "its process is running")
        program.kill()
        program.wait()
        (folder / "letter").write_text("a letter")
        for content in (True, False):
            os.utime(folder, (0, 0))
            sluice("top", "--once")
            self.assertFalse(has_page(program.pid))
            self.assertEqual(folder.exists(), content, "what is not a live file stays")
            if content:
                (folder / "letter").unlink()

    def test_the_screen_comes_and_goes(self):
        for locale, mark in (("C.UTF-8", "\u2591"), ("C", "-"), ("no_SUCH.UTF-8", "-")):
            with self.subTest(locale=locale):
                self.screen(locale, mark)

    def screen(self, locale, mark):
        program = self.start()
        after_step(program, 1)
        child, terminal = pty.fork()
        if child == 0:
            os.execve(TOOL, [TOOL, "top", "--interval", "0.1", str(program.pid)],
                      clean_environment(TERM="xterm-256color", LINES="30", COLUMNS="100", LC_ALL=locale))
        shown, keys = b"", iter([b"?", b"x", b"j", b"k", b" ", b"p", b"q"])
        while select.select([terminal], [], [], 60)[0]:
            try:
                part = os.read(terminal, 1 << 16)
            except OSError:
                break
            shown += part
            if f"{mark} unused".encode() in shown or b"unused " in shown or b"any key leaves" in shown:
                os.write(terminal, next(keys, b"q"))
        _, status = os.waitpid(child, 0)
        os.close(terminal)
        self.assertEqual(status, 0)
        self.assertIn(b"sluice top", shown)
        self.assertIn(b"paused", shown)
        self.assertIn(b"any key leaves", shown)
        self.assertIn(f"{mark} unused".encode(), shown)
        self.assertIn(b"\x1b[?1049l", shown)  # the terminal is as it was
        self.assertIsNone(program.poll())

    def test_a_program_that_has_ended_is_still_shown(self):
        program = self.start()
        after_step(program, 1)
        child, terminal = pty.fork()
        if child == 0:
            os.execve(TOOL, [TOOL, "top", "--interval", "0.1", str(program.pid)],
                      clean_environment(TERM="xterm-256color", LINES="24", COLUMNS="80", LC_ALL="C"))
        shown, keys = b"", iter([b"q"])
        while select.select([terminal], [], [], 60)[0]:
            try:
                shown += os.read(terminal, 1 << 16)
            except OSError:
                break
            if b"policy plan" in shown and program.returncode is None:
                program.kill()
                program.wait()
            if b" ended just now" in shown:
                os.write(terminal, next(keys, b""))
        os.waitpid(child, 0)
        os.close(terminal)
        self.assertRegex(shown.decode(), rf"{program.pid} gpt ended just now, after \d+ steps; it needed [\d.]+ MiB")

    def test_wrong_use(self):
        for value in ("0", "-1", "nan", "1s", "", "99999999"):
            self.assert_usage_error(sluice("top", "--once", "--interval", value), "--interval")
        self.assert_usage_error(sluice("top", "--json"), "--once")
        self.assert_usage_error(sluice("top", "--often"), "--often")
        result = sluice("top", "--once", "no-such-program")
        self.assertEqual((result.returncode, result.stdout), (1, ""))


if __name__ == "__main__":
    unittest.main()
