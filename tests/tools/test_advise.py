"""sluice advise: what it finds in traces, how sure it says that is, and sluice run --advise."""
import json
import os
import re
import subprocess
import unittest

from support import SOURCE, TOOL, ToolTest, clean_environment, record_gpt, sluice, write_trace

WEIGHTS, STEPS, MIB = 16, 14, 1 << 20
GPT = [os.environ["GPT"], "--data", str(SOURCE / "workloads/data/gpl-3.txt")]


def sweep(weights=WEIGHTS, timed=True, launch_ns=100_000, command="train --batch 4", megabytes=4):
    """A program that goes through its weights forwards and back again, in two launches each."""
    records = [("metadata", {"time": 500}, f"command={command}"), ("kernel", {"id": 1}, "sweep")]
    tick, now = 0, 1000
    for slot in range(weights):
        now += 1000
        records.append(("alloc", {"id": slot, "time": now, "a": 0x7f0000000000 + slot * megabytes * MIB, "b": megabytes * MIB, "c": 7 + slot}))
    for step in range(STEPS):
        for slot in [*range(weights), *reversed(range(weights))]:
            tick, now = tick + 1, now + launch_ns
            records += [("launch", {"id": 1, "tick": tick, "time": now, "b": 1024}),
                        ("access", {"id": slot, "tick": tick, "time": now, "b": megabytes * MIB})]
            if timed:
                records.append(("duration", {"id": 1, "tick": tick, "time": now, "a": launch_ns}))
        records.append(("iteration", {"id": step + 1, "tick": tick, "time": now, "a": 2 * weights}))
    return records


class Advise(ToolTest):
    def write(self, records, name="run.slt"):
        return write_trace(self.folder / name, records, per_block=100_000)

    def ask(self, *arguments):
        result = sluice("advise", "--json", *arguments)
        self.assertEqual((result.returncode, result.stderr), (0, ""), result)
        return json.loads(result.stdout)

    def text(self, *arguments):
        result = sluice("advise", *arguments)
        self.assertEqual((result.returncode, result.stderr), (0, ""), result)
        return result.stdout

    def find(self, answer, kind):
        return next((item for item in answer["advice"] if item["kind"] == kind), None)

    def planned(self, trace, *arguments):
        result = sluice("plan", "--json", "--no-least", "--daemon", "thread", *arguments, trace)
        row, = json.loads(result.stdout)["predictions"]
        return row["step_ns"]

    def test_the_recorded_policy(self):
        for recorded, expected in (("lru", "lru"), ("off", "plan"), (None, "plan")):
            trace = self.write(([("metadata", {"time": 500}, f"policy={recorded}")] if recorded else []) + sweep())
            self.assertEqual(self.ask("--budget", "64M", "--chunk", "2M", trace)["policy"], expected)
        trace = self.write([("metadata", {"time": 500}, "policy=clairvoyant\x1b[1m")] + sweep())
        result = sluice("advise", "--budget", "64M", trace)
        self.assertEqual(result.returncode, 1, result)
        self.assertRegex(result.stderr, r"^sluice: the trace is of the policy 'clairvoyant.*', which this version does not know; it takes .*plan.*\n$")
        self.assertNotIn("\x1b", result.stderr)
        self.ask("--budget", "64M", "--policy", "lru", trace)

    def test_a_larger_budget_that_pays(self):
        trace = self.write(sweep())
        answer = self.ask("--budget", "32M", "--chunk", "2M", trace)
        self.assertGreater(answer["step_ns"], answer["resident_ns"])
        item = self.find(answer, "budget-larger")
        self.assertEqual(item["basis"], "simulated")
        budget, chunk = re.fullmatch(r"SLUICE_DEVICE_BUDGET=(\d+M) SLUICE_CHUNK=(\d+M)", item["line"]).groups()
        self.assertTrue(32 < int(budget[:-1]) <= 64, item)
        self.assertEqual(item["step_before_ns"], self.planned(trace, "--budget", "32M", "--chunk", "2M"))
        self.assertEqual(item["step_after_ns"], self.planned(trace, "--budget", budget, "--chunk", chunk))
        # It is the knee: all of the memory would bring hardly more.
        self.assertLessEqual(item["step_after_ns"], 1.02 * answer["resident_ns"])

    def test_a_smaller_budget_that_costs_nothing(self):
        """Launches so long that everything moves beside them."""
        trace = self.write(sweep(launch_ns=2_000_000))
        item = self.find(self.ask("--budget", "64M", "--chunk", "2M", trace), "budget-smaller")
        self.assertLessEqual(item["step_after_ns"], 1.02 * item["step_before_ns"])
        self.assertLess(item["memory_after_bytes"], 40 * MIB)
        self.assertEqual(item["memory_before_bytes"], 64 * MIB)
        self.assertEqual(item["line"], f"SLUICE_DEVICE_BUDGET={item['memory_after_bytes'] // MIB}M SLUICE_CHUNK=2M")

    def test_the_device_bounds_the_budget(self):
        records = [("budget", {"time": 400, "a": 32 * MIB, "b": 2 * MIB, "c": 34 * MIB}), *sweep()]
        answer = self.ask(self.write(records))
        self.assertEqual((answer["budget_bytes"], answer["chunk_bytes"]), (32 * MIB, 2 * MIB))
        self.assertIsNone(self.find(answer, "budget-larger"))

    def test_the_link_is_the_floor(self):
        trace = self.write(sweep(launch_ns=1000))
        answer = self.ask("--budget", "32M", "--chunk", "2M", "--driver", "ideal", "--link-gbs", "2", trace)
        self.assertEqual(answer["advice"][0]["kind"], "link")
        self.assertEqual(answer["advice"][0]["basis"], "fact")
        self.assertNotIn("step_after_ns", answer["advice"][0])
        self.assertLessEqual(answer["link_ns"], answer["step_ns"])
        self.assertLessEqual(answer["least_in_bytes"], answer["bytes_in"])
        for kind in ("daemon", "attempts"):
            self.assertIsNone(self.find(answer, kind), "no order of movements helps")
        # With time to compute in between it is not.
        other = self.ask("--budget", "32M", "--chunk", "2M", self.write(sweep(), "slow.slt"))
        self.assertIsNone(self.find(other, "link"))

    def test_guessed_times_are_named(self):
        trace = self.write(sweep(timed=False))
        answer = self.ask("--budget", "32M", "--chunk", "2M", trace)
        self.assertEqual(answer["guessed"], answer["launches"])
        self.assertEqual((answer["advice"][0]["kind"], answer["advice"][0]["line"]), ("record", "SLUICE_TRACE_SAMPLE=16"))
        said = self.text("--budget", "32M", "--chunk", "2M", trace)
        self.assertIn("simulated on this trace with guessed times", said)
        self.assertRegex(said.splitlines()[0], r"^gpt: an iteration takes .*, 100 % of it guessed, with 32 MiB")
        self.assertNotIn("with measured times;", said)
        self.assertNotIn("guessed", self.text("--budget", "32M", "--chunk", "2M", self.write(sweep(), "timed.slt")))

    def test_another_policy_and_chunk_size(self):
        trace = self.write(sweep())
        answer = self.ask("--budget", "40M", "--chunk", "4M", "--policy", "lru", "--link-gbs", "12", trace)
        item = self.find(answer, "policy")
        self.assertEqual((item["line"], item["step_before_ns"]), ("SLUICE_POLICY=plan", answer["step_ns"]))
        self.assertEqual(item["step_after_ns"], self.planned(trace, "--budget", "40M", "--chunk", "4M", "--link-gbs", "12"))
        # Tensors of 2 MiB in chunks of 4 MiB: each fetch brings another one that is not used then.
        small = self.write(sweep(weights=64, megabytes=1), "small.slt")
        answer = self.ask("--budget", "32M", "--chunk", "4M", "--transfer-us", "0", small)
        item = self.find(answer, "chunk")
        if item:
            self.assertEqual(item["line"], "SLUICE_CHUNK=2M")
            self.assertEqual(item["step_after_ns"], self.planned(small, "--budget", "32M", "--chunk", "2M"))

    def test_sites_are_named(self):
        """A site of a rule has its line of Python, without which its number says nothing."""
        trace = self.write([("python", {"time": 500, "c": site, "a": site}, f"make_{site} net.py") for site in range(7, 11)] + sweep(weights=4, megabytes=16))
        arguments = ("--budget", "32M", "--chunk", "2M", "--policy", "lru", "--transfer-us", "1000", trace)
        item, said = self.find(self.ask(*arguments), "pinned"), self.text(*arguments)
        numbers = re.findall(r"site:(0x[0-9a-f]+)=pinned", item["line"])
        self.assertGreater(len(numbers), 0)
        titles = {number: f"make_{int(number, 16)} (net.py:{int(number, 16)})" for number in numbers}
        self.assertEqual({site["site"]: site["title"] for site in item["sites"]}, titles)
        for number, title in titles.items():
            self.assertIn(f"   site {number}: {title}\n", said)

    def test_memory_that_is_read_often_is_not_pinned(self):
        """Launches that take ten times as long for as many bytes may read each of them ten times, over the link if they are pinned."""
        records, often = sweep(weights=4, megabytes=16, launch_ns=1_000_000), (7, 8)
        slot = None
        for at, (kind, fields, *_) in enumerate(records):
            slot = fields["id"] if kind == "access" else slot
            if kind == "duration" and 7 + slot not in often:
                records[at] = (kind, {**fields, "a": 100_000})
        arguments = ("--budget", "32M", "--chunk", "2M", "--policy", "lru", "--transfer-us", "1000", self.write(records))
        sites = {int(site["site"], 16) for site in self.find(self.ask(*arguments), "pinned")["sites"]}
        self.assertEqual(sites, {9, 10})

    def test_ranked_by_gain(self):
        answer = self.ask("--budget", "32M", "--chunk", "2M", "--policy", "demand", self.write(sweep()))
        for basis in ("simulated", "bound"):
            gains = [item["step_percent"] for item in answer["advice"] if item["basis"] == basis and item["kind"] not in ("budget-smaller", "other")]
            self.assertEqual(gains, sorted(gains))
            self.assertTrue(all(gain <= -3 for gain in gains), gains)

    def test_nothing_to_advise(self):
        """All of it is on the device, it is all needed, and the link is slow."""
        trace = self.write(sweep(launch_ns=1000))
        arguments = ("--budget", "64M", "--chunk", "2M", "--link-gbs", "1", trace)
        answer = self.ask(*arguments)
        self.assertEqual(answer["advice"], [])
        self.assertIn("everything is on the device", answer["reason"])
        self.assertIn(f"Nothing to advise: {answer['reason']}.", self.text(*arguments))

    def test_text_and_json_agree(self):
        trace = self.write(sweep())
        arguments = ("--budget", "32M", "--chunk", "2M", "--policy", "lru", trace)
        items, said = self.ask(*arguments)["advice"], self.text(*arguments)
        blocks = said.split("\n\n")[1:]
        self.assertEqual(len(blocks), len(items))
        for number, (item, block) in enumerate(zip(items, blocks), 1):
            lines = block.splitlines()
            self.assertEqual((lines[0], lines[1]), (f"{number}. {item['what']}.", f"   {item['line']}"))
            before, after, percent = re.search(r"(?:step|iteration) ([\d.]+) ms -> ([\d.]+) ms, ([+-][\d.]+) %", lines[2]).groups()
            self.assertEqual(float(percent), item["step_percent"])
            for said_ms, ns in ((before, item["step_before_ns"]), (after, item["step_after_ns"])):
                self.assertAlmostEqual(float(said_ms), ns / 1e6, delta=0.51 * 10 ** -len(said_ms.partition(".")[2]))
            self.assertIn("a bound, not a prediction" if item["basis"] == "bound" else "simulated on this trace", lines[3])

    def test_iterations_are_not_called_steps(self):
        """No phases of training can be found in these launches: what repeats may be several steps."""
        said = self.text("--budget", "32M", "--chunk", "2M", self.write(sweep()))
        self.assertIn(": an iteration takes ", said)
        self.assertIn("No training steps were found", said)
        self.assertNotIn("step ", said.replace("training steps", "").replace("several steps", ""))
        self.assertFalse(self.ask(self.write(sweep()))["training_steps"])

    def test_against_another_run(self):
        own = self.write(sweep())
        less = self.write(sweep(weights=10, command="train --batch 2 --fused"), "less.slt")
        more = self.write(sweep(weights=20, command="train --batch 8"), "more.slt")
        arguments = ("--budget", "32M", "--chunk", "2M")
        item = self.find(self.ask(*arguments, "--against", less, own), "other")
        self.assertEqual((item["line"], item["basis"]), ("--batch 2 --fused", "simulated"))
        self.assertIn("Run it as in", item["what"])
        self.assertEqual(item["step_after_ns"], self.planned(less, *arguments))
        item = self.find(self.ask(*arguments, "--against", more, own), "other")
        self.assertIn("Do not run it as in", item["what"])
        self.assertGreater(item["step_percent"], 0)

    def test_foreign_files(self):
        trace = write_trace(self.folder / "run.slt", sweep(), per_block=50)
        whole = trace.read_bytes()
        empty, damaged = self.folder / "empty.slt", self.folder / "damaged.slt"
        empty.write_bytes(b"")
        result = sluice("advise", empty)
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assert_one_line(result.stderr, str(empty))
        for cut in (len(whole) // 2, len(whole) - 20):
            damaged.write_bytes(whole[:cut])
            result = sluice("advise", "--json", "--budget", "32M", "--chunk", "2M", damaged)
            if result.returncode == 0:
                self.assertFalse(json.loads(result.stdout)["complete"])
            self.assert_one_line(result.stderr, str(damaged))
        middle = bytearray(whole)
        for i in range(len(whole) * 3 // 4, len(whole) * 3 // 4 + 64):
            middle[i] ^= 0x5a
        damaged.write_bytes(middle)
        result = sluice("advise", "--budget", "32M", "--chunk", "2M", damaged)
        self.assertEqual(result.returncode, 1)
        self.assert_one_line(result.stderr, str(damaged), "byte")

    def test_names_from_the_trace_are_defused(self):
        records = sweep(command="train \x1b[31m --fast")
        said = self.text("--budget", "32M", "--chunk", "2M", "--against", self.write(records, "other.slt"), self.write(sweep()))
        self.assertNotIn("\x1b", said)

    def test_wrong_arguments(self):
        trace = self.write(sweep())
        for arguments, word in ((("--budget", "1M"), "--budget"), (("--budget", "much"), "--budget"), (("--chunk", "3M"), "--chunk"), (("--policy", "off"), "--policy"),
                                (("--policy", "best"), "--policy"), (("--both", "0"), "--both"), (("--driver", "best"), "--driver"), (("--link-in-gbs", "0"), "--link-in-gbs"), (("--workers", "1"), "--workers"), (("--both", "101"), "--both"), (("--transfer-us", "9999999"), "--transfer-us"),
                                (("--ranks-per-link", "0"), "--ranks-per-link"), (("--backing", "site:7=moved"), "--backing"), (("--against", trace, trace), "--against")):
            self.assert_usage_error(sluice("advise", *arguments, trace), word)
        self.assert_usage_error(sluice("advise"), "no file")

    def test_a_program_that_sweeps(self):
        trace = record_gpt(self.folder, "--optimizer", "sweep")
        if not trace:
            self.skipTest("not recorded under a sanitizer")
        item = self.find(self.ask(trace), "optimizer")
        self.assertEqual(item["basis"], "bound")
        self.assertIn("fused", item["line"])
        self.assertIn("in one pass", item["what"])
        # All weights with their state need 13 MiB, those of one tensor less than a MiB: a kernel for each tensor has room.
        self.assertIsNotNone(self.find(self.ask("--budget", "8M", "--chunk", "2M", trace), "optimizer"))


@unittest.skipIf(os.environ.get("SANITIZED"), "a sanitized library needs its runtime preloaded before it")
class RunAdvise(ToolTest):
    def run_gpt(self, *flags, steps="9", **options):
        environment = clean_environment(TMPDIR=str(self.folder))
        return subprocess.run([TOOL, "run", "--software", "--daemon", "inline", "--budget", "8M", "--chunk", "2M", *flags, "--", *GPT, "--steps", steps],
                              stdout=subprocess.PIPE, text=True, env=environment, timeout=280, **options)

    def weights(self, result):
        self.assertEqual(result.returncode, 0)
        return [line for line in result.stdout.splitlines() if not line.startswith("step")], re.findall(r"loss \S+ \S+", result.stdout)

    def test_the_first_three_come_after_the_program(self):
        plain = self.run_gpt(stderr=subprocess.PIPE)
        advised = self.run_gpt("--advise", stderr=subprocess.PIPE)
        self.assertEqual(self.weights(advised), self.weights(plain))
        self.assertEqual(plain.stderr, "")
        self.assertRegex(advised.stderr, r"^sluice: this run is recorded; the advice follows here after its end, .*\ngpt: a step takes ")
        numbers = re.findall(r"^(\d+)\. ", advised.stderr, re.M)
        self.assertEqual(numbers, [str(n) for n in range(1, len(numbers) + 1)])
        self.assertTrue(1 <= len(numbers) <= 3, advised.stderr)
        self.assertEqual(os.listdir(self.folder), [], "the recording is gone")

    def test_a_trace_that_the_user_wants_stays(self):
        trace = self.folder / "mine.slt"
        advised = self.run_gpt("--advise", "--trace", str(trace), stderr=subprocess.PIPE)
        self.weights(advised)
        self.assertIn("a step takes", advised.stderr)
        self.assertEqual(os.listdir(self.folder), ["mine.slt"])

    def test_a_closed_stderr_gets_nothing(self):
        advised = self.run_gpt("--advise", preexec_fn=lambda: os.close(2))
        self.assertEqual(self.weights(advised), self.weights(self.run_gpt()))
        self.assertEqual(os.listdir(self.folder), [])

    def test_the_exit_status_is_the_programs(self):
        for status in (0, 7):
            result = subprocess.run([TOOL, "run", "--software", "--advise", "--", "sh", "-c", f"exit {status}"], capture_output=True, text=True,
                                    env=clean_environment(TMPDIR=str(self.folder)), timeout=60)
            self.assertEqual((result.returncode, result.stdout), (status, ""))
            self.assertRegex(result.stderr, r"^sluice: this run is recorded.*\nsluice: no advice: the command recorded no trace\n$")
            self.assertEqual(os.listdir(self.folder), [])
        result = subprocess.run([TOOL, "run", "--advise", "--", "no-such-command"], capture_output=True, text=True,
                                env=clean_environment(TMPDIR=str(self.folder)), timeout=60)
        self.assertEqual(result.returncode, 127)
        self.assert_one_line(result.stderr, "no-such-command")
        self.assertEqual(os.listdir(self.folder), [])


if __name__ == "__main__":
    unittest.main()
