"""Campaign `damage`: one file of a small store is damaged, and every verb is run on it.

Every file x {missing, empty, half, each 512-byte block zeroed, a bit flipped in each} x every verb; a sample of these
that fits the time, drawn evenly from kinds of files and of damage. And every file of a backup, which is restored. What may go wrong:

  silent        a record is missing, older than its newest version, or removed and back, without a word
  wrong         a record is shown in another content than its newest, and not marked as possibly older
  code          the loss is said on stderr, and the exit code denies it
  spread        records are lost whose bytes were not damaged
  needless      the store is refused (exit 3) though it is known what is lost
  forgotten     a verb that writes turns a damaged store into one that `verify` calls sound
  revision      a new record gets a revision that was given out before
  salvage lost  `salvage` leaves out a record whose frame is whole
  backup lost   a backup loses what it held by an update from the damaged store
  unseen        `verify` calls a store sound, bytes of which are not what they were
  wrote         a verb that only reads changed a file
  false alarm   a verb fails, or speaks of damage, where nothing is damaged
  trap, hang    the tool crashed, or did not end
"""

import os
import random
import shutil
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import samples
import tool as tools
from faults import BLOCK, KINDS, Cost, Damage, classOf, pick
from verbs import Trial, verbsOf

# Of the verbs, how many are tried on one damage before the next is drawn.
VERBS_EACH = 4


def run(tool, folder, findings, settings):
    made = samples.make(tool, folder)
    backups = {}
    for sample in made.values():
        backups[sample.name] = os.path.join(folder, sample.name + ".backup")
        tool.check("backup", sample.folder, backups[sample.name])
    made["backup"] = samples.backedUp(made["behind"], backups["behind"])
    backups["backup"] = None
    if settings.case:
        work = [parse(made, settings.case)]
    else:
        prove(tool, made, findings, folder, backups)
        work = all(made) if settings.all else drawn(made, settings.seed)
    deadline = time.monotonic() + settings.seconds
    with ThreadPoolExecutor(settings.jobs) as pool:
        running = []
        for sample, damage, verbs in work:
            if time.monotonic() > deadline and not settings.all:
                break
            while len(running) >= settings.jobs:
                running.pop(0).result()
            running.append(pool.submit(
                attempt, tool, sample, damage, verbs, random.Random(f"{settings.seed} {damage}"), findings, folder,
                backups[sample.name]))
        for task in running:
            task.result()


def parse(made, case):
    """A case as a violation's example names it: SAMPLE/FILE/KIND[@OFFSET[.BIT]]/VERB."""
    name, rest = case.split("/", 1)
    damage, verb = rest.rsplit("/", 1)
    damage = Damage.parse(damage)
    if name == "backup":
        # Kind and number of an object are the same each time, and the rest of its name is not.
        file = next(file for file in made[name].files if file[:12] == damage.file[:12])
        damage = replace(damage, file=file)
    return made[name], damage, [verb]


def drawn(made, seed):
    """Cases without end, none twice: each kind of file and of damage in turn, and of each any file, place and verbs."""
    chance = random.Random(seed)
    kinds = [(sample, name, kind) for sample in made.values()
             for name in sorted({classOf(sample, file) for file in sample.files}) for kind in KINDS]
    left = {}
    while True:
        chance.shuffle(kinds)
        for sample, name, kind in kinds:
            file = chance.choice(sorted(file for file in sample.files if classOf(sample, file) == name))
            damage = pick(chance, sample, file, kind)
            untried = left.setdefault((sample.name, damage), shuffled(chance, sample))
            now = [untried.pop() for _ in range(min(VERBS_EACH, len(untried)))]
            if now:
                yield sample, damage, now


def shuffled(chance, sample):
    """The verbs of a sample in any order."""
    return chance.sample(sorted(verbsOf(sample)), len(verbsOf(sample)))


def all(made):
    """Every case there is."""
    for sample in made.values():
        for file, size in sorted(sample.files.items()):
            damages = [Damage(file, kind) for kind in KINDS[:3]]
            for block in range(0, min(size, 1 << 19), BLOCK):
                damages.append(Damage(file, "zeroed", block))
                at = min(block + random.Random(f"{file} {block}").randrange(BLOCK), size - 1)
                damages.append(Damage(file, "flipped", at, block // BLOCK % 8))
            for damage in damages:
                yield sample, damage, sorted(verbsOf(sample))


def prove(tool, made, findings, folder, backups):
    """Without any damage, every verb has to be right: else the campaign would prove nothing."""
    for sample in made.values():
        # What is empty can't be emptied.
        nothing = Damage(min(sample.files, key=sample.files.get), "empty")
        attempt(tool, sample, nothing, sorted(verbsOf(sample)), random.Random(1), findings, folder, backups[sample.name], proof=True)


def attempt(tool, sample, damage, verbs, chance, findings, folder, backup, proof=False):
    """Damages a copy of the sample, and runs the verbs on copies of that."""
    with tempfile.TemporaryDirectory(dir=folder) as place:
        damaged = os.path.join(place, "damaged")
        shutil.copytree(sample.folder, damaged)
        changed = damage.apply(damaged)
        if changed is None and not proof:
            return
        trial = Trial(tool, sample, damage, Cost(sample, damage, changed or (0, 0)), place, chance, backup)
        findings.count("cases")
        for verb in verbs:
            trial.answers.clear()
            found = {problem.kind: problem.detail for problem in trial.problems(verb)}
            for kind, detail in found.items():
                what = f"{verb:<8} {classOf(sample, damage.file)} {damage.kind}"
                if proof:
                    what = f"{verb:<8} nothing damaged"
                case = f"--case {sample.name}/{damage}/{verb}: {detail.replace(place, '.')}"
                if kind == "refused":
                    findings.count("refused")
                else:
                    findings.violation(kind, what, case)
            findings.count("runs", len(trial.answers))
            for answer in trial.answers if proof and verb != "get" else []:
                if answer.code != tools.DONE:
                    findings.violation("false alarm", f"{verb:<8} nothing damaged", f"{sample.name}: {answer}")
