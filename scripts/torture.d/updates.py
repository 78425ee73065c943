"""Campaign `updates`: one record is updated over and over by `import`, and the store stays within its space.

Half of the time with segments of 64 KiB, half with those that the tool chooses. Whenever the folder is looked at, the
segments take at most 1.5 x live + 2 segments (README, FORMAT.md 24, "Space"), what is about to replace them included. What may go wrong:

  space         the segments take more
  lost          the record is not at its last version
  failed        the import does not end well, or `verify` finds damage
  hang          a command did not end
"""

import json
import os
import subprocess
import time

import tool as tools

ID = "00000000-0000-4000-8000-000000000001"
# What the tool's segments have at least, unless it is told otherwise.
SMALLEST_SEGMENT = 1 << 20


def run(tool, folder, findings, settings):
    for name, options, segment in (
            ("small", ("--segment-size", "64K"), 64 << 10), ("chosen", (), SMALLEST_SEGMENT)):
        store = os.path.join(folder, name)
        tool.check("init", store, *options, *tool.byKey)
        Updates(tool, store, findings, options, segment).run(settings.seconds / 2)


class Updates:
    def __init__(self, tool, store, findings, options, segment):
        self.tool, self.store, self.findings = tool, store, findings
        self.options, self.segment = options, segment
        self.number = 0
        self.worst = 0

    def run(self, seconds):
        words = ("import", self.store, *self.options, *self.tool.byKey)
        process = self.tool.start(*words, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        deadline = time.monotonic() + seconds
        try:
            while time.monotonic() < deadline and process.poll() is None and self.isWithin():
                for _ in range(500):
                    self.number += 1
                    fields = {"title": f"version {self.number}", "body": "y" * (self.number % 400)}
                    process.stdin.write(json.dumps({"id": ID, "fields": fields}) + "\n")
            process.stdin.close()
        except BrokenPipeError:
            pass
        self.finish(process, words)

    def bound(self):
        """1.5 x live + 2 segments; the one live record takes under 2 KiB with all that belongs to it."""
        return 1.5 * 2048 + 2 * self.segment

    def isWithin(self):
        """Looks at the folder; says what is too much, once."""
        size = 0
        for entry in os.scandir(self.store):
            if ".journal" in entry.name:
                try:
                    size += entry.stat().st_size
                except FileNotFoundError:
                    continue
        self.findings.count("looks")
        self.worst = max(self.worst, size)
        if size <= self.bound():
            return True
        self.findings.violation(
            "space", f"import {' '.join(self.options) or 'by default'}",
            f"after {self.number:,} updates of one record the segments take {size:,} bytes, at most {self.bound():,.0f} are promised")
        return False

    def finish(self, process, words):
        """After the import, the record is at its last version, and the store is sound."""
        err = process.stderr.read()
        answer = tools.Answer(words, process.wait(), "", err)
        process.stderr.close()
        self.findings.count("updates", self.number)
        if answer.code != tools.DONE:
            self.findings.violation("failed", "import", str(answer))
            return
        shown = self.tool.run("get", self.store, ID, "title", *self.tool.byKey)
        if shown.out != f"version {self.number}":
            self.findings.violation("lost", "import", f"{shown}: shows '{shown.out}', and {self.number} was written last")
        for verb in ("verify", "compact", "verify"):
            answer = self.tool.run(verb, self.store, *self.tool.byKey)
            if answer.code != tools.DONE:
                self.findings.violation("hang" if answer.hung else "failed", verb, str(answer))
        self.isWithin()
