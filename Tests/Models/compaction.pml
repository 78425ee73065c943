/* A process writes, deletes and compacts, dies now and then, and the power goes. FORMAT.md 24, with 12.1, 21.2 and 22. */

#ifndef TRANSACTIONS
#define TRANSACTIONS 1
#endif
#ifndef COMPACTIONS
#define COMPACTIONS 1
#endif
#ifndef KILLS
#define KILLS 1
#endif
#ifndef POWER_LOSSES
#define POWER_LOSSES 1
#endif
#ifndef SWITCHES
#define SWITCHES 1
#endif
#ifndef LENDINGS
#define LENDINGS 1
#endif
#define FAILURES 0
#define CHECKPOINTS 0
#define SEGMENTS 10
#define FILES 10
#define SLOTS 5

#include "disk.inc"

byte lock;
bool killed[3], busy[3];
byte history, acked, durable;
byte markFloor[LAST_TRANSACTION + 1];
byte kills, powerLosses, failures, switches, checkpoints, compactions, lendings;

byte written;
#define MAY_WRITE (written < TRANSACTIONS && next + 2 <= LAST_TRANSACTION)
#define MAY_WRITE_BESIDE false

#include "records.inc"
#include "opening.inc"

/* Whether some transactions' frames and others come to the same: a deletion is as good as nothing. */
inline compare(some, others, content) {
  newest_of(some, content, c_u);
  c_u = (c_u && does[c_u] == DELETE_X -> 0 : c_u);
  newest_of(others, content, c_s);
  c_s = (c_s && does[c_s] == DELETE_X -> 0 : c_s);
  c_same = c_same && (c_u == c_s)
}

/* INV-R1, INV-R2, INV-C1, INV-C2: the records are what they were at some moment, and that is after the last that was acknowledged (after a
   power loss: as durable). */
inline check_served() {
  c_m = 0;
  for (c_t : 1 .. LAST_TRANSACTION) {
    if
    :: HAS(acked | durable, c_t) -> c_m = c_t
    :: else
    fi
  }
  do
  :: c_same = 1;
     compare(x_served, history & (BIT(c_m + 1) - 1), PUT_X);
     compare(x_served, history & (BIT(c_m + 1) - 1), PUT_Y);
     if
     :: c_same -> break
     :: else -> c_m++; assert(c_m <= LAST_TRANSACTION)
     fi
  od;
  history = history & (BIT(c_m + 1) - 1);
  /* A compacted segment that nothing names takes the place of its sources where one of them is missing: without damage there is none. */
  for (c_s : 1 .. SEGMENTS) {
    if
    :: name[c_s] && file[name[c_s]].kind == COMPACTED && !x_live[c_s] ->
       c_same = 1; c_m = 0;
       for (c_t : 1 .. SEGMENTS) {
         if
         :: HAS(file[name[c_s]].sources, c_t) -> c_same = c_same && x_live[c_t]; c_m = c_m || !name[c_t]
         :: else
         fi
       }
       assert(!(c_same && c_m))
    :: else
    fi
  }
}

#include "writing.inc"
#include "compacting.inc"

/* A process that has the lock, two threads of which write and compact. */
proctype Writer(byte me) {
  byte head, end, older, floor, next, covered, upTo, spare, p;
  bit unproven, unsynced, touched;
  byte content = PUT_X;
  byte stage, output;
  short sources;
  do
  :: {
       atomic { lock == 0 && (me == 1 || busy[1]) -> lock = me; busy[me] = true };
       take_over();
       do
       :: MAY_WRITE ->
          if
          :: content = PUT_X
          :: content = DELETE_X
          fi;
          written++;
          make_room();
          write_transaction();
          content = PUT_X;
          if
          :: await_durable()
          :: true
          fi
       :: atomic { switches < SWITCHES && head != 0 && end > 0 -> switches++ }; switch_segment()
       :: head != 0 && (stage > 0 || compactions < COMPACTIONS) -> compact()
       :: stage < 3 && lendings < LENDINGS -> lendings++; break
       od;
       end_in_order();
       d_step {
         STEP("process %d gives the lock back\n");
         lock = 0; busy[me] = false; durable = history; partial = 0; forget_unnamed();
         head = 0; end = 0; floor = 0; next = 0; unproven = 0; touched = 0; stage = 0; output = 0; sources = 0
       }
     }
     unless {
       killed[me] -> d_step {
         killed[me] = false; busy[me] = false; lock = (lock == me -> 0 : lock);
         head = 0; end = 0; older = 0; floor = 0; next = 0; covered = 0; upTo = 0; spare = 0; unproven = 0; unsynced = 0; touched = 0;
         content = PUT_X; stage = 0; output = 0; sources = 0
       }
     }
  od
}

/* What comes from outside: a process is killed, the power goes. */
proctype Fate() {
  byte f, p;
  do
  :: atomic { kills < KILLS && lock != 0 && !killed[lock] -> kills++; killed[lock] = true; printf("process %d is killed\n", lock) }
  :: atomic {
       powerLosses < POWER_LOSSES ->
       powerLosses++;
       printf("the power goes\n");
       acked = durable;
       lose_power();
       killed[1] = busy[1]; killed[2] = busy[2]
     }
  od
}

/* A store that was closed in order: X was put in a segment that is finished, and put again or deleted in the head. */
init {
  atomic {
    d_step {
      file[1].kind = LOG; file[1].first = 1; file[1].floor = AT(1, 0); file[1].slot[0] = 1; file[1].used = 1;
      file[1].here = BIT(START) | BIT(FOOTER) | BIT(0); file[1].safe = file[1].here;
      file[2].kind = LOG; file[2].first = 2; file[2].floor = AT(1, 1); file[2].slot[0] = 2; file[2].slot[1] = CLOSE; file[2].used = 2;
      file[2].live[1] = 2;
      file[2].here = BIT(START) | BIT(0) | BIT(1); file[2].safe = file[2].here;
      name[1] = 1; nameOnMedium[1] = 1; name[2] = 2; nameOnMedium[2] = 2;
      markFloor[1] = AT(1, 0); markFloor[2] = AT(1, 1);
      does[1] = PUT_X;
      history = BIT(1) | BIT(2); acked = history; durable = history
    };
    if
    :: does[2] = PUT_X
    :: does[2] = DELETE_X
    fi;
    run Writer(1); run Writer(2); run Fate()
  }
}
