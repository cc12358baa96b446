#!/usr/bin/env python3
"""Runs a program under the preload in a locale that writes fractions with a comma: PROGRAM PRELOAD. What is written for
other programs to read is the same there."""
import json
import os
import subprocess
import sys
import tempfile

program, preload = sys.argv[1:]
with tempfile.TemporaryDirectory() as folder:
    made = subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", folder + "/comma"], capture_output=True) \
        if os.path.exists("/usr/share/i18n/locales/de_DE") else None
    if not os.path.exists(folder + "/comma"):
        print("no locale can be made here")
        sys.exit(77)
    stats = folder + "/stats.json"
    status = subprocess.run([program, "locale"], env={**os.environ, "LD_PRELOAD": preload, "LOCPATH": folder,
                                                      "SLUICE_STATS": stats}).returncode
    if status:
        sys.exit(status)
    total = json.load(open(stats))["total"]
    assert total["launches"] > 0, total
