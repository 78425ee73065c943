"""Whether an answer of the tool is true, and where it is not, whether it says so."""

import json
from dataclasses import dataclass, field

import tool as tools
from samples import Record, sameFields


@dataclass(frozen=True)
class Problem:
    kind: str
    detail: str


@dataclass
class Expected:
    """What a store has to show: the sound store's records, and what a verb did to them since."""

    records: dict
    versions: dict
    removed: set
    # Records that a failed verb may have changed or not.
    either: dict = field(default_factory=dict)

    @staticmethod
    def of(sample):
        return Expected(dict(sample.records), sample.versions, sample.removed)


@dataclass
class Shown:
    """The records that an answer shows."""

    records: dict = field(default_factory=dict)
    stale: set = field(default_factory=set)
    unreadable: set = field(default_factory=set)
    isGarbled: bool = False

    @staticmethod
    def of(answer):
        shown = Shown()
        for line in answer.out.splitlines():
            try:
                row = json.loads(line)
                record = Record(row.get("collection", ""), row["revision"], row["fields"])
            except (ValueError, KeyError, TypeError):
                shown.isGarbled = True
                continue
            shown.records[row["id"]] = record
            if row.get("possiblyStale"):
                shown.stale.add(row["id"])
            if any(isinstance(value, dict) and ("error" in value or "sealed" in value)
                   for value in record.fields.values()):
                shown.unreadable.add(row["id"])
        return shown


class Judge:
    """Judges answers about a store with one damage, of which `cost` says what it may cost."""

    def __init__(self, cost):
        self.cost = cost

    def ending(self, answer):
        """How the tool must not end, whatever was damaged."""
        if answer.hung:
            return [Problem("hang", str(answer))]
        if answer.trapped:
            return [Problem("trap", str(answer))]
        return []

    def listing(self, answer, expected, only=None, fields=None):
        """An answer that has to show all of `expected`, or only the records `only`, or only some of their fields."""
        problems = self.ending(answer)
        if problems:
            return problems
        shown = Shown.of(answer)
        if shown.isGarbled:
            return [Problem("wrong", f"{answer}: a line of it is no record")]
        problems = self.contents(answer, shown, expected, fields)
        wanted = expected.records if only is None else [id for id in only if id in expected.records]
        missing = {id for id in wanted if self.isMissing(id, shown, expected)}
        problems += self.omissions(answer, shown, missing)
        return problems

    def isMissing(self, id, shown, expected):
        if id in shown.records and id not in shown.unreadable:
            return False
        return not (id in expected.either and expected.either[id] is None) and not self.cost.isExcused(id)

    def contents(self, answer, shown, expected, fields):
        """Records shown in another content than their newest."""
        problems = []
        for id, record in shown.records.items():
            if id in shown.unreadable:
                continue
            newest = expected.records.get(id)
            accepted = [one for one in (newest, expected.either.get(id)) if one]
            if any(isSame(record, one, fields) for one in accepted):
                continue
            older = any(part(version, fields) == part(record.fields, fields) for version in expected.versions.get(id, []))
            if id in shown.stale and older:
                continue
            if older and self.cost.isExcused(id, record.revision):
                continue
            what = "removed, and shown again" if id in expected.removed else "older" if older else "never written"
            problems.append(Problem(
                "wrong", f"{answer}: record {id} at revision {record.revision} is {what}, and not marked as such"))
        return problems[:1]

    def omissions(self, answer, shown, missing):
        """Records not shown, or not opened: must be said, and must be no more than the damaged ones."""
        if not missing:
            return []
        lost = f"{len(missing)} of the records, {sorted(missing)[0]} for one"
        if not answer.warned:
            return [Problem("silent", f"{answer}: not shown are {lost}")]
        problems = []
        if answer.code in (tools.DONE, tools.NO):
            problems.append(Problem("code", f"{answer}: not shown are {lost}"))
        if answer.code == tools.DAMAGE and not shown.records and not missing <= self.cost.hurt:
            problems.append(self.refusal(answer))
        elif not missing <= self.cost.hurt:
            spread = sorted(missing - self.cost.hurt)
            problems.append(Problem("spread", f"{answer}: lost without being damaged are {len(spread)}, {spread[0]} for one"))
        return problems

    def refusal(self, answer):
        """The tool served nothing: right where nobody knows what is lost, and only counted then."""
        return Problem("needless" if self.cost.isContainable else "refused", str(answer))


def part(fields, names):
    """The fields that an answer is asked for, without those that have no value."""
    return {name: value for name, value in fields.items() if value is not None and (names is None or name in names)}


def isSame(shown, expected, names):
    revision = expected.revision in (None, shown.revision)
    return revision and sameFields(part(shown.fields, names), part(expected.fields, names))
