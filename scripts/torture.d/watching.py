"""What somebody who watches a store was told, held against what others saw of its commits."""

import json
import re


class Told:
    """What one `watch --json` printed: the revision from which on it misses nothing, and the commits since."""

    def __init__(self, answer):
        begun = re.search(r"from revision (\d+) on", answer.err)
        self.first = int(begun.group(1)) if begun else None
        # The last line may have been cut off by a kill.
        rows = [json.loads(line) for line in answer.out.split("\n")[:-1]]
        self.commits = [
            (row["firstRevision"], row["lastRevision"], {*row["written"], *row["deleted"]} if row["complete"] else None)
            for row in rows]

    @property
    def last(self):
        return self.commits[-1][1] if self.commits else 0

    @property
    def gapCount(self):
        return sum(ids is None for _, _, ids in self.commits)

    def faults(self, seen, isToEnd):
        """What it was told wrongly, or not at all: `seen` has the records that each commit is known to have written, and `isToEnd` says
        whether it had to hear of all of them, to the last."""
        ends = [end for _, end, _ in self.commits]
        for (begin, _, _), end in zip(self.commits[1:], ends):
            if begin <= end:
                yield f"told of revision {begin} behind {end}"
        place = 0
        for revision in sorted(seen):
            if self.first is None or revision < self.first or revision > self.last and not isToEnd:
                continue
            while place < len(ends) and ends[place] < revision:
                place += 1
            if place == len(ends) or self.commits[place][0] > revision:
                yield f"never told of revision {revision}, from {self.first} to {self.last}"
            elif self.commits[place][2] is not None and not seen[revision] <= self.commits[place][2]:
                yield f"told of revision {revision} without {seen[revision] - self.commits[place][2]}"
