// SPDX-License-Identifier: BSD-3-Clause
/* Split collective writes of one file, one after the other, through aggregators (aggregation.h): what each rank does
   between MPI_File_write_all_begin and _end, in steps that it takes whenever it is in MPI. Ranks 0 to AGGREGATORS - 1
   are aggregators, and each has a part of every rank's data. A message is copied when it is sent, or out of the
   sender's buffer when its aggregator receives it.

   Checked: when an access has ended, the file has the data of all ranks, as it was at the beginning, though each
   overwrites its buffer after its end and begins the next access at once; and all accesses end. With MEETS the last
   rank ends its access before a barrier, the others after it: whoever waits in the barrier takes steps of the access.

   Mistakes that it finds: ENDS_EARLY (a rank does not wait for the others' outcome), WRITES_EARLY (an aggregator does
   not wait for all data), TELLS_EARLY (it tells the outcome before it has written), STANDS_STILL (a rank that waits for
   its end takes no steps), and with MEETS STANDS_IN_BARRIER. */

#define RANKS 3
#define AGGREGATORS 2
#define ACCESSES 2
#define CELLS 6 /* RANKS * AGGREGATORS */
#define cell(from, aggregator) ((from) * AGGREGATORS + (aggregator))

#define ABSENT 0
#define BY_VALUE 1
#define IN_PLACE 2

mtype = { announcing, exchanging, telling, ended };

byte announced[RANKS], told[RANKS];    /* how many accesses a rank has announced, and told the outcome of */
byte buffer[RANKS];                    /* what the program has there; 0: something else */
byte kind[CELLS], tag[CELLS];          /* the message from a rank to an aggregator; one at a time */
byte value[CELLS];                     /* if it is by value */
byte window[CELLS], file[CELLS];       /* by rank and aggregator */
byte arrived[CELLS];                   /* of which access */
byte met;

#define all_announced(access) (announced[0] >= access && announced[1] >= access && announced[2] >= access)
#define is_of(message, access) (tag[message] == access)
#ifdef ENDS_EARLY
#define all_told(access) true
#else
#define all_told(access) (told[0] >= access && told[1] >= access && told[2] >= access)
#endif

inline send_all() {
    i = 0;
    do
    :: i == AGGREGATORS -> break
    :: else ->
        kind[cell(self, i)] == ABSENT; /* an earlier message with another tag is behind it */
        tag[cell(self, i)] = access;
        if
        :: kind[cell(self, i)] = BY_VALUE; value[cell(self, i)] = buffer[self]
        :: kind[cell(self, i)] = IN_PLACE
        fi;
        i++
    od;
    i = 0
}

/* An aggregator takes what has come. */
inline receive_some() {
    i = 0;
    do
    :: i == RANKS -> break
    :: else ->
        if
        :: kind[cell(i, self)] != ABSENT && is_of(cell(i, self), access) && arrived[cell(i, self)] < access ->
            window[cell(i, self)] = (kind[cell(i, self)] == BY_VALUE -> value[cell(i, self)] : buffer[i]);
            kind[cell(i, self)] = ABSENT;
            arrived[cell(i, self)] = access
        :: else
        fi;
        i++
    od;
    i = 0
}

#ifdef WRITES_EARLY
#define has_all_data true
#else
#define has_all_data (arrived[cell(0, self)] == access && arrived[cell(1, self)] == access && arrived[cell(2, self)] == access)
#endif
#define is_taken(aggregator) (kind[cell(self, aggregator)] != IN_PLACE)

inline write_window() {
    i = 0;
    do
    :: i == RANKS -> break
    :: else -> file[cell(i, self)] = window[cell(i, self)]; i++
    od;
    i = 0
}

/* One look at the schedule of the access. */
inline step() {
    atomic {
        if
        :: state == announcing && all_announced(access) -> send_all(); state = exchanging
        :: state == exchanging ->
#ifdef TELLS_EARLY
            told[self] = access;
#endif
            if
            :: self < AGGREGATORS -> receive_some()
            :: else
            fi;
            if
            :: self < AGGREGATORS && has_all_data && is_taken(0) && is_taken(1) -> write_window(); state = telling
            :: self >= AGGREGATORS && is_taken(0) && is_taken(1) -> state = telling
            :: else
            fi
        :: state == telling ->
            told[self] = access;
            if
            :: all_told(access) -> state = ended
            :: else
            fi
        :: else
        fi
    }
}

/* What another rank would have to do before step() does anything: a wait without it goes round for ever. */
#define can_step \
    ((state == announcing && all_announced(access)) || \
     (state == telling && (told[self] != access || all_told(access))) || \
     (state == exchanging && \
      ((self < AGGREGATORS && (something_came || (has_all_data && is_taken(0) && is_taken(1)))) || \
       (self >= AGGREGATORS && is_taken(0) && is_taken(1)))))
#define came(from) \
    (self < AGGREGATORS && kind[cell(from, self)] != ABSENT && is_of(cell(from, self), access) && \
     arrived[cell(from, self)] < access)
#define something_came (came(0) || came(1) || came(2))

inline end_access() {
    do
    :: state == ended -> break
#ifndef STANDS_STILL
    :: state != ended && can_step -> step()
#endif
    od;
    i = 0;
    atomic {
        do
        :: i == CELLS -> break
        :: else -> assert(file[i] == access); i++
        od;
        i = 0
    }
    buffer[self] = 0
}

inline barrier() {
    met++;
    do
    :: met == RANKS -> break
#ifndef STANDS_IN_BARRIER
    :: met < RANKS && state != ended && can_step -> step()
#endif
    od
}

proctype rank(byte self) {
    byte access = 1, i;
    mtype state = ended;
    do
    :: access > ACCESSES -> break
    :: else ->
        buffer[self] = access;
        state = announcing;
        announced[self] = access;
        if /* the program computes, or is in MPI */
        :: step()
        :: skip
        fi;
#ifdef MEETS
        if
        :: self == RANKS - 1 -> end_access(); barrier()
        :: else -> barrier(); end_access()
        fi;
        break; /* one access is enough */
#else
        end_access();
#endif
        access++
    od
}

init {
    atomic {
        run rank(0);
        run rank(1);
        run rank(2)
    }
}
