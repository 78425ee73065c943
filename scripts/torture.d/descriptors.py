"""Campaign `descriptors`: a store of very many segments, and room for 64 open files: every verb works.

Each verb is run on a store that was closed in order, on one without its checkpoint, and on one that was killed. There are as
many segments as are made in half of the time, at most 10,000. What may go wrong:

  failed        a verb does not exit 0
  wrong         what it shows is not what was written
  trap, hang    it crashed, or did not end
"""

import json
import os
import shutil
import subprocess
import time

import tool as tools
from samples import SEGMENT

SEGMENTS = 10_000
OPEN_FILES = 64
RECORD_BYTES = 3000
RECORDS_EACH = 3
SCHEMA = {"collections": [{"name": "note", "fields": [{"name": "title", "type": "text"}, {"name": "body", "type": "text"}]}]}


def run(tool, folder, findings, settings):
    stores = [os.path.join(folder, name) for name in ("killed", "closed", "unindexed")]
    killed, closed, unindexed = stores
    count = fill(tool, folder, killed, settings)
    shutil.copytree(killed, closed)
    findings.count("segments", sum(name.endswith(".journal") for name in os.listdir(closed)))
    # This recovers it, and closes it in order; with room for as many open files as there may be.
    recovered = tool.run("add", closed, "title=recovered", *tool.byKey)
    if recovered.code != tools.DONE:
        findings.violation("failed", "add      closed, without a bound", str(recovered))
        stores = [killed]
    else:
        shutil.copytree(closed, unindexed)
        for name in os.listdir(unindexed):
            if name.endswith("index"):
                os.unlink(os.path.join(unindexed, name))
    for store in stores:
        everyVerb(tool, folder, findings, store, count + (store != killed))


def fill(tool, folder, store, settings):
    """Imports until there are enough segments or half of the time is over, and kills the import; returns the records."""
    schema = os.path.join(folder, "schema.json")
    with open(schema, "w") as file:
        json.dump(SCHEMA, file)
    tool.check("init", store, "--schema", schema, "--segment-size", SEGMENT, *tool.byKey)
    words = ("import", store, "--segment-size", SEGMENT, "--batch", str(RECORDS_EACH), "--ack", *tool.byKey)
    process = tool.start(*words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    deadline = time.monotonic() + settings.seconds / 2
    count = 0
    while count < SEGMENTS * RECORDS_EACH and (settings.all or time.monotonic() < deadline):
        for number in range(count, count + RECORDS_EACH):
            fields = {"title": f"title {number}", "body": "x" * RECORD_BYTES}
            id = f"00000000-0000-4000-8000-{number:012d}"
            process.stdin.write(json.dumps({"id": id, "fields": fields}) + "\n")
        process.stdin.flush()
        for _ in range(RECORDS_EACH):
            process.stdout.readline()
        count += RECORDS_EACH
    tools.kill(process)
    process.stdin.close()
    process.stdout.close()
    return count


def everyVerb(tool, folder, findings, store, count):
    """Runs every verb on a store with `count` records; what writes comes last."""
    id = f"00000000-0000-4000-8000-{count // 2:012d}"
    copy, again, saved = (os.path.join(folder, name) for name in ("copy", "again", "saved"))
    for path in (copy, again, saved):
        shutil.rmtree(path, ignore_errors=True)
    key = tool.byKey
    commands = [
        ("get", (store, id, "title"), 1), ("list", (store,), count), ("dump", (store, "--json", *key), count),
        ("search", (store, "x" * 9), None), ("verify", (store, *key), None), ("info", (store,), None),
        ("backup", (store, copy), None), ("restore", (copy, again), None), ("dump", (again, "--json", *key), count),
        ("salvage", (store, "--to", saved), None), ("dump", (saved, "--json", *key), count),
        ("add", (store, "title=one", *key), None), ("set", (store, id, "title=two", *key), None),
        ("remove", (store, id), None), ("compact", (store,), None), ("dump", (store, "--json", *key), count),
        ("verify", (store, *key), None)]
    for verb, words, lines in commands:
        answer = tool.run(verb, *words, descriptors=OPEN_FILES)
        findings.count("commands")
        what = f"{verb:<8} {os.path.basename(store)}, {os.path.basename(words[0])}"
        if answer.trapped or answer.hung:
            findings.violation("hang" if answer.hung else "trap", what, str(answer))
        elif answer.code != tools.DONE:
            findings.violation("failed", what, str(answer))
        elif lines is not None and len(answer.out.splitlines()) != lines:
            shown = len(answer.out.splitlines())
            findings.violation("wrong", what, f"{answer}: shows {shown} of {lines}")
