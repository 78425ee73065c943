"""The kinds of damage that are done to one file, and what each of them may cost at most."""

import copy
import os
import re
from dataclasses import dataclass

BLOCK = 512
FRAME_HEADER = 40
# Where a segment's first frame stands: behind the header, zeros, and the header's copy.
FIRST_FRAME = 4608
CONTENT = ("record", "tombstone", "chunk")
KINDS = ("missing", "empty", "half", "zeroed", "flipped")


@dataclass(frozen=True)
class Damage:
    """One file that is `missing`, `empty`, cut to `half`, `zeroed` for 512 bytes, or with a bit `flipped`."""

    file: str
    kind: str
    offset: int = 0
    bit: int = 0

    def __str__(self):
        place = {"zeroed": f"@{self.offset}", "flipped": f"@{self.offset}.{self.bit}"}.get(self.kind, "")
        return f"{self.file}/{self.kind}{place}"

    @staticmethod
    def parse(text):
        file, kind, offset, bit = re.fullmatch(r"(.+)/([a-z]+)(?:@(\d+)(?:\.(\d))?)?", text).groups()
        return Damage(file, kind, int(offset or 0), int(bit or 0))

    def apply(self, folder):
        """Does the damage; returns the first changed byte's offset and that behind the last, or None if nothing changed."""
        path = os.path.join(folder, self.file)
        with open(path, "rb") as file:
            before = file.read()
        if self.kind == "missing":
            os.unlink(path)
            return 0, max(1, len(before))
        after = bytearray(before)
        if self.kind == "empty":
            del after[:]
        elif self.kind == "half":
            del after[len(after) // 2:]
        elif self.kind == "zeroed":
            block = after[self.offset:self.offset + BLOCK]
            after[self.offset:self.offset + BLOCK] = bytes(len(block))
        elif self.offset < len(after):
            after[self.offset] ^= 1 << self.bit
        with open(path, "r+b") as file:
            file.write(after)
            file.truncate(len(after))
        changed = [at for at in range(self.offset, min(self.offset + BLOCK, len(after))) if before[at] != after[at]]
        if len(after) < len(before):
            return len(after), len(before)
        return (changed[0], changed[-1] + 1) if changed else None


def pick(random, sample, file, kind):
    """A damage of that kind at a random place of a file."""
    size = sample.files[file]
    # What is at the end of a reserve is as good as what is at its beginning.
    block = random.randrange(max(1, -(-min(size, 1 << 19) // BLOCK))) * BLOCK
    frames = [frame for frame in sample.frames if frame.file == file]
    at = aim(random, frames) if frames and random.random() < 0.5 else block + random.randrange(BLOCK)
    if kind == "zeroed":
        return Damage(file, kind, at // BLOCK * BLOCK)
    if kind == "flipped":
        return Damage(file, kind, min(at, max(0, size - 1)), random.randrange(8))
    return Damage(file, kind)


def aim(random, frames):
    """A byte of a frame, rare kinds of frames as often as frequent ones, and headers as often as what follows them."""
    kind = random.choice(sorted({(frame.kind, frame.isSchema) for frame in frames}))
    frame = random.choice([frame for frame in frames if (frame.kind, frame.isSchema) == kind])
    header = min(frame.offset + FRAME_HEADER, frame.end)
    if header == frame.end or random.random() < 0.5:
        return random.randrange(frame.offset, header)
    return random.randrange(header, frame.end)


def classOf(sample, file):
    """What a file is to the store: 'head', 'log', 'compacted', or its name."""
    if sample.name == "backup":
        return file.split("-")[0] + "- object"
    if file == sample.head:
        return "head"
    if file in sample.notes:
        return sample.notes[file].split(",")[0]
    return re.sub(r"\d{5,}", "N", file)


class Cost:
    """What a damage may cost, by what the sound store's frames say of the bytes that changed."""

    def __init__(self, sample, damage, changed):
        self.sample, self.damage = sample, damage
        self.start, self.end = changed
        self.isSegment = damage.file in sample.notes
        self.touched = [f for f in sample.frames
                        if f.file == damage.file and f.offset < self.end and f.end > self.start]
        self.hurt = self.hurtRecords()
        self.tornFrom = self.firstTornRevision()

    def hurtRecords(self):
        """The records whose newest frame, or one of whose chunks, has changed bytes."""
        hurt = set()
        for frame in self.touched:
            record = self.sample.records.get(frame.record)
            if frame.kind == "record" and record and record.revision == frame.revision:
                hurt.add(frame.record)
            if frame.kind == "chunk":
                hurt.update(id for id in self.sample.large if self.sample.records[id].revision == frame.revision)
        return hurt

    def firstTornRevision(self):
        """Of a store that was killed: the revision from which on the damage may be taken for a write that never
        was completed; None where a witness says that what is damaged had been completed."""
        if self.sample.isClosed or self.damage.file != self.sample.head or self.damage.kind in ("missing", "empty"):
            return None
        # What is below the floor had been completed, also where the damage goes on above it.
        first = max([(self.damage.file, self.start), *self.floors()])
        if first >= (self.damage.file, self.end):
            return None
        behind = [f.revision for f in self.sample.frames if f.file == first[0] and f.end > first[1] and f.revision]
        return min(behind, default=self.sample.nextRevision)

    def asOf(self, answer):
        """The same of a store that was made as it was at the moment which an answer names: what came later is excused."""
        said = re.search(r"revision (\d+)", answer.out)
        cost = copy.copy(self)
        cost.tornFrom = int(said[1]) + 1 if said else self.tornFrom
        return cost

    def floors(self):
        """The durable floors that the commit marks outside the damage name."""
        for frame in self.sample.frames:
            if frame.kind == "commit" and frame not in self.touched:
                segment, offset = map(int, re.search(r"floor (\d+):(\d+)", frame.note).groups())
                yield f"{segment:012d}.journal", offset

    def isTorn(self, id):
        """Whether a crash may have left the record without its newest version."""
        return self.tornFrom is not None and self.sample.records[id].revision >= self.tornFrom

    def isExcused(self, id, shown=0):
        """Whether a crash may have left the record at revision `shown` (0: absent)."""
        newer = [revision for revision in self.sample.revisions(id) if revision > shown]
        return self.tornFrom is not None and all(revision >= self.tornFrom for revision in newer)

    @property
    def isContainable(self):
        """Whether somebody still knows what is lost, so that the store has no reason to refuse: nothing is, or a frame's
        header names it, or the footer of a finished segment does."""
        if not self.isSegment:
            # An archive may have one keyring only.
            return not self.damage.file.startswith("k-")
        if self.damage.kind in ("missing", "empty", "half"):
            return False
        if self.damage.file != self.sample.head or self.end <= FIRST_FRAME:
            return True
        return all(f.kind in CONTENT and self.start >= f.offset + FRAME_HEADER for f in self.touched)

    def isMetByOpening(self, isWriting):
        """Whether records are lost with something that every opening reads: a whole file, or a frame's header in the head. A
        writer of a store that was closed in order believes the checkpoint, and reads no frames of the head."""
        if isWriting and self.sample.isClosed and self.damage.kind not in ("missing", "empty", "half"):
            return False
        lost = any(not self.isTorn(id) for id in self.hurt)
        isWhole = self.damage.kind in ("missing", "empty", "half")
        inHeader = any(f.kind in CONTENT and self.start < f.offset + FRAME_HEADER for f in self.touched)
        return lost and self.isSegment and (isWhole or inHeader and self.damage.file == self.sample.head)

    @property
    def hurtsAnything(self):
        """Whether bytes changed that say anything: not those of a head that are promised, or room for later."""
        if self.isSegment:
            return self.start < FIRST_FRAME or any(f.kind != "unused" for f in self.touched)
        if self.damage.file == "index":
            # A store without a checkpoint is as good.
            return self.damage.kind != "missing"
        return self.damage.file.startswith(("keyring", "k-"))
