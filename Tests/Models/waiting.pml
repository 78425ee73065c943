/* Processes that lease the store hand it over. FORMAT.md 25, "Lending": `waiting`; Journal+Lend `takeLock`, `isLockWanted`, SharingThread.

   Nothing here relies on time, but that whoever runs comes by while somebody is courteous: what is handed over is so because it was asked
   for, and not because the lease was idle for long enough or somebody looked again. */

#define PROCESSES 2
#define NOBODY PROCESSES

byte lock = NOBODY;
bool isAsking[PROCESSES];      /* its shared lock on `waiting`; the system gives it back when it dies */
byte refusals;                 /* whoever looks whether somebody asks has an exclusive lock on it for a moment: so a request may be refused */
bool hasEvent[PROCESSES];      /* a byte was written to it since this one woke last: inotify, or what there is */
bool wants[PROCESSES];
bool isStopped[PROCESSES];     /* by SIGSTOP, or by a system that suspends it; never while it has the lock: it lends before */

#define OTHER (1 - me)

#ifndef REFUSALS
#define REFUSALS 2             /* but not for ever */
#endif

/* Journal+Lend `isLockWanted`: an exclusive lock that is refused. */
#define IS_WANTED isAsking[OTHER]

/* Journal+Lend `takeLock`. */
inline take_lock() {
  wants[me] = true;
  /* Who comes later lets those go first who ask already, for so long as one of them needs that runs. */
#ifdef COURTESY_WITHOUT_END
  !isAsking[OTHER];
#endif
#if !defined(COURTESY_WITHOUT_END) && !defined(NO_COURTESY)
  (!isAsking[OTHER] || isStopped[OTHER]);
#endif
  do
  :: atomic { lock == NOBODY -> lock = me; isAsking[me] = false; hasAsked = false; wants[me] = false }; break
  :: atomic { lock != NOBODY && !isAsking[me] && !hasAsked -> skip };
#ifdef BYTE_BEFORE_LOCK
     hasEvent[OTHER] = true;
#endif
     if
     :: isAsking[me] = true
     :: atomic { refusals < REFUSALS -> refusals++ }
     fi;
#ifdef ASKED_ONCE
     hasAsked = true;
#endif
#if !defined(BYTE_BEFORE_LOCK) && !defined(NO_BYTE)
     hasEvent[OTHER] = hasEvent[OTHER] || isAsking[me]
#else
     skip
#endif
  :: lock != NOBODY && (isAsking[me] || hasAsked)
  :: atomic { isAsking[me] -> isStopped[me] = true }; goto stopped
  od
}

proctype Process(byte me) {
  bool hasAsked;
  do
  :: take_lock();
     do
     :: true ->
        /* A commit, behind which it is looked whether somebody asks. Journal+Lend `yieldIfWanted`. */
#ifndef NOT_LOOKED_AFTER_COMMIT
        if
        :: atomic { IS_WANTED -> lock = NOBODY }; break
        :: !IS_WANTED
        fi
#else
        skip
#endif
     :: true ->
        /* Nothing to write until it is woken. SharingThread `run`. */
#ifdef EVENT_FORGOTTEN_AFTER_LOOK
        if
        :: atomic { IS_WANTED -> lock = NOBODY }; break
        :: !IS_WANTED -> hasEvent[me] = false
        fi;
        atomic { hasEvent[me] -> hasEvent[me] = false }
#else
        atomic { hasEvent[me] -> hasEvent[me] = false };
        if
        :: atomic { IS_WANTED -> lock = NOBODY }; break
        :: !IS_WANTED
        fi
#endif
     :: /* The lease was idle for long enough. */
        lock = NOBODY; break
     od
  :: isStopped[me] = true; goto stopped
  od;
stopped:
  true
}

init { atomic { run Process(0); run Process(1) } }

/* Who wants the lock gets it, unless it is stopped itself; whoever else is stopped. INV-L3 is lending.pml's. */
ltl served { [] (wants[0] -> <> (!wants[0] || isStopped[0])) }
