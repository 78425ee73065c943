/* A store is shipped while it is written, compacted and expired, and while machine and shipper die. FORMAT.md 26; Shipper, ShippingRound,
   ArchivePlan `expired`, Examination+Stable `synchronize`, Journal+Compact `unlinkDeferred`.

   A writer commits, finishes a head, changes the keyring, compacts, deletes what was replaced, ends and is opened again; a shipper makes rounds,
   and a reader comes by; somebody deletes what is expired. Recovery is lending.pml's: here the log ends where the power left it. */

#ifndef TRANSACTIONS
#define TRANSACTIONS 4         /* of which the first is in segment 1 */
#endif
#ifndef SEGMENTS
#define SEGMENTS 5
#endif
#ifndef COMPACTIONS
#define COMPACTIONS 1
#endif
#ifndef KEYRINGS
#define KEYRINGS 1             /* generations; the first is there in the beginning, the third gives up keys of before the second */
#endif
#ifndef DEATHS
#define DEATHS 0               /* of the machine */
#endif
#ifndef KILLS
#define KILLS 0                /* of the shipper alone */
#endif
#ifndef FAILURES
#define FAILURES 0             /* of the archive */
#endif
#ifndef DELETIONS
#define DELETIONS 0            /* calls of `expired --delete` */
#endif
#ifndef REOPENINGS
#define REOPENINGS 0           /* of the store, while the shipper goes on */
#endif
#ifndef READS
#define READS 0                /* by a reader that pins, and is no shipper */
#endif
#ifndef HOLDS
#define HOLDS 0                /* so often what is held takes more room than the shipper's pin allows */
#endif
#define BIT(b) (1 << (b))
#define HAS(mask, b) (((mask) >> (b)) & 1)

/* The folder. A number that is given again after a death goes with another salt. */
byte there, nameOnMedium;            /* the names of segments */
byte compacted;                      /* which of them are that; the others are the log's */
byte finished;
byte salt;                           /* one bit each */
byte highest = 1;                    /* the number given last */
byte first[SEGMENTS + 1];            /* of a log segment: its first transaction, */
byte startLive[SEGMENTS + 1];        /* and the live set that it begins with */
byte sources[SEGMENTS + 1];          /* of a compacted one */
byte head;                           /* 0: there is none yet */
byte older;                          /* the one before, while its footer is not written yet */

/* The log. */
byte last = 1, durable = 1;
byte holder[TRANSACTIONS + 1];       /* the segment with the transaction, */
byte live[TRANSACTIONS + 1];         /* the others that belong to the store after it, */
byte uses[TRANSACTIONS + 1];         /* the first keyring that has the keys for it */
byte keyring = 1, keyringOnMedium = 1, keyringInUse = 1;
byte counts[KEYRINGS + 1];           /* of a keyring: the last transaction with a schema that it counts: durable before, */
byte lacks[KEYRINGS + 1];            /* and the transaction from which on it has all keys: a rotation has ended */

/* The archive: whole segments by salt, pieces up to a transaction, keyrings. */
byte whole[2];
byte piece[2 * SEGMENTS + 2];        /* by segment and salt: the number of the transaction that follows; 0 for none */
byte keyrings;
#define SALT(s) HAS(salt, s)
#define PIECE(s) piece[2 * (s) + SALT(s)]
#define IS_ARCHIVED(s) HAS(whole[SALT(s)], s)

/* Pins: the shipper's, with what it says, and a reader's. */
bool isPinned, isReading;
byte saidNext, saidKeyring;          /* PinHold: what was replaced before that transaction may go; keys that the keyring has may go */
byte deferred;                       /* what was replaced and is not deleted yet, */
byte replaced[SEGMENTS + 1];         /* and behind which transaction that was noted */
byte going;                          /* what is deleted next: the pins were asked */
byte known;                          /* what the reader needs */
bool isWatching;                     /* the shipper lives since it pinned first, and has not given up its pin */
byte watched;                        /* the segments that were finished meanwhile */
byte since;                          /* the moment from which on none may be missing, */
byte kept;                           /* but for those that expired: from which on they were kept */
#define FIRST_PROMISED (since > kept -> since : kept)
byte shipped[2];                     /* which ever were, by salt */
bool isMissing;                      /* something went unshipped, as it took too much room */

byte stage, output, chosen;          /* of the compaction that is going on */
byte compactions, deaths, kills, failures, deletions, reopenings, reads, holds;
bool writerDies, shipperDies;

/* Scratch, of one step. */
hidden byte c_s, c_t, c_n, c_e, c_m, c_need, c_best, c_ok, c_before;

/* What belongs to the store now, beside the head. */
#define CURRENT_LIVE (head == 0 -> live[last] | BIT(holder[last]) : (holder[last] == head -> live[last] : startLive[head]))

/* What is needed beside a log segment for the moment before a transaction. */
#define NEEDS(s, next) ((next) > first[s] -> live[(next) - 1] : startLive[s])

/* Whether all of some segments are in the archive. */
inline is_all_archived(those, answer) {
  answer = 1;
  for (c_n : 1 .. SEGMENTS) { answer = (HAS(those, c_n) && !IS_ARCHIVED(c_n) -> 0 : answer) }
}

/* The transaction behind a segment's last, into `c_e`; 0 where the archive has nothing of it. */
inline archived_end(s) {
  c_e = 0;
  if
  :: !HAS(compacted, s) && first[s] ->
     c_e = PIECE(s);
     if
     :: IS_ARCHIVED(s) ->
        c_e = first[s];
        for (c_n : 1 .. TRANSACTIONS) { c_e = (holder[c_n] == s && c_n <= last -> c_n + 1 : c_e) }
     :: else
     fi
  :: else
  fi
}

/* A keyring opens a moment: it has its keys. */
#define OPENS(k, moment) (HAS(keyrings, k) && (k) >= uses[moment] && lacks[k] <= (moment))
/* A keyring goes with a moment: it opens it, and counts no schema that is not in it. */
#define FITS(k, moment) (OPENS(k, moment) && counts[k] <= (moment))

/* Whether there is a keyring with the keys for all before a transaction: else `c_ok` becomes false. */
inline has_keys(behind) {
  c_m = (behind < 2);
  for (c_n : 1 .. KEYRINGS) { c_m = c_m || OPENS(c_n, (behind -> behind - 1 : 0)) }
  c_ok = c_ok && c_m
}

/* Whether the newest moment of the archive is whole, into `c_ok`. */
inline look_at_newest() {
  c_best = 0; c_need = 0;
  for (c_s : 1 .. SEGMENTS) {
    archived_end(c_s);
    if
    :: c_e && c_e >= c_best -> c_best = c_e; c_need = NEEDS(c_s, c_e)
    :: else
    fi
  }
  is_all_archived(c_need, c_ok);
  has_keys(c_best)
}

/* Which moments can be restored, as a set of transactions, into `result`: each from the first segment that has it. */
inline restorable(result) {
  result = 0;
  for (c_t : 1 .. TRANSACTIONS) {
    for (c_s : 1 .. SEGMENTS) {
      archived_end(c_s);
      if
      :: c_t <= last && c_e > c_t && holder[c_t] == c_s ->
         is_all_archived(live[c_t], c_ok);
         c_m = 0;
         for (c_n : 1 .. KEYRINGS) { c_m = c_m || FITS(c_n, c_t) }
         result = (c_ok && c_m -> result | BIT(c_t) : result)
      :: else
      fi
    }
  }
}

/* Whether no moment from one on is missing, up to a transaction, into `c_ok`: schemas aside. */
inline look_at_all(start, next) {
  c_best = 1;
  for (c_t : start .. (next - 1)) {
    archived_end(holder[c_t]);
    is_all_archived(live[c_t], c_ok);
    has_keys(c_t + 1);
    c_best = c_best && c_ok && c_e > c_t
  }
  c_ok = c_best
}

/* A finished segment is somebody's to ship from the time that it is there. */
#define WATCH(s) watched = (isWatching -> watched | BIT(s) : watched)

/* The writer. */

inline commit() {
  last++;
  holder[last] = head;
  live[last] = (holder[last - 1] == head -> live[last - 1] : startLive[head]);
  uses[last] = keyringInUse;
  printf("the writer commits %d\n", last)
}

inline finish_older() {
  d_step {
    if
    :: older -> finished = finished | BIT(older); WATCH(older)
    :: else
    fi;
    older = 0
  }
}

/* Log+Room `createHead`, `switchSegment`: others see a name before it is durable. */
inline create_head() {
  d_step {
    highest < SEGMENTS && last < TRANSACTIONS && (head == 0 || first[head] <= last) ->
    durable = last;
    older = head;
    c_need = CURRENT_LIVE | (head -> BIT(head) : 0);
    highest++;
    first[highest] = last + 1; startLive[highest] = c_need;
    there = there | BIT(highest);
    head = highest;
    printf("the writer makes head %d\n", head)
  };
  nameOnMedium = there;
  finish_older()
}

#define MAY_COMMIT (head != 0 && last < TRANSACTIONS)

/* Whether the shipper's pin lets something go: what was replaced behind a transaction. */
#ifdef REVISION_NOT_COMPARED
#define LETS_GO(behind) (saidNext != 0)
#else
#define LETS_GO(behind) (saidNext > (behind))
#endif

/* INV-C5: what may go, of what was replaced. A reader's pin says nothing, and keeps everything. */
#ifdef PINS_NOT_ASKED
#define MAY_GO(s) true
#elif defined(READERS_PIN_TAKEN_FOR_SHIPPERS)
#define MAY_GO(s) (!(isPinned || isReading) || LETS_GO(replaced[s]))
#else
#define MAY_GO(s) (!isReading && (!isPinned || LETS_GO(replaced[s])))
#endif

inline release() { isPinned = false; saidNext = 0; saidKeyring = 0 }

/* Journal+Compact `unlinkDeferred`. */
inline ask_pins(isTight) {
  for (c_s : 1 .. SEGMENTS) {
    going = (HAS(deferred, c_s) && (MAY_GO(c_s) || (isTight && !isReading)) -> going | BIT(c_s) : going)
  };
  c_s = 0
}

inline unlink_going() {
  for (c_s : 1 .. SEGMENTS) {
    if
    :: HAS(going, c_s) ->
       printf("segment %d is removed\n", c_s);
       /* As long as there is a shipper, it ships all that was finished meanwhile. */
       isMissing = isMissing || (HAS(watched, c_s) && !HAS(shipped[SALT(c_s)], c_s));
       assert(!isMissing || holds);
       assert(!HAS(known, c_s));
       replaced[c_s] = 0
    :: else
    fi
  }
  there = there & ~going; nameOnMedium = nameOnMedium & ~going; deferred = deferred & ~going; going = 0
}

/* Journal+Compact `step`, `replace`, in steps between which others write. */
inline compact() {
  if
  :: d_step { stage == 0 && compactions < COMPACTIONS && head != 0 && highest < SEGMENTS ->
       compactions++;
       chosen = CURRENT_LIVE;
       highest++; output = highest; compacted = compacted | BIT(output); first[output] = 0;
       stage = 1 }
  :: d_step { stage == 1 ->
       sources[output] = chosen;
       there = there | BIT(output); finished = finished | BIT(output); WATCH(output);
       stage = 2;
       printf("the writer names output %d\n", output) }
  :: d_step { stage == 2 -> nameOnMedium = there; stage = 3 }
  :: d_step { stage == 3 && MAY_COMMIT ->
       commit();
       live[last] = (live[last] & ~chosen) | BIT(output); durable = last;
       for (c_s : 1 .. SEGMENTS) { replaced[c_s] = (HAS(chosen, c_s) -> last : replaced[c_s]) }
       deferred = deferred | chosen;
       printf("segment %d takes the place of others\n", output);
       stage = 0; output = 0; chosen = 0 }
  fi
}

/* Resealing `retireOldGenerations`: nothing live is under the keys of before any more. */
#ifdef RETIRED_UNSHIPPED
#define MAY_RETIRE true
#else
#define MAY_RETIRE ((!isPinned || saidKeyring >= keyring) && !isReading)
#endif

proctype Writer() {
  do
  :: {
       do
       :: d_step { MAY_COMMIT -> commit() }
       :: d_step { durable < last -> durable = last; printf("the writer syncs\n") }
       :: create_head()
       :: compact()
       :: d_step { deferred && !going -> ask_pins(false) }
       :: d_step { deferred && !going && holds < HOLDS && isPinned -> 
            /* The shipper's pin is given up. */
            holds++; ask_pins(true);
#ifndef GAP_BY_LAST_SEGMENT
            release();
#endif
            printf("too much is held\n") }
       :: d_step { going -> unlink_going() }
       :: d_step { reopenings < REOPENINGS && !going && stage == 0 ->
            /* `deferReplaced` */
            reopenings++;
#ifdef REOPENED_WITHOUT_REVISION
            for (c_s : 1 .. SEGMENTS) { replaced[c_s] = (replaced[c_s] -> 1 : 0) }
#else
            for (c_s : 1 .. SEGMENTS) { replaced[c_s] = (replaced[c_s] -> last : 0) }
#endif
            printf("the store is opened again\n") }
       :: atomic { keyring < KEYRINGS && (keyring != 2 || (uses[last] == 2 && MAY_RETIRE)) ->
            d_step {
              durable = (keyring == 2 -> last : durable);
              keyring++;
              counts[keyring] = durable;
              lacks[keyring] = (keyring == 3 -> last : 0);
              printf("the writer names keyring %d\n", keyring)
            } };
          /* Schemas are in the log before it counts them, keys are used after. */
          keyringOnMedium = keyring;
          keyringInUse = keyring
       od
     }
     unless { writerDies -> d_step { writerDies = false; stage = 0; chosen = 0; output = 0; going = 0 } }
  od
}

/* Puts one object, or fails: then the round is over. */
#define PUT(statements) \
  if \
  :: d_step { isGoing -> statements } \
  :: atomic { isGoing && failures < FAILURES -> failures++; isGoing = false; printf("the archive is away\n") } \
  :: !isGoing \
  fi

inline put_whole(s) {
  PUT(if
      :: HAS(there, s) ->
         whole[SALT(s)] = whole[SALT(s)] | BIT(s); shipped[SALT(s)] = shipped[SALT(s)] | BIT(s);
         printf("the shipper puts segment %d\n", s);
         /* INV-C6: nothing of what its end needs is put later. What is gone, was gone when shipping began, or took too much room. */
         archived_end(s);
         if
         :: c_e -> c_need = NEEDS(s, c_e) & there; is_all_archived(c_need, c_ok); c_before = (c_e > since && c_e > kept -> c_e : 0); has_keys(c_before); assert(c_ok || isMissing)
         :: else
         fi;
         knownWhole = knownWhole | BIT(s)
      :: else -> isGoing = false
      fi)
}

/* Those of some segments that are missing, in the order of their numbers. */
inline put_segments(segments) {
  s = 1;
  do
  :: s > SEGMENTS -> break
  :: s <= SEGMENTS && HAS(segments, s) && !HAS(knownWhole, s) && isGoing -> put_whole(s); s++
  :: s <= SEGMENTS && !(HAS(segments, s) && !HAS(knownWhole, s) && isGoing) -> s++
  od;
  s = 0
}

inline put_piece() {
  if
  :: seenHead && !HAS(seenFinished, seenHead) ->
     PUT(PIECE(seenHead) = seenNext;
         printf("the shipper puts a piece of %d before %d\n", seenHead, seenNext);
         /* INV-C6: all that it needs is there. */
         look_at_newest();
         assert(c_ok && c_best == seenNext);
         /* Its keyring counts no schema that is not there yet. */
         c_ok = 0;
         for (c_n : 1 .. KEYRINGS) { c_ok = c_ok || FITS(c_n, seenNext - 1) }
         assert(c_ok))
  :: else
  fi
}

/* Whether something may have gone that was never shipped. */
inline look_for_gap() {
#ifdef GAP_BY_LAST_SEGMENT
  c_m = 0;
  for (c_s : 1 .. SEGMENTS) { c_m = (!HAS(compacted, c_s) && (IS_ARCHIVED(c_s) || PIECE(c_s)) -> c_s : c_m) }
  hasGap = hasGap || (c_m && !HAS(there, c_m))
#else
  hasGap = hasGap || !isPinned
#endif
}

/* Shipper `ship`, ShippingRound `run`. */
inline make_round() {
#ifdef PIN_LET_GO_FIRST
  d_step { release() };
#endif
  d_step {
#ifndef GAP_BY_LAST_SEGMENT
    /* Whoever takes what it holds takes its name first. */
    hasGap = hasGap || (isWatching && !isPinned);
#endif
    isPinned = true;
    watched = (isWatching -> watched : CURRENT_LIVE & finished);
    since = (isWatching -> since : last);
    isWatching = true
  };
  if
  :: d_step { !isKnown ->
       isKnown = true;
       knownWhole = 0;
       for (c_s : 1 .. SEGMENTS) { knownWhole = (IS_ARCHIVED(c_s) -> knownWhole | BIT(c_s) : knownWhole) } }
  :: isKnown
  fi;
  isGoing = true;
  do
  :: seenKeyring = keyring;
     /* Examination `stable`: a head of which the footer is awaited is looked at again. */
     d_step { older == 0 ->
       seenNext = last + 1; seenHead = head; seenFinished = finished & there;
       /* Output that is not published belongs to nothing. */
       c_need = CURRENT_LIVE;
       for (c_s : 1 .. SEGMENTS) {
         seenFinished = (HAS(compacted, c_s) && (sources[c_s] & c_need) == sources[c_s] -> seenFinished & ~BIT(c_s) : seenFinished)
       }
       c_e = 0;
       for (c_s : 1 .. SEGMENTS) { c_e = (!HAS(compacted, c_s) && PIECE(c_s) > c_e -> PIECE(c_s) : c_e) }
       /* The archive and the store never part ways by themselves. */
       assert(c_e <= seenNext);
       look_for_gap();
       wasMissing = wasMissing || isMissing;
       since = (isMissing -> last : since);
       isMissing = false
#ifdef PIN_SAID_BEFORE_DONE
       ; saidNext = seenNext
#endif
#ifdef KEYRING_SAID_BEFORE_DONE
       ; saidKeyring = seenKeyring
#endif
     };
#ifndef NOT_SYNCHRONIZED
     d_step { durable = (durable < seenNext - 1 -> seenNext - 1 : durable); printf("the shipper synchronizes\n") };
#endif
#ifndef NAMES_NOT_SYNCHRONIZED
     d_step { nameOnMedium = there; keyringOnMedium = keyring };
#endif
#ifdef PIECE_FIRST
     put_piece();
#endif
#ifdef LOGS_FIRST
     put_segments(seenFinished & ~compacted);
     put_segments(seenFinished);
#else
     put_segments(seenFinished & compacted);
#endif
#ifdef KEYRING_READ_ONCE
     break
#else
     if
     :: keyring == seenKeyring -> break
     :: keyring != seenKeyring || !isGoing
     fi
#endif
  :: !isGoing -> break
  od;
#ifdef LOGS_BEFORE_KEYRING
  put_segments(seenFinished);
#endif
#ifndef NO_KEYRING
  PUT(keyrings = keyrings | BIT(seenKeyring); printf("the shipper puts keyring %d\n", seenKeyring));
#endif
  put_segments(seenFinished);
  put_piece();
  d_step {
    if
    :: isGoing ->
       /* No moment since the shipper began is missing, or that was said. */
       c_before = FIRST_PROMISED; look_at_all(c_before, seenNext);
       assert(c_ok || isMissing);
       assert(hasGap || !wasMissing);
       hasGap = false; wasMissing = false;
       saidNext = (isPinned -> seenNext : 0); saidKeyring = (isPinned -> seenKeyring : 0);
#ifdef PIN_LET_GO_BETWEEN
       release()
#endif
    :: else ->
       isKnown = false
#ifdef GAP_FORGOTTEN
       ; hasGap = false
#endif
    fi;
    isGoing = false; seenNext = 0; seenHead = 0; seenFinished = 0; seenKeyring = 0
  }
}

proctype Shipper() {
  byte seenNext, seenHead, seenFinished, seenKeyring, knownWhole, s;
  bool isKnown, isGoing, hasGap, wasMissing;
  do
  :: {
       do
       :: make_round()
       od
     }
     unless {
       shipperDies -> d_step {
         shipperDies = false; isGoing = false; isKnown = false; hasGap = false; wasMissing = false; knownWhole = 0;
         seenNext = 0; seenHead = 0; seenFinished = 0; seenKeyring = 0; s = 0
       }
     }
  od
}

/* One that looks at what is live, with a pin in hand, and needs it for a while. */
proctype Reader() {
  do
  :: d_step { reads < READS -> reads++; isReading = true };
     known = CURRENT_LIVE;
     d_step { known = 0; isReading = false }
  od
}

/* What could be restored, and was to be kept, can be still. */
#define DELETE(statements) \
  restorable(c_before); \
  look_at_newest(); \
  c_t = c_ok; \
  statements; \
  look_at_newest(); \
  assert(c_ok || !c_t); \
  restorable(c_need); \
  assert((c_before & ~c_need & ~(BIT(from) - 1)) == 0)

inline plan_expiry() {
  d_step {
    /* The newest moment, and the segment that it ends in. */
    c_best = 0; s = 0;
    for (c_s : 1 .. SEGMENTS) {
      archived_end(c_s);
      if
      :: c_e && c_e >= c_best -> c_best = c_e; s = c_s
      :: else
      fi
    }
    c_need = (s -> BIT(s) | NEEDS(s, c_best) : 0);
    /* The log segment with the first moment that is kept. */
    c_before = s;
    c_m = (from < c_best || !c_best -> from : c_best - 1);
    kept = (c_m > kept -> c_m : kept);
    for (c_s : 1 .. SEGMENTS) {
      archived_end(c_s);
      c_before = (c_e > from && c_s < c_before -> c_s : c_before)
    }
    c_m = startLive[c_before];
#ifndef FIRST_MOMENT_NOT_KEPT
    c_need = c_need | c_m;
#endif
#ifndef UNPUBLISHED_NOT_KEPT
    /* A compacted segment that takes the place of what it begins with may have a number below. */
    for (c_s : 1 .. SEGMENTS) { c_need = (HAS(compacted, c_s) && (sources[c_s] & c_m) -> c_need | BIT(c_s) : c_need) }
#endif
#ifndef HIGHER_NUMBERS_NOT_KEPT
    for (c_s : 1 .. SEGMENTS) { c_need = (c_s >= c_before -> c_need | BIT(c_s) : c_need) }
#endif
    goingWhole = 0; goingPieces = 0; saltThen = salt;
    for (c_s : 1 .. SEGMENTS) {
      goingWhole = (IS_ARCHIVED(c_s) && !HAS(c_need, c_s) -> goingWhole | BIT(c_s) : goingWhole);
      goingPieces = (PIECE(c_s) && !HAS(c_need, c_s) -> goingPieces | BIT(c_s) : goingPieces)
    }
    /* The older one of the keyrings that go with the first moment and with the newest; where one of these has none, all stay. */
    c_t = (first[c_before] -> first[c_before] - 1 : 0);
    c_e = 0; c_m = 0;
    for (c_n : 1 .. KEYRINGS) {
      c_e = (FITS(c_n, c_t) -> c_n : c_e);
      c_m = (FITS(c_n, (c_best -> c_best - 1 : 0)) -> c_n : c_m)
    }
#ifdef KEYRINGS_BY_NUMBER
    c_e = c_m;
#endif
    c_e = (c_m < c_e -> c_m : c_e);
    goingKeyrings = (c_e -> keyrings & (BIT(c_e) - 1) : 0);
    s = 0
  }
}

/* `expired --delete`: ArchivePlan `expired`, then one object after the other. Every moment from one on is to be kept. */
proctype Deleter() {
  byte from, goingWhole, goingPieces, goingKeyrings, saltThen, s;
  do
  :: atomic {
       deletions < DELETIONS -> deletions++;
       from = 1;
       do
       :: from < TRANSACTIONS -> from++
       :: break
       od;
       plan_expiry();
       printf("the deleter keeps what is from %d on\n", from)
     };
     s = 1;
     do
     :: s > SEGMENTS -> break
     :: d_step { s <= SEGMENTS && HAS(goingWhole, s) ->
          DELETE(whole[HAS(saltThen, s)] = whole[HAS(saltThen, s)] & ~BIT(s));
          goingWhole = goingWhole & ~BIT(s);
          printf("the deleter deletes segment %d\n", s) }
     :: d_step { s <= SEGMENTS && HAS(goingPieces, s) ->
          DELETE(piece[2 * s + HAS(saltThen, s)] = 0);
          goingPieces = goingPieces & ~BIT(s);
          printf("the deleter deletes the pieces of %d\n", s) }
     :: s <= SEGMENTS && !HAS(goingWhole | goingPieces, s) -> s++
     od;
     s = 0;
     d_step { DELETE(keyrings = keyrings & ~goingKeyrings); from = 0; goingKeyrings = 0; saltThen = 0 }
  od
}

inline end_shipper() {
  release(); isWatching = false; watched = 0; since = 0; isMissing = false; shipperDies = true
}

/* The machine dies, and with it all but the deleter, which is elsewhere; or the shipper alone. */
proctype Fate() {
  byte s, lost;
  do
  :: atomic {
       deaths < DEATHS -> deaths++;
       printf("the machine dies\n");
       do
       :: d_step { last > durable -> holder[last] = 0; live[last] = 0; uses[last] = 0; last-- }
       :: break
       od;
       s = 1;
       do
       :: s > SEGMENTS -> break
       :: s <= SEGMENTS && HAS(there & ~nameOnMedium, s) -> lost = lost | BIT(s); s++
       :: s <= SEGMENTS -> s++
       od;
       s = 0;
       if
       :: d_step { keyring != keyringOnMedium -> assert(!HAS(keyrings, keyring)); counts[keyring] = 0; lacks[keyring] = 0; keyring-- }
       :: true
       fi;
       d_step {
         /* INV-C6: nothing in the archive is newer than what is left. */
         for (c_s : 1 .. SEGMENTS) {
           assert(HAS(compacted, c_s) || PIECE(c_s) <= last + 1);
           assert(!(HAS(lost, c_s) && (IS_ARCHIVED(c_s) || PIECE(c_s))))
         }
         if
         :: HAS(lost, head) -> head = older; older = 0
         :: else -> finished = (older -> finished | BIT(older) : finished); older = 0
         fi;
         /* What was replaced, or never was published, goes when it is opened. */
         there = (CURRENT_LIVE | (head -> BIT(head) : 0)) & ~BIT(0);
         nameOnMedium = there; finished = finished & there; compacted = compacted & there;
         durable = last; keyringOnMedium = keyring; keyringInUse = keyring;
         c_s = highest;
         do
         :: c_s > 0 && !HAS(there, c_s) -> salt = salt ^ BIT(c_s); first[c_s] = 0; startLive[c_s] = 0; sources[c_s] = 0; c_s--
         :: else -> break
         od;
         highest = c_s;
         for (c_s : 1 .. SEGMENTS) { replaced[c_s] = 0 }
         deferred = 0; known = 0; isReading = false;
         end_shipper();
         writerDies = true; lost = 0
       }
     }
  :: d_step { kills < KILLS && isPinned && !shipperDies -> kills++; end_shipper(); printf("the shipper dies\n") }
  od
}

/* One segment is finished, and there is no head. */
init {
  d_step {
    there = BIT(1); nameOnMedium = BIT(1); finished = BIT(1);
    first[1] = 1; holder[1] = 1; uses[1] = 1
  };
  atomic { run Writer(); run Shipper(); run Reader(); run Deleter(); run Fate() }
}
