"""sluice profile: what a run of workloads/gpt left for the next one."""
import json
import os
import subprocess
import unittest

from support import SOURCE, TOOL, ToolTest, clean_environment, sluice


class Profile(ToolTest):
    def learn(self):
        path = self.folder / "profile"
        subprocess.run([TOOL, "run", "--software", "--budget", "16M", "--chunk", "2M", "--profile", path, "--",
                        os.environ["GPT"], "--data", SOURCE / "workloads/data/gpl-3.txt", "--steps", "4"], check=True,
                       stdout=subprocess.DEVNULL, env=clean_environment())
        return path

    @unittest.skipIf(os.environ.get("SANITIZED"), "a sanitized library needs its runtime preloaded before it")
    def test_what_gpt_left(self):
        path = self.learn()
        text = sluice("profile", path)
        self.assertEqual((text.returncode, text.stderr), (0, ""))
        rows = {line[:20].strip(): line[21:] for line in text.stdout.splitlines()}
        self.assertEqual(rows["program"], "gpt")
        self.assertIn("--steps 4", rows["command"])
        self.assertEqual(rows["learned with budget"], "16 MiB")
        self.assertIn("from the environment", rows["wanted budget"])
        told = json.loads(sluice("profile", "--json", path).stdout)
        self.assertEqual(told["program"], "gpt")
        self.assertEqual(told["events"], told["launches"] + told["allocations"] + told["frees"])
        self.assertIn(f"{told['events']} events", rows["predicted"])
        self.assertEqual((told["budget_bytes"], told["chunk_bytes"]), (16 << 20, 2 << 20))
        self.assertEqual(told["wanted"], {"budget_bytes": 0, "chunk_bytes": 0, "backing": ""})
        self.assertGreater(told["period"], 50)
        self.assertGreater(told["timed"], 0)
        self.assertGreater(told["slots"], told["short_lived"])
        self.assertGreater(told["short_lived"], 0)
        self.assertEqual(told["code"][0]["name"], "gpt")
        notes = subprocess.run(["readelf", "-nW", os.environ["GPT"]], capture_output=True, text=True, check=True).stdout
        self.assertIn(told["code"][0]["build_id"], notes)

    def test_what_is_no_profile(self):
        result = sluice("profile", self.folder / "none")
        self.assertEqual(result.returncode, 1)
        self.assert_one_line(result.stderr, "No such file")
        other = self.folder / "other"
        for content, word in ((b"a letter", "format"), (b"SLPROF\r\n", "early"), (b"SLPROF\r\n\x07" + bytes(40), "newer")):
            other.write_bytes(content)
            result = sluice("profile", other)
            self.assertEqual((result.returncode, result.stdout), (1, ""))
            self.assert_one_line(result.stderr, word)
        self.assert_usage_error(sluice("profile"), "no file")


if __name__ == "__main__":
    unittest.main()
