"""Small stores made by the tool itself, with all that is known of them: every record, version and frame."""

import json
import os
import random
import re
import shutil
import subprocess
from dataclasses import dataclass, field, replace

import tool as tools

SEGMENT = "16K"

SCHEMA = {"collections": [
    {"name": "note", "fields": [
        {"name": "number", "type": "integer", "indexed": True},
        {"name": "title", "type": "text", "sealed": True},
        {"name": "body", "type": "text", "sealed": True},
        {"name": "memo", "type": "text", "sealed": True, "padded": True, "compressed": True, "optional": True}]},
    {"name": "tag", "fields": [
        {"name": "name", "type": "text"},
        {"name": "value", "type": "text", "sealed": True}]}]}

# A text that is in every record, so that one search finds all of them.
COMMON = "haystack"


@dataclass(frozen=True)
class Record:
    collection: str
    revision: int
    fields: dict


@dataclass(frozen=True)
class Frame:
    """A frame as `dump --frames` shows it; `end` is the offset behind it, padding included."""

    file: str
    offset: int
    end: int
    kind: str
    revision: int
    record: str
    note: str

    @property
    def isSchema(self):
        """Of a collection's own record: its id is the collection's number and zeros."""
        return self.kind == "record" and self.record.endswith("0000-0000-0000-0000-000000000000")


@dataclass
class Sample:
    """A sound store, and what is in it."""

    name: str
    folder: str
    isClosed: bool
    records: dict = field(default_factory=dict)
    versions: dict = field(default_factory=dict)
    removed: set = field(default_factory=set)
    large: set = field(default_factory=set)
    frames: list = field(default_factory=list)
    files: dict = field(default_factory=dict)
    notes: dict = field(default_factory=dict)
    nextRevision: int = 0

    @property
    def head(self):
        """The segment that is written to: the last one of the log, whatever a compaction was making when the store was killed."""
        log = [name for name, note in self.notes.items() if not note.startswith("compacted")]
        return max(log, key=numberOf)

    def revisions(self, record):
        """Those of all versions of a record that are still in the files."""
        return [f.revision for f in self.frames if f.record == record and f.kind in ("record", "tombstone")]


class Maker:
    """Writes a store step by step, and keeps what it wrote."""

    def __init__(self, tool, folder, seed):
        self.tool, self.folder = tool, folder
        self.random = random.Random(seed)
        self.versions = {}
        self.removed = set()
        self.large = set()
        os.mkdir(os.path.join(folder, "made"))
        self.store = os.path.join(folder, "made", "store")
        schema = os.path.join(folder, "schema.json")
        with open(schema, "w") as file:
            json.dump(SCHEMA, file)
        tool.check("init", self.store, "--schema", schema, "--segment-size", SEGMENT, *tool.byKey)
        tool.check(
            "password", "add", self.store, "--new-password-file", tool.passwordFile, "--scrypt-log-n", "14",
            *tool.byKey)

    def text(self, count):
        return self.random.randbytes(count // 2 + 1).hex()[:count]

    def note(self, number, count):
        """A new version of note `number`, with a body of `count` bytes."""
        fields = {"number": number, "title": f"{COMMON} {self.text(8)}", "body": self.text(count), "memo": None}
        if number % 3 == 0:
            fields["memo"] = "memo " * (number % 40 + 1)
        return self.version(f"00000000-0000-4000-8000-{number:012d}", "note", fields)

    def tag(self, number):
        fields = {"name": f"tag {number} {self.text(6)}", "value": f"{COMMON} {self.text(number % 30)}"}
        return self.version(f"00000000-0000-4000-9000-{number:012d}", "tag", fields)

    def version(self, record, collection, fields):
        self.versions.setdefault(record, []).append(fields)
        self.removed.discard(record)
        return json.dumps({"id": record, "collection": collection, "fields": fields}) + "\n"

    def write(self, lines, batch=10):
        words = ("import", self.store, "--batch", str(batch), "--segment-size", SEGMENT, *self.tool.byKey)
        self.tool.check(*words, input="".join(lines))

    def remove(self, records):
        self.tool.check("remove", self.store, *records)
        self.removed.update(records)

    def writeAndKill(self, lines, batch):
        """Imports `lines` durably, and kills the import, as soon as all are acknowledged, while it waits for more."""
        words = ("import", self.store, "--batch", str(batch), "--segment-size", SEGMENT, "--durable", "--ack")
        process = self.tool.start(
            *words, *self.tool.byKey, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        process.stdin.write("".join(lines))
        process.stdin.flush()
        for _ in lines:
            process.stdout.readline()
        tools.kill(process)
        process.stdin.close()
        process.stdout.close()

    def sample(self, name, isClosed):
        """The store as it is now, copied, with the tool's own account of it, compared with what was written."""
        folder = os.path.join(self.folder, name)
        shutil.copytree(self.store, folder)
        sample = Sample(name, folder, isClosed, versions={id: list(all) for id, all in self.versions.items()},
                        removed=set(self.removed), large=set(self.large))
        for line in self.tool.check("dump", folder, "--json", *self.tool.byKey).out.splitlines():
            row = json.loads(line)
            sample.records[row["id"]] = Record(row["collection"], row["revision"], row["fields"])
            if not sameFields(row["fields"], self.versions[row["id"]][-1]):
                raise SystemExit(f"torture: the sound store '{name}' shows other content of {row['id']} than was written")
        if set(sample.records) != set(self.versions) - self.removed:
            raise SystemExit(f"torture: the sound store '{name}' does not show the records that were written")
        readFrames(sample, self.tool)
        sample.nextRevision = json.loads(self.tool.check("info", folder, "--json").out)["nextRevision"]
        sample.files = sizes(folder)
        return sample


def backedUp(sample, folder):
    """The backup of a sample, as a sample of its own: its objects have the frames of the segments that they are copies of."""
    parts = {f"{numberOf(name):012d}.journal": name for name in os.listdir(folder) if name[:2] in ("s-", "l-", "p-")}
    frames = [replace(frame, file=parts[frame.file]) for frame in sample.frames if frame.file in parts]
    return replace(
        sample, name="backup", folder=folder, frames=frames, files=sizes(folder),
        notes={parts[file]: note for file, note in sample.notes.items() if file in parts})


def numberOf(name):
    """The number of a segment, by the name of its file or object."""
    return int(re.search(r"\d+", name).group())


def sizes(folder):
    """The files below a folder, and their lengths."""
    paths = [os.path.join(path, name) for path, _, names in os.walk(folder) for name in names]
    return {os.path.relpath(path, folder): os.path.getsize(path) for path in paths}


def sameFields(shown, written):
    """Whether a record shows what was written; an optional field without a value may be left out or null."""
    names = set(shown) | set(written)
    return all(shown.get(name) == written.get(name) for name in names)


def readFrames(sample, tool):
    for line in tool.check("dump", sample.folder, "--frames", "--json").out.splitlines():
        row = json.loads(line)
        frame = Frame(
            row["file"], row["offset"], row["offset"] + row["bytes"], row["kind"], row.get("revision", 0),
            row.get("record", ""), row.get("note", ""))
        if frame.kind == "file":
            sample.notes[frame.file] = frame.note
        else:
            sample.frames.append(frame)


def make(tool, folder, seed=1):
    """The samples: closed behind its checkpoint, closed long after it, and killed."""
    maker = Maker(tool, folder, seed)
    size = lambda number: 10 + number * 97 % 2600
    maker.write([maker.note(number, size(number)) for number in range(1, 31)], batch=7)
    large = maker.note(31, 150_000)
    maker.large.add(json.loads(large)["id"])
    maker.write([large], batch=1)
    maker.write([maker.tag(number) for number in range(1, 301)], batch=50)
    maker.write([maker.note(number, size(number + 5)) for number in range(1, 31, 3)])
    maker.remove([f"00000000-0000-4000-9000-{number:012d}" for number in range(5, 301, 7)])
    maker.remove([f"00000000-0000-4000-8000-{number:012d}" for number in range(2, 31, 9)])
    tool.check("compact", maker.store, "--segment-size", SEGMENT)
    # More than 256 changes in one go have the tool write a checkpoint when it closes the store.
    maker.write([maker.tag(number) for number in range(10, 290) if number % 7 != 5])
    maker.write([maker.tag(number) for number in range(301, 571)])
    samples = [maker.sample("closed", True)]
    maker.write([maker.note(number, size(number + 11)) for number in range(3, 31, 2)], batch=3)
    maker.write([maker.note(number, size(number)) for number in range(40, 52)])
    maker.remove([f"00000000-0000-4000-9000-{number:012d}" for number in (10, 11, 300, 310, 311)])
    maker.remove([f"00000000-0000-4000-8000-{number:012d}" for number in (3, 4, 41)])
    samples.append(maker.sample("behind", True))
    maker.writeAndKill([maker.note(number, size(number + 3)) for number in range(5, 35, 2) if number != 31], 2)
    samples.append(maker.sample("killed", False))
    return {sample.name: sample for sample in samples}
