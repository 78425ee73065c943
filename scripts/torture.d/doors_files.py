"""Attacks on what the files say: a forged schema, a mark that is renamed, files that are cut, an envelope that is cut."""

import json
import os
import shutil
import struct
import zlib

import tool as tools
from samples import SCHEMA

HEADER = 40
FIRST_FRAME = 4608
RECORD, COMMIT, CLOSE = 1, 5, 7
LARGE = "large " * 30_000


def made(tool, place):
    """A closed store with three notes, one of them with a large value."""
    store, schema = os.path.join(place, "store"), os.path.join(place, "schema.json")
    with open(schema, "w") as file:
        json.dump(SCHEMA, file)
    tool.check("init", store, "--schema", schema, *tool.byKey)
    lines = [json.dumps({"collection": "note", "fields": {"number": number, "title": f"title {number}", "body": body}})
             for number, body in enumerate(("short", LARGE, "short"))]
    tool.check("import", store, *tool.byKey, input="".join(line + "\n" for line in lines))
    return store


def segments(store):
    return [os.path.join(store, name) for name in os.listdir(store) if name.endswith(".journal")]


def contentsOf(path):
    with open(path, "rb") as file:
        return file.read()


def contents(tool, store):
    """The records as `dump` shows them, without their revisions, and how it ended."""
    answer = tool.run("dump", store, "--json", *tool.byKey)
    rows = [json.loads(line) for line in answer.out.splitlines()]
    return {row["id"]: row["fields"] for row in rows}, answer


def expect(problems, answer, code, what=""):
    """Notes an answer that ended otherwise than it must."""
    if answer.code != code or answer.trapped:
        problems.append(f"{answer}: it must exit {code}{what}")


class Head:
    """The last log segment of a closed store, which a forged transaction is appended to; no key is needed for any of its checksums."""

    def __init__(self, store):
        self.path = max(path for path in segments(store) if contentsOf(path)[10] == 1)
        self.bytes = bytearray(contentsOf(self.path))
        self.number, = struct.unpack_from("<I", self.bytes, 20)

    def frames(self):
        """The place, kind, flags, collection, sequence, id and payload of each frame."""
        place = FIRST_FRAME
        while place + HEADER <= len(self.bytes) and self.bytes[place] != 0:
            kind, flags, collection, count, sequence, id = struct.unpack_from("<BBHIQ16s", self.bytes, place)
            yield place, kind, flags, collection, sequence, id, bytes(self.bytes[place + HEADER:place + HEADER + count])
            place += HEADER + (count + 7) // 8 * 8

    def appendFrame(self, kind, collection, sequence, id, payload):
        place = len(self.bytes)
        head = struct.pack("<BBHIQ16sI", kind, 0, collection, len(payload), sequence, id, zlib.crc32(payload))
        check = zlib.crc32(bytes(self.bytes[40:48]) + struct.pack("<I", place) + head)
        self.bytes += head + struct.pack("<I", check) + payload + bytes(-len(payload) % 8)

    def append(self, collection, id, payload):
        """Appends a transaction that puts a record without an envelope."""
        close, _, _, _, sequence, _, _ = list(self.frames())[-1]
        first = len(self.bytes)
        self.appendFrame(RECORD, collection, sequence, id, payload)
        self.appendFrame(COMMIT, 0, sequence, bytes(16), struct.pack("<IIIIQ", 1, first, self.number, close, 0))
        with open(self.path, "wb") as file:
            file.write(self.bytes)


def attack_record_that_is_no_schema(tool, place):
    """Every verb refused the store, for one appended record in collection 0."""
    problems = []
    store = made(tool, place)
    before, _ = contents(tool, store)
    Head(store).append(0, bytes(range(16)), b"no schema")
    after, answer = contents(tool, store)
    if after != before:
        problems.append(f"{answer}: {len(after)} of {len(before)} records")
    expect(problems, tool.run("list", store, "note", *tool.byKey), tools.DONE)
    expect(problems, tool.run("info", store), tools.DAMAGE)
    expect(problems, tool.run("verify", store), tools.NO)
    expect(problems, tool.run("add", store, "tag", "name=new", "value=new", *tool.byKey), tools.DONE)
    expect(problems, tool.run("compact", store), tools.DONE)
    new = os.path.join(place, "new")
    expect(problems, tool.run("salvage", store, "--to", new), tools.DAMAGE, ": the new store has the finding too")
    if len(contents(tool, new)[0]) != len(before) + 1:
        problems.append("salvage did not save all records")
    return problems


def attack_schema_taken_away(tool, place):
    """The next import made the collection anew, plain."""
    problems = []
    store, first = os.path.join(place, "pins"), os.path.join(place, "first")
    table = os.path.join(place, "pins.csv")
    with open(table, "w") as file:
        file.write("name,pin\nAda,secret-1234\n")
    words = ("import", store, table, "--from", "csv", "--yes", *tool.byKey)
    tool.check("init", store, "--empty", *tool.byKey)
    shutil.copytree(store, first)
    tool.check(*words, "--seal", "pin")
    keyrings = {name: contentsOf(os.path.join(store, name)) for name in ("keyring", "keyring.copy")}
    shutil.rmtree(store)
    shutil.copytree(first, store)
    for name, content in keyrings.items():
        with open(os.path.join(store, name), "wb") as file:
            file.write(content)
    for verb in (words + ("--plain", "name,pin"), words + ("--seal", "pin")):
        expect(problems, tool.run(*verb), tools.DAMAGE, ": the schema was taken away")
    if any(b"secret-1234" in contentsOf(path) for path in segments(store)):
        problems.append("the pin is in the clear")
    expect(problems, tool.run("verify", store), tools.NO)
    expect(problems, tool.run("info", store), tools.DAMAGE)
    expect(problems, tool.run("accept", store, *tool.byKey), tools.USAGE, ": nobody said yes")
    expect(problems, tool.run("accept", store, "--yes", *tool.byKey), tools.DONE)
    expect(problems, tool.run("accept", store, "--yes", *tool.byKey), tools.NO, ": nothing is missing")
    expect(problems, tool.run("verify", store), tools.DONE)
    expect(problems, tool.run(*words, "--seal", "pin"), tools.DONE)
    return problems


def attack_mark_renamed(tool, place):
    """Every verb said that there is no store, and `init` and `restore` erased it."""
    problems = []
    store, backup = made(tool, place), os.path.join(place, "backup")
    before, _ = contents(tool, store)
    tool.check("backup", store, backup)
    os.rename(os.path.join(store, "created"), os.path.join(store, "creating"))
    expect(problems, tool.run("verify", store), tools.NO)
    for words in (("init", store), ("restore", backup, store)):
        answer = tool.run(*words, *(tool.byKey if words[0] == "init" else ()))
        if answer.code == tools.DONE or answer.trapped:
            problems.append(f"{answer}: there is a store")
    after, answer = contents(tool, store)
    if after != before:
        problems.append(f"{answer}: {len(after)} of {len(before)} records")
    expect(problems, tool.run("add", store, "tag", "name=new", "value=new", *tool.byKey), tools.DONE)
    expect(problems, tool.run("verify", store), tools.DONE)
    return problems


def attack_files_cut(tool, place):
    """`info` exited 0 where `verify` found damage."""
    problems = []
    store = made(tool, place)
    for name in ("keyring", "keyring.copy", "schemas"):
        path = os.path.join(store, name)
        whole = contentsOf(path)
        for left in (whole[:len(whole) // 2], None):
            os.remove(path)
            if left is not None:
                with open(path, "wb") as file:
                    file.write(left)
            expect(problems, tool.run("verify", store), tools.NO, f", {name} is cut")
            expect(problems, tool.run("info", store), tools.DAMAGE, f", {name} is cut")
            with open(path, "wb") as file:
                file.write(whole)
    return problems


def attack_envelope_cut(tool, place):
    """`compact` destroyed the chunks of a large value that only the record's body names."""
    problems = []
    store = made(tool, place)
    before, _ = contents(tool, store)
    head = Head(store)
    large = [frame for frame in head.frames() if frame[1] == RECORD and frame[2] & 1 and frame[6][2:4] != bytes(2)]
    (_, _, _, collection, _, id, payload), = large
    head.append(collection, id, payload[struct.unpack_from("<H", payload)[0]:])
    expect(problems, tool.run("verify", store), tools.NO)
    saved = os.path.join(place, "saved")
    tool.run("salvage", store, "--to", saved)
    expect(problems, tool.run("compact", store), tools.DONE)
    for path in (store, saved):
        after, answer = contents(tool, path)
        if after != before:
            problems.append(f"{answer}: the large value is gone, {path} has {len(after)} records")
    return problems
