"""sluice doctor: says what is missing and exits with 1; with the software device of this build all is well."""
import os
import unittest

from support import ToolTest, clean_environment, sluice


class Doctor(ToolTest):
    @unittest.skipIf(os.environ.get("SANITIZED"), "a sanitized library needs its runtime preloaded before it")
    def test_the_software_device(self):
        result = sluice("doctor", "--software")
        self.assertEqual(result.returncode, 0, result.stdout)
        for subject in ("driver", "kernel arguments", "device 0", "unified memory 0", "host memory", "library"):
            self.assertRegex(result.stdout, rf"(?m)^ok +{subject} ")
        self.assertTrue(result.stdout.endswith("\nsluice works here\n"))

    def test_a_driver_that_is_none(self):
        tool = self.install()  # its libcuda.so.1 is some other library
        for arguments, env in ((["--software"], None),
                               ([], clean_environment(LD_LIBRARY_PATH=str(self.folder / "lib/sluice/softcuda")))):
            result = sluice("doctor", *arguments, tool=tool, env=env)
            self.assertEqual(result.returncode, 1)
            self.assertRegex(result.stdout, r"(?m)^NO +driver .* has no cuInit$")
            self.assertRegex(result.stdout, r"(?m)^ok +library ")
            self.assertRegex(result.stdout, r"(?m)^sluice does not work here: .* has no cuInit$")

    def test_a_driver_that_cannot_be_loaded(self):
        tool = self.install()
        (self.folder / "lib/sluice/softcuda/libcuda.so.1").write_text("not an object")
        result = sluice("doctor", "--software", tool=tool)
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stdout, r"(?m)^NO +driver +no CUDA driver: .*/libcuda.so.1: ")

    def test_a_library_that_cannot_be_preloaded(self):
        tool = self.install()
        (self.folder / "lib/libsluice.so").write_text("not an object")
        result = sluice("doctor", "--software", tool=tool)
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stdout, r"(?m)^NO +library .* cannot be preloaded")
        os.unlink(self.folder / "lib/libsluice.so")
        self.assertRegex(sluice("doctor", "--software", tool=tool).stdout, r"(?m)^NO +library ")

    def test_wrong_arguments(self):
        self.assert_usage_error(sluice("doctor", "--sofware"), "--software")
        self.assert_usage_error(sluice("doctor", "--software", "x"), "--software")
        tool = self.install(software=False)
        result = sluice("doctor", "--software", tool=tool)
        self.assertEqual(result.returncode, 1)
        self.assert_one_line(result.stderr, "not installed")


if __name__ == "__main__":
    unittest.main()
