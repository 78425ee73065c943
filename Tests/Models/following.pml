/* A process follows what another one commits, compacts and recovers: FORMAT.md 25, "Following". All of it is seen in the page cache: when the
   power goes, both are gone. The follower's steps are those of Follower (Notelog/Journal): a step is a look at a
   file or at the folder, with what it does to the follower's memory. */

#ifndef TRANSACTIONS
#define TRANSACTIONS 1
#endif
#ifndef COMPACTIONS
#define COMPACTIONS 0
#endif
#ifndef KILLS
#define KILLS 1
#endif
#ifndef SWITCHES
#define SWITCHES 1
#endif
#ifndef LENDINGS
#define LENDINGS 0
#endif
#ifndef SNAPSHOTS
#define SNAPSHOTS 0
#endif
#define FAILURES 0
#define CHECKPOINTS 0
#define SEGMENTS 10
#define FILES 12
#define SLOTS 5

/* Which files the follower has open: they stay, whatever becomes of their names. */
short openFiles;
#define IS_OPEN(f) HAS(openFiles, f)
#ifdef UNCUT_SOURCES_NOT_AWAITED
#define MAY_WAIT(s) k_file[s]
#else
#define MAY_WAIT(s) (k_file[s] || HAS(file[k_file[SEGMENT_OF(k_place)]].sources, s))
#endif

#include "disk.inc"

#define NOTE_STEP wasQuiet = false

byte lock;
bool killed[3], busy[3];
byte history, acked, durable;
byte markFloor[LAST_TRANSACTION + 1];
byte kills, failures, switches, checkpoints, compactions, lendings;

byte written;
/* Nobody has written since the follower's look began. */
bool wasQuiet;
#define MAY_WRITE (written < TRANSACTIONS && next + 2 <= LAST_TRANSACTION)
#define MAY_WRITE_BESIDE false

#include "records.inc"
#include "opening.inc"

/* After a kill all that was acknowledged is there. */
inline check_served() { skip }

#include "writing.inc"
#include "compacting.inc"

#define RECORDS 2
#define RECORD_OF(transaction) (IS_OF_X(does[transaction]) -> 0 : 1)

/* What the follower knows. */
byte k_place, k_next;             /* behind the last unit, and the number of the next transaction: LogState `visibleEnd`, `nextVisible` */
byte k_live[SEGMENTS + 1];        /* the live set */
byte k_file[SEGMENTS + 1];        /* the segment table: the file of each, */
byte k_entry[SEGMENTS + 1];       /* and how the live set identifies it, where it is known to be finished */
byte k_newest[RECORDS];           /* the index: the newest transaction of each record, */
byte k_where[RECORDS];            /* and the segment where its frame is */
byte k_told, k_gaps;              /* which transactions it was told of one by one, and which by a gap: sets */

/* A snapshot: up to which transaction, and the older versions that were kept for it. OldVersions. */
byte k_snapshot;
byte k_old[RECORDS], k_oldFile[RECORDS];

/* One look at the log: the struct Follower. */
mtype = { WALK, LIST, OPEN, DECIDE, ASK, TAKE, FINISH };
mtype f_step = WALK;              /* what it does next */
byte f_gap;                       /* `Journal.unfinishedFollow`: from where on transactions can't be told one by one; this stays when a look fails */
bool f_isExact = true;            /* and whether all that came was known to be copies */
bool f_isFinished;                /* the segment that was read is finished */
byte f_in;                        /* the segment in which the log goes on */
short f_recut;                    /* segments whose end a recovery has moved elsewhere */
short f_numbers;                  /* segments that were listed, or are to be looked at */
byte f_at;                        /* the one that is looked at */
byte f_file[SEGMENTS + 1];        /* what was found under their names */
bool isArranging;                 /* `Catalog.arrangement` is held: no snapshot is made */

hidden byte g_f, g_j, g_u, g_r, g_s, g_t;
hidden short g_set;

/* Which files are open; others that have no name go. */
inline keep_open() {
  g_set = 0;
  for (g_s : 1 .. SEGMENTS) { g_set = g_set | BIT(k_file[g_s]) | BIT(f_file[g_s]) }
  for (g_r : 0 .. RECORDS - 1) { g_set = g_set | BIT(k_oldFile[g_r]) }
  openFiles = g_set & ~1;
  forget_unnamed()
}

/* Whether a file has a transaction's frame. */
inline find_frame(f, transaction, result) {
  result = HAS(file[f].frames, transaction);
  for (g_j : 0 .. SLOTS - 1) { result = result || (g_j < file[f].used && file[f].slot[g_j] == transaction) }
}

/* A version that a transaction takes from the index is kept for the snapshot that sees it. Catalog `note`, OldVersions. */
inline note_old(r, by) {
  if
  :: k_snapshot && k_newest[r] && k_newest[r] <= k_snapshot && k_snapshot < by && does[k_newest[r]] != DELETE_X ->
     k_old[r] = k_newest[r]; k_oldFile[r] = k_file[k_where[r]]
  :: else
  fi
}

inline note_gap() {
#ifndef GAPS_NOT_TOLD
  f_gap = (f_gap -> f_gap : k_next);
#endif
  isArranging = true
}

/* Takes a frame in, unless one that is newer is known. Catalog `take`. */
inline take_frame(transaction, s) {
  g_r = RECORD_OF(transaction);
  if
  :: transaction > k_newest[g_r] -> note_old(g_r, transaction); k_newest[g_r] = transaction; k_where[g_r] = s
  :: else
  fi
}

/* A frame that may be known at another place. Catalog `merge`. */
inline merge_frame(transaction, s) {
  g_r = RECORD_OF(transaction);
  if
  :: transaction == k_newest[g_r] -> k_where[g_r] = s
  :: else -> take_frame(transaction, s)
  fi
}

/* Follower `take`: as its writer did. */
inline take_transaction(transaction) {
  if
  :: does[transaction] == LIVE_CHANGE ->
     for (g_s : 1 .. SEGMENTS) {
       k_live[g_s] = (HAS(goes[transaction], g_s) -> 0 : (comes[transaction] == g_s -> 1 : k_live[g_s]))
     }
  :: else -> take_frame(transaction, SEGMENT_OF(k_place))
  fi;
  if
  :: f_gap == 0 -> assert(!HAS(k_told | k_gaps, transaction)); k_told = k_told | BIT(transaction)
  :: else
  fi;
  assert(transaction >= k_next);
  k_next = transaction + 1
}

/* What a unit gave. */
#define GO_ON 0
#define FINISHED 1
#define UNFINISHED 2

/* Reads the unit at `k_place`, and takes it in. Follower `walk`. */
inline read_unit(result) {
  g_s = SEGMENT_OF(k_place); g_j = SLOT_OF(k_place); g_f = k_file[g_s];
  g_u = (g_j < file[g_f].used && g_j < SLOTS -> file[g_f].slot[g_j] : EMPTY);
  result = UNFINISHED;
  if
  :: g_f == 0
#ifdef HALF_TRANSACTIONS_TAKEN
  :: g_f && g_u == HALF -> take_transaction(k_next); k_place++; result = GO_ON
#else
  :: g_f && g_u == HALF
#endif
  :: g_f && g_u == EMPTY ->
     result = (HAS(file[g_f].here, FOOTER) && g_j == file[g_f].used || k_entry[g_s] -> FINISHED : UNFINISHED)
  :: g_f && g_u == CLOSE -> k_place++; result = GO_ON
  :: g_f && IS_TRANSACTION(g_u) ->
     if
     :: g_u < k_next && file[g_f].kind == RECOVERED -> merge_frame(g_u, g_s); k_place++; result = GO_ON
     :: g_u >= k_next && (g_u == k_next || file[g_f].kind == RECOVERED) ->
        if
        :: g_u > k_next -> note_gap()
        :: else
        fi;
        take_transaction(g_u); k_place++; result = GO_ON
     :: else
     fi
  fi
}

inline walk() {
  do
  :: read_unit(g_t);
     if
     :: g_t == GO_ON
     :: else -> break
     fi
  od;
  f_isFinished = (g_t == FINISHED)
}

/* What came into a segment since it was read: whoever wrote there is dead, so that this is all there is. */
inline read_on() {
#ifndef NOT_READ_ON
  walk()
#else
  skip
#endif
}

/* The next of the segments in `f_numbers` behind `f_at`; 0 where there is none. */
inline next_number() {
  do
  :: f_at < SEGMENTS && !HAS(f_numbers, f_at + 1) -> f_at++
  :: f_at < SEGMENTS && HAS(f_numbers, f_at + 1) -> f_at++; break
  :: f_at == SEGMENTS -> f_at = 0; break
  od;
  skip
}

/* Lists the segments above the one where the log was known to end. Follower `successor`, `numbers`. */
inline list_later() {
  f_numbers = 0;
  for (g_s : 1 .. SEGMENTS) { f_numbers = (g_s > SEGMENT_OF(k_place) && name[g_s] -> f_numbers | BIT(g_s) : f_numbers) }
  f_at = 0; next_number();
  f_step = (f_at -> OPEN : DECIDE)
}

/* Opens one of them. One that is gone by now makes the look begin again. */
inline open_later() {
  if
  :: name[f_at] == 0 -> look_again()
  :: else ->
     if
     :: HAS(file[name[f_at]].here, START) && file[name[f_at]].kind != COMPACTED -> f_file[f_at] = name[f_at]
     :: else
     fi;
     next_number();
     f_step = (f_at -> OPEN : DECIDE);
     keep_open()
  fi
}

inline begin_look() {
  for (g_s : 1 .. SEGMENTS) { f_file[g_s] = 0 }
  f_step = WALK; f_recut = 0; f_numbers = 0; f_at = 0; f_in = 0; f_isFinished = false;
  keep_open()
}

/* A file that was named is gone: another process goes on. Journal+Lend `follow`. */
inline look_again() {
  printf("the follower looks again\n");
  /* Where nobody does, it would look for ever. */
  assert(!wasQuiet);
#ifdef ARRANGED_IN_PIECES
  isArranging = false;
#endif
  begin_look()
}

/* Chooses the segment in which the log goes on: `f_in`; 0 where it doesn't, or not yet; and where that is to be asked, SEGMENTS more. The rest of
   Follower `successor`. */
inline choose_later() {
  f_in = 0; g_t = 0;
  g_s = SEGMENTS;
  do
  :: g_s == 0 -> break
  :: g_s > 0 ->
     if
     :: f_file[g_s] ->
        g_t = g_s;
#ifndef RECOVERED_NOT_FOLLOWED
        f_in = (file[f_file[g_s]].kind == RECOVERED && HAS(file[f_file[g_s]].sources, SEGMENT_OF(k_place)) -> g_s : f_in)
#endif
     :: else
     fi;
     g_s--
  od;
  if
  :: f_isFinished ->
     f_in = g_t;
     if
     :: g_t ->
        f_recut = f_recut | file[f_file[g_t]].sources;
        g_u = file[f_file[g_t]].keptOf;
        if
        :: (g_u > SEGMENT_OF(k_place) && !HAS(f_numbers, g_u)) || (file[f_file[g_t]].kind == LOG && file[f_file[g_t]].first > k_next) -> note_gap()
        :: else
        fi
     :: else
     fi
  :: !f_isFinished && f_in -> f_recut = f_recut | file[f_file[f_in]].sources
  :: !f_isFinished && !f_in -> f_in = (g_t -> SEGMENTS + g_t : 0)
  fi
}

/* Goes on at the beginning of another segment, whose live set is what counts from there on. Follower `goOn`. */
inline go_on_in(s) {
  g_t = SEGMENT_OF(k_place); g_f = k_file[g_t];
  if
  :: g_f && !HAS(f_recut, g_t) && file[f_file[s]].live[g_t] && HAS(file[g_f].here, FOOTER) && file[f_file[s]].live[g_t] == file[g_f].used + 1 ->
     k_entry[g_t] = file[f_file[s]].live[g_t]
  :: else
  fi;
  k_place = AT(s, 0);
  g_f = f_file[s];
  if
  :: (f_gap || file[g_f].kind == LOG) && file[g_f].first > k_next -> k_next = file[g_f].first
  :: else
  fi;
  k_file[s] = g_f;
  k_entry[s] = (file[g_f].kind == RECOVERED -> file[g_f].used + 1 : 0);
  for (g_t : 1 .. SEGMENTS) { k_live[g_t] = file[g_f].live[g_t] }
  for (g_t : 1 .. SEGMENTS) { f_file[g_t] = 0 }
  f_in = 0; f_at = 0; f_numbers = 0; f_isFinished = false;
  printf("the follower goes on in segment %d\n", SEGMENT_OF(k_place));
  f_step = WALK;
  keep_open()
}

/* Which segments came: those of the live set that are not known as it has them. Follower `rearrange`. */
inline look_what_came() {
  for (g_s : 1 .. SEGMENTS) { f_file[g_s] = 0 }
  f_numbers = 0;
  for (g_s : 1 .. SEGMENTS) {
    f_numbers = (k_live[g_s] && (k_file[g_s] == 0 || k_entry[g_s] != k_live[g_s]) -> f_numbers | BIT(g_s) : f_numbers)
  }
  f_at = 0; next_number();
  isArranging = (f_at -> true : isArranging);
  f_step = (f_at -> TAKE : FINISH)
}

/* Opens one of them. A source that recovery has not cut yet is looked at again when it is: one that is not known was compacted before. */
inline open_what_came() {
  g_f = name[f_at];
  g_u = (g_f && HAS(file[g_f].here, START) && HAS(file[g_f].here, FOOTER) && file[g_f].used + 1 == k_live[f_at]);
  if
  :: g_u -> f_file[f_at] = g_f
  :: else
  fi;
  if
  :: g_f && (g_u || MAY_WAIT(f_at)) -> next_number(); f_step = (f_at -> TAKE : FINISH); keep_open()
  :: else -> look_again()
  fi
}

/* The transactions whose frames a file has that the follower holds. */
inline frames_in(f, result) {
  result = file[f].frames;
  for (g_j : 0 .. SLOTS - 1) {
    if
    :: g_j < file[f].used && IS_TRANSACTION(file[f].slot[g_j]) && HAS_FRAMES(file[f].slot[g_j]) -> result = result | BIT(file[f].slot[g_j])
    :: else
    fi
  }
}

/* Only of a source that is known to be finished the frames are listed: otherwise nobody says which were left behind. */
#ifdef UNFINISHED_SOURCES_PAIRED
#define IS_READABLE(s) true
#else
#define IS_READABLE(s) k_entry[s]
#endif

/* A compacted segment whose frames are those of its sources. Follower `adopt`, `moves`. `g_u` becomes 0 where they are not. */
inline adopt(s) {
  g_set = 0;
  g_u = (file[f_file[s]].kind == COMPACTED);
  for (g_t : 1 .. SEGMENTS) {
    if
    :: HAS(file[f_file[s]].sources, g_t) ->
       g_u = g_u && k_file[g_t] && IS_READABLE(g_t);
       if
       :: k_entry[g_t] -> frames_in(k_file[g_t], g_f); g_set = g_set | g_f
       :: else
       fi
    :: else
    fi
  }
  g_u = g_u && ((file[f_file[s]].frames & ~g_set) == 0);
  if
  :: g_u ->
     for (g_r : 0 .. RECORDS - 1) {
       if
       :: k_newest[g_r] && HAS(file[f_file[s]].sources, k_where[g_r]) && HAS(g_set, k_newest[g_r]) ->
          if
          :: HAS(file[f_file[s]].frames, k_newest[g_r]) -> k_where[g_r] = s
          :: !HAS(file[f_file[s]].frames, k_newest[g_r]) && does[k_newest[g_r]] == DELETE_X -> k_newest[g_r] = 0; k_where[g_r] = 0
          :: else
          fi
       :: else
       fi
     }
  :: else
  fi
}

/* Forgets what still stands in a segment from a slot on. Follower `forgetFrames`. */
inline forget_frames(s, from) {
  for (g_r : 0 .. RECORDS - 1) {
    if
    :: k_newest[g_r] && k_where[g_r] == s ->
       g_u = HAS(file[k_file[s]].frames, k_newest[g_r]);
       for (g_j : 0 .. SLOTS - 1) {
         g_u = g_u || (g_j >= from && file[k_file[s]].slot[g_j] == k_newest[g_r])
       }
       if
       :: g_u && f_gap -> note_old(g_r, f_gap); k_newest[g_r] = 0; k_where[g_r] = 0
       :: g_u && !f_gap -> note_old(g_r, k_next); k_newest[g_r] = 0; k_where[g_r] = 0
       :: else
       fi
    :: else
    fi
  }
}

/* Exchanges segments, so that the table has those of the live set. The rest of Follower `rearrange`. */
inline exchange() {
  for (g_s : 1 .. SEGMENTS) {
    if
    :: f_file[g_s] && k_file[g_s] == 0 ->
       adopt(g_s);
       if
       :: g_u -> k_file[g_s] = f_file[g_s]; k_entry[g_s] = k_live[g_s]; f_file[g_s] = 0
       :: else -> f_isExact = false
       fi
    :: else
    fi
  }
  for (g_s : 1 .. SEGMENTS) {
    if
    :: f_file[g_s] && k_file[g_s] == 0 ->
       k_file[g_s] = f_file[g_s]; k_entry[g_s] = k_live[g_s]; f_file[g_s] = 0;
       frames_in(k_file[g_s], g_f);
       for (g_t : 1 .. LAST_TRANSACTION) {
         if
#ifdef ARRIVALS_NOT_MERGED
         :: false
#else
         :: HAS(g_f, g_t) -> merge_frame(g_t, g_s)
#endif
         :: else
         fi
       }
    :: else
    fi
  }
#ifndef DELETED_NOT_FORGOTTEN
  if
  :: !f_isExact || f_gap ->
     for (g_s : 1 .. SEGMENTS) {
       if
       :: k_file[g_s] && g_s != SEGMENT_OF(k_place) && k_live[g_s] == 0 -> forget_frames(g_s, 0)
       :: f_file[g_s] -> forget_frames(g_s, file[f_file[g_s]].used)
       :: else
       fi
     }
  :: else
  fi;
#endif
  for (g_s : 1 .. SEGMENTS) {
    if
    :: k_file[g_s] && g_s != SEGMENT_OF(k_place) && k_live[g_s] == 0 -> k_file[g_s] = 0; k_entry[g_s] = 0
    :: f_file[g_s] -> k_file[g_s] = f_file[g_s]; k_entry[g_s] = k_live[g_s]; f_file[g_s] = 0
    :: else
    fi
  }
}

/* INV-P2: what is known is what was committed up to the last transaction, all of it. */
inline check_records() {
  for (g_r : 0 .. RECORDS - 1) {
    newest_of(history & (BIT(k_next) - 1), (g_r == 0 -> PUT_X : PUT_Y), g_u);
    assert((g_u && does[g_u] != DELETE_X) || k_newest[g_r] == 0 || does[k_newest[g_r]] == DELETE_X);
    assert(g_u == 0 || does[g_u] == DELETE_X || k_newest[g_r] == g_u)
  }
}

/* INV-P3: a snapshot stays as it was. */
inline check_snapshot() {
  for (g_r : 0 .. RECORDS - 1) {
    newest_of(history & (BIT(k_snapshot + 1) - 1), (g_r == 0 -> PUT_X : PUT_Y), g_u);
    if
    :: k_snapshot && g_u && does[g_u] != DELETE_X && k_newest[g_r] != g_u ->
       assert(k_old[g_r] == g_u);
       find_frame(k_oldFile[g_r], g_u, g_t);
       assert(g_t)
    :: k_snapshot && (g_u == 0 || does[g_u] == DELETE_X) ->
       assert(k_newest[g_r] == 0 || k_newest[g_r] > k_snapshot || does[k_newest[g_r]] == DELETE_X);
       assert(k_old[g_r] == 0)
    :: else
    fi
  }
}

/* What must hold whenever a look has come to its end. */
inline check_followed() {
  check_records();
  check_snapshot();
  for (g_t : 1 .. LAST_TRANSACTION) {
    /* Each transaction is heard of once. */
    assert(!HAS(k_told & k_gaps, g_t));
    assert(g_t >= k_next || !HAS(history, g_t) || HAS(k_told | k_gaps, g_t))
  }
  for (g_r : 0 .. RECORDS - 1) {
    /* What is known can be read: no frame is looked for in a file that does not have it. */
    if
    :: k_newest[g_r] ->
       assert(k_file[k_where[g_r]] != 0);
       find_frame(k_file[k_where[g_r]], k_newest[g_r], g_u);
       assert(g_u)
    :: else
    fi
  }
  /* Where nobody wrote meanwhile, it has all there is; but recovery leaves live changes out. */
  for (g_t : 1 .. LAST_TRANSACTION) { assert(!wasQuiet || !HAS(history, g_t) || g_t < k_next || does[g_t] == LIVE_CHANGE) }
  /* The table has nothing that does not live. */
  for (g_s : 1 .. SEGMENTS) {
    assert(!k_file[g_s] || k_live[g_s] || g_s == SEGMENT_OF(k_place))
  }
}

/* What is decided when all that was listed is open. */
inline decide() {
  choose_later();
  if
  :: f_in == 0 -> look_what_came()
  :: f_in > SEGMENTS -> f_step = ASK
  :: f_in > 0 && f_in <= SEGMENTS ->
     if
     :: f_isFinished
     :: else -> read_on()
     fi;
     go_on_in(f_in)
  fi
}

/* What became of the file in which the log was known to end, where another segment is behind it. Follower `fate`. */
inline ask_fate() {
  g_s = SEGMENT_OF(k_place);
  if
  :: name[g_s] == 0 || !HAS(file[name[g_s]].here, START) || (HAS(file[name[g_s]].here, FOOTER) && name[g_s] != k_file[g_s]) ->
     /* A recovery has put something else there, or has removed it, and is history by now. */
     read_on();
     f_recut = f_recut | BIT(SEGMENT_OF(k_place));
     note_gap();
     g_u = f_in - SEGMENTS;
     go_on_in(g_u)
  :: name[g_s] && HAS(file[name[g_s]].here, START) && HAS(file[name[g_s]].here, FOOTER) && name[g_s] == k_file[g_s] ->
     /* Finished since it was read: otherwise it is damaged. */
     walk();
     assert(f_isFinished);
#ifdef FINISHED_MEANWHILE_NOT_ASKED
     g_u = f_in - SEGMENTS;
     go_on_in(g_u)
#else
     f_step = DECIDE
#endif
  :: else -> look_what_came()
  fi
}

/* Follower `run`, in the loop of Journal+Lend `follow`: what is found is in its place. */
inline finish_look() {
  exchange();
  k_gaps = (f_gap -> k_gaps | ((BIT(k_next) - 1) & ~(BIT(f_gap) - 1)) : k_gaps);
  printf("the follower knows all before transaction %d\n", k_next);
  check_followed();
  f_gap = 0; f_isExact = true; isArranging = false;
  begin_look();
  wasQuiet = true
}

/* Journal+Lend `refresh`. Each of the first options is one call to the system. */
proctype Follower() {
  do
  :: atomic {
       if
       :: f_step == WALK -> d_step { walk(); f_step = LIST }
       :: f_step == LIST -> d_step { list_later() }
       :: f_step == OPEN -> d_step { open_later() }
       :: f_step == ASK -> d_step { ask_fate() }
       :: f_step == TAKE -> d_step { open_what_came() }
       fi;
       if
       :: f_step == DECIDE -> d_step { decide() }
       :: else
       fi;
       if
       :: f_step == FINISH -> d_step { finish_look() }
       :: else
       fi
     }
  od
}

/* Another thread of the follower makes a snapshot. Snapshot `init`. */
proctype Snapshots() {
#if SNAPSHOTS
  atomic { !isArranging -> d_step { k_snapshot = k_next - 1; printf("a snapshot is made at transaction %d\n", k_snapshot); check_records() } }
#else
  skip
#endif
}

/* Who has the lock. Where it was lent, the next one takes it. */
proctype Writer(byte me) {
  byte head, end, older, floor, next, covered, upTo, spare, p;
  bit unproven, unsynced, touched;
  byte content = PUT_X;
  byte stage, output;
  short sources;
  do
  :: {
       atomic { lock == 0 -> lock = me; busy[me] = true };
       take_over();
       do
       :: atomic { MAY_WRITE ->
            if
            :: content = PUT_X
            :: content = DELETE_X
            :: content = PUT_Y
            fi;
            written++
          };
          make_room();
          write_transaction();
          content = PUT_X
       :: atomic { switches < SWITCHES && head != 0 && end > 0 -> switches++ }; switch_segment()
       :: head != 0 && (stage > 0 || compactions < COMPACTIONS) -> compact()
       :: stage < 3 && lendings < LENDINGS -> lendings++; break
       od;
       end_in_order();
       d_step {
         STEP("process %d gives the lock back\n");
         lock = 0; busy[me] = false; partial = 0; forget_unnamed();
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

proctype Fate() {
  do
  :: atomic { kills < KILLS && lock != 0 && !killed[lock] -> kills++; killed[lock] = true; printf("process %d is killed\n", lock) }
  od
}

/* A store that was closed in order: X was put in a segment that is finished, and put again or deleted in the head. */
init {
  atomic {
    d_step {
      file[1].kind = LOG; file[1].first = 1; file[1].floor = AT(1, 0); file[1].slot[0] = 1; file[1].used = 1;
      file[1].here = BIT(START) | BIT(FOOTER) | BIT(0);
      file[2].kind = LOG; file[2].first = 2; file[2].floor = AT(1, 1); file[2].slot[0] = 2; file[2].slot[1] = CLOSE; file[2].used = 2;
      file[2].live[1] = 2;
      file[2].here = BIT(START) | BIT(0) | BIT(1);
      name[1] = 1; name[2] = 2;
      markFloor[1] = AT(1, 0); markFloor[2] = AT(1, 1);
      does[1] = PUT_X;
      history = BIT(1) | BIT(2);
      k_place = AT(2, 2); k_next = 3; wasQuiet = true; k_told = BIT(1) | BIT(2);
      k_live[1] = 2; k_file[1] = 1; k_entry[1] = 2; k_file[2] = 2
    };
    if
    :: does[2] = PUT_X
    :: does[2] = DELETE_X
    fi;
    k_newest[0] = 2; k_where[0] = 2;
    d_step { keep_open() };
    run Writer(1); run Follower(); run Snapshots(); run Fate()
  }
}
