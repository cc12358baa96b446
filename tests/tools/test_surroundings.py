"""Programs and systems that sluice meets: what has to be preloaded in which order, how much static thread-local storage the audit
library has to leave, and what sluice doctor says of where unified memory does not work."""
import os
import re
import shutil
import struct
import unittest

from support import TOOL, ToolTest, clean_environment, sluice

BUDDIES = "Node 0, zone    DMA32   {}\nNode 0, zone   Normal   {}\n"
WHOLE = "1 1 1 1 1 1 1 1 1 1 400"  # free blocks by order: 4 MiB are of order 10
BROKEN_UP = "90000 40000 20000 9000 100 10 1 0 0 3 2"
LIBRARIES = {name: os.environ[name] for name in ("TLS_SMALL", "TLS_LARGE")}


def program_for(loader):
    """An x86-64 program that asks for this dynamic linker."""
    text = loader.encode() + b"\0"
    base, headers = 0x400000, 64 + 2 * 56
    header = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\2\1\1", 2, 62, 1, base, 64, 0, 0, 64, 56, 2, 0, 0, 0)
    size = headers + len(text)
    segments = struct.pack("<IIQQQQQQ", 3, 4, headers, base + headers, base + headers, len(text), len(text), 1)
    segments += struct.pack("<IIQQQQQQ", 1, 5, 0, base, base, size, size, 0x1000)
    return header + segments + text


@unittest.skipIf(os.environ.get("SANITIZED"), "a sanitized library needs its runtime preloaded before it")
class Preloads(ToolTest):
    def shown(self, program, *flags, **variables):
        result = sluice("run", *flags, "--", program, env=clean_environment(**variables))
        self.assertEqual(result.returncode, 0, result.stderr)
        return dict(line.split("=", 1) for line in result.stdout.splitlines())

    def names(self, program, **variables):
        return [os.path.basename(path) for path in self.shown(program, **variables)["LD_PRELOAD"].split(":")]

    def test_a_sanitizer_comes_first(self):
        """Its runtime ends a program that loads another library before it."""
        folder = os.path.dirname(os.environ["ASAN_STUB"])
        program = os.environ["SHOW_ASAN"]
        self.assertEqual(self.names(program, LD_LIBRARY_PATH=folder), ["libasan.so.8", "libsluice.so"])
        other = LIBRARIES["TLS_SMALL"]
        self.assertEqual(self.names(program, LD_LIBRARY_PATH=folder, LD_PRELOAD=other), ["libasan.so.8", "libsluice.so", os.path.basename(other)])
        self.assertEqual(self.names(os.environ["SHOW_TLS"], LD_PRELOAD=os.environ["ASAN_STUB"]), ["libasan.so.8", "libsluice.so"])
        script = self.folder / "script"
        script.write_text(f"#!{program}\n")
        script.chmod(0o755)
        self.assertEqual(self.names(script, LD_LIBRARY_PATH=folder), ["libasan.so.8", "libsluice.so"])

    def test_static_storage(self):
        """Otherwise nothing starts beside an allocator or a sanitizer that is preloaded, or linked."""
        for library in LIBRARIES.values():
            result = sluice("run", "--software", "--", "/bin/echo", "started", env=clean_environment(LD_PRELOAD=library))
            self.assertEqual((result.returncode, result.stdout), (0, "started\n"), result.stderr)
        self.assertIn("optional_static_tls", self.shown(os.environ["SHOW_TLS"], "--software")["GLIBC_TUNABLES"])
        self.assertEqual(self.shown(os.environ["SHOW_TLS"])["GLIBC_TUNABLES"], "")
        more = self.shown(os.environ["SHOW_TLS"], "--software", GLIBC_TUNABLES="glibc.malloc.check=0")["GLIBC_TUNABLES"]
        self.assertRegex(more, r"^glibc\.malloc\.check=0:glibc\.rtld\.optional_static_tls=\d+$")
        own = "glibc.rtld.optional_static_tls=2000000"
        self.assertEqual(self.shown(os.environ["SHOW_TLS"], "--software", GLIBC_TUNABLES=own)["GLIBC_TUNABLES"], own)
        script = f"LD_PRELOAD={LIBRARIES['TLS_SMALL']}:$LD_PRELOAD /bin/echo started"  # an allocator that is chosen later
        self.assertEqual(sluice("run", "--software", "--", "sh", "-c", script).stdout, "started\n")

    def test_musl(self):
        program = self.folder / "program"
        program.write_bytes(program_for("/lib/ld-musl-x86_64.so.1"))
        program.chmod(0o755)
        self.assertIn("is linked with musl, and libsluice.so needs glibc, so sluice cannot be preloaded", sluice("run", "--", program).stderr)


class Doctor(ToolTest):
    def lines(self, subject, *arguments, tool=TOOL, env=None):
        said = sluice("doctor", *arguments, tool=tool, env=env).stdout
        return [tuple(line.split(None, 1)) for line in said.splitlines() if re.match(rf"\w+ +{subject} ", line)]

    def root(self, **files):
        root = self.folder / "root"
        shutil.rmtree(root, ignore_errors=True)
        for name, text in {"proc/version": "Linux version 6.1.0 (gcc)", "proc/buddyinfo": BUDDIES.format(WHOLE, WHOLE), **files}.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text + "\n")
        return ["--root", root]

    def test_systems_without_unified_memory(self):
        self.assertEqual(self.lines("system", *self.root()), [])
        for files, mark, words in (
                ({"proc/version": "Linux version 4.4.0 #1 SMP Sun Jan 10 15:06:54 PST 2016"}, "NO", "gVisor"),
                ({"proc/version": "Linux version 4.19.0-gvisor #1 SMP"}, "NO", "gVisor"),
                ({"proc/version": "Linux version 5.15.153.1-microsoft-standard-WSL2 (root@x)"}, "NO", "WSL"),
                ({"proc/sys/kernel/osrelease": "4.4.0-19041-Microsoft"}, "NO", "WSL"),
                ({"dev/tdx_guest": ""}, "note", "confidential"),
                ({"dev/sev-guest": ""}, "note", "confidential"),
                ({"proc/cpuinfo": "flags\t\t: fpu vme tdx_guest amx"}, "note", "confidential")):
            (found, text), = self.lines("system", *self.root(**files))
            self.assertEqual(found, mark)
            self.assertIn(words, text)
        self.assertEqual(self.lines("system", "--software", *self.root(**{"proc/version": "Linux version 4.19.0-gvisor"})), [])

    def test_fragmented_memory(self):
        for blocks, mark, words in ((WHOLE, "ok", "3.13 GiB of 3.13 GiB free"), (BROKEN_UP, "note", "28 MiB of"), ("9 9 9 0 0 0 0 0 0 0 0", "ok", "0 B of"),
                                    ("0 0 0 0 0 0 0 0 40000 0 0", "note", "0 B of 78.12 GiB"), ("0 0 0 0 0 0 0 0 0 600 0", "ok", "2.34 GiB of 2.34 GiB"),
                                    ("rubbish", "ok", "0 B of 0 B")):
            (found, text), = self.lines("fragmentation", *self.root(**{"proc/buddyinfo": BUDDIES.format(blocks, blocks)}))
            self.assertEqual((found, words in text), (mark, True), text)
        self.root()
        os.unlink(self.folder / "root/proc/buddyinfo")
        self.assertEqual(self.lines("fragmentation", "--root", self.folder / "root"), [])

    def test_devices_without_unified_memory(self):
        tool = self.install()
        shutil.copy(os.environ["VGPU_DRIVER"], self.folder / "lib/sluice/softcuda/libcuda.so.1")
        for name, words in (("NVIDIA A100-40C", "this vGPU has no unified memory"), ("GRID T4-16Q", "this vGPU"), ("NVIDIA A100-SXM4-40GB", "as on Windows"),
                            ("NVIDIA L40S-48", "as on Windows"), ("", "as on Windows")):
            (mark, text), = self.lines("unified memory 0", "--software", tool=tool, env=clean_environment(VGPU_NAME=name))
            self.assertEqual((mark, words in text), ("NO", True), text)

    def test_programs(self):
        """Otherwise a program runs without sluice, or does not start, and nobody knows why."""
        musl, static, cut = (self.folder / name for name in ("musl", "static", "cut"))
        whole = program_for("/lib/ld-musl-x86_64.so.1")
        musl.write_bytes(whole)
        static.write_bytes(program_for("").replace(struct.pack("<I", 3), struct.pack("<I", 4), 1))
        cut.write_bytes(whole[:100])
        for program, mark, words in ((musl, "NO", "is linked with musl"), (static, "NO", "is statically linked"), (cut, "ok", "can be preloaded"),
                                     (os.environ["SHOW_ASAN"], "note", "preloads libasan.so.8 before libsluice.so"),
                                     ("sh", "ok", "can be preloaded into sh"), (self.folder / "none", "NO", "no such program")):
            (found, text), = self.lines("program", "--software", "--", program)
            self.assertEqual((found, words in text), (mark, True), text)
        self.assertEqual([mark for mark, _ in self.lines("program", "--software", "sh", musl)], ["ok", "NO"])
        self.assertIn("sluice does not work here: ", sluice("doctor", "--software", musl).stdout)


unittest.main()
