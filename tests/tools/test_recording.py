"""libsluice-record.so: where it is loaded, and what a program notices if it cannot be: nothing but a line."""
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

from support import SOURCE, ToolTest, clean_environment, shared_object

LIBRARY = pathlib.Path(os.environ["LIBSLUICE"])
RECORDING = "libsluice-record.so"
GPT = [os.environ["GPT"], "--data", str(SOURCE / "workloads/data/gpl-3.txt"), "--steps", "6"]

USES_CUDA = """
import ctypes
cuda, context, memory = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p(), ctypes.c_uint64()
assert not cuda.cuInit(0) and not cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
assert not cuda.cuCtxSetCurrent(context) and not cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(4096))
print(open("/proc/self/maps").read())
"""


@unittest.skipIf(os.environ.get("SANITIZED"), "a sanitized library needs its runtime preloaded before it")
class Recording(ToolTest):
    def setUp(self):
        super().setUp()
        self.copy = self.folder / "lib"
        self.copy.mkdir()
        shutil.copy(LIBRARY, self.copy)

    def run_under(self, command, library, **variables):
        environment = clean_environment(LD_PRELOAD=str(library), LD_LIBRARY_PATH=os.environ["DEVICE_FOLDER"],
                                        SLUICE_DEVICE_BUDGET="8M", SLUICE_CHUNK="2M", **variables)
        result = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=300)
        return result.stdout, result.stderr

    def wanted(self):
        return {"SLUICE_TRACE": str(self.folder / "trace"), "SLUICE_PROFILE": str(self.folder / "profile")}

    def test_it_is_loaded_where_it_is_wanted(self):
        def maps(*command, **variables):
            return self.run_under(command, LIBRARY, **variables)[0]

        uses_cuda = sys.executable, "-c", USES_CUDA
        self.assertNotIn(RECORDING, maps(*uses_cuda))
        for name, path in self.wanted().items():
            self.assertIn(str(LIBRARY.parent / RECORDING), maps(*uses_cuda, **{name: path}), name)
            self.assertNotIn(RECORDING, maps("cat", "/proc/self/maps", **{name: path}), name)

    def test_without_it_the_program_runs(self):
        result = self.weights(self.run_under(GPT, self.copy / LIBRARY.name)[0])
        for missing in (None, shared_object()):
            if missing:
                shutil.copy(missing, self.copy / RECORDING)
            output, errors = self.run_under(GPT, self.copy / LIBRARY.name, **self.wanted())
            self.assertEqual(self.weights(output), result)
            lines = [line for line in errors.splitlines() if RECORDING in line]
            self.assertEqual(len(lines), 2, errors)
            self.assertRegex(errors, "(?m)^sluice: cannot record the trace ")
            self.assertRegex(errors, "(?m)^sluice: there is no profile: ")
            self.assertEqual([path.name for path in self.folder.iterdir()], ["lib"])
        # Only a program that uses a device would record.
        self.assertEqual(self.run_under(["true"], self.copy / LIBRARY.name, **self.wanted()), ("", ""))

    @staticmethod
    def weights(output):
        return [line for line in output.splitlines() if line.startswith("weights_hash")]

    def test_beside_a_copy_it_is_the_copys(self):
        shutil.copy(LIBRARY.parent / RECORDING, self.copy)
        self.assertEqual(self.run_under(GPT, self.copy / LIBRARY.name, **self.wanted())[1], "")
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["lib", "profile", "trace"])


if __name__ == "__main__":
    unittest.main()
