"""run.sh as a user runs it: from a kit of pack.sh, on softcuda, every part works and the results are complete, a call that is ended
early leaves what it had; without a GPU it ends with 77.

Usage: test_run.py BUILD TEST...   (the tests' names are the class and method names of unittest)
"""
import concurrent.futures
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import unittest

BUILD = sys.argv[1]
HERE = os.path.dirname(os.path.abspath(__file__))
RUN, PACK = os.path.join(HERE, "run.sh"), os.path.join(HERE, "pack.sh")
SOURCE = os.path.dirname(os.path.dirname(HERE))
MOST_BYTES = 16 << 20
MOST_DIGEST_BYTES = 6 << 10
MOST_ARCHIVE_BYTES = 16 << 20
# What may be missing on no machine; the driver and the CUDA runtime come from the vendor, or are in the kit.
BARE = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "ld-linux-x86-64.so.2", "libstdc++.so.6",
        "libgcc_s.so.1", "libcuda.so.1", "libcudart.so.13", "libcudart.so.12", "libnccl.so.2"}
PROBES = {"names", "reuse", "discards", "events", "prefetches", "memory", "queue", "nodes", "tensormap"}
SOFTWARE = os.path.join(BUILD, "subprojects", "softcuda", "lib")
GPT_FIELDS = {"name", "identical", "step_ms", "losses", "weights_hash", "sluice", "budget_bytes"}


def can_hide():
    """Whether this machine lets us have a mount namespace."""
    try:
        return subprocess.run(["unshare", "--user", "--map-root-user", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"],
                              capture_output=True).returncode == 0
    except OSError:
        return False


def start_bare(kit, *arguments):
    """Starts the kit's run.sh where there is neither a variable nor, if the machine allows, the source, the build and a toolkit."""
    path = os.pathsep.join(["/usr/bin", "/bin", os.path.dirname(sys.executable)])
    command = ["env", "-i", f"PATH={path}", f"TMPDIR={os.path.dirname(kit)}", os.path.join(kit, "run.sh"), *arguments]
    if can_hide():
        hidden = [folder for folder in (BUILD, SOURCE, "/usr/local/cuda") if os.path.isdir(folder)]
        hide = "".join(f"mount -t tmpfs none {shlex.quote(os.path.realpath(folder))} && " for folder in hidden
                       if not os.path.realpath(kit).startswith(os.path.realpath(folder) + os.sep))
        command = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", hide + 'cd / && exec "$@"', "sh", *command]
    return subprocess.Popen(command, cwd="/", stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


class Call:
    """What a call of run.sh left."""

    def __init__(self, kit, *arguments, until=None, number=None):
        """until: the part whose beginning brings the signal."""
        self.out = tempfile.mkdtemp(dir=os.path.dirname(kit))
        process = start_bare(kit, "--software", "--out", self.out, *arguments)
        begun = ""
        if until:
            for line in process.stderr:
                begun += line
                if line.startswith(f"run.sh: {until},"):
                    process.send_signal(number)
                    break
        self.stdout, self.stderr = process.communicate()
        self.stderr = begun + self.stderr
        self.returncode = process.returncode
        # A kill in the middle of a renewal leaves a file that is not complete, by another name.
        self.files = sorted(name for name in os.listdir(self.out) if not name.endswith(".new"))
        if self.files[:2] != ["digest.md", "gpu-results.tar.gz"]:
            raise AssertionError(f"{self.files}\n{self.stdout}{self.stderr}")
        with open(os.path.join(self.out, "digest.md")) as file:
            self.digest = file.read()
        with tarfile.open(os.path.join(self.out, "gpu-results.tar.gz")) as archive:
            self.contents = {name.partition("/")[2]: archive.extractfile(name).read() for name in archive.getnames()}
        self.found = json.loads(self.contents["gpu-results.json"])
        self.parts = {part["name"]: part for part in self.found["part"]}


def needed(path):
    listing = subprocess.run(["readelf", "-d", path], capture_output=True, text=True).stdout
    return re.findall(r"\(NEEDED\).*\[(.*)\]", listing)


def run(*arguments, libraries=None):
    environment = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}
    if libraries:
        environment["LD_LIBRARY_PATH"] = libraries
    return subprocess.run([RUN, *arguments], env=environment, capture_output=True, text=True)


def machine_has_gpu():
    """Independent of run.sh's own look: a device node of the vendor's kernel driver."""
    return any(os.path.exists(node) for node in ("/dev/nvidiactl", "/dev/dxg"))


class Packed(unittest.TestCase):
    """Breaks when a part of the script, the probe or a program no longer works, or needs what a machine with a GPU lacks; then
    a lease of a GPU is not wasted."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.kit = os.path.join(cls.folder, "kit")
        cls.packing = subprocess.run([PACK, BUILD, cls.kit], capture_output=True, text=True)
        if cls.packing.returncode:
            raise AssertionError(cls.packing.stderr)
        cls.files = [os.path.join(folder, name) for folder, _, names in os.walk(cls.kit) for name in names]
        cls.bytes = sum(os.path.getsize(file) for file in cls.files)
        cls.result = Call(cls.kit, "--quick")
        cls.found = cls.result.found
        with concurrent.futures.ThreadPoolExecutor() as pool:  # their parts mostly wait
            cls.first = pool.submit(Call, cls.kit, "--first")
            cls.again = pool.submit(Call, cls.kit, "--again", "--change", "SLUICE_DISCARD=off")
            cls.ended = {(number, until): pool.submit(Call, cls.kit, "--first", until=until, number=number)
                         for number in (signal.SIGTERM, signal.SIGKILL) for until in ("doubts", "frameworks")}

    def test_is_small(self):
        self.assertLessEqual(self.bytes, MOST_BYTES)

    def test_needs_nothing_that_a_bare_machine_lacks(self):
        for file in self.files:
            self.assertLessEqual(set(needed(file)), BARE, file)

    def test_is_stripped(self):
        for file in self.files:
            sections = subprocess.run(["readelf", "-SW", file], capture_output=True, text=True).stdout
            self.assertFalse(".debug_info" in sections, file)

    def test_is_not_packed_twice_into_one_folder(self):
        self.assertEqual(subprocess.run([PACK, BUILD, self.kit], capture_output=True).returncode, 2)

    def test_ends_well(self):
        """Whether softcuda's programs pass on softcuda is their own tests' matter; here they only have to run."""
        ours = [problem for problem in self.found["problems"] if not problem.startswith("program ")]
        self.assertEqual(ours, [], self.result.stdout + self.result.stderr)
        self.assertNotIn("not run", {program["result"] for program in self.found["program"]})
        self.assertIn("passed", {program.get("sluice_result") for program in self.found["program"]})
        self.assertEqual(self.found["ok"], not self.found["problems"])
        self.assertEqual(self.result.returncode, 0 if self.found["ok"] else 1, self.result.stderr)

    def test_doubts_come_first(self):
        lines = self.result.stdout.splitlines()
        self.assertEqual({line.split()[1].rstrip(":") for line in lines[:len(PROBES)]}, PROBES)
        self.assertTrue(all(line.startswith("probe ") for line in lines[:len(PROBES)]), lines[:len(PROBES)])

    def test_doubts_are_answered(self):
        answers = {}
        for answer in self.found["doubt"]:
            answers.setdefault(answer["probe"], []).append(answer)
        least = {"names": 18, "reuse": 18, "discards": 20, "events": 20, "prefetches": 20, "memory": 12, "queue": 20, "nodes": 8,
                 "tensormap": 1}
        for probe, count in least.items():
            self.assertGreaterEqual(len(answers.get(probe, [])), count, probe)
        self.assertGreaterEqual(sum("holds" in answer for answer in self.found["doubt"]), 20)

    def test_what_softcuda_is_known_to_do(self):
        """The answers are the device's, not the probe's."""
        answers = {(a["probe"], a["what"]): a.get("answer") for a in self.found["doubt"]}
        self.assertEqual(answers["reuse", "cuMemFree of what the held stream uses"], "waits")
        self.assertEqual(answers["reuse", "cuMemAlloc"], "returns")
        self.assertEqual(answers["reuse", "same stream: address"], "the same")
        self.assertEqual(answers["queue", "a launch waits when the queue is full"], "yes")

    def test_says_on_what_machine(self):
        self.assertTrue(self.found["machine"]["device"]["name"])
        self.assertGreater(self.found["machine"]["processors"], 0)
        self.assertIn("\nMachine: ", self.result.digest)

    def test_every_part_ran(self):
        self.assertEqual(set(self.result.parts),
                         {"machine", "touch", "doctor", "doubts", "device", "bandwidth", "scaling", "beside", "readmostly",
                          "streaming", "copies", "vmm", "residency", "moves", "remote", "calls", "allocate", "programs", "gpt",
                          "torch"} | PROBES)
        for kind, least in (("copy", 3), ("bandwidth", 30), ("residency", 20), ("moves", 30), ("stream", 4),
                            ("product", 7), ("calls", 50), ("allocate", 2), ("program", 5), ("scaling", 50), ("beside", 40),
                            ("readmostly", 38),
                            ("streaming", 6), ("copies", 48), ("vmm", 2)):
            self.assertGreaterEqual(len(self.found.get(kind, [])), least, kind)

    def check_left(self, call):
        """One archive and one digest, both small, the digest printed last."""
        self.assertEqual(call.files, ["digest.md", "gpu-results.tar.gz"])
        self.assertLessEqual(len(call.digest.encode()), MOST_DIGEST_BYTES)
        self.assertLessEqual(os.path.getsize(os.path.join(call.out, "gpu-results.tar.gz")), MOST_ARCHIVE_BYTES)

    def test_first_call(self):
        call = self.first.result()
        self.check_left(call)
        self.assertTrue(call.stdout.endswith(call.digest + "\n"))
        self.assertEqual(call.found["problems"], [], call.stderr)
        self.assertLessEqual({"machine", "touch", "device", "bandwidth", "frameworks"} | PROBES, set(call.parts))
        self.assertTrue(call.found["touched"][0]["bytes"])
        self.assertIn("|do writes undo a discard?|", call.digest)
        self.assertIn("parts/machine/proc-buddyinfo.txt", call.contents)

    def test_second_call(self):
        call = self.again.result()
        self.check_left(call)
        self.assertEqual(call.found["problems"], [], call.stderr)
        self.assertLessEqual({"bandwidth", "frameworks", "remote", "calls"}, set(call.parts))
        self.assertIn("gpt, 1/2, SLUICE_DISCARD=off", {run["name"] for run in call.found["framework"]})

    def test_first_call_is_told_to_end(self):
        for until in ("doubts", "frameworks"):
            call = self.ended[signal.SIGTERM, until].result()
            self.check_left(call)
            self.assertEqual(call.returncode, 128 + signal.SIGTERM)
            self.assertTrue(call.stdout.endswith(call.digest + "\n"))
            self.assertIn("Ended by SIGTERM.", call.digest)
            self.assertIn("device", call.parts)

    def test_first_call_is_killed(self):
        for until in ("doubts", "frameworks"):
            call = self.ended[signal.SIGKILL, until].result()
            self.check_left(call)
            self.assertEqual(call.returncode, -signal.SIGKILL)
            self.assertIn("Not complete", call.digest)
            self.assertIn("device", call.parts)

    def test_bandwidths_are_measured(self):
        for row in self.found["bandwidth"]:
            self.assertEqual(row["gbps_in"] > 0, row["direction"] != "out", row)
            self.assertEqual(row["gbps_out"] > 0, row["direction"] != "in", row)

    def test_remote_memory_is_told_from_resident(self):
        after = {row["history"]: row["resident_after"] for row in self.found["residency"]
                 if row["advice"] == "host, accessed by"}
        self.assertTrue(after["fetched, then read"])
        self.assertFalse(after["evicted, then read"])

    def test_prefetches_by_threads(self):
        """Each setup once, and bytes in the direction in question alone."""
        rows = self.found["scaling"]
        self.assertEqual({row["threads"] for row in rows}, {1, 2, 4, 8})
        self.assertEqual({row["state"] for row in rows}, {"idle", "queued", "wait done", "wait pending", "ours"})
        self.assertEqual({row["slabs"] for row in rows}, {"one", "several"})
        for row in rows:
            self.assertEqual(row["gbps_in"] > 0, row["direction"] != "out", row)
            self.assertEqual(row["gbps_out"] > 0, row["direction"] != "in", row)

    def test_streams_use_the_link(self):
        """A kernel that reads and writes host memory moves more than one that does either: softcuda's link has both directions, and
        what they share of its speed is more than one has alone."""
        for row in self.found["streaming"]:
            if row["memory"] != "device":
                self.assertGreater(row["both_gbps"], 1.25 * row["read_gbps"], row)

    def test_read_mostly_is_right(self):
        self.assertEqual({row["right"] for row in self.found["readmostly"]}, {True})

    def test_what_the_driver_lacks_is_said(self):
        """softcuda has no memory of a NUMA node and no tensor maps."""
        said = [row["said"] for row in self.found["vmm"] if row["memory"] == "host"]
        self.assertEqual(len(said), 1)
        self.assertTrue(said[0].startswith("not supported"), said)
        answer = next(row for row in self.found["doubt"] if row["probe"] == "tensormap")
        self.assertTrue(answer["what"].startswith("not supported"), answer)

    def test_gpt_runs_are_judged(self):
        runs = {row["name"]: row for row in self.found["gpt"]}
        self.assertTrue(runs["control again"]["identical"])
        budgets = [row for row in self.found["gpt"] if row["budget_of_peak"]]
        self.assertGreaterEqual(len(budgets), 13)
        for row in budgets:
            self.assertLessEqual(GPT_FIELDS, set(row))
            self.assertTrue(row["identical"], row)
            self.assertIn("demand_misses", row["sluice"]["total"])


class Frameworks(unittest.TestCase):
    """Breaks when the part for frameworks no longer runs, or judges wrongly, which a lease of a GPU would show too late. By
    Debian's PyTorch on softcuda; JAX and Triton cannot run there."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        python = os.path.join(cls.folder, "python.sh")
        make = [sys.executable, os.path.join(SOURCE, "tests/frameworks/python.py"), BUILD, "pytorch", python]
        made = subprocess.run(make, capture_output=True, text=True)
        if made.returncode == 77:
            print(made.stdout.strip())
            sys.exit(77)
        if made.returncode:
            raise AssertionError(made.stderr)
        kit = os.path.join(cls.folder, "kit")
        subprocess.run([PACK, BUILD, kit], check=True, capture_output=True)
        command = [os.path.join(kit, "run.sh"), "--software", "--frameworks=gpt,jax"]
        environment = {**os.environ, "PYTHON": python, "SECONDS_AT_MOST": "1500"}
        cls.result = subprocess.run(command, env=environment, capture_output=True, text=True)
        with tarfile.open(os.path.join(kit, "gpu-results", "gpu-results.tar.gz")) as archive:
            cls.found = json.load(archive.extractfile("gpu-results/gpu-results.json"))
        cls.runs = {run["name"]: run for run in cls.found["framework"]}

    def test_programs_run_at_parts_of_their_need(self):
        for name in ("gpt, 1/2", "gpt, 1/3", "gpt, control again", "gpt, native, 1/2"):
            self.assertEqual((self.runs[name]["status"], self.runs[name].get("identical")), (0, True), self.runs[name])
        self.assertEqual(self.runs["gpt, 1/2"]["budget_bytes"], self.runs["gpt, control"]["peak_bytes"] // 2)

    def test_what_the_machine_lacks_is_said(self):
        self.assertEqual((self.runs["jax, control"]["status"], self.runs["jax, control"]["said"]), ("not run", "no jax here"))
        self.assertIn("|jax, control|no jax here|", self.result.stdout)

    def test_ends_well(self):
        self.assertEqual(self.found["problems"], [])
        self.assertEqual(self.result.returncode, 0, self.result.stdout + self.result.stderr)


class NoGpu(unittest.TestCase):
    def expect(self, result):
        if machine_has_gpu():
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        else:
            self.assertEqual(result.returncode, 77, result.stdout + result.stderr)
            self.assertIn("no GPU", result.stdout)

    def test_says_so(self):
        self.expect(run(BUILD, "--check"))

    def test_softcuda_is_not_taken_for_the_vendors_driver(self):
        self.expect(run(BUILD, "--check", libraries=SOFTWARE))

    def test_bad_usage(self):
        for arguments in ([], ["/nonexistent"], [BUILD, "--what"], [BUILD, "--out"], [BUILD, "--change"],
                          [BUILD, "--change", "discard"], [BUILD, "again"]):
            result = run(*arguments)
            self.assertEqual(result.returncode, 2, arguments)
            self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=2)
