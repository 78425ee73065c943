"""Campaign `doors-keys`: somebody without the key writes to a store's keyring and schemas, as SECURITY.md's A2 and A7 may.

One function an attack; each is played once on a store of its own. What may go wrong:

  lost          the owner's key opens nothing any more, of what was backed up or can be salvaged
  silent        it works, and nothing says so
  plaintext     what is to be sealed is written in the clear
  failed        the attack could not be played
"""

import hashlib
import hmac
import json
import os
import shutil
import struct
import subprocess
import zlib

import tool as tools

SECRET = "what nobody else may read"
SCHEMA = {"collections": [{"name": "note", "fields": [
    {"name": "number", "type": "integer"}, {"name": "title", "type": "text", "sealed": True}]}]}
OWN = ("keyring", "keyring.copy")


def run(tool, folder, findings, settings):
    for attack in ATTACKS:
        place = os.path.join(folder, attack.__name__)
        os.mkdir(place)
        findings.count("attacks")
        attack(Scene(tool, place, findings, attack.__name__))


class Scene:
    """A store with ten notes, and what is found in it."""

    def __init__(self, tool, place, findings, name):
        self.tool, self.place, self.findings, self.name = tool, place, findings, name
        self.store, self.backup = self.path("store"), self.path("backup")
        with open(self.path("schema"), "w") as file:
            json.dump(SCHEMA, file)
        self.make()

    def make(self):
        tool = self.tool
        shutil.rmtree(self.store, ignore_errors=True)
        tool.check("init", self.store, "--schema", self.path("schema"), *tool.byKey)
        lines = "".join(json.dumps({"fields": {"number": n, "title": f"title {n}"}}) + "\n" for n in range(10))
        tool.check("import", self.store, *tool.byKey, input=lines)

    def path(self, name):
        return os.path.join(self.place, name)

    def read(self, name):
        with open(os.path.join(self.store, name), "rb") as file:
            return file.read()

    def put(self, bytes, *names):
        for name in names:
            with open(os.path.join(self.store, name), "wb") as file:
                file.write(bytes)

    def expect(self, holds, kind, what):
        if not holds:
            self.findings.violation(kind, self.name, str(what))

    def opens(self, store):
        """Whether the owner's key opens all ten titles."""
        answer = self.tool.run("dump", store, "--unlock", "--json", *self.tool.byKey)
        self.expect(answer.out.count('"title":"title ') == 10, "lost", answer)


def forgedKeyring(scene):
    """A newer generation, noise for all wraps, a digest that fits; then a backup without a key, over a good one."""
    for forged in (OWN, OWN[:1], OWN[1:]):
        shutil.rmtree(scene.backup, ignore_errors=True)
        scene.tool.check("backup", scene.store, scene.backup)
        genuine = scene.read("keyring")
        scene.put(forge(genuine), *forged)
        answer = scene.tool.run("backup", scene.store, scene.backup)
        scene.expect(answer.warned, "silent", answer)
        verified = scene.tool.run("verify", scene.backup, *scene.tool.byKey)
        scene.expect(verified.code != tools.DONE, "silent", verified)
        restored = scene.tool.run("restore", scene.backup, scene.path("new"))
        scene.expect(restored.warned, "silent", restored)
        shutil.rmtree(scene.path("new"), ignore_errors=True)
        scene.tool.run("restore", scene.backup, scene.path("new"), *scene.tool.byKey)
        scene.opens(scene.path("new"))
        shutil.rmtree(scene.path("new"), ignore_errors=True)
        scene.put(genuine, *OWN)


def forgedBeforeTheFirstBackup(scene):
    """The same of one file alone, before there was a backup."""
    for name in OWN:
        shutil.rmtree(scene.backup, ignore_errors=True)
        genuine = scene.read(name)
        scene.put(forge(genuine), name)
        scene.tool.run("backup", scene.store, scene.backup)
        scene.tool.run("restore", scene.backup, scene.path("new"), *scene.tool.byKey)
        scene.opens(scene.path("new"))
        shutil.rmtree(scene.path("new"), ignore_errors=True)
        scene.put(genuine, name)


def backupWithAWrongPassword(scene):
    answer = scene.tool.run("backup", scene.store, scene.backup, *scene.tool.byPassword)
    scene.expect(answer.code == tools.LOCKED, "silent", answer)


def addedKeyringInSalvage(scene):
    """A forged keyring under another name, as sync programs leave them; and a genuine one there, beside forged ones."""
    genuine, added = scene.read("keyring"), "keyring (conflicted copy)"
    scene.put(forge(genuine), added)
    for words in ((), scene.tool.byKey):
        answer = scene.tool.run("salvage", scene.store, "--to", scene.path("new"), *words)
        scene.expect("k-" in answer.out, "silent", answer)
        scene.opens(scene.path("new"))
        shutil.rmtree(scene.path("new"), ignore_errors=True)
    scene.put(forge(genuine), *OWN)
    scene.put(genuine, added)
    scene.tool.run("salvage", scene.store, "--to", scene.path("new"), *scene.tool.byKey)
    scene.opens(scene.path("new"))


def formerRootsSchema(scene):
    """Who has the old root kept the keyring of between the two steps of a new root: put back, with a schema without seals."""
    tool, password = scene.tool, ("--password-file", scene.tool.passwordFile)
    key, kept = bytes(range(32)), None
    for _ in range(200):
        before = scene.read("keyring")
        process = tool.start(
            "password", "change", scene.store, "--rekey", "--yes", *tool.byKey, "--new-password-file", tool.passwordFile,
            "--scrypt-log-n", "14", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        seen = [before]
        while process.poll() is None:
            now = scene.read("keyring")
            if now != seen[-1]:
                seen.append(now)
        between = [keyring for keyring in seen[1:] if keyring != scene.read("keyring")]
        if between:
            kept = between[0]
            break
        # It was too quick.
        scene.make()
    if not kept:
        return scene.findings.violation("failed", scene.name, "the keyring in between was never seen")
    storeID = before[16:32]
    root = unwrap(hkdf(key, storeID, b"NL1/kek\x02"), before[72 + 40:])
    file = scene.read("schemas")
    size = struct.unpack_from("<I", file, 40)[0]
    stored = file[44:44 + size]
    schema = unsealed(stored[:-32])
    entry = schema + hmac.digest(hkdf(root, storeID, b"NL1/schema"), schema, "sha256")
    forged = file[:12] + struct.pack("<I", 48 + len(entry)) + file[16:40] + struct.pack("<I", len(entry)) + entry
    scene.put(forged + struct.pack("<I", zlib.crc32(forged)), "schemas")
    for name in os.listdir(scene.store):
        if name.endswith(".journal"):
            # The log's own does not check any more, so that the file counts.
            scene.put(scene.read(name).replace(stored, stored[:-1] + bytes([stored[-1] ^ 1])), name)
    scene.put(kept, *OWN)
    answer = tool.run("add", scene.store, "note", "number=11", f"title={SECRET}", *password)
    isPlain = any(SECRET.encode() in scene.read(name) for name in os.listdir(scene.store) if name.endswith(".journal"))
    scene.expect(not isPlain, "plaintext", answer)
    scene.expect("a schema was altered" in answer.err, "silent", answer)


ATTACKS = (forgedKeyring, forgedBeforeTheFirstBackup, backupWithAWrongPassword, addedKeyringInSalvage, formerRootsSchema)


def forge(keyring):
    """A keyring that nothing opens: docs/format-keyring.md 10.7."""
    size = struct.unpack_from("<I", keyring, 12)[0]
    generation = struct.unpack_from("<Q", keyring, 32)[0] + 1000
    body = keyring[:32] + struct.pack("<Q", generation) + keyring[40:112] + os.urandom(104) + keyring[216:size - 64]
    body += os.urandom(32)
    return body + hashlib.sha256(body).digest()


def unsealed(schema):
    """The next revision of a schema, of which no field is sealed: FORMAT.md 9.1."""
    out, place = schema[:4] + struct.pack("<I", struct.unpack_from("<I", schema, 4)[0] + 1), 8
    for _ in range(2):
        end = place + 1 + schema[place]
        out, place = out + schema[place:end], end
    count = struct.unpack_from("<H", schema, place)[0]
    out, place = out + schema[place:place + 2], place + 2
    for _ in range(count):
        number, type, flags, state, keys = struct.unpack_from("<HBBBB", schema, place)
        out += struct.pack("<HBBBB", number, type, flags & 2, state, 0)
        place += 6 + 4 * keys
        for _ in range(2):
            end = place + 1 + schema[place]
            out, place = out + schema[place:end], end
    return out + schema[place:]


def hkdf(secret, salt, info):
    return hmac.digest(hmac.digest(salt, secret, "sha256"), info + b"\x01", "sha256")


def unwrap(key, wrap):
    """The key in a wrap (FORMAT.md 10.2), its tag and commitment unlooked at."""
    key = b"".join(cmac(key, bytes([0, half, 0x58, 0]) + wrap[:12]) for half in (1, 2))
    stream = b"".join(encrypt(key, wrap[12:24] + struct.pack(">I", counter)) for counter in (2, 3))
    return bytes(a ^ b for a, b in zip(wrap[24:56], stream))


def cmac(key, block):
    """CMAC-AES-256 of one whole block."""
    zero = int.from_bytes(encrypt(key, bytes(16)), "big")
    subkey = (zero << 1 & (1 << 128) - 1) ^ (0x87 if zero >> 127 else 0)
    return encrypt(key, (int.from_bytes(block, "big") ^ subkey).to_bytes(16, "big"))


def double(byte):
    return (byte << 1 ^ 0x11B) if byte & 0x80 else byte << 1


def substitution():
    """The S-box of AES."""
    box, p, q = [0x63] * 256, 1, 1
    while True:
        p = p ^ double(p)
        for shift in (1, 2, 4):
            q ^= q << shift & 0xFF
        q ^= 0x09 if q & 0x80 else 0
        box[p] = q ^ 0x63
        for turn in (1, 2, 3, 4):
            box[p] ^= (q << turn | q >> 8 - turn) & 0xFF
        if p == 1:
            return box


SBOX = substitution()


def encrypt(key, block):
    """AES-256 of one block."""
    words, constant = [list(key[place:place + 4]) for place in range(0, 32, 4)], 1
    for number in range(8, 60):
        word = list(words[-1])
        if number % 8 == 0:
            word = [SBOX[byte] for byte in word[1:] + word[:1]]
            word[0] ^= constant
            constant = double(constant)
        elif number % 8 == 4:
            word = [SBOX[byte] for byte in word]
        words.append([a ^ b for a, b in zip(word, words[-8])])
    keys = [sum(words[4 * turn:4 * turn + 4], []) for turn in range(15)]
    state = [a ^ b for a, b in zip(block, keys[0])]
    for turn in range(1, 15):
        state = [SBOX[state[(place * 5) % 16]] for place in range(16)]
        if turn < 14:
            mixed = []
            for column in range(0, 16, 4):
                a = state[column:column + 4]
                total = a[0] ^ a[1] ^ a[2] ^ a[3]
                mixed += [a[row] ^ total ^ double(a[row] ^ a[(row + 1) % 4]) for row in range(4)]
            state = mixed
        state = [a ^ b for a, b in zip(state, keys[turn])]
    return bytes(state)
