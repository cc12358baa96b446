"""sluice plan takes whole training steps for steps, also in short traces, and says where it cannot tell."""
import json
import os
import subprocess
import unittest

from support import ToolTest, record_gpt, sluice, write_trace


LAYERS, MIB, LAUNCH_NS = 30, 1 << 20, 100_000
STEP_NS = 2 * LAYERS * LAUNCH_NS
FEW, UNLIKE = "Too few steps were replayed to tell: ", "What was replayed may be parts of training steps"


class Program:
    """The trace of a program with a launch of 0.1 ms for each use of a layer's weight of 4 MiB."""

    def __init__(self):
        self.records, self.tick, self.now, self.iterations, self.begun = [("kernel", {"id": 1}, "layer")], 0, 1000, 0, 0

    def allocate(self, slot):
        self.now += 1000
        self.records.append(("alloc", {"id": slot, "tick": self.tick, "time": self.now, "a": 0x7f0000000000 + slot * 4 * MIB, "b": 4 * MIB, "c": 7 + slot}))

    def use(self, slot):
        self.tick, self.now = self.tick + 1, self.now + LAUNCH_NS
        common = {"tick": self.tick, "time": self.now}
        self.records += [("launch", {"id": 1, "b": 1024, **common}), ("access", {"id": slot, "b": 4 * MIB, **common}),
                         ("duration", {"id": 1, "a": LAUNCH_NS, **common})]

    def repeats(self):
        """sluice saw an iteration end."""
        self.iterations += 1
        self.records.append(("iteration", {"id": self.iterations, "tick": self.tick, "time": self.now, "a": self.tick - self.begun}))
        self.begun = self.tick

    def initialise(self):
        """Layer by layer, which repeats itself and leaves a weight behind each time."""
        for slot in range(LAYERS):
            self.allocate(slot)
            for _ in range(4):
                self.use(slot)
            self.repeats()

    def train(self, steps):
        for _ in range(steps):
            for slot in [*range(LAYERS), *reversed(range(LAYERS))]:
                self.use(slot)
            self.repeats()
        self.use(0)  # behind the last step, so that it has an end


class PlanSteps(ToolTest):
    def plan(self, trace, *arguments):
        result = sluice("plan", "--json", "--chunk", "2M", "--no-least", *arguments, trace)
        self.assertEqual((result.returncode, result.stderr), (0, ""), result)
        return json.loads(result.stdout)

    def write(self, program):
        return write_trace(self.folder / "program.slt", program.records, per_block=100_000)

    def trained(self, steps):
        program = Program()
        program.initialise()
        program.train(steps)
        return self.write(program)

    def test_layers_are_no_steps(self):
        """Neither where training follows that is long enough, nor where it is short."""
        for steps in (2, 3, 8):
            with self.subTest(steps):
                told = self.plan(self.trained(steps), "--budget", "1")
                row, = told["predictions"]
                self.assertEqual((row["step_ns"], row["launches"]), (STEP_NS, 2 * LAYERS))
                self.assertEqual(row["iterations"], steps)

    def test_too_few_steps_are_told(self):
        for steps, few in ((1, True), (3, True), (4, False), (8, False)):
            with self.subTest(steps):
                trace = self.trained(steps)
                doubt = self.plan(trace, "--budget", "0.5")["doubt"]
                head = sluice("plan", "--chunk", "2M", "--no-least", trace).stdout.split("\n\n")[0]
                self.assertEqual(doubt is not None, few)
                self.assertEqual(head.count("\n"), int(few))
                if few:
                    self.assertTrue(doubt.startswith(UNLIKE if steps == 1 else FEW), doubt)
                    self.assertIn(doubt, head)

    def test_what_is_learned_first_does_not_count(self):
        """The last of four steps is taken, not one of those in which the core learns them."""
        program = Program()
        for slot in range(LAYERS):
            program.allocate(slot)
        program.train(5)
        row, = self.plan(self.write(program), "--budget", "0.5")["predictions"]
        times = [one["step_ns"] for one in row["each"]]
        self.assertEqual(len(times), 4)
        self.assertGreater(times[0], times[-1])
        self.assertEqual(row["step_ns"], times[-1])

    def test_repetitions_that_leave_memory_behind_are_doubted(self):
        """As the layers of a pass do, which never ends in this trace."""
        program = Program()
        program.initialise()
        for slot in range(LAYERS, LAYERS + 8):
            program.allocate(slot)
            for used in [*range(LAYERS), slot]:
                program.use(used)
            program.repeats()
        for slot in (LAYERS + 8, LAYERS + 9):
            program.allocate(slot)
            program.use(slot)
        self.assertTrue(self.plan(self.write(program))["doubt"].startswith(UNLIKE))

    def test_without_steps_all_repetitions_are_taken(self):
        """As of a trace that ends while the model is initialised."""
        program = Program()
        program.initialise()
        told = self.plan(self.write(program), "--budget", "1")
        self.assertEqual(told["predictions"][0]["iterations"], 24)
        self.assertTrue(told["doubt"].startswith(UNLIKE))

    def test_what_repeats_itself_behind_training_is_no_step(self):
        """As when the weights are saved, one after the other."""
        program = Program()
        program.initialise()
        program.train(6)
        for _ in range(8):
            for slot in range(4):
                program.use(slot)
            program.repeats()
        told = self.plan(self.write(program), "--budget", "1")
        row, = told["predictions"]
        self.assertEqual((row["step_ns"], row["launches"], told["doubt"]), (STEP_NS, 2 * LAYERS, None))

    def test_micro_batches_are_no_steps(self):
        """In a trace of two steps, of four micro-batches each, what sluice saw repeat itself first is these."""
        rows = []
        for steps in ("2", "6"):
            trace = record_gpt(self.folder, "--accumulate", "4", "--context", "16", "--batch", "1", "--steps", steps, name=f"{steps}.slt")
            if trace is None:
                self.skipTest("nothing is recorded under a sanitizer")
            told = self.plan(trace, "--budget", "1")
            self.assertTrue(told["steps"])
            self.assertEqual(bool(told["doubt"]), steps == "2")
            rows.append(told["predictions"][0])
        # What comes between two steps may be missing behind the last.
        self.assertGreater(rows[0]["launches"], 0.75 * rows[1]["launches"])


if __name__ == "__main__":
    unittest.main()
