"""sluice kernel install: the kernel.json that it writes and where, and what it refuses. tests/python/kernel.py starts such kernels."""
import json
import os
import stat
import sys
import unittest

from support import TOOL, ToolTest, clean_environment, sluice


class Kernel(ToolTest):
    def setUp(self):
        super().setUp()
        (self.folder / "packages").mkdir()
        (self.folder / "packages/ipykernel_launcher.py").write_text("")

    def install(self, *arguments, packages="packages", **more):
        removed = {name: None for name in ("JUPYTER_DATA_DIR", "XDG_DATA_HOME")}
        env = {**clean_environment(HOME=str(self.folder), PYTHONPATH=str(self.folder / packages)), **removed, **more}
        return sluice("kernel", "install", *arguments, env={name: value for name, value in env.items() if value is not None})

    def installed(self, *arguments, at=".local/share/jupyter/kernels/sluice", **more):
        """The kernel.json, which is the only file in its folder."""
        result = self.install(*arguments, **more)
        path = self.folder / at / "kernel.json"
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, f"{path}\n", ""))
        self.assertEqual(os.listdir(path.parent), ["kernel.json"])
        self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o644)
        return json.loads(path.read_text())

    def test_what_is_in_it(self):
        self.assertEqual(self.installed("--budget", "8G", "--python", sys.executable), {
            "metadata": {"made_by": "sluice kernel install", "debugger": True}, "display_name": "Python 3 (sluice, 8G)",
            "language": "python",
            "argv": [os.path.realpath(TOOL), "run", "--budget", "8G", "--", sys.executable, "-m", "ipykernel_launcher", "-f",
                     "{connection_file}"]})
        again = self.installed("--software")
        self.assertEqual(again["argv"][1:4], ["run", "--software", "--"])
        self.assertEqual(again["display_name"], "Python 3 (sluice, software device)")
        self.assertTrue(os.path.isabs(again["argv"][4]) and os.access(again["argv"][4], os.X_OK))
        self.assertEqual(self.installed("--display-name", 'my "own" π')["display_name"], 'my "own" π')

    def test_where_it_goes(self):
        own = str(self.folder / "own")
        self.installed("--name", "small-1", at=".local/share/jupyter/kernels/small-1")
        self.installed("--name", "small-1", at="own/jupyter/kernels/small-1", XDG_DATA_HOME=own)
        self.installed(at="own/data/kernels/sluice", XDG_DATA_HOME=own, JUPYTER_DATA_DIR=f"{own}/data")
        self.installed("--prefix", own, at="own/share/jupyter/kernels/sluice", JUPYTER_DATA_DIR=f"{own}/data")

    def test_words_that_are_wrong(self):
        self.assert_usage_error(self.install("--budget", "much"), "--budget much is not allowed")
        self.assert_usage_error(self.install("--name", "../other"), "--name ../other: Jupyter allows")
        self.assert_usage_error(self.install("--name", ""), "--name needs a value")
        self.assert_usage_error(sluice("kernel"), "no command given")
        self.assert_usage_error(sluice("kernel", "instal"), "did you mean install?")
        self.assertEqual(sorted(os.listdir(self.folder)), ["packages"])

    def assert_refused(self, result, *words):
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assert_one_line(result.stderr, *words)

    def test_a_python_that_cannot_be_one(self):
        (self.folder / "none").mkdir()
        (self.folder / "none/ipykernel_launcher.py").write_text("raise ImportError\n")
        self.assert_refused(self.install(packages="none"), "has no kernel for Jupyter", "-m pip install ipykernel")
        self.assert_refused(self.install("--python", "/no/such/python"), "cannot run /no/such/python")
        self.assert_refused(self.install("--python", "true"), "cannot run true")
        self.assertFalse((self.folder / ".local").exists())

    def test_files_that_are_in_the_way(self):
        folder = self.folder / ".local/share/jupyter/kernels/sluice"
        folder.mkdir(parents=True)
        (folder / "kernel.json").write_text('{"argv": ["another"]}\n')
        self.assert_refused(self.install(), "not a kernel that sluice registered")
        self.assertEqual((folder / "kernel.json").read_text(), '{"argv": ["another"]}\n')
        self.assertEqual(self.installed("--force")["language"], "python")
        (self.folder / "file").write_text("")
        self.assert_refused(self.install("--prefix", self.folder / "file"), "cannot make", "Not a directory")
        self.assert_refused(self.install(HOME=None), "HOME is not set")


if __name__ == "__main__":
    unittest.main()
