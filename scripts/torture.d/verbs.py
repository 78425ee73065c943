"""Each verb of the tool on a damaged store: how it is run, and how its answer is judged."""

import json
import os
import shutil

import tool as tools
from judge import Expected, Judge, Problem, Shown, isSame
from samples import COMMON, SEGMENT, Record


class Trial:
    """One damage of one sample. Each verb gets a copy of the damaged store for itself."""

    def __init__(self, tool, sample, damage, cost, folder, random, backup):
        self.tool, self.sample, self.damage, self.cost = tool, sample, damage, cost
        self.random, self.soundBackup = random, backup
        self.judge = Judge(cost)
        self.folder = folder
        self.damaged = os.path.join(folder, "damaged")
        self.store = os.path.join(folder, "store")
        self.expected = None
        # The keyring is opened by a key, which takes no time, or by a password, which has more that may be damaged.
        self.credential = tool.byPassword if damage.file.startswith(("keyring", "k-")) else tool.byKey
        self.answers = []
        self.verbs = verbsOf(sample)

    def run(self, *words, input=""):
        answer = self.tool.run(*words, *self.credential, input=input)
        self.answers.append(answer)
        return answer

    @property
    def lacksTheNewest(self):
        """Whether it is an archive without its newest object: then nothing says that there was one, and the moment before is taken."""
        return self.sample.name == "backup" and self.damage.kind == "missing" and self.damage.file == self.sample.head

    def place(self, name):
        path = os.path.join(self.folder, name)
        shutil.rmtree(path, ignore_errors=True)
        return path

    def problems(self, verb):
        """Runs a verb on a fresh copy, and judges it."""
        shutil.rmtree(self.store, ignore_errors=True)
        shutil.copytree(self.damaged, self.store)
        self.expected = Expected.of(self.sample)
        before = contentsOf(self.store)
        problems = self.verbs[verb](self)
        if verb in READING and contentsOf(self.store) != before:
            problems.append(Problem("wrote", f"notelog {verb} changed the store's files"))
        return problems

    def target(self):
        """A record that the damage has hurt, if there is one, or any other: both are asked for."""
        if self.cost.hurt and self.random.random() < 0.7:
            return self.random.choice(sorted(self.cost.hurt))
        return self.random.choice(sorted(self.sample.records))

    def opening(self, answer, isWriting=False):
        """What every opening meets, every verb has to speak of."""
        problems = self.judge.ending(answer)
        if self.cost.isMetByOpening(isWriting) and not answer.warned:
            problems.append(Problem("silent", f"{answer}: {len(self.cost.hurt)} records are lost"))
        return problems


def contentsOf(folder):
    """Names, sizes and times of all files below a folder."""
    found = []
    for path, _, names in os.walk(folder):
        for name in names:
            status = os.lstat(os.path.join(path, name))
            found.append((os.path.relpath(os.path.join(path, name), folder), status.st_size, status.st_mtime_ns))
    return sorted(found)


def get(trial):
    id = trial.target()
    problems = trial.judge.listing(trial.run("get", trial.store, id, "--json"), trial.expected, only=[id])
    gone = trial.random.choice(sorted(trial.sample.removed))
    return problems + trial.judge.listing(trial.run("get", trial.store, gone, "--json"), trial.expected, only=[])


def listRecords(trial):
    problems = []
    for collection, fields in (("note", ("number", "title")), ("tag", ("name", "value"))):
        wanted = [id for id, record in trial.sample.records.items() if record.collection == collection]
        answer = trial.run("list", trial.store, collection, "--json")
        problems += trial.judge.listing(answer, trial.expected, only=wanted, fields=fields)
    return problems


def search(trial):
    answer = trial.run("search", trial.store, COMMON, "--json")
    return trial.judge.listing(answer, trial.expected)


def dump(trial):
    return trial.judge.listing(trial.run("dump", trial.store, "--json"), trial.expected)


def verify(trial):
    answer = trial.run("verify", trial.store)
    problems = trial.judge.ending(answer)
    if problems or answer.code != tools.DONE:
        return problems
    cost = trial.cost.asOf(answer) if trial.lacksTheNewest else trial.cost
    lost = [id for id in cost.hurt if not cost.isTorn(id)]
    if lost:
        return [Problem("silent", f"{answer}: 'sound', and {len(lost)} records are lost")]
    if cost.hurtsAnything and cost.tornFrom is None and "finding" not in answer.out:
        return [Problem("unseen", f"{answer}: 'sound', and the file is not what it was")]
    return []


def info(trial):
    answer = trial.run("info", trial.store, "--json")
    problems = trial.opening(answer)
    if not problems and answer.code == tools.DONE and not answer.warned:
        shown = json.loads(answer.out)
        if shown["condition"] == "damaged" and trial.cost.hurt:
            problems.append(Problem("silent", f"{answer}: the condition is 'damaged'"))
    return problems


def add(trial):
    fields = {"name": "new", "value": COMMON}
    answer = trial.run("add", trial.store, "tag", *(f"{name}={value}" for name, value in fields.items()))
    expected = trial.expected
    new = answer.out.strip()
    if answer.code == tools.DONE:
        expected.records[new] = Record("tag", None, fields)
    elif new:
        expected.either[new] = Record("tag", None, fields)
    return afterwards(trial, answer, expected, new)


def setFields(trial):
    id = trial.target()
    before = trial.sample.records[id]
    name = "title" if before.collection == "note" else "value"
    answer = trial.run("set", trial.store, id, f"{name}=changed {COMMON}")
    changed = [Record(before.collection, None, {**fields, name: f"changed {COMMON}"})
               for fields in (before.fields, *trial.sample.versions[id])]
    after = changed[0]
    if trial.cost.isTorn(id):
        # What was changed may be the version before.
        shown = Shown.of(trial.run("get", trial.store, id, "--json")).records.get(id)
        after = next((one for one in changed if shown and isSame(shown, one, None)), after)
    if answer.code == tools.DONE:
        trial.expected.records[id] = after
    else:
        trial.expected.either[id] = after
    return afterwards(trial, answer, trial.expected)


def remove(trial):
    id = trial.target()
    answer = trial.run("remove", trial.store, id)
    if answer.code == tools.DONE:
        del trial.expected.records[id]
        trial.expected.removed = trial.expected.removed | {id}
    else:
        trial.expected.either[id] = None
    problems = afterwards(trial, answer, trial.expected)
    if answer.code == tools.NO and not answer.warned and not trial.cost.isExcused(id):
        problems.append(Problem("silent", f"{answer}: the record is there, or was lost"))
    return problems


def compact(trial):
    answer = trial.run("compact", trial.store, "--segment-size", SEGMENT)
    return afterwards(trial, answer, trial.expected)


def afterwards(trial, answer, expected, new=None):
    """What a verb that wrote says, and what the store shows then."""
    problems = trial.opening(answer, isWriting=True)
    if answer.hung or answer.trapped:
        return problems
    if answer.code == tools.DAMAGE and trial.cost.isContainable and new == "":
        # Where it is known what is lost, the store goes on: `add` printed no id, so it added nothing.
        problems.append(Problem("needless", str(answer)))
    after = trial.run("dump", trial.store, "--json")
    shown = Shown.of(after)
    problems += [Problem(one.kind, f"{answer}; then {one.detail}") for one in trial.judge.listing(after, expected)]
    lost = {id for id in expected.records if trial.judge.isMissing(id, shown, expected)}
    verdict = trial.run("verify", trial.store)
    problems += trial.judge.ending(verdict)
    if verdict.code == tools.DONE and lost:
        problems.append(Problem("forgotten", f"{answer}; then {verdict}: {len(lost)} records are lost"))
    revision = shown.records[new].revision if new in shown.records else None
    if revision and revision < trial.sample.nextRevision and trial.cost.tornFrom is None:
        problems.append(Problem(
            "revision", f"{answer}: revision {revision}, and {trial.sample.nextRevision - 1} was given out before"))
    return problems


def backup(trial):
    copy, again = trial.place("copy"), trial.place("again")
    made = trial.run("backup", trial.store, copy)
    return trial.opening(made) + restored(trial, copy, again, made)


def restored(trial, copy, again, made):
    """What comes back of a backup, and whether whoever restores it hears of what does not."""
    restored = trial.run("restore", copy, again)
    problems = trial.judge.ending(restored)
    if problems:
        return problems
    if restored.code not in (tools.DONE, tools.DAMAGE):
        if made.code in (tools.DONE, tools.NO):
            problems.append(Problem("silent", f"{made}; then {restored}"))
        return problems
    after = trial.run("dump", again, "--json")
    # Who was told of damage by the backup is told here which moment it has.
    judge = trial.judge if made.code == tools.DONE else Judge(trial.cost.asOf(restored))
    for one in judge.listing(after, trial.expected):
        if not (one.kind == "silent" and restored.code == tools.DAMAGE):
            problems.append(Problem(one.kind, f"{made}; then {restored}; then {one.detail}"))
    return problems


def update(trial):
    """A backup of the sound store, brought up to date from the damaged one: what it held, it holds."""
    copy, again = trial.place("copy"), trial.place("again")
    shutil.copytree(trial.soundBackup, copy)
    made = trial.run("backup", trial.store, copy)
    restored = trial.tool.run("restore", copy, again)
    problems = trial.opening(made) + trial.judge.ending(restored)
    after = trial.tool.run("dump", again, "--json", *trial.tool.byKey)
    shown = Shown.of(after)
    lost = {id for id in trial.sample.records if id not in shown.records or id in shown.unreadable}
    if lost:
        problems.append(Problem("backup lost", f"{made}; then {restored}: {len(lost)} records that the backup held"))
    return problems


def restore(trial):
    """A damaged backup, restored: what is whole in it comes back."""
    again = trial.place("again")
    answer = trial.run("restore", trial.store, again)
    problems = trial.judge.ending(answer)
    if problems:
        return problems
    after = trial.run("dump", again, "--json")
    if after.code == tools.NO_STORE:
        return trial.judge.omissions(answer, Shown(), {*trial.expected.records})
    # Who is told of damage is told which moment it is.
    isTold = answer.code == tools.DAMAGE
    judge = Judge(trial.cost.asOf(answer)) if isTold or trial.lacksTheNewest else trial.judge
    for one in judge.listing(after, trial.expected):
        if not (one.kind == "silent" and isTold):
            problems.append(Problem(one.kind, f"{answer}; then {one.detail}"))
    return problems


def salvage(trial):
    saved = trial.place("saved")
    answer = trial.run("salvage", trial.store, "--to", saved, "--json")
    problems = trial.judge.ending(answer)
    if problems:
        return problems
    after = trial.tool.run("dump", saved, "--json", *trial.tool.byKey)
    shown = Shown.of(after)
    report = json.loads(answer.out) if answer.out.startswith("{") else {}
    # The report says below which revision a record may be older than its newest version.
    stale = report.get("staleBelow", 0)
    shown.stale |= {id for id, record in shown.records.items() if answer.code == tools.DAMAGE and record.revision < stale}
    problems = trial.judge.contents(after, shown, trial.expected, None)
    missing = {id for id in trial.sample.records if trial.judge.isMissing(id, shown, trial.expected)}
    if missing - trial.cost.hurt:
        problems.append(Problem("salvage lost", f"{answer}: {len(missing - trial.cost.hurt)} records whose frames are whole"))
    elif missing and answer.code == tools.DONE:
        problems.append(Problem("silent", f"{answer}: 'everything was saved', but for {len(missing)} records"))
    return problems


READING = ("get", "list", "dump", "search", "verify", "info", "salvage")
# What is tried on a damaged backup.
OF_BACKUPS = {"restore": restore, "verify": verify}
VERBS = {"get": get, "list": listRecords, "dump": dump, "search": search, "add": add, "set": setFields, "remove": remove,
         "compact": compact, "backup": backup, "update": update, "verify": verify, "info": info, "salvage": salvage}


def verbsOf(sample):
    """What is tried on a damaged store, or on a damaged backup."""
    return OF_BACKUPS if sample.name == "backup" else VERBS
