"""sluice doctor: says what is missing and exits with 1; with the software device of this build all is well."""
import json
import os
import pathlib
import re
import unittest

from support import SOURCE, ToolTest, clean_environment, sluice


class Doctor(ToolTest):
    @unittest.skipIf(os.environ.get("SANITIZED"), "a sanitized library needs its runtime preloaded before it")
    def test_the_software_device(self):
        result = sluice("doctor", "--software")
        self.assertEqual(result.returncode, 0, result.stdout)
        for subject in ("driver", "kernel arguments", "device 0", "unified memory 0", "host memory", "library"):
            self.assertRegex(result.stdout, rf"(?m)^ok +{subject} ")
        self.assertTrue(result.stdout.endswith("\nsluice works here\n"))

    def test_a_driver_that_is_none(self):
        tool = self.install()  # its libcuda.so.1 is some other library
        for arguments, env in ((["--software"], None),
                               ([], clean_environment(LD_LIBRARY_PATH=str(self.folder / "lib/sluice/softcuda")))):
            result = sluice("doctor", *arguments, tool=tool, env=env)
            self.assertEqual(result.returncode, 1)
            self.assertRegex(result.stdout, r"(?m)^NO +driver .*/libcuda.so.1 is no CUDA driver$")
            self.assertRegex(result.stdout, r"(?m)^ok +library ")
            self.assertRegex(result.stdout, r"(?m)^sluice does not work here: .* is no CUDA driver$")

    @unittest.skipIf(os.environ.get("SANITIZED"), "a sanitized library needs its runtime preloaded before it")
    def test_older_drivers(self):
        """Otherwise nobody knows what a newer driver would bring."""
        libraries = pathlib.Path(sluice("path", "--softcuda").stdout.strip())
        for driver, version, works in (("550", "12.4", True), ("535", "12.2", False)):
            said = sluice("doctor", env=clean_environment(LD_LIBRARY_PATH=str(libraries / driver)))
            self.assertRegex(said.stdout, rf"(?m)^ok +driver +CUDA {version}, .*/{driver}/libcuda.so.1$")
            self.assertRegex(said.stdout, rf"(?m)^{'ok' if works else 'NO'} +kernel arguments ")
            self.assertRegex(said.stdout, r"(?m)^note +discard +needs a driver of CUDA 13.0 or newer")
            self.assertEqual(said.returncode, 0 if works else 1)

    @unittest.skipIf(os.environ.get("SANITIZED"), "a sanitized library needs its runtime preloaded before it")
    def test_json(self):
        """The same findings as the text has. Of a node of its own: other processes come and go in between."""
        own = clean_environment(SLUICE_NODE=str(self.folder / "node"))
        lines = [line.split(None, 1) for line in sluice("doctor", "--software", env=own).stdout.splitlines()[:-2]]
        said = json.loads(sluice("doctor", "--software", "--json", env=own).stdout)
        self.assertEqual((said["works"], said["reason"]), (True, None))
        self.assertEqual(["ok" if mark == "ok" else "note" for mark, _ in lines], [one["verdict"] for one in said["findings"]])
        for (_, text), one in zip(lines, said["findings"], strict=True):
            self.assertTrue(text.startswith(one["subject"]), one)
        self.assertIn("device 0", [one["subject"] for one in said["findings"]])
        result = sluice("doctor", "--software", "--json", tool=self.install())
        said = json.loads(result.stdout)
        self.assertEqual((result.returncode, said["works"]), (1, False))
        self.assertRegex(said["reason"], "is no CUDA driver$")
        self.assertEqual([one["verdict"] for one in said["findings"] if one["subject"] == "driver"], ["broken"])
        self.assert_usage_error(sluice("doctor", "--jason"), "did you mean --json?")

    @unittest.skipIf(os.environ.get("SANITIZED"), "a sanitized library needs its runtime preloaded before it")
    def test_a_misspelt_variable_of_the_software_device(self):
        """Otherwise it has its default memory, and nobody knows why."""
        result = sluice("doctor", "--software", env=clean_environment(SOFTCUDA_MEMROY="1G", SOFTCUDA_PROFILE="laptop"))
        self.assertEqual(result.stderr, "softcuda: unknown variable SOFTCUDA_MEMROY is ignored; the nearest name is SOFTCUDA_MEMORY\n")

    def test_a_driver_that_cannot_be_loaded(self):
        tool = self.install()
        (self.folder / "lib/sluice/softcuda/libcuda.so.1").write_text("not an object")
        result = sluice("doctor", "--software", tool=tool)
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stdout, r"(?m)^NO +driver +the CUDA driver cannot be loaded: .*/libcuda.so.1: ")

    def test_a_library_that_cannot_be_preloaded(self):
        tool = self.install()
        (self.folder / "lib/libsluice.so").write_text("not an object")
        result = sluice("doctor", "--software", tool=tool)
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stdout, r"(?m)^NO +library .* cannot be preloaded")
        os.unlink(self.folder / "lib/libsluice.so")
        self.assertRegex(sluice("doctor", "--software", tool=tool).stdout, r"(?m)^NO +library ")

    def test_shared_host_memory(self):
        """Otherwise nobody knows how much a rank would get, or why processes do not know of each other."""
        node = self.folder / "node"

        def host(**variables):
            said = sluice("doctor", "--software", env={**clean_environment(), "SLUICE_NODE": str(node), **variables}).stdout
            return [tuple(line.split(None, 1)) for line in said.splitlines() if re.match(r"\w+ +(managed|host limit) ", line)]

        self.assertEqual([line[1] for line in host(SLUICE_NODE_LIMIT="1G")], ["host limit       1 GiB for each program"])
        self.assertEqual([line[1] for line in host(SLUICE_NODE_LIMIT="1G", LOCAL_RANK="1", LOCAL_WORLD_SIZE="4")],
                         ["host limit       256 MiB for each of 4 ranks"])
        self.assertEqual([line[1] for line in host(SLUICE_HOST_LIMIT="1G", LOCAL_RANK="1", LOCAL_WORLD_SIZE="4")],
                         ["host limit       1 GiB for each program"])
        node.write_text("somebody's")
        os.chmod(node, 0o644)
        (mark, text), = host()
        self.assertEqual((mark, text), ("note", f"managed          {node} is not a file of sluice: processes do not share the node limit"))
        self.assertEqual(node.read_text(), "somebody's")

    def container(self, **files):
        """An environment in which the kernel's files about memory are these, of a machine with 32 GiB."""
        common = {"/proc/meminfo": "MemTotal: 33554432 kB\nMemAvailable: 30000000 kB\n", "/proc/self/cgroup": "0::/\n"}
        for path, text in {**common, **files}.items():
            file = self.folder / path[1:]
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        return clean_environment(LD_PRELOAD=os.environ["KERNEL"], KERNEL_FILES=str(self.folder), SLUICE_NODE=str(self.folder / "node"))

    def version_2(self, limit, usage, stat=""):
        return {"/sys/fs/cgroup/" + name: text for name, text in
                (("memory.max", f"{limit}\n"), ("memory.current", f"{usage}\n"), ("memory.stat", stat))}

    @unittest.skipIf(os.environ.get("SANITIZED"), "a sanitized library needs its runtime preloaded before it")
    def test_page_cache_in_a_container(self):
        """Otherwise a program that has read its data finds no memory in a container that is full of them."""
        mib = 1 << 20
        cache = f"anon 0\nfile {2450 * mib}\nshmem {50 * mib}\ninactive_file {1000 * mib}\nactive_file {1400 * mib}\nslab_reclaimable {10 * mib}\n"
        said = sluice("doctor", "--software", env=self.container(**self.version_2(3072 * mib, 2560 * mib, cache)))
        self.assertRegex(said.stdout, r"(?m)^note +cgroup limit +2.85 GiB left of 3 GiB$")
        self.assertRegex(said.stdout, r"(?m)^ok +host limit +2.48 GiB for each program$")
        first = {"/proc/self/cgroup": "4:memory:/job\n", "/sys/fs/cgroup/memory/job/memory.limit_in_bytes": f"{3072 * mib}\n",
                 "/sys/fs/cgroup/memory/job/memory.usage_in_bytes": f"{2560 * mib}\n",
                 "/sys/fs/cgroup/memory/job/memory.stat": f"total_inactive_file {1000 * mib}\ntotal_active_file {1410 * mib}\n"}
        said = sluice("doctor", "--software", env=self.container(**first))
        self.assertRegex(said.stdout, r"(?m)^ok +host limit +2.48 GiB for each program$")

    @unittest.skipIf(os.environ.get("SANITIZED"), "a sanitized library needs its runtime preloaded before it")
    def test_a_container_without_memory(self):
        """Otherwise its programs are out of memory, and nobody knows why."""
        mib = 1 << 20
        said = sluice("doctor", "--software", env=self.container(**self.version_2(800 * mib, 10 * mib)))
        self.assertRegex(said.stdout, r"(?m)^ok +host limit +690 MiB for each program$")
        env = self.container(**self.version_2(800 * mib, 720 * mib))
        why = "80 MiB of the cgroup's limit are free, and the reserve is 100 MiB (SLUICE_HOST_RESERVE)"
        said = sluice("doctor", "--software", env=env)
        self.assertEqual(said.returncode, 1)
        self.assertIn(f"NO    host limit       no host memory is left for a program's data: {why}\n", said.stdout)
        run = sluice("run", "--software", "--", os.environ["GPT"], "--data", SOURCE / "workloads/data/gpl-3.txt", "--steps", "1", env=env)
        self.assertEqual(run.stderr.count(f"sluice: no host memory is left for the program's data: {why}\n"), 1, run.stderr)

    @staticmethod
    def pytorch(**variables):
        """The lines about PyTorch, without their marks."""
        env = {name: value for name, value in clean_environment().items() if not name.startswith("PYTORCH_")}
        said = sluice("doctor", "--software", env={**env, **variables}).stdout
        return [tuple(line.split(None, 2)[::2]) for line in said.splitlines() if re.match(r"\w+ +PyTorch ", line)]

    def test_settings_of_pytorch(self):
        """Otherwise a setting that PyTorch refuses, or reads otherwise than it looks, is found by trying."""
        self.assertEqual(self.pytorch(), [("ok", "its allocator has no settings")])
        fine = "max_split_size_mb:128, roundup_power2_divisions:[256:1,512:2,>:8],expandable_segments:True"
        self.assertEqual(self.pytorch(PYTORCH_CUDA_ALLOC_CONF=fine), [("ok", "PYTORCH_CUDA_ALLOC_CONF=" + fine)])
        self.assertEqual(self.pytorch(PYTORCH_NO_CUDA_MEMORY_CACHING="1"), [("ok", "its cache is disabled")])
        for value, wrong in (("max_split_size:128", "unknown"), ("expandable_segments", "key:value"),
                             ("backend:async", "backend:native"), ("expandable_segments:true", "True and False"), ("backend:native,backend:native", "duplicate"),
                             ("backend:cudaMallocAsync,max_split_size_mb:64", "max_split_size_mb: no effect")):
            (mark, text), = self.pytorch(PYTORCH_ALLOC_CONF=value)
            self.assertEqual(mark, "note")
            self.assertIn(wrong, text)

    def test_settings_of_pytorch_that_contradict_each_other(self):
        """Otherwise one of two settings does nothing, and nobody says so."""
        same = "backend:cudaMallocAsync"
        both = self.pytorch(PYTORCH_CUDA_ALLOC_CONF=same, PYTORCH_ALLOC_CONF=same)
        self.assertEqual(both, [("ok", "PYTORCH_CUDA_ALLOC_CONF=" + same)])
        for variables, wrong in (
                ({"PYTORCH_CUDA_ALLOC_CONF": same, "PYTORCH_ALLOC_CONF": "backend:native"}, "ignores PYTORCH_ALLOC_CONF=backend:native"),
                ({"PYTORCH_CUDA_ALLOC_CONF": same, "PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}, "no effect"),
                ({"PYTORCH_NO_CUDA_MEMORY_CACHING": "0"}, "unset it")):
            (mark, text), = self.pytorch(**variables)
            self.assertEqual(mark, "note")
            self.assertIn(wrong, text)

    def test_wrong_arguments(self):
        self.assert_usage_error(sluice("doctor", "--sofware"), "--software")
        self.assert_usage_error(sluice("doctor", "--root"), "--root needs a value")
        tool = self.install(software=False)
        result = sluice("doctor", "--software", tool=tool)
        self.assertEqual(result.returncode, 1)
        self.assert_one_line(result.stderr, "not installed")


if __name__ == "__main__":
    unittest.main()
