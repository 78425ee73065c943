"""Runs the notelog binary, each time as a process of its own, and keeps what it answered."""

import os
import re
import shlex
import signal
import subprocess
from dataclasses import dataclass

# The exit codes that the tool promises (`notelog help`).
DONE, NO, FAILED, DAMAGE, NO_STORE, BUSY, LOCKED, USAGE, INTERRUPTED = 0, 1, 2, 3, 10, 11, 12, 64, 130

# Not a code of the tool: it did not end in time and was killed.
HUNG = 1000

# How long a command may take. None of the stores here keeps the tool busy for longer than a second or two.
LIMIT_SECONDS = 60

# Words by which an error message speaks of damage, and not of a record that does not exist.
DAMAGE_WORDS = re.compile(r"damage|lost|missing|stale|older|does not check|tamper|checksum", re.IGNORECASE)


@dataclass(frozen=True)
class Answer:
    """What a command printed, and how it ended; a negative code is the signal that ended it."""

    words: tuple
    code: int
    out: str
    err: str

    @property
    def trapped(self):
        bySignal = self.code < 0 or 128 <= self.code < HUNG and self.code != INTERRUPTED
        return bySignal or "Fatal error" in self.err

    @property
    def hung(self):
        return self.code == HUNG

    @property
    def warned(self):
        """Whether a script or a reader learns that not all is well. Code 1 of `get` or `search` only says 'not found'."""
        if self.code == DONE:
            return bool(self.err.strip())
        return self.code != NO or bool(DAMAGE_WORDS.search(self.err))

    def __str__(self):
        how = "did not end" if self.hung else f"exit {self.code}"
        first = self.err.strip().splitlines()
        words = [word for word in self.words if "/key" not in word and "/password" not in word]
        shown = shlex.join(word for word in words if word not in ("--key-file", "--password-file"))
        return f"notelog {shown}: {how}" + (f", stderr: {first[0][:160]}" if first else "")


class Tool:
    """The binary under test, with the key that opens the stores of this run."""

    def __init__(self, binary, folder):
        self.binary = os.path.realpath(binary)
        self.keyFile = os.path.join(folder, "key")
        self.passwordFile = os.path.join(folder, "password")
        with open(self.keyFile, "wb") as file:
            file.write(bytes(range(32)))
            os.fchmod(file.fileno(), 0o600)
        with open(self.passwordFile, "w") as file:
            file.write("open sesame\n")
            os.fchmod(file.fileno(), 0o600)

    @property
    def byKey(self):
        return ("--key-file", self.keyFile)

    @property
    def byPassword(self):
        return ("--password-file", self.passwordFile)

    def run(self, *words, input="", descriptors=None):
        """Runs `notelog words`; `descriptors` bounds how many files it may have open."""
        command = [self.binary, *words]
        if descriptors:
            command = ["sh", "-c", f'ulimit -n {descriptors}; exec "$@"', "sh", *command]
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            out, err = process.communicate(input.encode(), LIMIT_SECONDS)
            code = process.returncode
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            code = HUNG
        return Answer(tuple(words), code, out.decode(errors="replace"), err.decode(errors="replace"))

    def check(self, *words, input=""):
        """Runs a command that has to succeed: the campaign's own preparations."""
        answer = self.run(*words, input=input)
        if answer.code != DONE:
            raise SystemExit(f"torture: a preparation failed: {answer}")
        return answer

    def start(self, *words, **streams):
        """Starts a command that is stopped, continued or killed while it runs."""
        return subprocess.Popen([self.binary, *words], **streams)


def kill(process):
    """Ends a process at once, wherever it is."""
    process.send_signal(signal.SIGKILL)
    process.wait()
