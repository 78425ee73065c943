/* Pins, by which a process that can't keep all files open keeps them from being removed. FORMAT.md 25, "Pins"; Notelog/Compaction/Pins,
   NotelogStorage/DescriptorPool. A reader knows some segments, follows, and may have only so many of their files open at once; another process
   compacts, and a third may recover. */

#define SEGMENTS 5
#define HEAD SEGMENTS          /* a segment of the log above the floor: only recovery takes it away, and that asks for no pin */
#define SERIALS 4
#define BIT(b) (1 << (b))
#define HAS(mask, b) (((mask) >> (b)) & 1)

byte live = BIT(1) | BIT(HEAD);      /* what the log says: durable, and the same for everybody */
byte there = BIT(1) | BIT(HEAD);     /* the segments' names in the folder */
byte highest = 1;

/* The folder `pins/`: names, and who has a lock on the file of that name; a file keeps its lock when its name is gone. */
byte pinNames;
byte sharedLocks;
byte exclusiveLock;

byte compactions;
bool hasRecovered;

/* What the reader knows, has open, and may close for other files. */
byte known, open, closable;
byte serial;
bool isPinned;

/* Whoever would remove a segment asks all pins. `Storage.heldPins`. What a shipper's lets go is shipping.pml's: a reader's keeps all. */
inline ask_pins(names, pin, answer) {
  names = pinNames; answer = false;
  pin = 1;
  do
  :: pin > SERIALS -> break
  :: pin <= SERIALS && !HAS(names, pin) -> pin++
  :: pin <= SERIALS && HAS(names, pin) ->
     if
     :: atomic { HAS(pinNames, pin) && HAS(sharedLocks, pin) -> answer = true }
     :: atomic { HAS(pinNames, pin) && !HAS(sharedLocks, pin) -> exclusiveLock = pin };
        /* Nobody holds it: it is removed, and nobody can be taking it meanwhile. */
        pinNames = pinNames & ~BIT(pin);
        exclusiveLock = 0
     :: atomic { !HAS(pinNames, pin) -> skip }
     fi;
     pin++
  od;
  names = 0; pin = 0
}

/* Journal+Compact `replace`, `unlinkDeferred`: one segment takes the place of another, or one more comes. */
proctype Compactor() {
  byte names, pin, removed, s;
  bool isHeld;
  do
  :: compactions < 2 ->
     compactions++;
#ifdef PINS_ASKED_BEFORE_PUBLISHED
     ask_pins(names, pin, isHeld);
#endif
     d_step { highest++; there = there | BIT(highest) };
     if
     :: d_step { HAS(live, highest - 1) -> removed = removed | BIT(highest - 1); live = (live | BIT(highest)) & ~BIT(highest - 1); printf("segment %d takes the place of the one before\n", highest) }
     :: d_step { live = live | BIT(highest); printf("segment %d comes\n", highest) }
     fi;
#ifndef PINS_ASKED_BEFORE_PUBLISHED
     ask_pins(names, pin, isHeld);
#endif
#ifdef PINS_NOT_ASKED
     isHeld = false;
#endif
     for (s : 1 .. SEGMENTS) {
       if
       :: atomic { !isHeld && HAS(removed, s) -> there = there & ~BIT(s); removed = removed & ~BIT(s); printf("segment %d is removed\n", s) }
       :: else
       fi
     }
     isHeld = false; s = 0
  :: else -> break
  od
}

/* Recovery `finishSources`: what stays of a segment above the floor is elsewhere; its name goes, or another file gets it. */
proctype Recovery() {
  d_step { hasRecovered = true; live = live & ~BIT(HEAD); there = there & ~BIT(HEAD); printf("the head's name goes\n") }
}

#define IS_MANY(segments) (((segments) & ~BIT(HEAD)) & (((segments) & ~BIT(HEAD)) - 1))

/* `Storage.pin`. A file that somebody took for one that nobody holds has no name any more, and holds nothing. */
inline take_pin() {
  do
  :: isPinned -> break
  :: !isPinned ->
     atomic { serial++; assert(serial <= SERIALS); pinNames = pinNames | BIT(serial) };
     if
     :: exclusiveLock == serial
     :: atomic { exclusiveLock != serial -> sharedLocks = sharedLocks | BIT(serial) };
#ifdef PIN_NOT_LOOKED_FOR
        isPinned = true
#else
        if
        :: atomic { HAS(pinNames, serial) -> isPinned = true }
        :: atomic { !HAS(pinNames, serial) -> sharedLocks = sharedLocks & ~BIT(serial) }
        fi
#endif
     fi
  od
}

/* What the log says now is looked at, and what is new in it is opened. What was known before and has gone is kept open: a snapshot may see it. */
proctype Reader() {
  byte seen, s;
  do
  :: seen = live;
#ifdef LOOKED_BEFORE_PINNED
     if
     :: IS_MANY(known | seen) -> take_pin()
     :: else
     fi;
#elif defined(PINNED_WHEN_OPENED_ONLY)
     skip;
#else
     if
     :: IS_MANY(known | seen) && !isPinned -> take_pin(); seen = live
     :: else
     fi;
#endif
     /* A file that is gone by now: look again. */
     s = 1;
     do
     :: s > SEGMENTS -> break
     :: atomic { s <= SEGMENTS && HAS(seen & ~known, s) && HAS(there, s) -> known = known | BIT(s); open = open | BIT(s); s++ }
     :: s <= SEGMENTS && HAS(seen & ~known, s) && !HAS(there, s) -> break
     :: s <= SEGMENTS && !HAS(seen & ~known, s) -> s++
     od;
     if
     :: s > SEGMENTS ->
        /* Which files may be closed and opened again: those that were live when somebody looked with a pin in hand. */
        d_step {
#ifdef PINNED_WHEN_OPENED_ONLY
          closable = (IS_MANY(known) -> known : closable);
#else
          closable = (isPinned -> known & seen & ~BIT(HEAD) : closable);
#endif
#ifdef HEAD_MAY_BE_CLOSED
          closable = closable | (isPinned && HAS(known, HEAD) -> BIT(HEAD) : 0);
#endif
          s = 0; seen = 0
        }
     :: else -> s = 0; seen = 0
     fi
  :: atomic { open & closable ->
       /* DescriptorPool `closeOne` */
       if
       :: HAS(open & closable, 1) -> open = open & ~BIT(1)
       :: HAS(open & closable, 2) -> open = open & ~BIT(2)
       :: HAS(open & closable, 3) -> open = open & ~BIT(3)
       :: HAS(open & closable, HEAD) -> open = open & ~BIT(HEAD)
       fi
     }
  :: atomic { known & ~open ->
       /* DescriptorPool `reopen`: a read of what is known never finds its file gone. */
       assert((known & ~open & ~there) == 0);
       open = known
     }
  od
}

init { atomic { run Reader(); run Compactor(); run Recovery() } }
