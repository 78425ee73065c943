/* What a store shows is what somebody with the key wrote: FORMAT.md 27; EvidenceKeeper, Auditor, StoreHead.

   Devices commit, crash, compact, change the keyring and schemas, keep heads, restore and accept. Somebody without the key replaces parts of what
   is there by parts of what was there at any time, on any line. Sums are exact: each element has two bits of a number. */

#ifndef TRANSACTIONS
#define TRANSACTIONS 4         /* of which the first puts both records */
#endif
#ifndef DEVICES
#define DEVICES 1
#endif
#ifndef RECORDS
#define RECORDS 2              /* that later ones write: at most 2 */
#endif
#ifndef LISTED
#define LISTED TRANSACTIONS    /* so many writers a state lists */
#endif
#ifndef KEYRINGS
#define KEYRINGS 1             /* generations */
#endif
#ifndef SCHEMAS
#define SCHEMAS 0              /* changes of schemas */
#endif
#ifndef HEADS
#define HEADS 0                /* so often one is kept */
#endif
#ifndef CRASHES
#define CRASHES 0              /* that take what is not on the medium */
#endif
#ifndef DAMAGES
#define DAMAGES 0              /* of a record on the medium */
#endif
#ifndef KILLS
#define KILLS 0                /* that take nothing; a process that ends is the same */
#endif
#ifndef AUDITS
#define AUDITS 0               /* 1: who opens the store audits before it writes */
#endif
#ifndef RESTORES
#define RESTORES 0
#endif
#ifndef ACCEPTANCES
#define ACCEPTANCES 0
#endif
#ifndef MIXES
#define MIXES 0                /* attacks that replace each part by itself */
#endif
#ifndef ROLLBACKS
#define ROLLBACKS 0            /* attacks that put back a whole moment, of any line */
#endif
#define NUMBERS (TRANSACTIONS + 1)
#define BIT(b) (1 << (b))
#define HAS(mask, b) (((mask) >> (b)) & 1)
#define LARGER(a, b) ((a) > (b) -> (a) : (b))

/* A version of a record: its revision, what is in it, and of what it bears the seal. 0: there is no such record.
   There are two contents, so that what is written on other lines may be the same; the third is of somebody without the key. */
#define VERSION(revision, content, seal) ((revision) << 4 | (content) << 2 | (seal))
#define REVISION(version) ((version) >> 4)
#define CONTENT(version) (((version) >> 2) & 3)
#define SEAL(version) ((version) & 3)
#define FORGED 3
/* What stands there can't be read, and its seal is gone. */
#define IS_LOST(version) (CONTENT(version) == 0 && (version) != 0)
#define IS_SEALED(version) (CONTENT(version) == SEAL(version))

/* What a version adds to the sums. As long as one sum has an element at most three times more often than another, they are equal only if their elements are. */
#define ROLL(r, version) ((version) -> 1 << (2 * ((r) * NUMBERS + REVISION(version) - 1)) : 0)
#define SEALS(r, version) ((version) && !IS_LOST(version) -> 1 << (2 * ((r) * 4 + SEAL(version))) : 0)

/* A transaction, and the moment behind it. Its state is sealed: without the key one can be put back, and none can be made. */
typedef Moment {
  byte number;                 /* the sequence number, which a transaction of another line may have too */
  byte line;                   /* the transactions up to it */
  byte writer;                 /* under which id it was written */
  byte holds[2];               /* the records as they were written. The content is 0 where some of it was carried over from another version */
  byte heldKeyring, heldSchemas; /* likewise: none of before counts, whoever wrote while it was there */
  /* The state. */
  int roll, seals;
  bool hasReplacedLost;
  byte keyring, schemas;
  byte last[TRANSACTIONS + 1]; /* what each writer wrote last, 0 for one that is not listed */
  byte others
}
Moment moment[TRANSACTIONS + 1];
byte made = 1;                 /* so many there are */

/* What the files say, and what of it is on the medium. A keyring is there as soon as it is written. */
typedef Files { byte shown[2]; byte state; byte schemas }
Files files, medium;
byte keyring = 1, newestKeyring = 1;
byte wasOnMedium;              /* the moments that ever were */

typedef Device {
  byte writer;                 /* under which id it writes: that of its first transaction in this opening; 0 before */
  byte head, headWriter, own;  /* of what it keeps: the moment that was seen, and its own last transaction in it */
  /* What it does not keep, and knows until it accepts. */
  byte seen, wrote;
  bool wentBack                /* what was restored is without the moment that was seen */
}
Device device[DEVICES];

byte heads, crashes, damages, kills, restores, acceptances, mixes, rollbacks, changes;
#define IS_HONEST (mixes + rollbacks + damages == 0)

/* Scratch, of one step. */
hidden byte c_v, c_w, c_n, c_d, c_i;
hidden byte c_ok, c_kept;

/* The first look, which reads no record: EvidenceKeeper `fault`. */
#ifdef KEYRING_NOT_COMPARED
#define IS_KEYRING_RIGHT true
#elif defined(KEYRING_OF_STATE_ONLY)
#define IS_KEYRING_RIGHT (keyring == moment[files.state].keyring)
#else
#define IS_KEYRING_RIGHT (keyring >= moment[files.state].keyring)
#endif
#ifdef SCHEMAS_NOT_COMPARED
#define ARE_SCHEMAS_RIGHT true
#else
#define ARE_SCHEMAS_RIGHT (files.schemas == moment[files.state].schemas)
#endif
#define IS_STATE_RIGHT (files.state != 0 && IS_KEYRING_RIGHT && ARE_SCHEMAS_RIGHT)

#ifdef REVISIONS_NOT_SUMMED
#define IS_ROLL_RIGHT true
#else
#define IS_ROLL_RIGHT (SHOWN_ROLL == moment[files.state].roll)
#endif
#ifdef SEALS_NOT_SUMMED
#define ARE_SEALS_RIGHT true
#elif defined(LOST_SEALS_FORGIVEN)
#define ARE_SEALS_RIGHT (SHOWN_SEALS == moment[files.state].seals || moment[files.state].hasReplacedLost)
#else
#define ARE_SEALS_RIGHT (SHOWN_SEALS == moment[files.state].seals && !moment[files.state].hasReplacedLost)
#endif
#ifdef SEALS_NOT_CHECKED
#define ARE_ALL_SEALED true
#else
#define ARE_ALL_SEALED (IS_SEALED(files.shown[0]) && IS_SEALED(files.shown[1]) && !IS_LOST(files.shown[0]) && !IS_LOST(files.shown[1]))
#endif

/* `Store.audit`. */
#define SHOWN_ROLL (ROLL(0, files.shown[0]) + ROLL(1, files.shown[1]))
#define SHOWN_SEALS (SEALS(0, files.shown[0]) + SEALS(1, files.shown[1]))
#define IS_SOUND (IS_STATE_RIGHT && IS_ROLL_RIGHT && ARE_SEALS_RIGHT && ARE_ALL_SEALED)

/* StoreHead `fault`. */
#define NUMBER(m) moment[m].number
#define LISTED_LAST(d) moment[files.state].last[device[d].headWriter]
#ifdef WRITERS_NOT_COMPARED
#define HAS_OWN(d) true
#else
#define HAS_OWN(d) (device[d].own <= (LISTED_LAST(d) -> LISTED_LAST(d) : moment[files.state].others))
#endif
#ifdef TAG_NOT_COMPARED
#define IS_SEEN(d) true
#else
#define IS_SEEN(d) (files.state == device[d].head)
#endif
#define IS_NOT_BEFORE(d) (NUMBER(files.state) >= NUMBER(device[d].head))
#define PASSES(d) (device[d].head == 0 || (files.state && IS_NOT_BEFORE(d) && (NUMBER(files.state) == NUMBER(device[d].head) -> IS_SEEN(d) : HAS_OWN(d))))
/* Of a writer that is listed no longer nobody can tell. */
#define CAN_BE_TOLD(d) (files.state == device[d].head || LISTED_LAST(d) || device[d].own == 0)

/* What must hold after each step. */
inline check() {
  c_ok = IS_SOUND;
  /* What an audit calls sound is one moment of one line, but for a keyring that is newer. */
  assert(!c_ok || (files.shown[0] == moment[files.state].holds[0] && files.shown[1] == moment[files.state].holds[1]));
  assert(!c_ok || (keyring >= moment[files.state].heldKeyring && files.schemas == moment[files.state].heldSchemas));
  /* What is honest is no alarm. */
  assert(c_ok || !IS_HONEST);
  for (c_d : 0 .. (DEVICES - 1)) {
    assert(PASSES(c_d) || device[c_d].wentBack || !IS_HONEST);
    /* What is sound and passes is not before what was seen, and holds what the device had written then. */
    c_kept = c_ok && device[c_d].head && PASSES(c_d);
    assert(!c_kept || NUMBER(files.state) >= device[c_d].seen);
    assert(!c_kept || !CAN_BE_TOLD(c_d) || (device[c_d].wrote & ~moment[files.state].line) == 0)
  };
  c_d = 0
}

/* Who can't tell goes on with what is there. */
inline note_untold(d) {
  device[d].wrote = (device[d].head && !CAN_BE_TOLD(d) -> device[d].wrote & moment[files.state].line : device[d].wrote)
}

/* Begins a transaction on what is there: EvidenceKeeper `prepare`. Its number is above all that are there. */
#define NEXT_NUMBER (1 + LARGER(NUMBER(files.state), LARGER(REVISION(files.shown[0]), REVISION(files.shown[1]))))
#define THERE_IS_ROOM (made < TRANSACTIONS && NEXT_NUMBER <= NUMBERS)

inline begin(d) {
  made++;
  moment[made].number = NEXT_NUMBER;
  moment[made].line = moment[files.state].line | BIT(made);
  moment[made].holds[0] = moment[files.state].holds[0];
  moment[made].holds[1] = moment[files.state].holds[1];
  moment[made].heldKeyring = LARGER(keyring, moment[files.state].heldKeyring);
  moment[made].heldSchemas = moment[files.state].heldSchemas;
  moment[made].roll = moment[files.state].roll;
  moment[made].seals = moment[files.state].seals;
  moment[made].hasReplacedLost = moment[files.state].hasReplacedLost;
  moment[made].keyring = keyring;
  moment[made].schemas = files.schemas;
  moment[made].others = moment[files.state].others;
  for (c_i : 1 .. TRANSACTIONS) { moment[made].last[c_i] = moment[files.state].last[c_i] };
  /* EvidenceState `note`: a new id takes the place of the one that the head has. */
  if
  :: !device[d].writer && device[d].headWriter ->
#ifndef DROPPED_NOT_NOTED
     moment[made].others = LARGER(moment[made].others, moment[made].last[device[d].headWriter]);
#endif
     moment[made].last[device[d].headWriter] = 0
  :: else
  fi;
  device[d].writer = (device[d].writer -> device[d].writer : made);
  moment[made].writer = device[d].writer;
  moment[made].last[device[d].writer] = NUMBER(made);
  /* Who wrote longest ago makes room. */
  c_n = 0; c_w = 0;
  for (c_i : 1 .. TRANSACTIONS) {
    if
    :: moment[made].last[c_i] ->
       c_n++;
       c_w = (c_w == 0 || moment[made].last[c_i] < moment[made].last[c_w] -> c_i : c_w)
    :: else
    fi
  };
  if
  :: c_n > LISTED ->
#ifndef DROPPED_NOT_NOTED
     moment[made].others = LARGER(moment[made].others, moment[made].last[c_w]);
#endif
     moment[made].last[c_w] = 0
  :: else
  fi;
  note_untold(d)
}

inline replace(d, r, version, legitimate) {
  c_v = files.shown[r];
  moment[made].roll = moment[made].roll - ROLL(r, c_v) + ROLL(r, version);
  moment[made].seals = moment[made].seals - SEALS(r, c_v) + SEALS(r, version);
  moment[made].hasReplacedLost = moment[made].hasReplacedLost || IS_LOST(c_v);
  moment[made].holds[r] = legitimate;
  files.shown[r] = version
}

/* Whoever looks on takes his turn when a transaction is whole. */
#ifdef STATE_AFTER_TRANSACTION
bool isBehind;
#define END isBehind = true
#define IS_WHOLE !isBehind
#else
#define END files.state = made; check()
#define IS_WHOLE true
#endif

#ifdef WRITTEN_UNAUDITED
#define IS_AUDITED(d) true
#else
#define IS_AUDITED(d) (!AUDITS || device[d].writer || IS_SOUND)
#endif

/* An alarm refuses what writes. */
#ifdef ALARM_NOT_HEEDED
#define IS_NO_ALARM(d) (files.state != 0)
#else
#define IS_NO_ALARM(d) (IS_STATE_RIGHT && PASSES(d))
#endif
#define MAY_WRITE(d) (THERE_IS_ROOM && IS_WHOLE && IS_NO_ALARM(d) && IS_AUDITED(d))
#define NEW_CONTENT (1 + (made & 1))
#ifdef CARRIED_UNCHECKED
#define MAY_CARRY(r) (files.shown[r] && !IS_LOST(files.shown[r]))
#else
#define MAY_CARRY(r) (files.shown[r] && !IS_LOST(files.shown[r]) && IS_SEALED(files.shown[r]))
#endif

inline write(d, r) {
  if
  :: d_step { MAY_WRITE(d) ->
       begin(d);
       c_w = VERSION(NUMBER(made), NEW_CONTENT, NEW_CONTENT);
       replace(d, r, c_w, c_w);
       printf("device %d puts record %d: transaction %d\n", d, r, made);
       END }
  :: d_step { MAY_WRITE(d) && MAY_CARRY(r) ->
       /* Some of its fields are taken over. */
       c_kept = files.shown[r] == moment[files.state].holds[r];
       begin(d);
       c_w = VERSION(NUMBER(made), NEW_CONTENT, NEW_CONTENT);
       c_n = (c_kept -> c_w : VERSION(NUMBER(made), 0, NEW_CONTENT));
       replace(d, r, c_w, c_n);
       printf("device %d updates record %d: transaction %d\n", d, r, made);
       END }
  :: d_step { MAY_WRITE(d) && files.shown[r] ->
       begin(d);
       replace(d, r, 0, 0);
       printf("device %d deletes record %d: transaction %d\n", d, r, made);
       END }
  fi
}

/* A transaction of the state alone. */
inline touch(d) {
  d_step { MAY_WRITE(d) && keyring > moment[files.state].keyring -> begin(d); printf("device %d writes the state\n", d); END }
}

inline change_schemas(d) {
  d_step { MAY_WRITE(d) && changes < SCHEMAS ->
    changes++;
    begin(d);
    files.schemas = made; moment[made].schemas = made; moment[made].heldSchemas = made;
    printf("device %d changes a schema: transaction %d\n", d, made);
    END }
}

inline change_keyring() {
  d_step { keyring < KEYRINGS && IS_WHOLE ->
    keyring++;
    newestKeyring = LARGER(keyring, newestKeyring);
    printf("keyring %d is written\n", keyring);
    check() }
}

inline synchronize() {
  medium.shown[0] = files.shown[0]; medium.shown[1] = files.shown[1];
  medium.state = files.state; medium.schemas = files.schemas;
  wasOnMedium = wasOnMedium | BIT(files.state)
}

/* What is opened then is opened under a new id. */
#ifdef WRITER_KEPT
#define close(d) skip
#else
#define close(d) device[d].writer = 0
#endif
inline close_all() {
  for (c_d : 0 .. (DEVICES - 1)) { close(c_d) };
  c_d = 0
}

/* What was written under the id that the head has. */
inline note_written(d) {
  for (c_n : 1 .. TRANSACTIONS) {
    device[d].wrote = (HAS(moment[files.state].line, c_n) && moment[c_n].writer == device[d].headWriter -> device[d].wrote | BIT(c_n) : device[d].wrote)
  }
}

#ifdef HEAD_BEFORE_CHECKS
#define IS_CHECKED(d) true
#else
#define IS_CHECKED(d) (IS_SOUND && PASSES(d))
#endif

/* `Store.head`, of what an audit calls sound. */
inline keep_head(d) {
  d_step {
    heads < HEADS && IS_WHOLE && files.state && files.state != device[d].head && IS_CHECKED(d) ->
    heads++;
#ifndef HEAD_BEFORE_DURABLE
    synchronize();
#endif
#ifndef HEAD_BEFORE_CHECKS
    note_untold(d);
#endif
    device[d].head = files.state;
    /* Until something is written under a new id, the one before counts. */
    device[d].headWriter = (device[d].writer -> device[d].writer : device[d].headWriter);
    device[d].own = (LISTED_LAST(d) -> LISTED_LAST(d) : device[d].own);
    device[d].seen = LARGER(NUMBER(files.state), device[d].seen);
    note_written(d);
    device[d].wentBack = false;
    printf("device %d keeps a head of transaction %d\n", d, files.state);
    check()
  }
}

/* `Store.acceptEvidence`: a transaction of the state alone, of what is there. */
#define MAY_ACCEPT(d) (acceptances < ACCEPTANCES && !(IS_SOUND && PASSES(d)) && !IS_LOST(files.shown[0]) && !IS_LOST(files.shown[1]))
inline begin_acceptance(d) {
  begin(d);
  moment[made].holds[0] = files.shown[0]; moment[made].holds[1] = files.shown[1];
  moment[made].heldKeyring = keyring; moment[made].heldSchemas = files.schemas;
  moment[made].hasReplacedLost = false
}
inline end_acceptance(d) {
  files.state = made;
  synchronize();
  device[d].head = made; device[d].headWriter = device[d].writer; device[d].own = NUMBER(made);
  device[d].seen = NUMBER(made);
  device[d].wrote = 0;
  note_written(d);
  device[d].wentBack = false;
  printf("device %d accepts: transaction %d\n", d, made);
  check()
}
#ifdef ACCEPTED_IN_PIECES
int roll, seals;
bool isAccepting;
inline accept(d) {
  if
  :: d_step { MAY_ACCEPT(d) && d == 0 ->
       acceptances++; isAccepting = true; roll = SHOWN_ROLL; seals = SHOWN_SEALS }
  :: d_step { isAccepting && THERE_IS_ROOM && d == 0 ->
       isAccepting = false;
       begin_acceptance(d);
       moment[made].roll = roll; moment[made].seals = seals;
       end_acceptance(d) }
  fi
}
#else
inline accept(d) {
  d_step { THERE_IS_ROOM && MAY_ACCEPT(d) ->
    acceptances++;
    begin_acceptance(d);
    moment[made].roll = SHOWN_ROLL; moment[made].seals = SHOWN_SEALS;
    end_acceptance(d) }
}
#endif

proctype User(byte d) {
  do
  :: write(d, 0)
  :: RECORDS == 2 -> write(d, 1)
  :: touch(d)
  :: change_schemas(d)
  :: keep_head(d)
  :: accept(d)
  :: d_step { kills < KILLS && IS_WHOLE && device[d].writer -> kills++; close(d); printf("device %d is killed\n", d) }
#ifdef STATE_AFTER_TRANSACTION
  :: d_step { isBehind && device[d].writer == moment[made].writer -> isBehind = false; files.state = made; check() }
#endif
  od
}

/* One of the moments for which something is true, as it is for the first. */
#define CHOOSE(condition) \
  m = 1; \
  do \
  :: m < made -> m++ \
  :: condition -> break \
  :: m == made && !(condition) -> m = 1; break \
  od; \
  true

/* What comes of itself. Whoever has no key recovers, compacts and ships. */
proctype Fate() {
  byte m;
  do
  :: change_keyring()
  :: d_step { files.state != medium.state || files.shown[0] != medium.shown[0] || files.shown[1] != medium.shown[1] -> synchronize() }
  :: d_step { crashes < CRASHES && (files.state != medium.state || files.shown[0] != medium.shown[0] || files.shown[1] != medium.shown[1]) ->
       crashes++;
       files.shown[0] = medium.shown[0]; files.shown[1] = medium.shown[1];
       files.state = medium.state; files.schemas = medium.schemas;
#ifdef STATE_AFTER_TRANSACTION
       isBehind = false;
#endif
       close_all();
       printf("the power goes: transaction %d is left\n", files.state);
       check() }
#ifdef COMPACTED_UNDER_NEW_NUMBERS
  :: d_step { files.shown[1] && IS_WHOLE && REVISION(files.shown[1]) < NUMBER(files.state) ->
       files.shown[1] = VERSION(NUMBER(files.state), CONTENT(files.shown[1]), SEAL(files.shown[1]));
       printf("compaction copies record 1\n");
       check() }
#endif
  :: d_step { damages < DAMAGES && files.shown[0] && IS_WHOLE ->
       damages++;
       files.shown[0] = VERSION(REVISION(files.shown[0]), 0, 0);
       synchronize();
       printf("record 0 can't be read any longer\n");
       check() }
  :: atomic { restores < RESTORES && IS_WHOLE ->
       restores++;
       CHOOSE(HAS(wasOnMedium, m) && !IS_LOST(moment[m].holds[0]) && !IS_LOST(moment[m].holds[1]));
       /* The keyring of the moment, or the one that is there. */
       if
       :: keyring = moment[m].keyring
       :: keyring >= moment[m].keyring
       fi;
       true;
       d_step {
         files.shown[0] = moment[m].holds[0]; files.shown[1] = moment[m].holds[1];
         files.state = m; files.schemas = moment[m].schemas;
         synchronize();
         close_all();
         for (c_d : 0 .. (DEVICES - 1)) { device[c_d].wentBack = (device[c_d].head && !HAS(moment[m].line, device[c_d].head)) };
         printf("transaction %d is restored\n", m);
         m = 0;
         check()
       } }
  od
}

/* Somebody without the key, while nobody has the store open. */
/* A version that is not that of the moment before. */
#define IS_NEW(r) (moment[m].holds[r] && moment[m].holds[r] != moment[m - 1].holds[r])

inline replace_part(r) {
  if
  :: true
  :: files.shown[r] = 0
  :: CHOOSE(IS_NEW(r));
     v = REVISION(moment[m].holds[r]); s = SEAL(moment[m].holds[r]);
     if
     :: files.shown[r] = VERSION(v, FORGED, s)
     :: files.shown[r] = VERSION(v, s, s)
     :: CHOOSE(IS_NEW(r) && SEAL(moment[m].holds[r]) != s);
        s = SEAL(moment[m].holds[r]);
        files.shown[r] = VERSION(v, s, s)
     fi
  fi
}

inline end_attack() {
  keyring = newestKeyring;
  do
  :: keyring > 1 -> keyring--
  :: break
  od;
  true;
  d_step {
    synchronize();
    close_all();
    m = 0; v = 0; s = 0;
    printf("the attacker shows %d %d, state %d, keyring %d, schemas %d\n", files.shown[0], files.shown[1], files.state, keyring, files.schemas);
    check()
  }
}

proctype Attacker() {
  byte m, v, s;
  do
  :: atomic { mixes < MIXES && IS_WHOLE ->
       mixes++;
       replace_part(0);
       replace_part(1);
       CHOOSE(true);
       if
       :: files.state = m
       :: m == 1 -> files.state = 0
       fi;
       CHOOSE(moment[m].schemas != moment[m - 1].schemas);
       files.schemas = moment[m].schemas;
       end_attack() }
  :: atomic { rollbacks < ROLLBACKS && IS_WHOLE ->
       rollbacks++;
       CHOOSE(true);
       d_step {
         c_v = moment[m].holds[0]; c_w = moment[m].holds[1];
         files.shown[0] = (!IS_LOST(c_v) -> c_v : VERSION(REVISION(c_v), SEAL(c_v), SEAL(c_v)));
         files.shown[1] = (!IS_LOST(c_w) -> c_w : VERSION(REVISION(c_w), SEAL(c_w), SEAL(c_w)));
         files.state = m; files.schemas = moment[m].schemas
       };
       end_attack() }
  od
}

init {
  d_step {
    moment[1].number = 1; moment[1].line = BIT(1);
    moment[1].holds[0] = VERSION(1, 1, 1); moment[1].holds[1] = VERSION(1, 1, 1);
    moment[1].roll = ROLL(0, moment[1].holds[0]) + ROLL(1, moment[1].holds[1]);
    moment[1].seals = SEALS(0, moment[1].holds[0]) + SEALS(1, moment[1].holds[1]);
    moment[1].keyring = 1; moment[1].schemas = 1; moment[1].heldKeyring = 1; moment[1].heldSchemas = 1;
    moment[1].writer = 1; moment[1].last[1] = 1;
    files.shown[0] = moment[1].holds[0]; files.shown[1] = moment[1].holds[1];
    files.state = 1; files.schemas = 1;
    device[0].writer = 1;
    synchronize()
  };
  atomic {
    run User(0);
    if
    :: DEVICES == 2 -> run User(1)
    :: else
    fi;
    run Fate(); run Attacker()
  }
}
