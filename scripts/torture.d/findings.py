"""What a campaign counts and what it finds wrong, and how both are printed."""

import threading
import time
from collections import Counter


class Findings:
    """The counts of one campaign. Everything may be called from several threads."""

    def __init__(self, campaign):
        self.campaign = campaign
        self.began = time.monotonic()
        self.counts = Counter()
        self.violations = Counter()
        self.examples = {}
        self.lock = threading.Lock()

    def count(self, what, number=1):
        with self.lock:
            self.counts[what] += number

    def violation(self, kind, what, example):
        """Something that must not be: `kind` is a word of `--help`, `what` says where, `example` repeats it."""
        with self.lock:
            self.violations[kind, what] += 1
            self.examples.setdefault((kind, what), example)

    @property
    def hold(self):
        return not self.violations

    def details(self):
        """A line for each kind and place of violation, the most frequent first, each with one example."""
        lines = []
        for (kind, what), number in self.violations.most_common():
            lines.append(f"  {kind:<12} {number:>5} x  {what}\n{'':20}{self.examples[kind, what]}")
        return lines

    def summary(self):
        """The campaign's one line."""
        seconds = time.monotonic() - self.began
        kinds = Counter()
        for (kind, _), number in self.violations.items():
            kinds[kind] += number
        counts = ", ".join(f"{number:,} {what}" for what, number in self.counts.items())
        wrong = ", ".join(f"{kind} {number:,}" for kind, number in kinds.most_common())
        verdict = "holds" if self.hold else "FAILS"
        return f"{self.campaign:<12} {verdict}: {counts} in {seconds:.0f} s; violations: {wrong or 'none'}"
