"""scripts/release: what it refuses, and what it makes, in a small repository with a wheel that was built before."""
import os
import re
import shutil
import subprocess
import tarfile
import unittest

from support import SOURCE, ToolTest

NEWS = "sluice NEWS\n\n0.1.0 (2026-12-31)\n  The first.\n"
WHEEL = "sluice_cuda-0.1.0-py3-none-manylinux_2_34_x86_64.whl"


@unittest.skipUnless(shutil.which("git"), "git is not installed")
class Release(ToolTest):
    def setUp(self):
        super().setUp()
        self.tree = self.folder / "tree"
        (self.tree / "scripts").mkdir(parents=True)
        shutil.copy(SOURCE / "scripts/release", self.tree / "scripts/release")
        (self.tree / "meson.build").write_text(re.sub(r"(?m)^  version: '[\d.]+',$", "  version: '0.1.0',", (SOURCE / "meson.build").read_text()))
        (self.tree / "NEWS").write_text(NEWS)
        (self.tree / ".gitignore").write_text("build/\n")
        self.git("init", "-q")
        self.commit()

    def git(self, *command):
        identity = {f"GIT_{who}_{what}": f"{what}@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        environment = {**os.environ, **identity, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
        return subprocess.run(["git", *command], cwd=self.tree, env=environment, capture_output=True, text=True, check=True).stdout.strip()

    def commit(self):
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "State")

    def release(self, *arguments, wheel=WHEEL):
        (self.folder / wheel).write_text("a wheel")
        environment = {**os.environ, "GIT_COMMITTER_NAME": "name", "GIT_COMMITTER_EMAIL": "name@example.org", "GIT_CONFIG_GLOBAL": "/dev/null"}
        return subprocess.run([self.tree / "scripts/release", "--wheel", self.folder / wheel, *(arguments or ("0.1.0", "https://host.example/sluice"))],
                              env=environment, capture_output=True, text=True)

    def assert_refused(self, result, words):
        self.assertEqual(result.returncode, 1)
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        self.assertIn(words, result.stderr)
        self.assertEqual(self.git("tag"), "")

    def test_what_it_makes(self):
        result = self.release()
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        files = self.tree / "build/release/files"
        self.assertEqual({path.name for path in files.iterdir()}, {WHEEL, "sluice-0.1.0.tar.gz", "SHA256SUMS"})
        checked = subprocess.run(["sha256sum", "-c", "--strict", "SHA256SUMS"], cwd=files, capture_output=True, text=True)
        self.assertEqual((checked.returncode, checked.stdout.count(": OK\n")), (0, 2))
        with tarfile.open(files / "sluice-0.1.0.tar.gz") as archive:
            self.assertEqual({name for name in archive.getnames() if archive.getmember(name).isfile()},
                             {f"sluice-0.1.0/{name}" for name in self.git("ls-files").splitlines()})
        self.assertEqual(self.git("rev-parse", "v0.1.0^{commit}"), self.git("rev-parse", "HEAD"))
        self.assertEqual(self.git("cat-file", "-t", "v0.1.0"), "tag")
        self.assertEqual(self.release().returncode, 1)  # the tag is there

    def test_another_version(self):
        self.assert_refused(self.release("0.2.0", "https://host.example/sluice"), "meson.build has version 0.1.0, not 0.2.0")
        self.assert_refused(self.release("0.1.0", "host.example/sluice"), "https://")

    def test_news_without_a_date(self):
        (self.tree / "NEWS").write_text(NEWS.replace("2026-12-31", "unreleased"))
        self.commit()
        self.assert_refused(self.release(), "NEWS has no entry")

    def test_changes_that_are_not_committed(self):
        (self.tree / "more").touch()
        self.assert_refused(self.release(), "not committed")

    def test_wheels_of_others(self):
        self.assert_refused(self.release(wheel=WHEEL.replace("2_34", "2_36")), "needs glibc 2.36")
        self.assert_refused(self.release(wheel=WHEEL.replace("2_34", "2_100")), "needs glibc 2.100")
        self.assert_refused(self.release(wheel=WHEEL.replace("0.1.0", "0.1.1")), "is not a wheel of 0.1.0")
        self.assertEqual(self.release(wheel=WHEEL.replace("2_34", "2_35")).returncode, 0)

    def test_usage(self):
        result = self.release("0.1.0")
        self.assertEqual((result.returncode, result.stderr), (2, "usage: scripts/release [--wheel FILE] VERSION URL\n"))


if __name__ == "__main__":
    unittest.main()
