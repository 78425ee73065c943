/* Two processes write to one store in turns, each of them dies now and then, and the power goes. FORMAT.md 25, "Lending", with 21.2 and 22. */

#ifndef TRANSACTIONS
#define TRANSACTIONS 3
#endif
#ifndef KILLS
#define KILLS 1
#endif
#ifndef POWER_LOSSES
#define POWER_LOSSES 1
#endif
#ifndef FAILURES
#define FAILURES 0
#endif
#ifndef CHECKPOINTS
#define CHECKPOINTS 0
#endif
#ifndef SWITCHES
#define SWITCHES 1
#endif
#ifndef SEGMENTS
#define SEGMENTS 12
#endif
#define FILES 8
#define SLOTS 4

#include "disk.inc"

/* Who has `lock`; 0: nobody. The system gives it back when a process dies. */
byte lock;
bool killed[3];
/* Who has had it since, and has not given it back in order. */
bool busy[3];

/* What was committed and not lost, what of it was acknowledged, and what of that as durable: sets of transactions. */
byte history, acked, durable;
/* The floor that each transaction's commit mark names. */
byte markFloor[LAST_TRANSACTION + 1];
byte kills, powerLosses, failures, switches, checkpoints;

#define MAY_WRITE (next <= TRANSACTIONS)
#define MAY_WRITE_BESIDE MAY_WRITE
#define HAS_FRAMES(transaction) true
#define apply_live_change(transaction) skip
#define begin_transaction(number) skip

#include "opening.inc"

/* INV-R1: what was acknowledged as durable is served after any crash, and after a process died, all that was. INV-R2: what is served
   is what came before some moment. */
inline check_served() {
  assert((durable & ~x_served) == 0);
  assert((acked & ~x_served) == 0);
  assert((x_served & ~history) == 0);
  assert((x_served & (history & ~x_served)) == 0);
  for (x_t : 1 .. LAST_TRANSACTION) {
    if
    :: HAS(history & ~x_served, x_t) -> assert(x_served < BIT(x_t))
    :: else
    fi
  }
  history = x_served
}

#include "writing.inc"

/* A process with `Options.writing = .leased`. Who has not the lock keeps nothing in memory that counts here, so that it makes no difference
   who takes it: the first that is idle does. */
proctype Writer(byte me) {
  byte head, end, older, floor, next, covered, upTo, spare, p;
  bit unproven, unsynced, touched;
  do
  :: {
#ifdef LOCK_NOT_ASKED_FOR
       atomic { me == 1 || busy[1] -> lock = me; busy[me] = true };
#else
       atomic { lock == 0 && (me == 1 || busy[1]) -> lock = me; busy[me] = true };
#endif
       take_over();
       do
       :: MAY_WRITE -> make_room(); write_transaction()
       :: unsynced -> await_durable()
       :: atomic { switches < SWITCHES && head != 0 && end > 0 -> switches++ }; switch_segment()
       :: break
       od;
#ifdef LENT_BEFORE_END
       lock = 0;
#endif
       end_in_order();
       d_step {
         STEP("process %d gives the lock back\n");
         lock = 0; busy[me] = false; durable = history;
         head = 0; end = 0; floor = 0; next = 0; unproven = 0; touched = 0
       }
     }
     unless {
       killed[me] -> d_step {
         killed[me] = false; busy[me] = false; lock = (lock == me -> 0 : lock);
         head = 0; end = 0; older = 0; floor = 0; next = 0; covered = 0; upTo = 0; spare = 0; unproven = 0; unsynced = 0; touched = 0
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

/* The store was made: its first segment is what makes it one. Journal+Open `create`. */
init {
  d_step {
    file[1].kind = LOG; file[1].first = 1; file[1].floor = AT(1, 0); file[1].here = BIT(START); file[1].safe = BIT(START);
    name[1] = 1; nameOnMedium[1] = 1
  };
  atomic { run Writer(1); run Writer(2); run Fate() }
}
