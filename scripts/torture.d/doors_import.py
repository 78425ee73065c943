"""Campaign `doors-import`: tables that somebody else made are imported and exported, and nothing that is in them is run.

First the attacks that were played once, then tables with names and values at random. sqlite3 reads what is exported as SQL,
where it is installed. What may go wrong:

  run           something was run that stands in a table, or another file was opened than the one named
  taken         a name with control characters was taken, or a collection was made in the clear that nobody asked for
  altered       what came out is not what went in
  refused       a table or an export was refused that is none of these
  raw           a control character reached stderr
  trap, hang    the tool crashed, or did not end
"""

import csv
import io
import json
import os
import random
import shutil
import sqlite3
import subprocess
import unicodedata

import tool as tools

PIECES = ["x", "Id", "ID", "a", "A", "é", '"', "'", ";", ",", ".", "/", "--", "/*", "(", ")", "\n", "\r", "\r\n", "go", "\n/\n"]
CONTROLS = ["\0", "\x1b[2J", "\x7f", "\x9b", "\n", "\t"]


def run(tool, folder, findings, settings):
    doors = Doors(tool, folder, findings)
    doors.names()
    doors.files()
    doors.errors()
    doors.unasked()
    chance = random.Random(settings.seed)
    for number in deadline(settings.seconds, findings):
        doors.table(number, chance)


def deadline(seconds, findings):
    """Numbers from 0 until the time is over, ten at least."""
    import time

    end, number = time.monotonic() + seconds, 0
    while number < 10 or time.monotonic() < end:
        yield number
        number += 1


def hasControls(text):
    return any(unicodedata.category(letter) == "Cc" for letter in text)


class Doors:
    def __init__(self, tool, folder, findings):
        self.tool, self.folder, self.findings = tool, folder, findings
        self.canary = os.path.join(folder, "canary")
        self.shell = shutil.which("sqlite3")
        # What sqlite3 would run if it took it for a line of its own.
        self.attack = f'x");\n.shell touch {self.canary}\n'
        self.store = os.path.join(folder, "store")
        tool.check("init", self.store, "--empty", *tool.byKey)

    def place(self, name, content):
        path = os.path.join(self.folder, name)
        with open(path, "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
        return path

    def call(self, what, *words, input=""):
        answer = self.tool.run(*words, *self.tool.byKey, input=input)
        self.findings.count("runs")
        if answer.trapped or answer.hung:
            self.findings.violation("hang" if answer.hung else "trap", what, str(answer))
        if hasControls(answer.err.replace("\n", "")):
            self.findings.violation("raw", what, repr(answer.err[:200]))
        return answer

    def expect(self, kind, holds, what, example):
        if not holds:
            self.findings.violation(kind, what, str(example))
        if os.path.exists(self.canary):
            os.unlink(self.canary)
            self.findings.violation("run", what, str(example))

    def names(self):
        """A column, a table, a schema's field or a key with a name that has control characters."""
        for control in CONTROLS:
            name = f"a{control}b"
            rows = io.StringIO()
            csv.writer(rows).writerows([[name, "c"], ["1", self.attack]])
            line = json.dumps({name: "1", "c": self.attack})
            for path in (self.place("t.csv", rows.getvalue()), self.place("t.jsonl", line + "\n")):
                kind = path.rsplit(".", 1)[1]
                answer = self.call(
                    "import", "import", self.store, path, "--from", kind, "--into", "t", "--seal", "c", "--yes")
                self.expect("taken", answer.code == tools.FAILED, f"import   {kind} {name!r}", answer)
            schema = {"collections": [{"name": "t", "fields": [{"name": name, "type": "text"}]}]}
            path = self.place("schema.json", json.dumps(schema))
            answer = self.call("init", "init", os.path.join(self.folder, "other"), "--schema", path)
            self.expect("taken", answer.code == tools.FAILED, f"init     {name!r}", answer)
            shutil.rmtree(os.path.join(self.folder, "other"), ignore_errors=True)
            if control != "\0":
                answer = self.call("key add", "key", "add", self.store, name)
                self.expect("taken", answer.code == tools.FAILED, f"key add  {name!r}", answer)
        self.sql(self.store)

    def files(self):
        """Databases whose names are options or addresses to sqlite3."""
        if not self.shell:
            return
        for name in ("file:evil.db", "file:evil.db?mode=rwc", ":memory:", "-cmd", "a b.db"):
            content = sqlite3.connect(":memory:")
            content.execute("CREATE TABLE t (a TEXT)")
            for where, value in (("evil.db", "another"), (name, "named")):
                content.execute("DELETE FROM t")
                content.execute("INSERT INTO t VALUES (?)", (value,))
                content.commit()
                self.place(where, content.serialize())
            command = [self.tool.binary, "import", self.store, "--from", "sqlite", "--table", "t", "--into", "files", "--propose", "--", name]
            answer = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=tools.LIMIT_SECONDS)
            self.findings.count("runs")
            self.expect("run", "instance named" in answer.stdout, f"import   {name}", answer)

    def errors(self):
        """What another program says on stderr."""
        path = self.place("say", "#!/bin/sh\nprintf 'a\\033[2J\\302\\233' >&2; echo open sesame\n")
        os.chmod(path, 0o700)
        answer = self.tool.run("list", self.store, "--password-command", path)
        self.expect("raw", "u{1B}" in answer.err and not hasControls(answer.err.replace("\n", "")), "password-command", answer)
        if not self.shell:
            return
        path = os.path.join(self.folder, "bad.db")
        with sqlite3.connect(path) as content:
            content.executescript("CREATE TABLE t (a); CREATE TABLE u (a); PRAGMA writable_schema = 1")
            content.execute("UPDATE sqlite_schema SET name = ?, sql = 'no' WHERE name = 'u'", ("x\x1b[2J",))
        answer = self.call("import", "import", self.store, path, "--from", "sqlite", "--table", "t", "--propose")
        self.expect("raw", answer.code == tools.FAILED, "sqlite3", answer)

    def unasked(self):
        """A collection that a script imports into is taken away by somebody without a key, who puts the store's first files back."""
        store, first = os.path.join(self.folder, "pins"), os.path.join(self.folder, "first")
        words = ("import", store, self.place("pins.csv", "name,pin\nAda,secret-1234\n"), "--from", "csv", "--yes")
        self.tool.check("init", store, "--empty", *self.tool.byKey)
        shutil.copytree(store, first)
        self.tool.check(*words, "--seal", "pin", *self.tool.byKey)
        answer = self.call("import", *words)
        self.expect("refused", answer.code == tools.DONE, "import   --yes, into what is there", answer)
        shutil.rmtree(store)
        shutil.copytree(first, store)
        answer = self.call("import", *words)
        self.expect("taken", answer.code == tools.USAGE, "import   --yes alone", answer)
        files = [os.path.join(path, name) for path, _, names in os.walk(store) for name in names]
        inTheClear = [name for name in files if b"secret-1234" in open(name, "rb").read()]
        self.expect("taken", not inTheClear, "import   --yes alone", inTheClear)

    def table(self, number, chance):
        """A table with names and values at random, in and out again."""
        pick = lambda pieces, most: "".join(chance.choice(pieces) for _ in range(chance.randint(1, most)))
        harmless = [piece for piece in PIECES if not hasControls(piece)]
        isHarmless = chance.random() < 0.8
        names = sorted({pick(harmless if isHarmless else PIECES + CONTROLS, 3) for _ in range(chance.randint(1, 5))} | {"sealed"})
        values = PIECES + [self.attack, f"\n.shell touch {self.canary}\n"]
        rows = [[pick(values, 4) for _ in names] for _ in range(3)]
        rows = [[value if chance.random() < 0.9 else "\0".join(value) for value in row] for row in rows]
        kind = chance.choice(["csv", "jsonl"])
        path = self.place(f"t{number}.{kind}", written(kind, names, rows))
        store = os.path.join(self.folder, f"store{number}")
        self.tool.check("init", store, "--empty", *self.tool.byKey)
        answer = self.call("import", "import", store, path, "--from", kind, "--into", "t", "--seal", "sealed", "--yes")
        what = f"{kind} {names!r}"
        if any(hasControls(name) for name in names):
            self.expect("taken", answer.code == tools.FAILED, f"import   {what}", answer)
        else:
            self.expect("refused", answer.code == tools.DONE, f"import   {what}", answer)
            self.judge(store, what, names, rows)
        shutil.rmtree(store)
        os.unlink(path)

    def judge(self, store, what, names, rows):
        line = self.call("export", "export", store, "t", "--as", "jsonl")
        shown = [json.loads(text)["fields"] for text in line.out.splitlines()]
        self.expect("altered", same(names, rows, [[row.get(name) for name in names] for row in shown]), f"jsonl    {what}", line)
        words = [self.tool.binary, "export", store, "t", "--as", "csv", *self.tool.byKey]
        exported = subprocess.run(words, capture_output=True, timeout=tools.LIMIT_SECONDS)
        if b"\0" not in exported.stdout:
            found = list(csv.reader(io.StringIO(exported.stdout.decode(), newline=""))) or [[]]
            isSame = found[0][1:] == names and same(names, rows, [row[1:] for row in found[1:]])
            self.expect("altered", isSame, f"csv      {what}", exported)
        found = self.sql(store)
        if found is not None:
            self.expect("altered", same(names, rows, found), f"sql      {what}", found)

    def sql(self, store):
        """Has sqlite3 read an export. Returns the rows of the only table, without their ids."""
        if not self.shell:
            return None
        words = [self.tool.binary, "export", store, *self.tool.byKey]
        exported = subprocess.run(words, capture_output=True, timeout=tools.LIMIT_SECONDS)
        path = os.path.join(self.folder, "new.db")
        shell = subprocess.run([self.shell, path], input=exported.stdout, capture_output=True, timeout=tools.LIMIT_SECONDS)
        self.findings.count("runs")
        self.expect("altered", exported.returncode == 0 and shell.returncode == 0, "export   sql", (exported.stderr, shell.stderr[:300]))
        rows = None
        if os.path.exists(path):
            content = sqlite3.connect(path)
            if content.execute("SELECT count(*) FROM sqlite_schema WHERE name = 't'").fetchone()[0]:
                rows = [row[1:] for row in content.execute("SELECT * FROM t")]
            content.close()
            os.unlink(path)
        return rows


def written(kind, names, rows):
    if kind == "jsonl":
        return "".join(json.dumps(dict(zip(names, row))) + "\n" for row in rows)
    text = io.StringIO(newline="")
    csv.writer(text, quoting=csv.QUOTE_ALL).writerows([names, *rows])
    return text.getvalue()


def same(names, rows, found):
    return sorted(map(list, rows)) == sorted(map(list, found))
