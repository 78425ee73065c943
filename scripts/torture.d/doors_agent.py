"""Campaign `doors-agent`: what somebody can do who comes by an unlocked agent, the files or a terminal, but by no password.

An agent keeps two stores, and is looked into (by the administrator alone; others skip this) after `lock` and after the time.
Commands run beside it that would make a lasting way in; older keyrings are put back; commands crash, hang and print what
somebody else wrote. What may go wrong:

  root          the agent's memory holds the unlock root, or a part of it, when it should have forgotten it
  backtrace     a crash prints registers and memory, or does not end the tool
  lasting       what opens the store was changed without a password, or a slot that came back was not shown
  said          a command exits 0 though it reached or did nothing
  locked out    others can't write while a command waits for its password
  terminal      control characters reach a terminal
"""

import json
import os
import random
import shutil
import signal
import socket
import struct
import subprocess
import time

import tool as tools

CHEAP = ("--scrypt-log-n", "14")
CRASHES = (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL, signal.SIGTRAP, signal.SIGFPE)
# C1 control characters, and characters that turn the direction of writing or break lines.
UNSAFE = "".join(map(chr, (*range(0x7F, 0xA0), 0x61C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A))))


def run(tool, folder, findings, settings):
    play = Play(tool, folder, findings)
    chance = random.Random(settings.seed)
    deadline = time.monotonic() + settings.seconds
    attacks = [play.lasting, play.unreached, play.returned, play.shredded, play.unsafe, play.hanging]
    for attack in attacks:
        attack()
        findings.count("attacks")
    for number in CRASHES:
        play.crash(number)
        findings.count("crashes")
    looks = 0
    while os.geteuid() == 0 and (looks < 6 or time.monotonic() < deadline):
        # Each way once, then as they come.
        ways = [(lock, lists) for lock in ("lock", "agent lock", "time") for lists in (0, 1)]
        play.look(*(ways[looks] if looks < len(ways) else (chance.choice(("lock", "agent lock", "time")), chance.randrange(4))))
        looks += 1
    findings.count("runs", play.runs)
    findings.count("looks into the agent", looks)


class Play:
    """Two stores, and an agent's place for them."""

    def __init__(self, tool, folder, findings):
        self.tool, self.folder, self.findings, self.runs = tool, folder, findings, 0
        self.store, self.other = os.path.join(folder, "store"), os.path.join(folder, "other")
        for store in (self.store, self.other):
            tool.check("init", store, *tool.byPassword, *CHEAP)
        tool.check("add", self.store, "title=Hello", *tool.byPassword)
        self.place = os.path.join(folder, "run")
        os.mkdir(self.place, 0o700)
        self.environment = {**os.environ, "XDG_RUNTIME_DIR": self.place}

    def run(self, *words, environment=None):
        """Runs `notelog words` beside the agent, with nothing to read and no terminal."""
        self.runs += 1
        done = subprocess.run(
            [self.tool.binary, *words], env=environment or self.environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, timeout=tools.LIMIT_SECONDS)
        return tools.Answer(tuple(words), done.returncode, done.stdout.decode(), done.stderr.decode())

    def refuse(self, kind, what, answer, codes):
        if answer.code not in codes:
            self.findings.violation(kind, what, str(answer))

    def agent(self):
        """An agent that listens, and keeps nothing yet."""
        agent = self.tool.start("agent", env=self.environment, stdout=subprocess.PIPE)
        agent.stdout.readline()
        return agent

    def unlock(self, store, time="1h"):
        self.refuse("said", "unlock", self.run("unlock", store, "--for", time, *self.tool.byPassword), (tools.DONE,))

    # The agent's memory

    def look(self, lock, lists):
        agent = self.agent()
        self.unlock(self.other)
        self.unlock(self.store, "2s" if lock == "time" else "1h")
        root = self.root()
        for _ in range(lists):
            self.run("list", self.store)
        if lock == "time":
            while self.root():
                time.sleep(0.05)
        else:
            self.run(*lock.split(), self.store)
        pieces = occurrences(agent.pid, [root[at:at + 8] for at in range(0, 32, 8)])
        if len(root) != 32 or pieces:
            self.findings.violation(
                "root", f"after {lock}", f"{pieces} pieces of eight bytes, with {lists} x list before, another store being kept")
        agent.terminate()
        agent.wait()

    def root(self):
        """What the agent answers whoever asks for the store's root: nothing where it keeps none."""
        id = json.loads(self.run("info", self.store, "--json").out)["id"].replace("-", "")
        message = bytes((3, 1)) + bytes.fromhex(id)
        with socket.socket(socket.AF_UNIX) as agent:
            agent.connect(os.path.join(self.place, "notelog", "agent"))
            agent.sendall(struct.pack("<H", len(message)) + message)
            reply = b""
            while piece := agent.recv(100):
                reply += piece
        return reply[4:] if reply[3] == 7 else b""

    # Lasting ways in

    def lasting(self):
        """Whoever comes by the unlocked agent makes no way in that outlives it."""
        agent = self.agent()
        self.unlock(self.store)
        slots = self.slots()
        file = ("--new-password-file", self.tool.passwordFile)
        for words in (("key", "recovery", self.store), ("key", "grant", self.store, "default", *file, "--yes"),
                      ("password", "add", self.store, *file), ("password", "change", self.store, *file),
                      ("password", "change", self.store, "--rekey", "--yes", *file),
                      ("password", "remove", self.store, "0"), ("password", "remove", self.store)):
            self.refuse("lasting", " ".join(words[:2]), self.run(*words), (tools.LOCKED,))
        if self.slots() != slots:
            self.findings.violation("lasting", "slots", f"{slots} became {self.slots()}")
        agent.terminate()
        agent.wait()

    def slots(self):
        return json.loads(self.run("info", self.store, "--json").out)["slots"]

    def returned(self):
        """A grant is taken away and comes back with an older keyring: whoever rotates sees it, and nothing is done unasked."""
        store, friend = os.path.join(self.folder, "granting"), os.path.join(self.folder, "friend")
        with open(friend, "w") as file:
            os.fchmod(file.fileno(), 0o600)
            file.write("friend\n")
        self.tool.check("init", store, *self.tool.byPassword, *CHEAP)
        self.tool.check(
            "key", "grant", store, "default", "--yes", "--new-password-file", friend, *CHEAP, *self.tool.byPassword)
        older = os.path.join(self.folder, "older")
        shutil.copyfile(os.path.join(store, "keyring"), older)
        self.tool.check("password", "remove", store, "1", *self.tool.byPassword)
        for name in ("keyring", "keyring.copy"):
            shutil.copyfile(older, os.path.join(store, name))
        for words in (("key", "rotate", store, "default"), ("key", "grant", store, "default", "--new-password-file", friend),
                      ("password", "change", store, "--rekey", "--new-password-file", friend)):
            before = files(store)
            answer = self.run(*words, *self.tool.byPassword)
            self.refuse("lasting", " ".join(words[:2]) + " unasked", answer, (tools.USAGE,))
            if "slot: 1, password" not in answer.err or files(store) != before:
                self.findings.violation("lasting", " ".join(words[:2]) + " beside a slot that came back", str(answer))

    # What is said

    def unreached(self):
        """Without XDG_RUNTIME_DIR the agent is not reached."""
        agent = self.agent()
        self.unlock(self.store)
        without = {name: value for name, value in self.environment.items() if name != "XDG_RUNTIME_DIR"}
        for words in (("lock",), ("lock", self.store), ("agent", "lock"), ("agent", "stop"), ("agent", "status")):
            answer = self.run(*words, environment=without)
            self.refuse("said", " ".join(words[:1]) + " without XDG_RUNTIME_DIR", answer, (tools.FAILED,))
        if not self.root():
            self.findings.violation("said", "lock without XDG_RUNTIME_DIR", "the agent forgot the root after all")
        agent.terminate()
        agent.wait()

    def shredded(self):
        """Shredding asks, and says that there was nothing more to do."""
        self.tool.check("key", "add", self.store, "gone", "--shreddable", *self.tool.byPassword)
        for words, code in (((), tools.USAGE), (("--yes",), tools.DONE), (("--yes",), tools.NO)):
            answer = self.run("key", "shred", self.store, "gone", *words, *self.tool.byPassword)
            self.refuse("said", "key shred", answer, (code,))

    def crash(self, number):
        """A command that crashes says nothing of its memory, whatever the environment asks for."""
        pipe = os.path.join(self.folder, f"pipe.{int(number)}")
        os.mkfifo(pipe)
        process = self.tool.start(
            "list", self.store, "--password-file", pipe, env={**self.environment, "SWIFT_BACKTRACE": "enable=yes"},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        with open(pipe, "wb"):
            # It has opened the pipe, and waits for the password.
            process.send_signal(number)
        out, err = process.communicate()
        if process.returncode != -number or out or err:
            self.findings.violation(
                "backtrace", number.name, f"exit {process.returncode}, {len(err)} bytes on stderr: {err[:80]!r}")

    # Others

    def hanging(self):
        """A password command that hangs keeps nobody from writing."""
        said, gate = os.path.join(self.folder, "said"), os.path.join(self.folder, "gate")
        os.mkfifo(said)
        os.mkfifo(gate)
        command = f"sh -c 'echo here >{said}; cat {gate}'"
        process = self.tool.start(
            "add", self.store, "title=waited", "--password-command", command, env=self.environment, stdout=subprocess.PIPE)
        with open(said) as line:
            line.readline()
        self.refuse(
            "locked out", "add", self.run("add", self.store, "title=meanwhile", *self.tool.byPassword), (tools.DONE,))
        with open(gate, "wb") as pipe, open(self.tool.passwordFile, "rb") as password:
            pipe.write(password.read())
        process.communicate()
        if process.returncode != tools.DONE:
            self.findings.violation("locked out", "the command that waited", f"exit {process.returncode}")

    def unsafe(self):
        """What somebody else wrote moves no cursor and turns no line, as JSON neither."""
        text = "".join(f"a{character}" for character in UNSAFE)
        id = self.tool.check("add", self.store, f"title={text}", *self.tool.byPassword).out.strip()
        for words in (("list", self.store, "--json"), ("get", self.store, id, "--json"), ("dump", self.store, "--json", "--unlock"),
                      ("export", self.store, "--as", "jsonl"), ("search", self.store, "a", "--json")):
            answer = self.run(*words, *self.tool.byPassword)
            self.refuse("terminal", words[0], answer, (tools.DONE,))
            if set(answer.out) & set(UNSAFE):
                self.findings.violation("terminal", words[0], str(answer))
            elif text not in [json.loads(line)["fields"].get("title") for line in answer.out.splitlines() if '"fields"' in line]:
                self.findings.violation("terminal", f"{words[0]}: the text is another", str(answer))


def occurrences(process, pieces):
    """How often any of some bytes is found in a process's memory."""
    found = 0
    with open(f"/proc/{process}/maps") as maps, open(f"/proc/{process}/mem", "rb", 0) as memory:
        for line in maps:
            start, end = (int(number, 16) for number in line.split()[0].split("-"))
            if start >= 1 << 47:
                continue
            try:
                memory.seek(start)
                held = memory.read(end - start) or b""
            except OSError:
                continue
            found += sum(held.count(piece) for piece in pieces)
    return found


def files(folder):
    """Names and contents of what a store is made of."""
    found = {}
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        if os.path.isfile(path) and name != "lock":
            with open(path, "rb") as file:
                found[name] = file.read()
    return found
