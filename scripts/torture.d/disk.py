"""Campaign `disk`: small disks are filled, freed and filled again, by `scripts/torture-disk`, which says more of it.

What may go wrong:

  stuck         removing and compacting make no room
  lost          what was acknowledged is missing, or a verb did something else than it said
  failed        the script itself failed
"""

import os
import re
import subprocess
import sys

SCRIPT = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(__file__))), "torture-disk")
CANNOT_MOUNT = "nothing can be mounted here"


def run(tool, folder, findings, settings):
    words = [sys.executable, SCRIPT, tool.binary, "--seconds", str(settings.seconds), "--seed", str(settings.seed)]
    done = subprocess.run(words, capture_output=True, text=True)
    if CANNOT_MOUNT in done.stderr:
        findings.count("campaigns: nothing can be mounted here", 0)
        return
    for line in done.stdout.splitlines():
        failure = re.match(r"(stuck|lost): (.*)", line)
        if failure:
            findings.violation(failure[1], "disk", f"scripts/torture-disk {tool.binary} {failure[2]}")
        elif summary := re.match(r"(\d+) campaigns", line):
            findings.count("campaigns", int(summary[1]))
    if done.returncode and findings.hold:
        findings.violation("failed", "disk", (done.stderr.strip().splitlines() or ["no message"])[-1])
