"""sluice trace: the golden trace of format 2 gives the golden texts; files that are not whole say where they end."""
import json
import os
import re
import subprocess
import unittest

from support import GOLDEN, TOOL, ToolTest, clean_environment, sluice

TRACE = GOLDEN / "v2.slt"
HEADER_BYTES = 128
SEVERAL = ["export", "info", "phases", "report", "timeline"]  # may be given the traces of several ranks


def damaged(tmp, at, flip=0xFF):
    content = bytearray(TRACE.read_bytes())
    content[at] ^= flip
    path = tmp / "damaged.slt"
    path.write_bytes(content)
    return path


class Trace(ToolTest):
    def cut(self, size):
        path = self.folder / f"cut-{size}.slt"
        path.write_bytes(TRACE.read_bytes()[:size])
        return path

    def test_golden_texts(self):
        for name, arguments in (("info.txt", ["info"]), ("dump.txt", ["dump"]), ("dump.json", ["dump", "--json"])):
            result = sluice("trace", *arguments, TRACE)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            self.assertEqual(result.stdout, (GOLDEN / f"v2.{name}").read_text(), name)

    def test_todays_writer_still_writes_format_2(self):
        path = self.folder / "now.slt"
        subprocess.run([os.environ["WRITE_GOLDEN"], path], check=True)
        # Not the bytes: another zstd may compress otherwise.
        texts = [sluice("trace", "dump", file).stdout for file in (path, TRACE)]
        self.assertEqual(*texts)

    def test_json_lines(self):
        lines = [json.loads(line) for line in sluice("trace", "dump", "--json", TRACE).stdout.splitlines()]
        self.assertEqual(lines[0]["type"], "header")
        self.assertEqual(lines[-1], {"type": "end", "complete": True})
        self.assertEqual(len(lines), 2 + 28)
        names = [line["name"] for line in lines if line["type"] == "kernel"]
        self.assertEqual(names, ["matmul(float const*, float*)", '"q\\?\u00e9?'])

    def test_peak_follows_time_not_file_order(self):
        # The free of slot 2 stands before its allocation: live at the end is slot 0 alone.
        info = sluice("trace", "info", TRACE).stdout
        self.assertRegex(info, r"(?m)^live bytes, end +40 MiB$")

    def test_cut_traces(self):
        whole = TRACE.stat().st_size
        for size in (HEADER_BYTES, HEADER_BYTES + 5, whole - 30, whole - 1):
            path = self.cut(size)
            for arguments in (["info"], ["dump"], ["dump", "--json"]):
                result = sluice("trace", *arguments, path)
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assert_one_line(result.stderr, str(path), "at byte ")
            self.assertRegex(sluice("trace", "info", path).stdout, r"(?m)^file +ends early at byte \d+$")
        last = sluice("trace", "dump", "--json", self.cut(whole - 1)).stdout.splitlines()[-1]
        self.assertEqual(json.loads(last)["complete"], False)

    def test_a_header_that_ends_early(self):
        for size in (0, 5, HEADER_BYTES - 1):
            result = sluice("trace", "info", self.cut(size))
            self.assertEqual((result.returncode, result.stdout), (1, ""))
            self.assert_one_line(result.stderr, f"cut-{size}.slt")

    def test_damage(self):
        result = sluice("trace", "info", damaged(self.folder, HEADER_BYTES + 40))
        self.assertEqual(result.returncode, 1)
        self.assert_one_line(result.stderr, f"at byte {HEADER_BYTES}", "damaged")
        self.assertRegex(result.stdout, r"(?m)^file +unreadable at byte 128$")

    def test_a_newer_format(self):
        result = sluice("trace", "dump", damaged(self.folder, 8, 2 ^ 3))
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assert_one_line(result.stderr, "newer sluice", "format 3.0")

    def test_what_is_no_trace(self):
        for path, word in (("/no/such/file", "No such file"), ("/", "directory"), (__file__, "not a sluice trace")):
            result = sluice("trace", "info", path)
            self.assertEqual((result.returncode, result.stdout), (1, ""))
            self.assert_one_line(result.stderr, path, word)

    def test_wrong_arguments(self):
        self.assert_usage_error(sluice("trace"), "no command given", "sluice trace --help")
        self.assert_usage_error(sluice("trace", "inf"), "did you mean info?")
        self.assert_usage_error(sluice("trace", "zzzzz"), "see sluice trace --help")
        self.assert_usage_error(sluice("trace", "--json", TRACE), "unknown option --json", "sluice trace --help")
        self.assert_usage_error(sluice("trace", "info"), "no file", "sluice trace info --help")
        self.assert_usage_error(sluice("trace", "kernels", "a", "b"), "one file")
        self.assert_usage_error(sluice("trace", "dump", "--jsno", "a"), "unknown option --jsno", "did you mean --json?")
        self.assert_usage_error(sluice("trace", "dump", "a", "--verbose"), "unknown option --verbose",
                                "see sluice trace dump --help")
        self.assert_usage_error(sluice("trace", "dump", "--json=1", "a"), "--json takes no value")
        self.assert_usage_error(sluice("trace", "dump", "-xj", "a"), "unknown option -x")

    def test_options_stand_anywhere(self):
        before = sluice("trace", "dump", "--json", TRACE).stdout
        self.assertEqual(sluice("trace", "dump", TRACE, "--json").stdout, before)
        result = sluice("trace", "dump", "--", "--json")
        self.assertEqual(result.returncode, 1)
        self.assert_one_line(result.stderr, "--json: cannot be opened")

    def every_command(self):
        """The arguments of each that takes one file, without that."""
        names = re.findall(r"(?m)^  (\w+) +\S", sluice("trace", "--help").stdout)
        self.assertIn("dump", names)
        names.remove("ranks")
        names.remove("diff")
        for name in names:
            yield [name, *{"export": ["--csv", self.folder / "tables"], "report": ["-o", self.folder / "page.html"]}.get(name, [])]

    def test_every_command_refuses_what_is_no_trace(self):
        empty = self.folder / "empty"
        empty.touch()
        for command in self.every_command():
            for path, word in (("/no/such/file", "No such file"), ("/", "directory"), (empty, "is empty"),
                               ("/dev/null", "is empty"), (__file__, "not a sluice trace")):
                result = sluice("trace", *command, path)
                self.assertEqual((result.returncode, result.stdout), (1, ""), command)
                self.assert_one_line(result.stderr, f"{path}: ", word)
            self.assert_usage_error(sluice("trace", *command), "no file given", f"sluice trace {command[0]} --help")
            if command[0] not in SEVERAL:
                self.assert_usage_error(sluice("trace", *command, "a", "b"), f"trace {command[0]} takes one file")
            self.assert_usage_error(sluice("trace", *command, "--nosuchthing", TRACE), "unknown option --nosuchthing")

    def test_ranks_refuses_what_is_no_trace_of_a_job(self):
        empty = self.folder / "empty"
        empty.touch()
        for path, word in (("/no/such/file", "No such file"), ("/", "directory"), (empty, "is empty"), (__file__, "not a sluice trace")):
            for paths in (TRACE, path), (path, TRACE):
                result = sluice("trace", "ranks", *paths)
                self.assertEqual((result.returncode, result.stdout), (1, ""), paths)
                self.assert_one_line(result.stderr, f"{path}: ", word)
        for paths in (), (TRACE,):
            self.assert_usage_error(sluice("trace", "ranks", *paths), "takes at least 2 files", "sluice trace ranks --help")
        self.assert_usage_error(sluice("trace", "ranks", "--nosuchthing", TRACE, TRACE), "unknown option --nosuchthing")

    def test_every_command_says_when_it_cannot_write(self):
        for command in self.every_command():
            with open("/dev/full", "w") as full:
                result = subprocess.run([TOOL, "trace", *command, TRACE], stdout=full, stderr=subprocess.PIPE, text=True,
                                        env=clean_environment())
            self.assertEqual(result.returncode, 1, command)
            self.assert_one_line(result.stderr, "cannot write the output: No space left")

    def test_every_command_shows_what_can_be_read(self):
        path = self.cut(TRACE.stat().st_size - 1)
        for command in self.every_command():
            result = sluice("trace", *command, path)
            self.assertNotEqual(result.stdout, "", command)
            if command[0] == "check":
                self.assertEqual((result.returncode, result.stderr), (1, ""))
            else:
                self.assertEqual(result.returncode, 0, command)
                self.assert_one_line(result.stderr, "at byte ")

    def test_every_command_is_plain_where_nobody_looks(self):
        """Neither colours nor bars where output goes to a file."""
        for command in self.every_command():
            result = sluice("trace", *command, TRACE, env=clean_environment(TERM="xterm-256color"))
            self.assertEqual(result.stderr, "")
            self.assertNotIn("\033", result.stdout)

    def test_a_pipe_is_no_file(self):
        read, write = os.pipe()
        os.write(write, TRACE.read_bytes())
        os.close(write)
        result = sluice("trace", "info", "/dev/stdin", stdin=read)
        os.close(read)
        if result.returncode:  # a trace without a limit can be read
            self.assert_one_line(result.stderr, "/dev/stdin", "is a pipe")

    def test_every_command_has_help(self):
        help_text = sluice("trace", "--help").stdout
        names = re.findall(r"(?m)^  (\w+) +\S", help_text)
        self.assertIn("dump", names)
        for name in names:
            for option in (["--help"], ["-h"], ["--help", "no-such-file"], ["no-such-file", "--help"]):
                result = sluice("trace", name, *option)
                self.assertEqual((result.returncode, result.stderr), (0, ""))
                self.assertTrue(result.stdout.startswith(f"Usage: sluice trace {name} "), result.stdout)


if __name__ == "__main__":
    unittest.main()
