"""What `meson install` puts below a folder works there, and `ninja uninstall` leaves nothing of it."""
import os
import pathlib
import subprocess
import unittest

from support import ToolTest, sluice

BUILD = pathlib.Path(os.environ["BUILD"])


class Install(ToolTest):
    def setUp(self):
        """Keeps what `ninja uninstall` knows of a real installation."""
        super().setUp()
        log = BUILD / "meson-logs/install-log.txt"
        before = log.read_bytes() if log.exists() else None
        self.addCleanup(lambda: log.write_bytes(before) if before is not None else log.unlink(missing_ok=True))

    def test_install_and_uninstall(self):
        target = self.folder / "target"
        subprocess.run(["meson", "install", "-C", BUILD, "--no-rebuild", "--destdir", target], check=True, capture_output=True)
        files = {path.relative_to(target) for path in target.rglob("*") if not path.is_dir()}
        tool, = (target / path for path in files if path.match("bin/sluice"))
        library = sluice("path", tool=tool).stdout.strip()
        self.assertTrue(library.startswith(str(target.resolve())) and library.endswith("/libsluice.so"), library)
        self.assertTrue((pathlib.Path(library).parent / "libsluice-record.so").exists())
        self.assertTrue((pathlib.Path(sluice("path", "--softcuda", tool=tool).stdout.strip()) / "libcuda.so.1").exists())
        if not os.environ.get("SANITIZED"):
            self.assertEqual(sluice("doctor", "--software", tool=tool).returncode, 0)
        for name in ("man1/sluice.1", "man5/sluice-trace.5", "bash-completion/completions/sluice", "zsh/site-functions/_sluice",
                     "fish/vendor_completions.d/sluice.fish"):
            self.assertTrue(any(path.match(f"share/{name}") or path.match(f"share/man/{name}") for path in files), name)
        # Not by way of ninja, which would first build again what is out of date; it runs the same.
        subprocess.run(["meson", "--internal", "uninstall"], cwd=BUILD, check=True, capture_output=True)
        self.assertEqual(list(target.rglob("*")) if target.exists() else [], [])


if __name__ == "__main__":
    unittest.main()
