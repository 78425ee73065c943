"""Campaign `processes`: two writers, four readers and two who watch share one store, and are stopped, continued and killed at random.

Writers take turns, as one holds the lock and the other is told that the store is busy. They import pairs of records, both
with the same number and in one transaction, each time a higher one, compact, rotate the key, and half of the time work on
a second store, whose password and root they change as well (`password change`, with and without `--rekey`). Readers dump, list, verify,
search, ask for information, make and restore backups, and dump copies of the store's files. Those who watch (`watch`) are held against all that
anybody saw of commits. What may go wrong:

  false damage  a reader speaks of damage, or verify finds some, where there is none
  torn          one record of a pair is seen without the other, or with another number
  lost          a pair that was acknowledged as durable is missing, or older than acknowledged
  unheard       a commit that somebody saw is neither among what a watcher was told nor in what it was told it missed
  unopened      a value does not open, or is another one than was written
  counts        `key list` counts other values under a key than the directories of the log's frames name
  copy          a copy of the store's files, made beside the writers, lacks something, and `dump` of it exits 0
  failed        a command fails for another reason than being busy or killed
  trap, hang    a command crashed, or did not end
"""

import heapq
import json
import os
import random
import shutil
import struct
import signal
import time

import tool as tools
from samples import SEGMENT
from watching import Told

PAIRS = 40
# A command that is not stopped ends far earlier; one that is, is continued after a second at the latest.
LIMIT_SECONDS = 60
SCHEMA = {"collections": [{"name": "pair", "fields": [
    {"name": "number", "type": "integer", "indexed": True}, {"name": "text", "type": "text", "sealed": True}]}]}


WRITERS, READERS, WATCHERS = range(2), range(2, 6), range(6, 8)
# What changes the keyring, as it is counted.
CHANGES = {"rotate": "rotations", "rekey": "new roots", "password": "new passwords"}

# What a guess of the password costs here: as little as may be, as each command makes one.
CHEAP = ("--scrypt-log-n", "14")


def run(tool, folder, findings, settings):
    schema = os.path.join(folder, "schema.json")
    with open(schema, "w") as file:
        json.dump(SCHEMA, file)
    for hasPassword in (False, True):
        place = os.path.join(folder, "password-store" if hasPassword else "key-store")
        os.mkdir(place)
        store = os.path.join(place, "store")
        opening = tool.byPassword if hasPassword else tool.byKey
        cost = CHEAP if hasPassword else ()
        tool.check("init", store, "--schema", schema, "--segment-size", SEGMENT, *opening, *cost)
        crowd = Crowd(tool, store, place, findings, random.Random(settings.seed), opening)
        crowd.work(settings.seconds / 2)
        crowd.lookAtTheEnd()


def names(pair):
    """The ids of a pair's two records."""
    return [f"00000000-0000-4000-{half}000-{pair:012d}" for half in ("8", "9")]


class Task:
    """One command that runs: what it does, for whom, and what it may be asked about afterwards."""

    def __init__(self, crowd, slot, kind, words, lines=()):
        self.slot, self.kind, self.words, self.lines = slot, kind, words, lines
        self.acknowledged = dict(crowd.acknowledged)
        self.outPath = os.path.join(crowd.folder, f"out.{slot}")
        self.errPath = os.path.join(crowd.folder, f"err.{slot}")
        self.inPath = os.path.join(crowd.folder, f"in.{slot}")
        with open(self.inPath, "w") as file:
            file.writelines(lines)
        with open(self.inPath) as input, open(self.outPath, "w") as out, open(self.errPath, "w") as err:
            self.process = crowd.tool.start(*words, stdin=input, stdout=out, stderr=err)
        self.began = time.monotonic()
        self.wasKilled = self.isStopped = self.isOver = False

    def answer(self, code):
        with open(self.outPath, errors="replace") as out, open(self.errPath, errors="replace") as err:
            return tools.Answer(tuple(self.words), code, out.read(), err.read())


class Crowd:
    """All who share a store, each in a slot of their own."""

    def __init__(self, tool, store, folder, findings, chance, opening):
        self.tool, self.store, self.folder = tool, store, folder
        self.findings, self.chance = findings, chance
        self.opening, self.changesRoot = opening, opening == tool.byPassword
        self.acknowledged = {}
        # The length of the text that goes with each number, and how long commands of each kind took.
        self.written = {}
        self.seconds = {}
        self.next = 1
        self.tasks = {}
        self.plans = []
        # Which records each commit wrote, as far as anybody saw them, and what each watcher was told.
        self.seen = {}
        self.told = []

    def work(self, seconds):
        """Keeps all slots busy until the time is over."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            for slot in (*WRITERS, *READERS, *WATCHERS):
                if slot not in self.tasks:
                    self.begin(slot)
            self.step()
        self.plans = [plan for plan in self.plans if plan[2].kind != "watch"]
        while any(slot not in WATCHERS for slot in self.tasks):
            self.step()
        self.endWatching()

    def endWatching(self):
        """One more commit, of which every watcher that is left has to hear; then they are ended."""
        task = self.writer(0, choice=1)
        self.judge(task, task.answer(task.process.wait()))
        self.doAlone("dump", "dump", self.store, "--json")
        deadline = time.monotonic() + LIMIT_SECONDS
        for task in self.tasks.values():
            # One that is stopped goes on; one that was killed has ended.
            task.process.send_signal(signal.SIGCONT)
            while task.process.poll() is None and time.monotonic() < deadline and Told(task.answer(0)).last < max(self.seen):
                time.sleep(0.01)
            task.isOver = task.process.poll() is None
            task.process.send_signal(signal.SIGINT)
            self.judge(task, task.answer(task.process.wait()))
        self.tasks = {}
        for task, told in self.told:
            self.findings.count("commits heard", len(told.commits))
            self.findings.count("said to be missed", told.gapCount)
            for fault in told.faults(self.seen, isToEnd=task.isOver):
                self.report("unheard", task, task.answer(0), f": {fault}")

    def step(self):
        """Sends the signals that are due, and takes the answers of what has ended."""
        now = time.monotonic()
        while self.plans and self.plans[0][0] <= now:
            _, _, task, number = heapq.heappop(self.plans)
            if self.tasks.get(task.slot) is task and task.process.poll() is None:
                task.process.send_signal(number)
                task.wasKilled = task.wasKilled or number == signal.SIGKILL
                task.isStopped = task.isStopped or number == signal.SIGSTOP
                self.findings.count({signal.SIGKILL: "kills", signal.SIGSTOP: "stops"}.get(number, "continuations"))
        for slot, task in list(self.tasks.items()):
            code = task.process.poll()
            if code is None and now - task.began > LIMIT_SECONDS and task.kind != "watch":
                tools.kill(task.process)
                code = tools.HUNG
            if code is not None:
                del self.tasks[slot]
                self.judge(task, task.answer(code))
        time.sleep(0.002)

    def begin(self, slot):
        if slot in WATCHERS:
            return self.watch(slot)
        task = self.writer(slot) if slot in WRITERS else self.reader(slot)
        self.tasks[slot] = task
        # At any moment of it: what it takes is known from the last of its kind.
        at = time.monotonic() + self.chance.random() * max(0.05, self.seconds.get(task.kind, 0))
        fate = self.chance.random()
        if fate < 0.2:
            self.plan(at, task, signal.SIGKILL)
        elif fate < 0.5:
            self.plan(at, task, signal.SIGSTOP)
            self.plan(at + self.chance.choice((0.01, 0.1, 0.6)), task, signal.SIGCONT)

    def plan(self, at, task, number):
        heapq.heappush(self.plans, (at, id(task), task, number))

    def watch(self, slot):
        """Somebody who watches: some are killed sooner or later, all are stopped now and then."""
        task = self.tasks[slot] = Task(self, slot, "watch", ("watch", self.store, "--json"))
        for _ in range(4):
            at = time.monotonic() + self.chance.random() * 10
            self.plan(at, task, signal.SIGSTOP)
            self.plan(at + self.chance.choice((0.01, 0.1, 1, 3)), task, signal.SIGCONT)
        if self.chance.random() < 0.7:
            self.plan(time.monotonic() + self.chance.random() * 15, task, signal.SIGKILL)

    def writer(self, slot, choice=None):
        choice = self.chance.random() if choice is None else choice
        if choice < 0.3:
            return Task(self, slot, "compact", ("compact", self.store, "--segment-size", SEGMENT))
        if choice < 0.4:
            return Task(self, slot, "rotate", ("key", "rotate", self.store, "default", "--yes", *self.opening))
        if choice < 0.6 and self.changesRoot:
            # To the same password: whichever root is in force, it opens the store.
            kind = self.chance.choice(("rekey", "password"))
            words = ("password", "change", self.store, "--yes", "--new-password-file", self.tool.passwordFile)
            return Task(self, slot, kind, (*words, *(("--rekey",) if kind == "rekey" else ()), *CHEAP, *self.opening))
        lines = []
        for _ in range(self.chance.randrange(1, 60)):
            self.written[self.next] = self.chance.randrange(1200)
            fields = {"number": self.next, "text": "x" * self.written[self.next]}
            # Each writer has pairs of its own, so that the numbers of a pair only grow, whoever gets the lock first.
            for id in names(self.next % (PAIRS // 2) * 2 + slot):
                lines.append(json.dumps({"id": id, "collection": "pair", "fields": fields}) + "\n")
            self.next += 1
        words = ("import", self.store, "--batch", "2", "--durable", "--ack", "--segment-size", SEGMENT)
        return Task(self, slot, "import", (*words, *self.opening), lines)

    def reader(self, slot):
        kind = self.chance.choice(("dump", "dump", "open", "list", "search", "verify", "verify", "info", "backup", "copy"))
        if kind == "search":
            return Task(self, slot, "search", ("search", self.store, "x", *self.opening))
        if kind == "open":
            return Task(self, slot, "open", ("dump", self.store, "--json", *self.opening))
        if kind == "copy":
            return self.copyFiles(slot)
        if kind == "backup":
            copy = os.path.join(self.folder, f"backup.{slot}")
            if self.chance.random() < 0.3 and os.path.exists(copy):
                again = os.path.join(self.folder, f"restored.{slot}")
                shutil.rmtree(again, ignore_errors=True)
                return Task(self, slot, "restore", ("restore", copy, again, *self.opening))
            return Task(self, slot, "backup", ("backup", self.store, copy))
        return Task(self, slot, kind, (kind, self.store, *(() if kind == "verify" else ("--json",)),
                                       *(("--field", "number") if kind == "list" else ())))

    def copyFiles(self, slot):
        """Copies what is in the store's folder, as `cp` would, while writers change it; a backup is the right way."""
        copy = os.path.join(self.folder, f"copy.{slot}")
        acknowledged = dict(self.acknowledged)
        shutil.rmtree(copy, ignore_errors=True)
        os.mkdir(copy)
        for name in os.listdir(self.store):
            try:
                shutil.copyfile(os.path.join(self.store, name), os.path.join(copy, name))
            except (FileNotFoundError, IsADirectoryError):
                continue
        task = Task(self, slot, "copy", ("dump", copy, "--json"))
        task.acknowledged = acknowledged
        return task

    def judge(self, task, answer):
        """What a command's answer says of the store, and whether that is true."""
        self.findings.count("commands")
        if answer.code == tools.DONE and not task.isStopped:
            self.seconds[task.kind] = time.monotonic() - task.began
        if task.kind in CHANGES and answer.code in (tools.DONE, -signal.SIGKILL):
            self.findings.count(CHANGES[task.kind])
        if task.kind == "watch":
            self.told.append((task, Told(answer)))
            if answer.code == tools.INTERRUPTED and task.isOver:
                return
        if task.kind == "import":
            self.acknowledge(task, answer)
        if task.wasKilled and answer.code == -signal.SIGKILL:
            return
        if answer.code == tools.BUSY and task.kind in ("import", "compact", *CHANGES):
            self.findings.count("busy")
            return
        if task.kind == "restore" and answer.code in (tools.NO_STORE, tools.FAILED) and "no archive" in answer.err:
            return
        if answer.trapped or answer.hung:
            self.report("hang" if answer.hung else "trap", task, answer)
        elif task.kind == "copy":
            if answer.code == tools.DONE:
                self.look(task, answer)
        elif task.kind == "search" and answer.code == tools.NO and not any(self.written[number] for number in task.acknowledged.values()):
            return
        elif answer.code in (tools.NO, tools.DAMAGE) or "damaged" in answer.out or "damage" in answer.err:
            self.report("false damage", task, answer)
        elif answer.code != tools.DONE:
            self.report("failed", task, answer)
        elif task.kind in ("dump", "open", "list"):
            self.look(task, answer)

    def acknowledge(self, task, answer):
        """What was acknowledged as durable is promised from now on, also where the import was killed later."""
        acknowledged = answer.out.count("\n") // 2
        for line in task.lines[:acknowledged * 2:2]:
            row = json.loads(line)
            pair = int(row["id"][-12:])
            self.acknowledged[pair] = max(self.acknowledged.get(pair, 0), row["fields"]["number"])
        self.findings.count("acknowledged", acknowledged)

    def look(self, task, answer):
        """Whether a view of the store holds both records of every pair, and nothing older than was acknowledged before."""
        shown = {}
        for line in answer.out.splitlines():
            row = json.loads(line)
            number = shown[row["id"]] = row["fields"]["number"]
            if "revision" in row and task.kind in ("dump", "open"):
                self.seen.setdefault(row["revision"], set()).add(row["id"])
            if task.kind == "open" and row["fields"].get("text") != "x" * self.written[number]:
                self.report("unopened", task, answer, f": record {row['id']}, {line[:120]}")
        short = f"of {len(shown)} records shown "
        for pair in range(PAIRS):
            numbers = {shown.get(id, 0) for id in names(pair)}
            if len(numbers) > 1:
                self.report("torn", task, answer, f": {short}pair {pair} is seen as {sorted(numbers)}")
            elif min(numbers) < self.promised(task, pair):
                self.report("lost", task, answer, f": {short}pair {pair} is {min(numbers)}, acknowledged {task.acknowledged[pair]}")

    def promised(self, task, pair):
        return task.acknowledged.get(pair, 0)

    def report(self, kind, task, answer, more=""):
        if task.kind == "copy" and kind in ("torn", "lost"):
            kind = "copy"
        findings = [line for line in answer.out.splitlines() if line.startswith("finding")] if task.kind == "verify" else []
        self.findings.violation(kind, task.kind, f"{answer}{more}{'; '.join(['', *findings[:1]])}")

    def lookAtTheEnd(self):
        """With nobody else at work, everything acknowledged is there, every value opens, and the store is sound."""
        self.doAlone("compact", "compact", self.store, "--segment-size", SEGMENT)
        for isRotated in (False, True):
            self.doAlone("open", "dump", self.store, "--json", *self.opening)
            self.doAlone("verify", "verify", self.store, *self.opening)
            self.compareCounts(1 if isRotated else None)
            if not isRotated:
                self.doAlone("rotate", "key", "rotate", self.store, "default", "--yes", *self.opening)

    def doAlone(self, kind, *words):
        task = Task(self, 0, kind, words)
        answer = task.answer(task.process.wait())
        self.judge(task, answer)
        return task, answer

    def compareCounts(self, generations):
        """Whether `key list` says the same as the log's frames: how many values are under which key, and in how many generations."""
        task, answer = self.doAlone("list keys", "key", "list", self.store, "--json", *self.opening)
        if answer.code != tools.DONE:
            return
        rows = [row for line in answer.out.splitlines() for row in json.loads(line)["generations"]]
        listed = {row["number"]: row["values"] for row in rows if row["values"]}
        found = sealedValues(self.tool, self.store)
        self.findings.count("values counted", sum(found.values()))
        if listed != found or len(rows) != (generations or len(rows)):
            self.report("counts", task, answer, f": listed {rows}, found {found}")


def sealedValues(tool, store):
    """How many values of current records are sealed under each key, by their frames (FORMAT.md 5, 7.1, 7.2)."""
    newest = {}
    for line in tool.check("dump", store, "--frames", "--json").out.splitlines():
        row = json.loads(line)
        isRecord = row["kind"] in ("record", "tombstone") and not row["record"].endswith("0000-0000-0000-000000000000")
        if isRecord and row["revision"] >= newest.get(row["record"], {"revision": 0})["revision"]:
            newest[row["record"]] = row
    counts = {}
    for row in newest.values():
        if row["kind"] == "tombstone":
            continue
        with open(os.path.join(store, row["file"]), "rb") as file:
            file.seek(row["offset"])
            frame = file.read(row["bytes"])
        body = 40 + (struct.unpack_from("<H", frame, 40)[0] if frame[1] & 1 else 0)
        for field in range(struct.unpack_from("<H", frame, body + 2)[0]):
            _, _, flags, key, _ = struct.unpack_from("<HBBII", frame, body + 4 + 12 * field)
            if flags & 1:
                counts[key] = counts.get(key, 0) + 1
    return counts
