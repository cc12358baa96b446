"""sluice trace sites: figures of an invented trace, call stacks of a real program, and files that are not what they were."""
import ctypes.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import unittest

from support import ToolTest, clean_environment, sluice

PROGRAM, OTHER, PRELOAD = os.environ["TEST_SITES"], os.environ["LIBSLUICE"], os.environ["PRELOAD"]
NAMES = os.environ["SYMBOLS"] == "1"
# Two threads: the one's records stand behind the other's in the file, as time does not have it.
INVENTED = """
alloc time=10 tick=0 id=1 a=4096 b=100 c=0xa
launch time=20 tick=1 a=1 b=32
launch time=40 tick=2 a=1 b=32
free time=45 tick=2 id=1 a=4096 b=100
alloc time=50 tick=2 id=1 a=4096 b=100 c=0xa
launch time=60 tick=3 a=1 b=32
error time=65 tick=3 id=2 a=7000 c=0xc
free time=70 tick=3 id=1 a=4096 b=100
alloc time=80 tick=3 id=3 a=8192 b=70 c=0xb
alloc time=30 tick=1 id=2 a=65536 b=60 c=0xb
free time=46 tick=2 id=2 a=65536 b=60
error time=66 tick=3 id=2 a=9000 c=0xb
site time=5 c=0xa |1+10 1+2f 0+7f00
module time=5 id=1 a=4096 |/no/such/file
"""


def build_numbers(path):
    notes = subprocess.run(["readelf", "-nW", path], capture_output=True, text=True, check=True).stdout
    identity = bytes.fromhex(re.search(r"Build ID: ([0-9a-f]+)", notes).group(1))[:16]
    return [int.from_bytes(identity[at:at + 8], "little") for at in (0, 8)]


class Sites(ToolTest):
    def write(self, text):
        path = self.folder / "invented.slt"
        subprocess.run([os.environ["WRITE_TRACE"], path, "9"], input=text.lstrip(), text=True, check=True)
        return path

    def record(self, program):
        path = self.folder / "program.slt"
        environment = clean_environment(LD_PRELOAD=PRELOAD, LD_LIBRARY_PATH=os.environ["DEVICE_FOLDER"],
                                        SOFTCUDA_MEMORY="256M", SLUICE_HOST_LIMIT="768M", SLUICE_TRACE=str(path))
        subprocess.run([program], env=environment, check=True, capture_output=True)
        return path

    def sites(self, path, *options):
        result = sluice("trace", "sites", "--json", *options, path)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return json.loads(result.stdout)

    def test_figures(self):
        answer = self.sites(self.write(INVENTED))
        self.assertEqual(answer["peak_bytes"], 160)
        names = ("site", "peak_bytes", "share_bytes", "live_bytes", "total_bytes", "allocations", "never_freed",
                 "median_launches", "refused", "refused_bytes")
        self.assertEqual([tuple(site[name] for name in names) for site in answer["sites"]], [
            ("0xa", 100, 100, 0, 200, 2, 0, 2, 0, 0),
            ("0xb", 70, 60, 70, 130, 2, 1, 1, 1, 9000),
            ("0xc", 0, 0, 0, 0, 0, 0, None, 1, 7000),
        ])
        frames = [(frame["module"], frame["offset"], frame["function"]) for frame in answer["sites"][0]["frames"]]
        self.assertEqual(frames, [("/no/such/file", "0x10", None), ("/no/such/file", "0x2f", None), (None, "0x7f00", None)])
        self.assertEqual(answer["sites"][1]["frames"], [])

    def test_text_for_people(self):
        path = self.write(INVENTED)
        text = sluice("trace", "sites", path).stdout
        self.assertIn("3 sites; together they held 160 B at the peak\n", text)
        self.assertIn("#1   100 B, 100 B of the peak; 2 allocations of 200 B, freed after 2 launches (median); site 0xa\n", text)
        self.assertIn("1 never freed; 1 refused, of up to 8.79 KiB; site 0xb\n      the trace has no call stack of it\n", text)
        self.assertIn("#3   0 B, 0 B of the peak; 1 refused, of up to 6.84 KiB; site 0xc\n", text)
        self.assertIn("      file+0x10\n      file+0x2f\n      0x7f00\n", text)
        text = sluice("trace", "sites", "--limit", "1", path).stdout
        self.assertIn("and 2 more (--limit)\n", text)
        self.assertNotIn("#2", text)

    def test_frames_of_the_interpreter(self):
        """One line for each run of them: a stack of PyTorch has 40."""
        path = self.write("module time=1 id=1 a=4096 |/usr/lib/libtorch_python.so\nmodule time=1 id=2 a=4096 |/usr/lib/libpython3.12.so.1.0\n"
                          "module time=1 id=3 a=4096 |/usr/bin/python3.12\nmodule time=1 id=4 a=4096 |/usr/lib/python_extension.so\n"
                          "site time=1 c=0xa |1+10 2+20 3+30 2+40 4+50 2+60 1+70\nalloc time=1 id=1 a=4096 b=100 c=0xa\n")
        lines = [line.strip() for line in sluice("trace", "sites", path).stdout.splitlines()[2:9]]
        self.assertEqual(lines[:5], ["libtorch_python.so+0x10", "3 frames of CPython", "python_extension.so+0x50", "libpython3.12.so.1.0+0x60",
                                     "libtorch_python.so+0x70"])
        lines = [line.strip() for line in sluice("trace", "sites", "--all-frames", path).stdout.splitlines()[2:9]]
        self.assertEqual(lines[1:4], ["libpython3.12.so.1.0+0x20", "python3.12+0x30", "libpython3.12.so.1.0+0x40"])
        self.assertEqual(len(self.sites(path)["sites"][0]["frames"]), 7)

    def test_names_of_tensors(self):
        """A site's tensors are those that lived in its allocations when they were named; most of them are only counted."""
        names = "".join(f"name time=30 a={4096 + 10 * i} b=8 |layer.{i}.weight\n" for i in range(6))
        path = self.write("alloc time=1 id=1 a=4096 b=100 c=0xa\nalloc time=1 id=2 a=8192 b=100 c=0xb\nfree time=20 id=2 a=8192 b=100\n"
                          + names + "name time=30 a=8192 b=8 |gone\n")
        sites = {site["site"]: site for site in json.loads(sluice("trace", "sites", "--json", path).stdout)["sites"]}
        self.assertEqual((sites["0xa"]["tensor_count"], sites["0xa"]["tensors"]), (6, [f"layer.{i}.weight" for i in range(6)]))
        self.assertEqual((sites["0xb"]["tensor_count"], sites["0xb"]["tensors"]), (0, []))
        lines = [line.strip() for line in sluice("trace", "sites", path).stdout.splitlines() if "tensors:" in line]
        self.assertEqual(lines, ["tensors: layer.0.weight, layer.1.weight, layer.2.weight, layer.3.weight and 2 more"])

    def test_frames_of_python(self):
        """The innermost line names the site; after that of a library, the program's. Outside of what Python called is Python only."""
        path = self.write("module time=1 id=1 a=4096 |/usr/lib/libtorch_cpu.so\nmodule time=1 id=2 a=4096 |/usr/bin/python3.12\n"
                          "site time=1 c=0xa |1+10 1+20 2+30 1+40 2+50\nalloc time=1 id=1 a=4096 b=100 c=0xa\n"
                          "python time=1 id=2 a=90 c=0xa |<module> /home/train.py\npython time=1 id=1 a=40 c=0xa |Block.forward /home/train.py\n"
                          "python time=1 id=0 a=125 c=0xa |Linear.forward /usr/lib/python3/dist-packages/torch/nn/modules/linear.py\n"
                          "alloc time=1 id=2 a=8192 b=50 c=0xb\npython time=1 c=0xb a=7 |<lambda> my file.py\n")
        linear, lone = self.sites(path)["sites"]
        self.assertEqual([linear["title"], lone["title"]],
                         ["Linear.forward (linear.py:125) <- Block.forward (train.py:40)", "<lambda> (my file.py:7)"])
        self.assertEqual([(frame["function"], frame["line"]) for frame in linear["python"]], [("Linear.forward", 125), ("Block.forward", 40), ("<module>", 90)])
        self.assertEqual([frame.get("interpreter", False) for frame in linear["frames"]], [False, False, True, False, True])
        self.assertEqual((linear["own_frames"], lone["own_frames"]), (2, 0))
        lines = [line.strip() for line in sluice("trace", "sites", path).stdout.splitlines()]
        self.assertEqual(lines[2:6], ["Python Linear.forward  /usr/lib/python3/dist-packages/torch/nn/modules/linear.py:125",
                                      "Python Block.forward  /home/train.py:40", "Python <module>  /home/train.py:90", "2 more native frames (--all-frames)"])
        self.assertIn("libtorch_cpu.so+0x20", sluice("trace", "sites", "--all-frames", path).stdout)
        self.assertEqual(sluice("trace", "sites", "--folded", path).stdout.splitlines(), [
            "<module> (train.py:90);Block.forward (train.py:40);Linear.forward (linear.py:125);libtorch_cpu.so+0x20;libtorch_cpu.so+0x10 100",
            "<lambda> (my file.py:7) 50"])

    def test_order(self):
        path = self.write(INVENTED)
        for key, order in (("peak", "abc"), ("share", "abc"), ("bytes", "abc"), ("allocations", "abc"), ("kept", "bac"), ("refused", "bca")):
            self.assertEqual([site["site"] for site in self.sites(path, "--sort", key)["sites"]], ["0x" + name for name in order], key)

    def test_folded(self):
        """What flame graph tools read: the bytes at the peak, of the frames, the outermost first. No name ends a frame or a line."""
        path = self.write(INVENTED)
        self.assertEqual(sluice("trace", "sites", "--folded", path).stdout, "0x7f00;file+0x2f;file+0x10 100\nsite 0xb 60\n")
        path = self.write("alloc time=1 id=1 a=4096 b=100 c=0xa\npython time=1 c=0xa a=7 |a;b\tc f.py\n")
        self.assertEqual(sluice("trace", "sites", "--folded", path).stdout.count(";"), 0)
        self.assert_usage_error(sluice("trace", "sites", "--folded", "--json", path), "--folded")

    @unittest.skipUnless(NAMES and ctypes.util.find_library("stdc++") and shutil.which("cc"), "no names of C++, or no compiler")
    def test_nodes_of_autograd(self):
        """Threads of autograd have no Python: their sites are named by the node, unless a line of Python lies between."""
        names = {"operation": "_ZN2at4_ops5addmm4callEi", "node": "_ZN5torch8autograd9generated14AddmmBackward05applyEi",
                 "gradient": "_ZN5torch8autograd14AccumulateGrad5applyEi", "engine": "_ZN5torch8autograd6Engine11thread_mainEi",
                 "allocate": "_ZN2at6detail5emptyEi"}
        source, library = self.folder / "torch.c", self.folder / "libtorch_cpu.so"
        source.write_text("".join(f'void {name}(void) __asm__("{linked}");\nvoid {name}(void) {{ }}\n' for name, linked in names.items()))
        subprocess.run(["cc", "-shared", "-fPIC", "-Wl,--build-id", "-o", library, source], check=True)
        symbols = subprocess.run(["nm", "-D", library], capture_output=True, text=True, check=True).stdout
        at = {name: f"1+{int(re.search(rf'([0-9a-f]+) T {linked}$', symbols, re.M).group(1), 16) + 1:x}" for name, linked in names.items()}
        build, python = build_numbers(library), "2+30"
        stacks = [("allocate", "operation", "node", "engine"), ("allocate", "gradient", "engine"), ("allocate", "operation", python, "node", "engine"),
                  ("allocate", "operation", "engine"), ("allocate",)]
        text = (f"module time=1 id=1 b={build[0]} c={build[1]} |{library}\nmodule time=1 id=2 a=4096 |/usr/lib/libpython3.13.so.1.0\n"
                "python time=1 c=12 a=9 |Block.forward gpt.py\n")
        for number, stack in enumerate(stacks):
            text += f"site time=1 c={10 + number} |{' '.join(at.get(name, name) for name in stack)}\nalloc time=1 id={number} a={4096 * number} b={100 - number} c={10 + number}\n"
        path = self.write(text)
        self.assertEqual([site["title"] for site in self.sites(path)["sites"]],
                         ["backward of addmm (AddmmBackward0)", "backward (AccumulateGrad)", "Block.forward (gpt.py:9)", "at::_ops::addmm::call",
                          f"at::detail::empty (libtorch_cpu.so+0x{at['allocate'][2:]})"])
        said = sluice("trace", "sites", path).stdout
        self.assertEqual(said.count("      backward of addmm (AddmmBackward0)\n"), 1)
        self.assertIn("site 0xb\n      backward (AccumulateGrad)\n", said)

    def test_frames_that_are_none(self):
        for frames in ("x", "1", "1+", "+1", "1+2x", "1+2  1+3", "zz+1", "1+2 ", "99+5", "1+ffffffffffffffffffff"):
            self.sites(self.write(f"alloc time=1 id=1 a=4096 b=100 c=0xa\nsite time=1 c=0xa |{frames}\n"))

    @unittest.skipUnless(NAMES, "built without libdw")
    def test_functions_and_lines(self):
        answer = self.sites(self.record(PROGRAM))
        stacks = {}
        for site in answer["sites"]:
            functions = [frame["function"] for frame in site["frames"]]
            stacks[tuple(functions[:functions.index("main") + 1])] = site
        weight, step = ("allocate", "allocate_a_weight", "make_weights", "main"), ("allocate", "take_a_step", "main")
        self.assertEqual([stacks[functions]["allocations"] for functions in (weight, step)], [3, 4])
        self.assertEqual(["inlined" in frame for frame in stacks[weight]["frames"][:4]], [False, True, False, False])
        source = (pathlib.Path(__file__).parents[1] / "shim" / "test_sites.c").read_text().splitlines()
        for functions, lines in ((weight, ("cuMemAlloc(", "allocate(MIB)", "allocate_a_weight()", "make_weights()")),
                                 (step, ("cuMemAlloc(", "allocate(3 * MIB)", "take_a_step()"))):
            for frame, line in zip(stacks[functions]["frames"], lines):
                self.assertEqual(pathlib.Path(frame["source"]).name, "test_sites.c")
                self.assertIn(line, source[frame["line"] - 1])
        # Both call CUDA in one function, which tells neither from the other.
        for functions in (weight, step):
            frame = stacks[functions]["frames"][1]
            self.assertEqual(stacks[functions]["title"], f"{functions[1]} (test_sites.c:{frame['line']})")
        text = sluice("trace", "sites", self.folder / "program.slt").stdout
        self.assertNotIn("libc_start", text)  # what calls main is left out

    @unittest.skipUnless(NAMES, "built without libdw")
    def test_a_file_that_changed_since(self):
        """Names are never read from another file than the program had, nor from what is no regular file."""
        program = self.folder / "program"
        shutil.copy(PROGRAM, program)
        trace = self.record(program)
        self.assertEqual(self.sites(trace)["sites"][0]["frames"][0]["function"], "allocate")

        def replace(make):
            program.unlink()
            make()
            answer = self.sites(trace)
            frame = answer["sites"][0]["frames"][0]
            self.assertIsNone(frame["function"])
            self.assertEqual(frame["module"], str(program))
            return [module["remark"] for module in answer["modules"] if module["path"] == str(program)][0]

        self.assertEqual(replace(lambda: shutil.copy(OTHER, program)), "the file has another build id")
        self.assertEqual(replace(lambda: program.write_text("no object")), "it is not an object file")
        self.assertEqual(replace(lambda: os.mkfifo(program)), "it is not a regular file")
        for other in ("/dev/zero", "/proc/self/status", str(self.folder)):
            self.assertEqual(replace(lambda: program.symlink_to(other)), "it is not a regular file")
        self.assertEqual(replace(lambda: None), "the file is gone")
        program.touch()
        self.assertIn(f"no function names of {program}: it is not a regular file", sluice("trace", "sites", trace).stdout)

    @unittest.skipUnless(NAMES and ctypes.util.find_library("stdc++"), "no C++ library to look names up in")
    def test_names_of_cpp(self):
        library = subprocess.run(["c++", "-print-file-name=libstdc++.so"], capture_output=True, text=True, check=True).stdout
        library = os.path.realpath(library.strip())
        symbols = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
        address = int(re.search(r"^([0-9a-f]+) \w _ZNKSt13runtime_error4whatEv", symbols, re.M).group(1), 16)
        build = build_numbers(library)
        path = self.write(f"module time=1 id=1 b={build[0]} c={build[1]} |{library}\n"
                          f"site time=1 c=0xa |1+{address + 1:x}\nalloc time=1 id=1 a=4096 b=100 c=0xa\n")
        self.assertEqual(self.sites(path)["sites"][0]["frames"][0]["function"], "std::runtime_error::what() const")

    def test_wrong_arguments(self):
        self.assert_usage_error(sluice("trace", "sites"), "no file")
        self.assert_usage_error(sluice("trace", "sites", "--limit", "x", "a"), "limit")
        result = sluice("trace", "sites", "/no/such/file")
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assert_one_line(result.stderr, "No such file")


if __name__ == "__main__":
    unittest.main()
