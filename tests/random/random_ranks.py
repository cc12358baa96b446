#!/usr/bin/env python3
"""Random programs of several ranks compute under sluice, on devices that are too small for them, what the host computes.

usage: random_ranks.py BUILD FIRST COUNT [--alone | --races] [--daemon thread|inline] [--polls] [--jobs N] [--seconds N]

Each seed is a program of 2 to 4 ranks (see random_ranks.cu), which compares all that it reads with what the host computed before,
and ends itself where no rank goes on. It is run without sluice, and then with it: budget, chunks, daemon, policy and the
order of the device's work are drawn by the seed. --alone leaves sluice out; --races does so, too, and shows that the programs
have no races of their own. A seed that fails is printed with the command that repeats it.
"""
import os
import tempfile

import drawn


def run(build, seed, options, variables, preload=None):
    command = ["random_ranks", "--seed", str(seed), "--seconds", str(options.seconds)]
    command += ["--polls"] * options.polls
    return drawn.run(build, command, {"SOFTCUDA_DEVICES": "4", **variables}, preload)


def check(build, seed, options):
    """What is wrong with the seed, or None."""
    peak_bytes, wrong = run(build, seed, options, drawn.alone_for(seed, options.races))
    if wrong:
        return f"without sluice: {wrong}"
    if options.alone or options.races:
        return None
    chosen = drawn.options_for(seed, peak_bytes, options.daemon)
    with tempfile.TemporaryDirectory() as folder:
        if "SLUICE_TRACE_SAMPLE" in chosen:
            chosen["SLUICE_TRACE"] = os.path.join(folder, "trace.%p")
        return run(build, seed, options, chosen, os.path.join(build, "shim", "libsluice.so"))[1]


def main():
    parser = drawn.parser_for(__doc__)
    parser.add_argument("--polls", action="store_true", help="ranks also ask in a loop whether an event has passed")
    drawn.check_all(parser.parse_args(), check, "random programs of several ranks")


if __name__ == "__main__":
    main()
