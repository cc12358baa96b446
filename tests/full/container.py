#!/usr/bin/env python3
"""The image of the Dockerfile: it is built, its command works, and what another image copies from it works there. Skipped without
docker, or where the images that it starts from cannot be had."""
import pathlib
import re
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[2]
IMAGE, OTHER = "sluice-test", "sluice-test-other"
INSTALL = re.findall(r"(?m)^RUN (apt-get .*)$", (SOURCE / "Dockerfile").read_text())[-1]


def docker(*arguments, text=None):
    try:
        return subprocess.run(["docker", *arguments], input=text, capture_output=True, text=True)
    except FileNotFoundError:
        skip("docker is not installed")


def skip(reason):
    print("skipped:", reason)
    sys.exit(77)


def checked(result):
    if result.returncode:
        sys.exit(f"status {result.returncode}: {(result.stdout + result.stderr).strip()[-2000:]}")
    return result.stdout


def main():
    if docker("info").returncode:
        skip("no docker daemon answers")
    if docker("pull", "-q", "debian:12-slim").returncode:
        skip("debian:12-slim cannot be had")
    checked(docker("build", "-q", "-t", IMAGE, str(SOURCE)))
    checked(docker("build", "-q", "-t", OTHER, "-", text=f"FROM debian:12-slim\nRUN {INSTALL}\nCOPY --from={IMAGE} /usr/local /usr/local\n"))
    try:
        print(checked(docker("run", "--rm", IMAGE, "doctor", "--software")))
        assert checked(docker("run", "--rm", IMAGE, "path")) == checked(docker("run", "--rm", OTHER, "sluice", "path"))
        checked(docker("run", "--rm", OTHER, "sluice", "run", "--software", "--", "true"))
        print(checked(docker("run", "--rm", IMAGE, "demo", "--steps", "2")))
    finally:
        docker("image", "rm", "-f", OTHER, IMAGE)


if __name__ == "__main__":
    main()
