"""sluice demo: what it shows of the four trainings, and what it says if one does not end as it should."""
import importlib.util
import os
import re
import shutil
import subprocess
import unittest

from support import SOURCE, ToolTest, clean_environment, sluice

# In the place of gpt: ends as gpt does in each of the four cases, by the environment that the demo gives it.
STAND_IN = """#!/bin/sh
case $SOFTCUDA_MEMORY,$SLUICE_POLICY,$* in
1024M,*) loss=0x1p+0 time=%(room)s ;;
*managed) loss=%(unified)s time=50 ;;
*,off,*) %(small)s ;;
*,,*) loss=%(sluice)s time=20 ;;
*) echo "gpt: the policy of the user" >&2; exit 9 ;;
esac
for step in 1 2 3 4; do echo "step $step loss 1.000000 $loss time_ms $time"; done
echo "peak_bytes 225443840"
echo "weights_hash ${weights:-0123456789abcdef}"
"""
ENDS = {"room": "2", "small": "echo 'gpt: out of device memory: needed 8 bytes' >&2; exit 3", "sluice": "0x1p+0", "unified": "0x1p+0"}


class Demo(ToolTest):
    def demo(self, *arguments, **ends):
        tool = self.install()
        folder = self.folder / "lib/sluice/demo"
        folder.mkdir()
        (folder / "gpt").write_text(STAND_IN % {**ENDS, **ends})
        (folder / "gpt").chmod(0o755)
        return sluice("demo", "--steps", "4", *arguments, tool=tool, env=clean_environment(SLUICE_POLICY="lru", SOFTCUDA_MEMORY="1"))

    def test_it_shows_all_four(self):
        result = self.demo()
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        rows = [re.split(r"  +", line.strip())[:-1] for line in result.stdout.splitlines() if re.match(r" *[\d.]+ MiB ", line)]
        self.assertEqual(rows, [["215 MiB", "2.00 ms"], ["70 MiB", "-", "out of memory"], ["70 MiB", "under sluice", "20.0 ms", "the same bits"],
                                ["70 MiB", "unified memory", "50.0 ms", "the same bits"]])
        self.assertIn("   gpt: out of device memory: needed 8 bytes\n", result.stdout)

    def test_a_run_with_other_bits(self):
        for case, bits in ("sluice", "0x1.8p+0"), ("unified", "0x1.8p+0"), ("sluice", "0x1p+0 weights=1"):
            with self.subTest(case):
                result = self.demo(**{case: bits})
                self.assertEqual(result.stdout.count("OTHER BITS"), 1)
                self.assertEqual(result.stdout.count("the same bits"), 1)
                self.assertEqual((result.returncode, result.stderr), (1, "sluice: the results differ\n"))

    def test_a_run_that_ends_otherwise(self):
        for case, end in (("room", "1; exit 3"), ("small", "loss=0x1p+0 time=1"), ("small", "exit 9"), ("sluice", "0; exit 3"), ("unified", "0; kill -9 $$")):
            with self.subTest(case):
                result = self.demo(**{case: end})
                self.assertEqual(result.returncode, 1)
                self.assert_one_line(result.stderr, "the training failed" if case == "room" else "did not end as it should")

    def test_what_cannot_be(self):
        self.assert_one_line(sluice("demo", tool=self.install()).stderr, "the demo's training program is not installed")
        for steps in "1", "1001":
            self.assert_usage_error(sluice("demo", "--steps", steps), f"--steps {steps}: from 2 to 1000")

    def install(self):
        for name in "bin", "lib":
            shutil.rmtree(self.folder / name, ignore_errors=True)
        return super().install()


@unittest.skipIf(os.environ.get("SANITIZED"), "a sanitized library needs its runtime preloaded before it")
class Training(ToolTest):
    def test_the_real_one(self):
        result = sluice("demo", "--steps", "2", env=clean_environment(SLUICE_POLICY="off"), timeout=300)
        self.assertEqual((result.returncode, result.stderr), (0, ""), result.stdout)
        self.assertEqual(result.stdout.count("the same bits"), 2)
        self.assertEqual(result.stdout.count("out of memory"), 1)

        # Its model is that of demo.sh and of the figures in README.md; each run can be repeated by what is shown.
        spec = importlib.util.spec_from_file_location("demo", SOURCE / "scripts/demo.py")
        script = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(script)
        self.assertIn(" ".join(script.SOFTWARE_MODEL), result.stdout)
        shown = re.findall(r"(?m)^   (export .*|gpt=.*|SOFTCUDA_MEMORY=.*)$", result.stdout)
        self.assertEqual(len(shown), 6)
        (self.folder / "sluice").symlink_to(os.environ["SLUICE_TOOL"])
        environment = clean_environment(PATH=f"{self.folder}:{os.environ['PATH']}")
        again = subprocess.run(["bash", "-c", "\n".join(shown[:2] + shown[3:4])], capture_output=True, text=True, env=environment)
        self.assertEqual(again.returncode, 3)
        self.assertIn("gpt: out of device memory", again.stderr)


if __name__ == "__main__":
    unittest.main()
