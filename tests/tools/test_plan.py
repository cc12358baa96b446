"""sluice plan: what it says of traces, and of arguments that make no sense."""
import json
import os
import subprocess
import unittest

from support import SOURCE, TOOL, ToolTest, clean_environment, record_gpt, sluice, write_trace


WEIGHTS, STEPS, MIB = 16, 14, 1 << 20


def sweep(only_read=(), weights=WEIGHTS):
    """A program that goes through its weights of 4 MiB forwards and back again, a launch of 0.1 ms for each. Those in
    `only_read` are never written."""
    records = [("kernel", {"id": 1}, "sweep")]
    tick, now = 0, 1000
    for slot in range(weights):
        now += 1000
        records.append(("alloc", {"id": slot, "time": now, "a": 0x7f0000000000 + slot * 4 * MIB, "b": 4 * MIB, "c": 7 + slot}))
    for step in range(STEPS):
        for slot in [*range(weights), *reversed(range(weights))]:
            tick, now = tick + 1, now + 100_000
            records += [("launch", {"id": 1, "tick": tick, "time": now, "b": 1024}),
                        ("access", {"id": slot, "tick": tick, "time": now, "b": 4 * MIB, "flags": int(slot in only_read)}),
                        ("duration", {"id": 1, "tick": tick, "time": now, "a": 100_000})]
        records.append(("iteration", {"id": step + 1, "tick": tick, "time": now, "a": 2 * weights}))
    return records


FETCH, EVICT = 2, 0
ALL_REDUCE, SEND, COLLECTIVE, COMMUNICATOR, LATE_NS = 1, 10, 4, 77, 500_000


def rank(slower=1, waits=0, steps=STEPS, function=lambda step: ALL_REDUCE):
    """The trace of a rank that sweeps, and after each sweep sums something up with the others. `slower`: so much longer its
    launches take; `waits`: for the others, each time."""
    records, step = [], 0
    for name, fields, *text in sweep():
        if name == "duration":
            fields = dict(fields, a=fields["a"] * slower)
        records.append((name, dict(fields, tick=fields["tick"] + step) if "tick" in fields else fields, *text))
        if name != "iteration":
            continue
        records.pop()
        tick, now = fields["tick"] + step + 1, fields["time"] + 10
        records += [("launch", {"id": function(step), "tick": tick, "time": now, "a": 9, "b": COMMUNICATOR, "c": 4096, "flags": COLLECTIVE}),
                    ("access", {"id": 0, "tick": tick, "time": now, "b": 4096}),
                    ("duration", {"tick": tick, "time": now, "a": 20_000 + waits}),
                    ("iteration", dict(fields, tick=tick, time=now))]
        step += 1
        if step == steps:
            return records
    return records


class PlanOfRanks(ToolTest):
    def write(self, *ranks):
        return [write_trace(self.folder / f"run.{number}.slt", records, per_block=100_000) for number, records in enumerate(ranks)]

    def ask(self, traces, *arguments):
        result = sluice("plan", "--json", "--chunk", "2M", "--no-least", *arguments, *traces)
        self.assertEqual((result.returncode, result.stderr), (0, ""), result)
        return json.loads(result.stdout)

    def test_all_wait_for_the_slowest(self):
        slow = 2 * WEIGHTS * 100_000 * 3 + 20_000
        answer = self.ask(self.write(rank(waits=2 * WEIGHTS * 200_000), rank(slower=3), rank(waits=2 * WEIGHTS * 200_000)), "--budget", "1")
        row, = answer["predictions"]
        self.assertEqual((row["step_ns"], row["resident_ns"]), (slow, slow))
        waited = [one["waited_ns"] for one in row["ranks"]]
        self.assertEqual((waited[1], waited[0]), (0, 2 * WEIGHTS * 200_000))
        self.assertEqual([one["step_ns"] for one in row["ranks"]], [slow] * 3)
        self.assertEqual((answer["meetings"], answer["missed_meetings"], answer["unlike_communicators"]), (STEPS, 0, 0))
        self.assertEqual([one["unmatched_collectives"] for one in answer["ranks"]], [0] * 3)
        self.assertFalse(answer["meetings_over_link"])

    def test_ranks_share_a_link(self):
        traces = self.write(rank(), rank())
        options = ("--budget", "0.5", "--link-gbs", "10")
        own, = self.ask(traces, *options)["predictions"]
        shared, = self.ask(traces, *options, "--ranks-per-link", "2")["predictions"]
        half, = self.ask(traces, "--budget", "0.5", "--link-gbs", "5")["predictions"]
        self.assertGreater(own["step_ns"], 1.2 * own["resident_ns"])
        self.assertEqual((shared["link_in"], own["link_in"]), (5_000_000_000, 10_000_000_000))
        self.assertEqual((shared["step_ns"], shared["bytes_in"]), (half["step_ns"], half["bytes_in"]))
        self.assertGreater(shared["step_ns"], 1.5 * own["step_ns"])

    def test_the_bound_is_that_of_the_rank_with_most_to_move(self):
        more, = self.ask(self.write(rank(), rank(slower=3)), "--budget", "0.5", "--bound")["predictions"]
        self.assertEqual((more["bound"]["limits_ns"]["computation"], more["bound"]["bytes_in"]), (more["resident_ns"], 64 * MIB))
        self.assertLessEqual(more["bound"]["step_ns"], more["step_ns"])

    def test_a_measured_link_is_not_divided_again(self):
        link = ("link", {"time": 5000, "a": 7_000_000_000, "b": 6_000_000_000})
        faster = ("link", {"time": 5000, "a": 8_000_000_000, "b": 8_000_000_000})
        row, = self.ask(self.write([faster, *rank()], [link, *rank()]), "--budget", "0.5", "--ranks-per-link", "2")["predictions"]
        self.assertEqual((row["link_in"], row["link_out"]), (7_000_000_000, 6_000_000_000))

    def test_collectives_may_use_the_link(self):
        traces = self.write(rank(), rank())
        own, link = (self.ask(traces, "--budget", "0.5", "--driver", "ideal", "--peers", peers)["predictions"][0] for peers in ("own", "link"))
        self.assertGreater(link["step_ns"], own["step_ns"])

    def test_a_rank_that_ends_early(self):
        """The others are replayed as far as all of them were recorded."""
        row, = self.ask(self.write(rank(), rank(steps=9)), "--budget", "0.5")["predictions"]
        self.assertEqual(row["iterations"], 8)

    def test_ranks_that_call_other_functions(self):
        answer = self.ask(self.write(rank(), rank(function=lambda step: ALL_REDUCE + (step == 9))), "--budget", "0.5")
        self.assertEqual((answer["unlike_communicators"], answer["meetings"]), (1, 9))
        said = sluice("plan", "--chunk", "2M", "--no-least", "--budget", "0.5", *self.write(rank(), rank(function=lambda step: SEND if step == 3 else 1))).stdout
        self.assertIn("have no counterpart in the other traces", said)

    def test_ranks_that_meet_in_other_orders(self):
        """Nothing hangs: what cannot be met is left behind, and that is said."""
        def swapped(records):
            """Two communicators take turns, and this rank has them in the other order."""
            turn = 0
            for name, fields, *text in records:
                if name == "launch" and fields.get("flags") == COLLECTIVE:
                    fields = dict(fields, b=COMMUNICATOR + turn % 2, a=9 + turn % 2)
                    turn += 1
                yield (name, fields, *text)
        one = list(swapped(rank()))
        other = [(name, dict(fields, b=2 * COMMUNICATOR + 1 - fields["b"], a=19 - fields["a"]), *text)
                 if name == "launch" and fields.get("flags") == COLLECTIVE else (name, fields, *text) for name, fields, *text in one]
        self.ask(self.write(one, other), "--budget", "0.5")

    def test_text(self):
        traces = self.write(rank(waits=2 * WEIGHTS * 100_000), rank(slower=2))
        result = sluice("plan", "--chunk", "2M", "--budget", "0.5,0.25", *traces)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn("2 ranks: each needs up to 64 MiB of device memory", result.stdout)
        self.assertRegex(result.stdout, r"With 16 MiB, a step of each rank:\n\n.*waited")
        self.assertIn(f"The ranks meet at {STEPS} collectives.\n", result.stdout)

    def test_wrong_traces(self):
        traces = self.write(rank(), [(name, dict(fields, b=5) if fields.get("flags") == COLLECTIVE else fields, *text)
                                     for name, fields, *text in rank()])
        result = sluice("plan", *traces)
        self.assertEqual(result.returncode, 1)
        self.assert_one_line(result.stderr, "no collectives in common")
        self.assert_usage_error(sluice("plan", "--sequence", self.folder / "out", *traces), "--sequence")
        self.assert_usage_error(sluice("plan", "--ranks-per-link", "0", *traces), "--ranks-per-link")
        self.assert_usage_error(sluice("plan", "--peers", "some", *traces), "--peers")


class Plan(ToolTest):
    def setUp(self):
        super().setUp()
        self.trace = write_trace(self.folder / "sweep.slt", sweep(), per_block=100_000)

    def ask(self, *arguments):
        result = sluice("plan", "--json", *arguments)
        self.assertEqual((result.returncode, result.stderr), (0, ""), result)
        return json.loads(result.stdout)

    def plan(self, *arguments):
        return self.ask(*(() if "--chunk" in arguments else ("--chunk", "2M")), *arguments)["predictions"]

    def test_less_memory_costs_more(self):
        rows = self.plan("--chunk", "4M", self.trace)
        self.assertEqual([row["budget_bytes"] // MIB for row in rows], [48, 40, 32, 20, 16])
        for row in rows:
            self.assertGreaterEqual(row["step_ns"], row["resident_ns"])
            self.assertLess(row["budget_bytes"], row["need_bytes"])
        times = [row["step_ns"] for row in rows]
        self.assertEqual(times, sorted(times), "budgets go down")
        self.assertGreater(rows[-1]["bytes_in"], rows[0]["bytes_in"])

    def test_enough_memory_costs_nothing(self):
        row, = self.plan("--budget", "1", self.trace)
        self.assertEqual((row["bytes_in"], row["bytes_out"], row["stall_ns"]), (0, 0, 0))
        self.assertEqual((row["step_ns"], row["resident_ns"]), (2 * WEIGHTS * 100_000, 2 * WEIGHTS * 100_000))

    def test_a_faster_link_helps_and_the_order_is_told(self):
        slow, fast = self.plan("--budget", "0.5", "--link-gbs", "5,50", self.trace)
        self.assertEqual((slow["link_in"], fast["link_in"]), (5_000_000_000, 50_000_000_000))
        self.assertLess(fast["step_ns"], slow["step_ns"])

    def test_a_driver_whose_calls_cost_time(self):
        ideal, = self.plan("--budget", "0.5", "--link-gbs", "50", "--driver", "ideal", self.trace)
        real, = self.plan("--budget", "0.5", "--link-gbs", "50", self.trace)
        self.assertEqual((ideal["driver"], real["driver"], real["workers"]), ("ideal", "580", 1))
        self.assertEqual((ideal["both_percent"], real["both_percent"]), (92, 75))
        # Each block of 2 MiB that leaves is mapped for 100 us, in one thread.
        self.assertGreater(real["step_ns"], real["bytes_out"] // (2 * MIB) * 100_000)
        self.assertGreater(real["step_ns"], 1.5 * ideal["step_ns"])
        if os.cpu_count() > 1:
            two, = self.plan("--budget", "0.5", "--link-gbs", "50", "--driver", "580", "--workers", "2", self.trace)
            self.assertLess(two["step_ns"], real["step_ns"])

    def test_movers(self):
        """More of them move more at a time, each way: 4 to the host and 2 to the device."""
        options = ("--budget", "0.5", "--link-gbs", "50", "--driver", "580", "--daemon", "thread", "--bound", self.trace)
        one, four = self.plan(*options)[0], self.plan("--movers", "4", *options)[0]
        self.assertEqual((one["workers"], four["workers"]), (2, 6))
        for way, threads in ("in", 2), ("out", 4):
            self.assertAlmostEqual(four["bound"]["limits_ns"][f"threads {way}"] * threads, one["bound"]["limits_ns"][f"threads {way}"],
                                   delta=threads)
        blocks = one["bytes_out"] // (2 * MIB)
        self.assertIn(one["moving_out_ns"], range(blocks * 141_000, blocks * 160_000))  # a copy and a map, and what shares the link
        self.assertAlmostEqual(one["host_cores"], (one["moving_in_ns"] + one["moving_out_ns"]) / one["step_ns"], delta=0.001)
        self.assertLessEqual(one["host_cores"], 2)
        self.assertAlmostEqual(one["link_part_out"], one["bytes_out"] / one["step_ns"] / 50, delta=0.001)
        self.assertEqual(one["limit"], "threads")
        slow, = self.plan("--budget", "0.5", "--link-gbs", "5", "--driver", "580", "--daemon", "thread", "--movers", "4", self.trace)
        self.assertEqual(slow["limit"], "link")
        self.assertEqual(self.plan("--budget", "1", "--link-gbs", "5", self.trace)[0]["limit"], "neither")
        for wrong in (("--movers", "4"), ("--movers", "0", "--daemon", "thread"), ("--movers", "9", "--daemon", "thread")):
            self.assert_usage_error(sluice("plan", *wrong, self.trace), "--movers")

    def test_the_driver_is_named(self):
        for options, said in (((), "100 us for each 2 MiB to the host, 16 us to the device, by 1 thread: the driver 580.\n"),
                              (("--driver", "ideal", "--both", "80"), "80 % of it while both directions are in use: the driver ideal.\n")):
            self.assertIn(said, sluice("plan", "--chunk", "2M", "--no-least", "--budget", "0.5", *options, self.trace).stdout)

    def moved(self, in_ns, out_ns, together_ns, *options, chunk=2 * MIB):
        """What is foretold from a run whose chunks took `in_ns` and `out_ns` alone, and `together_ns` where both directions were in use."""
        records = sweep()
        records.insert(1, ("budget", {"time": 1000, "a": 64 * MIB, "b": chunk, "c": 1 << 30}))
        for i in range(20):
            common = {"tick": 1, "time": 1000, "a": chunk, "b": 2000 + i * together_ns, "c": together_ns}
            records += [("transfer", {"flags": FETCH, "id": i, **common}), ("transfer", {"flags": EVICT, "id": i, **common})]
        records.append(("link", {"time": 5000, "a": chunk * 10 ** 9 // in_ns, "b": chunk * 10 ** 9 // out_ns}))
        row, = self.plan("--budget", "0.5", *options, write_trace(self.folder / "moved.slt", records, per_block=100_000))
        return row

    def test_the_costs_of_the_run(self):
        """One thread that needs 37.5 us to copy, 16 to unmap and 100 to map a block, and a link that both directions share."""
        for blocks in (1, 4):
            in_ns, out_ns = 16_000 + blocks * 37_500, 37_500 + blocks * 100_000
            turns = self.moved(in_ns, out_ns, in_ns + out_ns, chunk=blocks * 2 * MIB)
            self.assertEqual((turns["driver"], turns["workers"], turns["link_in"]), ("580", 1, turns["link_out"]))
            self.assertAlmostEqual(turns["map_ns"], 100_000, delta=10)
            self.assertAlmostEqual(turns["link_in"], 2 * MIB * 10 ** 9 / 37_500, delta=1e6)
        slow_ns = 200_000  # to copy a block: all are copied, then the last one is mapped
        slow = self.moved(16_000 + 4 * slow_ns, 4 * slow_ns + 100_000, 8 * slow_ns + 116_000, chunk=8 * MIB)
        self.assertAlmostEqual(slow["map_ns"], 100_000, delta=10)
        beside = self.moved(37_500, 50_000, 60_000)
        self.assertEqual((beside["driver"], beside["both_percent"]), ("ideal", 73))  # 87.5 of 120
        self.assertGreater(beside["link_in"], beside["link_out"])
        told = self.moved(53_500, 137_500, 191_000, "--driver", "ideal")  # the same link, but it only copies
        self.assertEqual((told["driver"], told["both_percent"], told["link_in"]), ("ideal", 92, told["link_out"]))

    def test_directions_of_their_own(self):
        row, = self.plan("--budget", "0.5", "--link-gbs", "50", "--link-out-gbs", "12.5", self.trace)
        self.assertEqual((row["link_in"], row["link_out"]), (50_000_000_000, 12_500_000_000))
        row, = self.plan("--budget", "0.5", "--link-in-gbs", "3", self.trace)
        self.assertEqual((row["link_in"], row["link_out"]), (3_000_000_000, 24_000_000_000))

    def assert_bounded(self, rows):
        """No step is shorter than its bound, nor moves less; with more memory the bound is lower."""
        for row in rows:
            bound = row["bound"]
            self.assertLessEqual(bound["step_ns"], row["step_ns"], row)
            self.assertLessEqual(bound["bytes_in"], row["bytes_in"], row)
            self.assertLessEqual(bound["bytes_out"], row["bytes_out"], row)
            self.assertEqual(bound["limits_ns"][bound["limit"]], bound["step_ns"])
            self.assertEqual((bound["step_ns"], bound["limits_ns"]["computation"]), (max(bound["limits_ns"].values()), row["resident_ns"]))
        for less, more in zip(rows, rows[1:]):  # budgets go down
            if (less["policy"], less["driver"]) == (more["policy"], more["driver"]):
                self.assertLess(less["bound"]["bytes_in"], more["bound"]["bytes_in"])
                self.assertLessEqual(less["bound"]["step_ns"], more["bound"]["step_ns"])

    def test_the_bound(self):
        """Of 16 weights of 4 MiB 8 have room: 8 come on the way forwards, and 8 on the way back."""
        row, = self.plan("--chunk", "4M", "--budget", "0.5", "--bound", "--link-gbs", "10", "--driver", "ideal", self.trace)
        self.assertEqual((row["bound"]["bytes_in"], row["bound"]["bytes_out"]), (64 * MIB, 64 * MIB))
        both_ns = row["bound"]["bytes_in"] / 10 / 0.92
        self.assertEqual(row["bound"]["limit"], "link")
        self.assertAlmostEqual(row["bound"]["step_ns"], both_ns, delta=2)
        self.assertNotIn("bound", self.plan("--budget", "0.5", self.trace)[0])
        one, = self.plan("--chunk", "4M", "--budget", "0.5", "--bound", "--link-gbs", "100", "--driver", "580", self.trace)
        self.assertEqual(one["bound"]["limit"], "threads out")
        out_ns = one["bound"]["bytes_out"] / (4 * MIB) * (2 * 100_000 + 2 * MIB / 100)
        self.assertAlmostEqual(one["bound"]["step_ns"], out_ns, delta=2)
        text = sluice("plan", "--chunk", "4M", "--budget", "0.5,0.25", "--bound", "--no-least", self.trace).stdout
        self.assertRegex(text, r"(?m)^No step is shorter .*\n\n.*step/bound  limit\n *32 MiB .* threads out\n *16 MiB .* threads out$")

    def test_no_policy_beats_the_bound(self):
        real = record_gpt(self.folder, "--allocator", "malloc")
        for trace in (self.trace, *([real] if real else [])):
            for options in (("--driver", "ideal"), ("--driver", "580"), ("--driver", "580", "--daemon", "thread")):
                with self.subTest(trace=trace, options=options):
                    self.assert_bounded(self.plan("--budget", "0.8,0.5,0.3", "--policy", "plan,next,belady,lru,demand", "--bound",
                                                  "--link-gbs", "26", *options, trace))

    def test_what_the_driver_moves_has_no_bound(self):
        row, = self.plan("--budget", "0.5", "--policy", "driver", "--bound", self.trace)
        self.assertEqual((row["bound"]["bytes_in"], row["bound"]["limit"]), (0, "computation"))

    def test_pinned_memory_needs_no_room(self):
        row, = self.plan("--budget", "0.25", "--backing", "from:4M=pinned", "--bound", self.trace)
        self.assertEqual(row["bound"]["bytes_in"], 0)

    def test_policies_are_the_cores(self):
        rows = {row["policy"]: row for row in self.plan("--budget", "0.5", "--driver", "ideal", "--policy",
                                                        "plan,lru,driver", self.trace)}
        self.assertLess(rows["plan"]["step_ns"], rows["lru"]["step_ns"])
        self.assertLess(rows["lru"]["step_ns"], rows["driver"]["step_ns"])
        self.assertEqual(rows["plan"]["missed_launches"], 0)
        self.assertGreater(rows["lru"]["missed_launches"], 0)
        for row in rows.values():
            self.assertEqual(len(row["each"]), row["iterations"])
            self.assertIn(row["step_ns"], [iteration["step_ns"] for iteration in row["each"]])

    def test_the_environment_changes_nothing(self):
        before = self.plan("--budget", "0.5", self.trace)
        environment = dict(clean_environment(), SLUICE_POLICY="demand", SLUICE_DEVICE_BUDGET="8M",
                           SLUICE_TRACE=os.path.join(self.folder, "other.slt"), SLUICE_VERBOSE="2")
        result = sluice("plan", "--json", "--chunk", "2M", "--budget", "0.5", self.trace, env=environment)
        self.assertEqual((json.loads(result.stdout)["predictions"], result.stderr), (before, ""))
        self.assertEqual(os.listdir(self.folder), ["sweep.slt"])

    def test_sequence(self):
        out = self.folder / "sequence.json"
        self.plan("--chunk", "2M", "--budget", "1", "--sequence", out, self.trace)
        sequence = json.loads(out.read_text())
        self.assertEqual(sequence["name"], "gpt")
        self.assertEqual(sequence["chunk_bytes"], [2 * MIB] * (2 * WEIGHTS))
        self.assertEqual([launch["ns"] for launch in sequence["launches"]], [100_000] * 2 * WEIGHTS)
        used = [sorted(launch["reads"] + launch["writes"]) for launch in sequence["launches"]]
        self.assertEqual(used, [[2 * w, 2 * w + 1] for w in [*range(WEIGHTS), *reversed(range(WEIGHTS))]])
        self.assertEqual(sequence["alive"], [*range(2 * WEIGHTS)])
        self.plan("--chunk", "2M", "--budget", "1", "--sequence", out, "--iterations", "3", self.trace)
        self.assertEqual(json.loads(out.read_text()), dict(sequence, launches=3 * sequence["launches"]))
        # What a smaller budget moves changes nothing about what is used.
        self.plan("--chunk", "2M", "--budget", "0.5,0.33", "--sequence", out, self.trace)
        self.assertEqual(json.loads(out.read_text()), sequence)
        result = sluice("plan", "--sequence", self.folder, self.trace)
        self.assertEqual(result.returncode, 1)
        self.assert_one_line(result.stderr, "directory")

    def test_a_sequence_says_what_is_only_read(self):
        half = write_trace(self.folder / "half.slt", sweep(range(WEIGHTS // 2)), per_block=100_000)
        out = self.folder / "sequence.json"
        self.plan("--chunk", "4M", "--budget", "1", "--sequence", out, half)
        for launch in json.loads(out.read_text())["launches"]:
            self.assertEqual((len(launch["reads"]), len(launch["writes"])),
                             (1, 0) if max(launch["reads"] + launch["writes"]) < WEIGHTS // 2 else (0, 1))

    def test_pinned_memory_is_used_in_place(self):
        options = ("--budget", "0.5", "--policy")
        moved, = self.plan(*options, "plan", self.trace)
        for policy in ("plan", "driver"):
            some, = self.plan(*options, policy, "--backing", "site:0x7=pinned", self.trace)
            self.assertEqual((some["backing"], some["remote_bytes"]), ("site:0x7=pinned", 2 * 4 * MIB))
            self.assertEqual(some["budget_bytes"], moved["budget_bytes"])
            whole, = self.plan(*options, policy, "--backing", "from:4M=pinned", self.trace)
            self.assertEqual((whole["bytes_in"], whole["bytes_out"]), (0, 0))
            self.assertEqual(whole["remote_bytes"], 2 * WEIGHTS * 4 * MIB)
            self.assertGreater(whole["longer_ns"], 0, "the link is slower than the launches")
        self.assertEqual(moved["remote_bytes"], 0)
        text = sluice("plan", "--chunk", "2M", "--link-gbs", "60", "--backing", "site:0x7=pinned", self.trace).stdout
        self.assertRegex(text, r"\nsluice run --budget \d+M --chunk 2M --backing site:0x7=pinned\n")

    def test_chunk_sizes_are_sought(self):
        rows = self.plan("--chunk", "2M,4M", "--budget", "0.5", self.trace)
        sought = self.ask("--budget", "0.5", self.trace)["predictions"]
        self.assertEqual([row["chunk_bytes"] for row in sought], [2 * MIB, 4 * MIB])
        for known, row in zip(rows, sought):
            self.assertEqual(known, row)
        best, = (row for row in sought if row["best"])
        for row in sought:
            self.assertLessEqual(best["step_ns"], 1.01 * row["step_ns"])
        # Each movement costs: larger chunks need fewer.
        times = [[row["step_ns"] for row in self.plan("--chunk", "2M,4M", "--budget", "0.5", "--transfer-us", us, self.trace)]
                 for us in ("0", "100")]
        self.assertGreater(times[1][0] - times[0][0], 1.5 * (times[1][1] - times[0][1]))

    def test_the_least_budget(self):
        answer = self.ask("--chunk", "2M", self.trace)
        least = answer["least"]
        self.assertLessEqual(least["step_ns"], 1.05 * least["resident_ns"])
        less, = self.plan("--budget", f"{least['budget_bytes'] // MIB - 8}M", self.trace)
        self.assertGreater(less["step_ns"], 1.05 * less["resident_ns"])
        self.assertIn(f"sluice run --budget {least['budget_bytes'] // MIB}M --chunk 2M\n",
                      sluice("plan", "--chunk", "2M", self.trace).stdout)
        only_table = self.ask("--chunk", "2M", "--no-least", self.trace)
        self.assertNotIn("least", only_table)
        self.assertEqual(only_table["predictions"], answer["predictions"])
        self.assertNotIn("sluice run", sluice("plan", "--chunk", "2M", "--no-least", self.trace).stdout)
        crawling = self.ask("--chunk", "2M", "--link-gbs", "0.01", self.trace)
        self.assertNotIn("least", crawling)

    def test_the_least_budget_is_a_matter_of_the_program_alone(self):
        least = self.ask("--chunk", "2M", self.trace)["least"]
        for options in (("--budget", "1G"), ("--budget", "12M"), ("--budget", "0.9,1"), ("--policy", "lru"),
                        ("--budget", "0.25", "--policy", "demand,plan")):
            with self.subTest(options):
                self.assertEqual(self.ask("--chunk", "2M", *options, self.trace)["least"], least)
        said = sluice("plan", "--chunk", "2M", "--budget", "1G", self.trace).stdout
        away = (least["need_bytes"] - least["budget_bytes"]) // MIB
        self.assertIn(f" {away} MiB are off the device at a time;", said)

    def test_a_program_smaller_than_any_budget(self):
        small = write_trace(self.folder / "small.slt", sweep(weights=2), per_block=100_000)
        said = sluice("plan", small).stdout
        self.assertIn("The program needs no more than 8 MiB, the smallest budget possible.\n", said)
        self.assertNotIn("least", self.ask("--budget", "1G", small))

    def test_profile(self):
        """What it says, a run does."""
        trace = record_gpt(self.folder, "--allocator", "malloc")
        if trace is None:
            self.skipTest("nothing is recorded under a sanitizer")
        tight = self.ask("--chunk", "2M", "--budget", "0.33", trace)["predictions"][0]
        self.assertGreater(tight["left_bytes"]["optimizer state"], 0)
        profile, stats = self.folder / "profile", self.folder / "stats.json"
        answer = self.ask("--chunk", "4M", "--profile", profile, trace)
        best = answer.get("least") or min(answer["predictions"], key=lambda row: row["step_ns"])
        run = [TOOL, "run", "--software", "--profile", profile, "--stats", stats, "--", os.environ["GPT"], "--data",
               SOURCE / "workloads/data/gpl-3.txt", "--steps", "4", "--allocator", "malloc"]
        for _ in range(2):  # the first writes what it learned into the profile
            result = subprocess.run(run, capture_output=True, text=True, env=clean_environment())
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            told = json.loads(stats.read_text())
            self.assertEqual((told["budget_bytes"], told["chunk_bytes"]), (best["budget_bytes"], 4 * MIB))
        # Another answer keeps what was learned, but not what was wanted before.
        size = profile.stat().st_size
        rules = "from:64M=pinned"
        self.ask("--chunk", "2M", "--backing", rules, "--profile", profile, trace)
        told = json.loads(sluice("profile", "--json", profile).stdout)
        self.assertEqual(told["wanted"]["backing"], rules)
        self.ask("--chunk", "2M", "--profile", profile, trace)
        self.assertNotIn(rules, sluice("profile", profile).stdout)
        self.assertGreater(profile.stat().st_size, size / 2)
        subprocess.run(run, check=True, capture_output=True, env=clean_environment())
        self.assertEqual(json.loads(stats.read_text())["chunk_bytes"], 2 * MIB)

    def test_profiles_that_cannot_be_written(self):
        result = sluice("plan", "--chunk", "2M", "--profile", self.folder / "new", self.trace)
        self.assertEqual(result.returncode, 1)
        self.assert_one_line(result.stderr, "does not identify its program")
        other = self.folder / "other"
        other.write_text("what somebody else wrote")
        result = sluice("plan", "--chunk", "2M", "--profile", other, self.trace)
        self.assertEqual(result.returncode, 1)
        self.assert_one_line(result.stderr, "cannot write the profile")
        self.assertEqual(other.read_text(), "what somebody else wrote")

    def test_text(self):
        result = sluice("plan", "--budget", "0.5,0.25", self.trace)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertRegex(result.stdout, r"the program needs .* of device memory; a step takes ")
        self.assertEqual(len([line for line in result.stdout.splitlines() if " plan " in line]), 2)

    def test_a_trace_without_times_is_told_of_first(self):
        """Otherwise guesses are read as predictions."""
        def text(timed):
            names = {f"kernel {slot}" for slot in range(WEIGHTS)}
            records = [("kernel", {"id": 2 + i}, name) for i, name in enumerate(sorted(names))]
            for name, fields, *text in sweep():
                slot = (fields.get("tick", 0) - 1) % (2 * WEIGHTS) % WEIGHTS
                if name == "launch" and slot >= timed:
                    fields = dict(fields, id=2 + slot)
                if name != "duration" or slot < timed:
                    records.append((name, fields, *text))
            return sluice("plan", "--no-least", "--budget", "0.5", "--chunk", "2M",
                          write_trace(self.folder / f"{timed}.slt", records, per_block=100_000)).stdout
        head = text(timed=2).split("\n\n")[0]
        self.assertRegex(head, r"(?m)^These step times may be off: \d\d % of the launches' time is guessed\.$")
        self.assertIn("--trace-sample 1", head)
        self.assertNotIn("guessed", text(timed=15).split("\n\n")[0])

    def test_submission_is_no_time_of_a_launch(self):
        """Otherwise launches on an idle stream seem to take 20 us longer than they do."""
        records = [(name, {**fields, "flags": 1, "a": 120_000} if name == "duration" and fields["tick"] % 3 else fields, *text)
                   for name, fields, *text in sweep()]
        row, = self.plan("--budget", "1", write_trace(self.folder / "idle.slt", records, per_block=100_000))
        self.assertEqual(row["resident_ns"], 2 * WEIGHTS * 100_000)

    def test_launches_that_were_never_timed(self):
        """take as long as the shortest, and for their bytes as long as the others beyond that: half of the weights are of 1 MiB and take
        50 us, others of 4 MiB take 100, which makes 300 us for 32 MiB; and two of 4 MiB have no time."""
        small, never, records = range(8), (14, 15), []
        for name, fields, *text in sweep():
            slot = (fields.get("tick", 0) - 1) % (2 * WEIGHTS)
            slot = min(slot, 2 * WEIGHTS - 1 - slot)
            if name == "launch" and slot in never:
                fields = {**fields, "id": 2}
            if name == "access" and slot in small:
                fields = {**fields, "b": MIB}
            if name == "duration" and slot in small:
                fields = {**fields, "a": 50_000}
            if name != "duration" or slot not in never:
                records.append((name, fields, *text))
        records.insert(0, ("kernel", {"id": 2}, "never timed"))
        told = self.ask("--budget", "1", "--chunk", "2M", write_trace(self.folder / "never.slt", records, per_block=100_000))
        self.assertEqual(told["guessed"], STEPS * 4)
        self.assertEqual(told["predictions"][0]["resident_ns"], 2 * (8 * 50_000 + 6 * 100_000 + 2 * 87_500))

    def test_wrong_arguments(self):
        for option, value in (("--budget", "0"), ("--budget", "2.5"), ("--budget", "1M"), ("--budget", ","),
                              ("--chunk", "3M"), ("--chunk", "1M"), ("--policy", "best"), ("--policy", "off"),
                              ("--link-gbs", "0"), ("--link-gbs", "fast"), ("--link-in-gbs", "0"), ("--link-in-gbs", "-5"), ("--link-out-gbs", "1e9"),
                              ("--link-out-gbs", "fast"), ("--driver", "581"), ("--workers", "2"), ("--both", "0"), ("--both", "101"), ("--transfer-us", "9999999"),
                              ("--iterations", "0"), ("--iterations", "25"), ("--backing", "site:7=moved"),
                              ("--budget", ",".join(["8M"] * 17))):
            self.assert_usage_error(sluice("plan", option, value, self.trace), option)
        for workers in ("0", str(os.cpu_count() + 1), "-1"):
            self.assert_usage_error(sluice("plan", "--driver", "580", "--workers", workers, self.trace), "--workers")
        self.assert_usage_error(sluice("plan"), "no file")

    def test_lost_records_are_told(self):
        records = sweep()
        self.assertNotIn("lost", sluice("plan", self.trace).stdout)
        records.insert(100, ("gap", {"tick": 20, "time": 5000, "a": 7}))
        told = sluice("plan", write_trace(self.folder / "gap.slt", records, per_block=100_000))
        self.assertEqual((told.returncode, told.stderr), (0, ""))
        self.assertIn("7 records of this part are lost", told.stdout)

    def test_nothing_to_plan(self):
        empty = os.path.join(self.folder, "empty.slt")
        open(empty, "w").close()
        result = sluice("plan", empty)
        self.assertEqual(result.returncode, 1)
        self.assert_one_line(result.stderr, empty)


if __name__ == "__main__":
    unittest.main()
