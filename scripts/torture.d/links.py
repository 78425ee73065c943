"""Campaign `links`: links and pipes are planted in a store, and nothing outside the store may change.

For each name that a store has or may come to have, folders included, and for each name of a backup: a link to a file
outside, to a folder outside, or to nothing, or a named pipe, stands in its place while every verb is run. And a file
`creating` is dropped beside a whole store before `init`. What may go wrong:

  outside       something outside was changed, made or removed
  read          a file outside was read
  erased        `init` erased records
  trap, hang    the tool crashed, or waited for a pipe
"""

import itertools
import os
import random
import shutil
import tempfile
import time

import samples
from faults import classOf
from samples import COMMON, SEGMENT

# Of the verbs, how many are tried on one link before the next.
VERBS_EACH = 4
FOLDERS = ("pins", "torn")
TARGETS = ("file", "folder", "nothing", "pipe")
LINES = '{"collection":"tag","fields":{"name":"imported","value":"text"}}\n'


def run(tool, folder, findings, settings):
    made = samples.make(tool, folder)
    copy = os.path.join(folder, "copy")
    tool.check("backup", made["behind"].folder, copy)
    chance = random.Random(settings.seed)
    cases = [(kind, name, target) for kind in ("closed", "killed", "backup")
             for name in plantable(made.get(kind), copy) for target in TARGETS]
    chance.shuffle(cases)
    # The store's folders first: what is written into or removed from one may be anybody's.
    cases.sort(key=lambda case: case[1] not in FOLDERS)
    dropCreating(tool, made["behind"], folder, findings)
    findings.count("places", len(cases))
    deadline = time.monotonic() + settings.seconds
    for kind, name, target in cases if settings.all else itertools.cycle(cases):
        if time.monotonic() > deadline and not settings.all:
            break
        with tempfile.TemporaryDirectory(dir=folder) as place:
            planting = Planting(tool, place, findings, kind, name, target)
            planting.attempt(made, copy, chance, None if settings.all or name in FOLDERS else VERBS_EACH)


def plantable(sample, copy):
    """The names of a store or a backup, and others that it may come to have."""
    if sample is None:
        objects = os.listdir(copy)
        return sorted({*objects, *(name + ".1f.partial" for name in objects), "k-0000000099-" + "0" * 16, "000000000009.journal"})
    last = int(sample.head.split(".")[0])
    # Of files that are alike one is enough.
    files = {classOf(sample, file): file for file in sorted(sample.files)}.values()
    coming = {f"{number:012d}.{kind}" for number in (last + 1, last + 2)
              for kind in ("journal", "journal.partial", "index", "index.partial")}
    others = {"pins", "torn", "creating", "index.partial", "keyring.partial", "keyring.copy.partial", "reserve.partial",
              "lock.partial", f"{last:012d}.index", "pins/other", "torn/other", f"torn/{last}-4608.tail"}
    return sorted({*files, *coming, *others})


class Planting:
    """One link or pipe in a store or a backup, with a tree outside that must stay as it is."""

    def __init__(self, tool, place, findings, kind, name, target):
        self.tool, self.place, self.findings = tool, place, findings
        self.kind, self.name, self.target = kind, name, target
        self.outside = os.path.join(place, "outside")

    def attempt(self, made, copy, chance, number):
        """Plants the link anew for each verb: an earlier one may have removed it, rightly."""
        source = copy if self.kind == "backup" else made[self.kind].folder
        sample = made["behind" if self.kind == "backup" else self.kind]
        commands = self.commands(chance.choice(sorted(sample.records)), made["behind"].folder)
        for verb, words, input in commands if number is None else chance.sample(commands, min(number, len(commands))):
            for old in ("store", "outside", "new"):
                shutil.rmtree(os.path.join(self.place, old), ignore_errors=True)
            shutil.copytree(source, os.path.join(self.place, "store"))
            if self.kind == "killed":
                tear(os.path.join(self.place, "store"), sample)
            self.plant()
            before = tree(self.outside)
            answer = self.tool.run(verb, *words, *self.tool.byKey, input=input)
            self.findings.count("runs")
            self.judge(verb, answer, before, tree(self.outside))

    def commands(self, id, source):
        """Every verb, with the store or the backup in its place."""
        store, new = os.path.join(self.place, "store"), os.path.join(self.place, "new")
        if self.kind == "backup":
            return [("backup", (source, store), ""), ("restore", (store, new), ""), ("verify", (store,), "")]
        return [
            ("get", (store, id), ""), ("list", (store, "tag"), ""), ("dump", (store,), ""), ("search", (store, COMMON), ""),
            ("dump", ("--frames", store), ""), ("add", (store, "tag", "name=new"), ""),
            ("import", (store, "--segment-size", SEGMENT), LINES * 100), ("remove", (store, id), ""),
            ("compact", (store, "--segment-size", SEGMENT), ""), ("backup", (store, new), ""), ("verify", (store,), ""),
            ("info", (store,), ""), ("salvage", (store, "--to", new), ""), ("init", (store,), ""),
            ("restore", (source, store), ""), ("key", ("add", store, "another"), ""),
            ("password", ("add", store, "--new-password-file", self.tool.passwordFile, "--scrypt-log-n", "14"), "")]

    def plant(self):
        """Makes the tree outside, and the link to it; what stood in the link's place is what it leads to."""
        path = os.path.join(self.place, "store", self.name)
        os.makedirs(os.path.join(self.outside, "folder", "inner"))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        for name in ("file", "folder/notes.txt", "folder/000000000001.journal", "folder/1-4608.tail", "folder/inner/deep"):
            with open(os.path.join(self.outside, name), "w") as file:
                file.write(f"the content of {name}\n")
        if os.path.isfile(path):
            shutil.copyfile(path, os.path.join(self.outside, "file"))
        remove(path)
        if self.target == "pipe":
            os.mkfifo(path)
        else:
            os.symlink(os.path.join(self.outside, self.target), path)
        # Read times are kept where they lie before the last change: so the first read is seen.
        for folder, _, names in os.walk(self.outside):
            for name in names:
                os.utime(os.path.join(folder, name), (1, 1_000_000_000))

    def judge(self, verb, answer, before, after):
        what = f"{verb:<9} {self.kind} {pattern(self.name)} -> {self.target}"
        if answer.hung:
            self.findings.violation("hang", what, str(answer))
        if answer.trapped:
            self.findings.violation("trap", what, str(answer))
        differing = [name for name in sorted(set(before) | set(after)) if changes(before.get(name)) != changes(after.get(name))]
        if differing:
            self.findings.violation("outside", what, f"{answer}: {differing[0]}")
        read = [name for name in before if name in after and after[name][-1] != before[name][-1]]
        if read and not differing:
            self.findings.violation("read", what, f"{answer}: {read[0]}")


def tear(store, sample):
    """A write that was never completed, behind the last frame: recovery cuts it, and keeps it in `torn`."""
    end = max(frame.end for frame in sample.frames if frame.file == sample.head and frame.kind != "unused")
    with open(os.path.join(store, sample.head), "r+b") as file:
        file.seek(end)
        file.write(b"\x01torn" * 50)


def pattern(name):
    """A name with its numbers left out, so that findings of the same kind come together."""
    return "".join("N" if part.isdigit() else part for part in name.replace(".", " . ").replace("-", " - ").split(" "))


def remove(path):
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.unlink(path)


def tree(folder):
    """Names, contents and times of everything below a folder, read times last; reading it here leaves these alone."""
    found = {}
    for path, folders, names in os.walk(folder):
        for name in folders:
            found[os.path.join(path, name)] = ("folder", None)
        for name in names:
            place = os.path.join(path, name)
            status = os.lstat(place)
            with open(os.open(place, os.O_RDONLY | getattr(os, "O_NOATIME", 0)), "rb") as file:
                found[place] = (file.read(), status.st_mtime_ns, status.st_mode, status.st_atime_ns)
    return found


def changes(entry):
    """What of an entry only a change alters."""
    return entry and entry[:-1]


def dropCreating(tool, sample, folder, findings):
    """The file that marks a store in the making, beside a store that is whole."""
    store = os.path.join(folder, "whole")
    for text in ("", "notelog: a store is being made in this folder\n"):
        shutil.rmtree(store, ignore_errors=True)
        shutil.copytree(sample.folder, store)
        with open(os.path.join(store, "creating"), "w") as file:
            file.write(text)
        answer = tool.run("init", store, *tool.byKey)
        os.unlink(os.path.join(store, "creating")) if os.path.exists(os.path.join(store, "creating")) else None
        after = tool.run("dump", store, "--json", *tool.byKey)
        shown = len(after.out.splitlines())
        if shown < len(sample.records):
            findings.violation(
                "erased", "init      beside 'creating'", f"{answer}; then {after}: {shown} of {len(sample.records)} records")
