"""sluice trace info, trace phases and trace timeline: an invented training run gives the golden texts, in every width and in plain ASCII;
marks stand above what is found; wrong arguments are told."""
import json
import os
import subprocess
import unittest

from support import GOLDEN, ToolTest, clean_environment, sluice

UNICODE = clean_environment(LC_ALL="C.UTF-8")
PLAIN = clean_environment(LC_ALL="C")
STEPS, MICRO, LAYERS, CHUNK = 4, 2, 6, 4 << 20


class Training(ToolTest):
    def setUp(self):
        super().setUp()
        self.trace = self.write()

    def write(self, *arguments):
        path = self.folder / ("training" + "".join(arguments) + ".slt")
        subprocess.run([os.environ["WRITE_TRAINING"], path, *arguments], check=True)
        return path

    def run_well(self, *arguments, env=UNICODE):
        result = sluice("trace", *arguments, self.trace, env=env)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return result.stdout

    def json(self, *arguments):
        return json.loads(self.run_well(*arguments, "--json"))

    def test_golden_texts(self):
        for name, env, arguments in (("info", UNICODE, ["info"]),
                                     ("phases", UNICODE, ["phases"]),
                                     ("phases.2", UNICODE, ["phases", "--iteration", "2"]),
                                     ("timeline.80", UNICODE, ["timeline", "--width", "80"]),
                                     ("timeline.120", UNICODE, ["timeline", "--width", "120", "--iteration", "1"]),
                                     ("timeline.40.plain", PLAIN, ["timeline", "--width", "40"])):
            text = self.run_well(*arguments, env=env)
            golden = GOLDEN / f"training.{name}.txt"
            if os.environ.get("REWRITE_GOLDEN"):
                golden.write_text(text)
            self.assertEqual(text, golden.read_text(), name)

    def test_a_trace_says_how_many_launches_were_timed(self):
        """Timing all launches makes steps of short launches up to twice as long, so it must not be taken for the program's time."""
        info = self.run_well("info")
        self.assertRegex(info, r"timed on the device  135 of 151 launches; this delays short launches, and --trace-sample 16 is enough")
        self.assertEqual(self.json("info")["timed_launches"], 135)
        self.assertNotIn("timed on the device", sluice("trace", "info", GOLDEN / "v2.slt").stdout)

    def test_the_sizes_of_allocations(self):
        sizes = self.json("info")["allocation_bytes"]
        self.assertEqual((sizes["count"], sizes["least"], sizes["median"], sizes["most"]), (self.json("info")["allocations"]["count"], 4096, CHUNK, CHUNK))

    def test_every_width_is_kept(self):
        for width in (24, 25, 47, 48, 49, 80, 81, 200, 333):
            for env in (UNICODE, PLAIN):
                lines = self.run_well("timeline", "--width", str(width), env=env).splitlines()
                drawn = [line for line in lines if "│" in line or "|" in line]
                self.assertGreater(len(drawn), 8)
                for line in drawn:
                    self.assertEqual(len(line), width, line)

    def test_columns_say_the_width(self):
        env = dict(UNICODE, COLUMNS="64")
        self.assertEqual(len(self.run_well("timeline", env=env).splitlines()[1]), 64)

    def test_phases_of_every_launch(self):
        launches = self.json("phases", "--launches")["launches"]
        wanted = {"embed(int const*)": "forward", "layer": "forward", "loss": "forward", "layer_back": "backward",
                  "embed_back": "backward", "adam": "update"}
        passes = [i for i, launch in enumerate(launches) if launch["name"] == "embed(int const*)"]
        evaluation = range(passes[STEPS], passes[STEPS] + LAYERS + 1)  # behind two steps of two micro-batches
        for i, launch in enumerate(launches):
            if launch["name"] in wanted:
                self.assertEqual(launch["phase"], "evaluation" if i in evaluation else wanted[launch["name"]], i)

    def test_totals(self):
        report = self.json("phases")
        self.assertEqual(report["iterations"], STEPS)
        phases = {row["phase"]: row for row in report["phases"]}
        self.assertEqual(phases["update"]["in"]["demand"], STEPS * CHUNK)
        self.assertEqual(phases["update"]["in"]["plan"], STEPS * (LAYERS - 1) * CHUNK)
        self.assertEqual(phases["all"]["out"]["moved"], STEPS * LAYERS * CHUNK)
        self.assertEqual(phases["all"]["in"]["program"], LAYERS * CHUNK + (STEPS * MICRO + 1) * 4096)
        self.assertEqual(phases["all"]["stalls"], STEPS)
        # A chunk in 0.1 ms is just what the link can do.
        self.assertEqual(phases["all"]["in"]["bytes_per_second"], report["link_in"])

    def test_classes_of_memory(self):
        """Each class is exactly what the program keeps for it, when all of it is there."""
        memory = self.json("timeline", "--width", "120")["memory"]
        self.assertEqual(max(memory["parameters"]), LAYERS * CHUNK)
        self.assertEqual(max(memory["gradients"]), LAYERS * CHUNK)
        self.assertEqual(max(memory["activations"]), LAYERS * CHUNK)
        self.assertEqual(max(memory["optimizer state"]), CHUNK)
        self.assertEqual(max(memory["workspaces"]), CHUNK)
        self.assertEqual(max(memory["unknown"]), 0)

    def test_timeline_adds_up(self):
        for iteration in range(1, STEPS + 1):
            for width in ("24", "77", "500"):
                report = self.json("timeline", "--width", width, "--iteration", str(iteration))
                self.assertEqual(sum(report["in"]["plan"]), (LAYERS - 1) * CHUNK)
                self.assertEqual(sum(report["in"]["demand"]), CHUNK)
                # The last eviction of a step is on the link when what follows has begun: a step, or the evaluation.
                self.assertEqual(sum(report["out"]["plan"]), (LAYERS - iteration % 2) * CHUNK)
                self.assertEqual(sum(report["stall_ns"]), 50000)

    def test_info(self):
        info = self.json("info")
        self.assertEqual((info["steps"], info["evaluations"], info["step_launches"]), (STEPS, 1, 34))
        self.assertEqual(info["iterations"], STEPS, "as the text says")
        peak = info["peak_by_class"]
        # Weights, gradients, moments, all activations of a pass, and the gradient of one.
        self.assertEqual([peak[name] // CHUNK for name in ("parameters", "gradients", "optimizer state", "activations",
                                                           "workspaces")], [LAYERS, LAYERS, LAYERS, LAYERS, 1])
        self.assertEqual(info["peak_bytes"], (4 * LAYERS + 1) * CHUNK + 4096)
        self.assertEqual(info["did_not_fit"], {"count": 1, "largest_bytes": 3 << 30})
        self.assertEqual(info["prediction"]["predicted"], 290)
        self.assertEqual(info["step_ns"]["count"], STEPS)
        self.assertEqual(info["step_ns"]["median"], 3220000)
        self.assertEqual(info["movements"]["fetch"]["demand"], {"count": STEPS, "bytes": STEPS * CHUNK})
        self.assertEqual(info["metadata"]["device"], "Invented 1")

    def test_marks_stand_above(self):
        self.trace = self.write("marks")
        report = self.json("phases", "--launches")
        self.assertTrue(report["marked"])
        self.assertEqual({l["phase"] for l in report["launches"] if l["name"].endswith("_back")}, {"update"})

    def test_a_trace_without_training(self):
        self.trace = GOLDEN / "v2.slt"
        self.assertIn("No phases were found", self.run_well("phases"))
        self.assertIn("No iterations were found", self.run_well("timeline"))
        self.assertEqual(self.json("phases")["found"], False)

    def test_wrong_arguments(self):
        for command in ("phases", "timeline"):
            self.assert_usage_error(sluice("trace", command), "no file")
            self.assert_usage_error(sluice("trace", command, "--iteration", "9", self.trace), "no iteration 9", "has 4")
            self.assert_usage_error(sluice("trace", command, "--iteration", "0", self.trace), "count from 1")
            self.assert_usage_error(sluice("trace", command, "--iteration", "x", self.trace), "--iteration")
            self.assertIn("Usage: sluice trace " + command, sluice("trace", command, "--help").stdout)
            self.assertEqual(sluice("trace", command, "/no/such/file").returncode, 1)
        for width in ("0", "23", "10001", "-1", "wide"):
            self.assert_usage_error(sluice("trace", "timeline", "--width", width, self.trace), "--width")


if __name__ == "__main__":
    unittest.main()
