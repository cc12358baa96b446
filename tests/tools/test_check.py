"""sluice trace check: whatever is done to a file, it says where, what is lost, and counts what is left."""
import json
import re
import struct
import unittest

from support import ToolTest, dump, record_gpt, sluice, write_trace

HEADER_BYTES = 128
BLOCK = struct.Struct("<8I2Q")  # magic, stored, payload, records, thread, lap, group, 0, records before, checksum

RECORDS = [
    ("alloc", dict(id=1, time=1, a=4096, b=512)),
    ("kernel", dict(id=1, time=2), "named"),
    *((kind, dict(tick=tick, time=10 * tick, **fields)) for tick in range(1, 21)
      for kind, fields in (("launch", dict(id=1, b=32)), ("access", dict(id=1, b=512)))),
    ("free", dict(id=1, tick=20, time=300, a=4096, b=512)),
]


def check(path):
    result = sluice("trace", "check", "--json", path)
    assert not result.stderr, result.stderr
    told = json.loads(result.stdout)
    assert result.returncode == (0 if told["whole"] else 1)
    return told


def blocks(content):
    """Offset and header of each block."""
    at = HEADER_BYTES
    while at < len(content):
        yield at, BLOCK.unpack_from(content, at)
        at += BLOCK.size + BLOCK.unpack_from(content, at)[1]


class Check(ToolTest):
    def setUp(self):
        super().setUp()
        self.trace = write_trace(self.folder / "t.slt", RECORDS, per_block=6)
        self.content = self.trace.read_bytes()
        self.blocks = list(blocks(self.content))

    def changed(self, content):
        path = self.folder / "changed.slt"
        path.write_bytes(content)
        return path

    def test_a_whole_file(self):
        told = check(self.trace)
        self.assertEqual(told, {"whole": True, "records": len(RECORDS), "blocks": len(self.blocks) - 1, "threads": 2,
                                "launches": 20, "last_tick": 20, "damages": [], "lost_records": 0,
                                "unwritten_records": 0, "overwritten_records": 0, "missing": {}})
        result = sluice("trace", "check", self.trace)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertTrue(result.stdout.endswith("\n\nThe file is complete.\n"))

    def test_any_byte_that_is_wrong(self):
        """One block is lost, it is said which, and every record of the others is there."""
        for at in range(HEADER_BYTES, len(self.content), 7):
            damaged = bytearray(self.content)
            damaged[at] ^= 1 << at % 8
            told = check(self.changed(damaged))
            number, (offset, header) = next((n, block) for n, block in reversed(list(enumerate(self.blocks)))
                                            if block[0] <= at)
            with self.subTest(at=at, block=number):
                self.assertEqual([damage["offset"] for damage in told["damages"]], [offset])
                damage = told["damages"][0]
                if number + 1 == len(self.blocks):  # the end record's
                    self.assertEqual(told["records"], len(RECORDS))
                    self.assertNotIn("next_offset", damage)
                else:
                    self.assertEqual(damage["next_offset"], self.blocks[number + 1][0])
                    self.assertEqual(damage["lost_records"], header[3])
                    self.assertEqual(told["records"] + header[3], len(RECORDS))
                self.assertEqual(told["lost_records"], damage["lost_records"])

    def test_any_byte_of_the_header(self):
        for at in range(0, HEADER_BYTES, 3):
            damaged = bytearray(self.content)
            damaged[at] ^= 0x55
            result = sluice("trace", "check", self.changed(damaged))
            self.assertEqual((result.returncode, result.stdout), (1, ""))
            self.assert_one_line(result.stderr, "changed.slt: ")

    def test_two_damages_and_one_end(self):
        damaged = bytearray(self.content)
        damaged[self.blocks[1][0] + 5] ^= 1
        damaged[self.blocks[4][0] + 45] ^= 1
        result = sluice("trace", "check", self.changed(damaged[:-3]))
        self.assertEqual((result.returncode, result.stderr), (1, ""))
        self.assertRegex(result.stdout, rf"(?m)^damaged +at byte {self.blocks[1][0]}, after tick 2: .*; 6 records are lost "
                                        rf"up to byte {self.blocks[2][0]}, tick 6$")
        self.assertRegex(result.stdout, rf"(?m)^damaged +at byte {self.blocks[4][0]}, ")
        self.assertRegex(result.stdout, rf"(?m)^ends early at byte {self.blocks[-1][0]}, after tick 20: ")
        self.assertRegex(result.stdout, r"(?m)^launches +14 of 20: the others are lost$")
        self.assertTrue(result.stdout.endswith("\n\nThe file is damaged: 12 records are lost, and its end; "
                                               "all others are readable.\n"))

    def test_bytes_that_do_not_belong_there(self):
        offset = self.blocks[2][0]
        told = check(self.changed(self.content[:offset] + b"SLBK and more" * 20 + self.content[offset:]))
        self.assertEqual((told["records"], told["lost_records"], len(told["damages"])), (len(RECORDS), 0, 1))
        self.assertEqual(told["damages"][0]["next_offset"], offset + 13 * 20)
        end = self.blocks[-1][0]
        told = check(self.changed(self.content[:end] + b"SLBK" + self.content[end:]))
        self.assertEqual((told["records"], len(told["damages"])), (len(RECORDS), 1))

    def test_a_block_that_was_taken_out(self):
        (one, _), (other, _) = self.blocks[2:4]
        told = check(self.changed(self.content[:one] + self.content[other:]))
        self.assertFalse(told["whole"])
        self.assertEqual(len(told["damages"]), 1)
        self.assertEqual(told["records"] + told["lost_records"], len(RECORDS))

    def test_cut_anywhere(self):
        for size in range(HEADER_BYTES, len(self.content), 11):
            told = check(self.changed(self.content[:size]))
            whole = [header[3] for offset, header in self.blocks if offset + BLOCK.size + header[1] <= size]
            with self.subTest(size=size):
                self.assertEqual((told["whole"], told["damages"]), (False, []))
                self.assertEqual(told["records"], sum(whole))
                self.assertEqual(told["ends_early"]["offset"], ([offset for offset, _ in self.blocks] + [0])[len(whole)])
        for size in (0, 5, HEADER_BYTES - 1):
            result = sluice("trace", "check", self.changed(self.content[:size]))
            self.assertEqual((result.returncode, result.stdout), (1, ""))
            self.assert_one_line(result.stderr)

    def missing(self, records, per_block=1000):
        told = check(write_trace(self.folder / "m.slt", records, per_block=per_block))
        self.assertEqual(told["whole"], not told["missing"])
        return {name: (lack["count"], lack["first_tick"]) for name, lack in told["missing"].items()}

    def test_what_records_refer_to(self):
        launch = ("launch", dict(tick=1, time=1))
        access = ("access", dict(id=1, tick=1, time=1, b=1))
        alloc, free = ("alloc", dict(id=1, tick=5, b=4)), ("free", dict(id=1, tick=7, b=4))
        again = ("alloc", dict(id=1, tick=6, b=4, flags=1))
        refers = ("launch", dict(tick=2, time=2, d=1))
        for records, expected in (
                ([launch, access, refers], {}),
                ([launch, refers], {"launches_without_accesses": (1, 2)}),
                ([refers, ("launch", dict(tick=3, d=1))], {"launches_without_accesses": (2, 2)}),
                ([access], {"accesses_without_launch": (1, 1)}),
                ([("launch", dict(tick=2)), access], {"accesses_without_launch": (1, 1)}),
                ([alloc, free, alloc, free], {}),
                ([free, alloc], {}),                 # of two threads: the file's order is not that of time
                ([alloc, free, free], {"frees_without_allocation": (1, 7)}),
                ([free], {"frees_without_allocation": (1, 7)}),
                ([alloc, alloc], {"allocations_without_free": (1, 5)}),
                ([alloc, again, again], {}),         # told again, as after a lap of a file with a limit
                ([again, free], {}),
                ([("launch", dict(tick=1, id=3))], {"launches_without_name": (1, 1)}),
                ([("launch", dict(tick=1, id=3)), ("kernel", dict(id=3), "late")], {}),
                ([("launch", dict(tick=1, flags=3))], {})):
            with self.subTest(records=records):
                self.assertEqual(self.missing(records), expected)

    def test_gaps_explain_what_is_missing(self):
        trace = write_trace(self.folder / "gap.slt", [("launch", dict(tick=2, d=1)), ("gap", dict(tick=1, a=7))])
        told = check(trace)
        self.assertTrue(told["whole"])
        self.assertEqual((told["unwritten_records"], told["missing"]["launches_without_accesses"]["count"]), (7, 1))
        self.assertIn("The file is complete; some records were not kept.", sluice("trace", "check", trace).stdout)

    def test_a_training_run(self):
        trace = record_gpt(self.folder)
        if not trace:
            self.skipTest("a sanitized library needs its runtime preloaded before it")
        told, (_, records) = check(trace), dump(trace)
        self.assertTrue(told["whole"], told)
        self.assertEqual(told["records"], len(records))
        self.assertEqual(told["launches"], told["last_tick"])

    def test_what_is_no_trace(self):
        for path, word in (("/no/such/file", "No such file"), ("/", "directory"), (__file__, "not a sluice trace")):
            result = sluice("trace", "check", path)
            self.assertEqual((result.returncode, result.stdout), (1, ""))
            self.assert_one_line(result.stderr, path, word)
        self.assert_usage_error(sluice("trace", "check"), "no file given")
        self.assert_usage_error(sluice("trace", "chekc", "x"), "did you mean check?")
        self.assert_usage_error(sluice("trace", "check", "--jsn", "x"), "did you mean --json?")

    def test_no_colours_in_a_pipe(self):
        self.assertNotRegex(sluice("trace", "check", self.trace).stdout, re.escape("\033"))


if __name__ == "__main__":
    unittest.main()
