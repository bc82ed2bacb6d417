/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The rounds of collective operations (area.h, area.cpp) under x86's memory model, for Spin:
 *
 *     spin -a round.pml && cc -O2 -DSAFETY -DCOLLAPSE -o pan pan.c && ./pan -m200000    a few ranks exchange
 *     spin -a -DCOUNTED round.pml ...                                                   arrivals are counted
 *     spin -a -DDIRECT -DROUNDS=4 round.pml ...            they exchange, but for data that is read where it lies
 *     spin -a -DRANKS=3 -DSPINNING [-DCOUNTED or -DDIRECT] round.pml ...    nobody sleeps and stores are seen at once
 *                                                                           (no deadlock, no assertion fails)
 *
 * With one of these it must find an error:
 *
 *     -DNEVER_TELLS          a rank does not tell which round it has entered
 *     -DTELLS_SELDOM         it tells once in more rounds than there are slots
 *     -DTELLS_SILENTLY       it tells, and wakes nobody
 *     -DCOLLECT_TELLS        who collects believes that the others know by that where it is
 *     -DPUBLISHES_SILENTLY   who publishes wakes nobody
 *     -DREUSES_EARLY         a slot is written again once all have entered the round it was published in, or, with
 *                            -DCOUNTED, have arrived there: one round too early
 *     -DONE_STAGE            the pieces of long data do not take turns
 *     -DLEAVES_EARLY         (with -DDIRECT or -DCOUNTED) a root goes on while others may still read its buffer
 *     -DRELEASES_SILENTLY    (with -DCOUNTED) who arrives last wakes nobody
 *     -DRELEASES_EARLY       (with -DCOUNTED) it releases before it has made the result for all
 *     -DNO_BARRIER           sleepers do not empty the others' store buffers
 *
 * RANKS ranks go through ROUNDS rounds with slots for DEPTH. What a round is for, whoever comes first chooses: all meet
 * (barrier, allgather, alltoall, allreduce), also for a piece of long data on the stage; one rank's publish goes out
 * (bcast), or all others' come in to it (reduce, gather); a root says where its data lies, and waits until it has been
 * read (bcast and scatter of long data); or, counted, the last to come makes a result for all. Counted, who sends out
 * uses all ranks' rooms. Nobody's sleep has a time limit.
 *
 * Checked: nobody waits for ever; whoever reads a slot, a room, the result, the stage or a root's buffer finds there
 * what belongs to its round.
 *
 * Only what others wait for is in a store buffer for a while: published, entered, released. Data is in memory at once:
 * the worst case for who still reads what was there, and who has seen it published would see it.
 *
 * A rank tells every TELLS_EVERY rounds; the library every depth / 4. Left out: operations of two rounds whose ranks
 * write to the stage between them (reduce_staged, scan_staged) or to each other's buffers (allreduce_directly), how
 * ranks leave the area, and how long anything takes.
 */
#ifndef RANKS
#define RANKS 2
#endif
#ifndef ROUNDS
#define ROUNDS 6
#endif
#ifndef DEPTH
#define DEPTH 3
#endif
#ifdef TELLS_SELDOM
#define TELLS_EVERY (DEPTH + 1)
#else
#define TELLS_EVERY 2
#endif
#ifdef COUNTED
#define IS_COUNTED 1
#define HAS_DIRECT 1
#else
#define IS_COUNTED 0
#ifdef DIRECT
#define HAS_DIRECT 1
#else
#define HAS_DIRECT 0
#endif
#endif

/* what a round is for */
mtype = { meeting, piece, going_out, coming_in, reading_directly, by_last };

/* what a rank waits for */
mtype = { to_have_slot, to_see_one, to_see_all, to_be_released };

/* The area. Slots and rooms by rank and round; numbers of rounds count from 1 in what is written there. */
byte published[RANKS * DEPTH];
byte data[RANKS * DEPTH];
byte stage[RANKS * 2];
byte entered[RANKS];
byte arrivals[DEPTH];
byte released;
byte result;

/* a root's buffer is for the others to read */
bit lent[RANKS];

/* What ranks agree on: the next rounds. Those that all have begun are cleared. */
#define AHEAD (DEPTH + 1)
mtype kinds[AHEAD];
byte roots[AHEAD];
byte begun[AHEAD];
bit was_root; /* rank 0 */

/* each rank's word for sleeping; `woken`: its futex has another value than it has seen */
bit sleeping[RANKS];
bit woken[RANKS];

/* the store buffers */
#define PUBLISHED 1
#define ENTERED 2
#define RELEASED 3
chan stores[RANKS] = [2] of { byte, byte };

/* for drain_one, within one step */
hidden byte which;
hidden byte what;
hidden byte other;

inline drain_one(rank) {
    stores[rank] ? which, what;
    if
    :: which == PUBLISHED -> published[rank * DEPTH + (what - 1) % DEPTH] = what
    :: which == ENTERED -> entered[rank] = what
    :: which == RELEASED -> released = what
    fi
}

inline drain(rank) {
    do
    :: nempty(stores[rank]) -> drain_one(rank)
    :: empty(stores[rank]) -> break
    od
}

active proctype store_buffers() {
end:
    do
    :: d_step { nempty(stores[0]) -> drain_one(0) }
    :: d_step { nempty(stores[1]) -> drain_one(1) }
#if RANKS > 2
    :: d_step { nempty(stores[2]) -> drain_one(2) }
#endif
    od
}

#define me (_pid - 1) /* a rank */

#if RANKS > 2
#define all_others(condition0, condition1, condition2) \
    ((me == 0 || (condition0)) && (me == 1 || (condition1)) && (me == 2 || (condition2)))
#else
#define all_others(condition0, condition1, condition2) ((me == 0 || (condition0)) && (me == 1 || (condition1)))
#endif

#define SLOT (n % DEPTH)
#define has_published(rank) (published[(rank) * DEPTH + SLOT] == n + 1)
#define have_entered(round) all_others(entered[0] >= round, entered[1] >= round, entered[2] >= round)

#if IS_COUNTED
#ifdef REUSES_EARLY
#define slot_is_free (released >= n - DEPTH + 1)
#else
#define slot_is_free (released >= n - DEPTH + 2)
#endif
#else
#ifdef REUSES_EARLY
#define slot_is_free have_entered(n - DEPTH)
#else
#define slot_is_free have_entered(n - DEPTH + 1)
#endif
#endif

#define is_there \
    (goal == to_have_slot && slot_is_free || goal == to_see_one && has_published(root) || \
     goal == to_see_all && all_others(has_published(0), has_published(1), has_published(2)) || \
     goal == to_be_released && released >= n + 1)

inline store(where, value) {
    stores[me] ! where, value;
#ifdef SPINNING
    d_step { drain(me); which = 0 }
#else
    wakes = 1
#endif
}

inline read_slot(rank) {
    assert(data[(rank) * DEPTH + SLOT] == n + 1)
}

/* What only who is in that round may look at: there are fewer states without it. */
inline forget(round) {
    i = 0;
    do
    :: i < RANKS ->
        published[i * DEPTH + (round) % DEPTH] =
            (published[i * DEPTH + (round) % DEPTH] == (round) + 1 -> 0 : published[i * DEPTH + (round) % DEPTH]);
        data[i * DEPTH + (round) % DEPTH] =
            (data[i * DEPTH + (round) % DEPTH] == (round) + 1 -> 0 : data[i * DEPTH + (round) % DEPTH]);
        stage[i * 2] = (stage[i * 2] == (round) + 1 -> 0 : stage[i * 2]);
        stage[i * 2 + 1] = (stage[i * 2 + 1] == (round) + 1 -> 0 : stage[i * 2 + 1]);
        i++
    :: else -> break
    od;
    result = (result == (round) + 1 -> 0 : result);
    i = 0
}

/* A step is a look at memory, and what follows until the next: a rank goes on through `parts` of its round until it
 * `wakes` others or waits for a `goal`. */
active [RANKS] proctype rank() {
    byte n, i, root, counted, told, known, part;
    bit is_root, is_last, is_odd_piece, wakes;
    mtype kind, goal;

    do
    :: atomic { wakes && (i == me || !sleeping[i]) -> i++; wakes = (i < RANKS); i = (wakes -> i : 0) }
    :: d_step {
        wakes && i != me && sleeping[i] ->
        drain(me);
        woken[i] = 1;
        i++;
        wakes = (i < RANKS);
        i = (wakes -> i : 0)
    }

    :: d_step { !wakes && goal && is_there -> goal = 0; sleeping[me] = 0 }
#ifndef SPINNING
    :: d_step { !wakes && goal && !is_there && !sleeping[me] -> drain(me); woken[me] = 0; sleeping[me] = 1 }
#ifndef NO_BARRIER
        d_step {
            other = 0;
            do
            :: other < RANKS -> drain(other); other++
            :: else -> break
            od;
            other = 0
        }
#endif
    :: atomic { !wakes && goal && !is_there && sleeping[me] -> woken[me] -> sleeping[me] = 0 }
#endif

    :: atomic {
        !wakes && !goal && n < ROUNDS ->
        if
        :: part == 4 ->
            /* it has seen a publish */
            part = 5;
            if
            :: !is_root && kind == going_out && IS_COUNTED -> read_slot(0); read_slot(RANKS - 1)
            :: !is_root && kind == going_out && !IS_COUNTED -> read_slot(root)
            :: !is_root && kind == reading_directly -> read_slot(root); assert(lent[root])
            :: else ->
                known = n;
#ifndef COLLECT_TELLS
                if
                :: kind == coming_in
                :: else -> told = n
                fi
#else
                told = n
#endif
            fi
        :: else
        fi;

        if
        :: !wakes && !goal && part == 5 ->
            part = 6;
            if
            :: IS_COUNTED || kind == reading_directly ->
                d_step {
                    drain(me);
                    arrivals[counted % DEPTH]++;
                    is_last = (arrivals[counted % DEPTH] == (counted / DEPTH + 1) * RANKS);
                    counted++
                }
                if
                :: is_last ->
                    is_last = 0;
#ifndef RELEASES_EARLY
                    result = (kind == by_last -> n + 1 : result);
#endif
                    store(RELEASED, n + 1);
#ifdef RELEASES_SILENTLY
                    wakes = 0
#endif
                :: else ->
                    if
                    :: kind == meeting || kind == piece || kind == by_last || is_root && kind == coming_in ->
                        goal = to_be_released
#ifndef LEAVES_EARLY
                    :: kind == reading_directly && is_root -> goal = to_be_released
#endif
                    :: else
                    fi
                fi
            :: else
            fi
        :: else
        fi;

        if
        :: !wakes && !goal && part == 6 ->
            part = 0;
            d_step {
                if
                :: kind == meeting || kind == coming_in && is_root ->
                    do
                    :: i < RANKS ->
                        assert(i == me || data[i * DEPTH + SLOT] == n + 1);
                        i++
                    :: else -> break
                    od
                :: kind == piece ->
                    do
                    :: i < RANKS -> assert(stage[i * 2 + is_odd_piece] == n + 1); i++
                    :: else -> break
                    od;
#ifndef ONE_STAGE
                    is_odd_piece = !is_odd_piece
#endif
                :: kind == by_last -> assert(result == n + 1)
                :: else -> lent[me] = 0
                fi;
                i = 0;
                kind = 0;
                root = 0;
                is_root = 0;
                n++
            }
        :: else
        fi;

        if
        :: !goal && part == 0 && !wakes && n < ROUNDS ->
            /* A new round. */
            part = 1;
            if
            :: begun[n % AHEAD] == 0 ->
                if
                :: kinds[n % AHEAD] = meeting
                :: kinds[n % AHEAD] = piece
                :: kinds[n % AHEAD] = going_out
                :: kinds[n % AHEAD] = coming_in
                :: HAS_DIRECT -> kinds[n % AHEAD] = reading_directly
                :: IS_COUNTED -> kinds[n % AHEAD] = by_last
                fi;
                roots[n % AHEAD] = RANKS;
                if
                :: kinds[n % AHEAD] == meeting || kinds[n % AHEAD] == piece || kinds[n % AHEAD] == by_last
                :: else ->
                    /* two of the ranks, rank 0 first: else they are like each other */
                    if
                    :: roots[n % AHEAD] = 0; was_root = 1
                    :: was_root -> roots[n % AHEAD] = 1
                    fi
                fi
            :: else
            fi;
            kind = kinds[n % AHEAD];
            root = roots[n % AHEAD];
            is_root = (root == me);
            begun[n % AHEAD]++;
            if
            :: begun[n % AHEAD] == RANKS ->
                d_step {
                    begun[n % AHEAD] = 0;
                    kinds[n % AHEAD] = 0;
                    roots[n % AHEAD] = 0;
                    if
                    :: n > 0 -> forget(n - 1)
                    :: else
                    fi
                }
            :: else
            fi;
#ifndef NEVER_TELLS
            if
            :: !IS_COUNTED && n >= told + TELLS_EVERY ->
                told = n;
                store(ENTERED, n);
#ifdef TELLS_SILENTLY
                wakes = 0
#endif
            :: else
            fi
#endif
        :: else
        fi;

        if
        :: !wakes && part == 1 ->
            part = 2;
#ifdef REUSES_EARLY
            if
            :: n >= DEPTH && (IS_COUNTED || known < n - DEPTH) -> goal = to_have_slot
#else
            if
            :: n >= DEPTH && (IS_COUNTED || known <= n - DEPTH) -> goal = to_have_slot
#endif
            :: else
            fi
        :: else
        fi;

        if
        :: !wakes && !goal && part == 2 ->
            part = 3;
            d_step {
                if
                :: n >= DEPTH && !IS_COUNTED && known <= n - DEPTH ->
                    known = n;
                    do
                    :: i < RANKS ->
                        known = (i != me && entered[i] < known -> entered[i] : known);
                        i++
                    :: else -> break
                    od;
                    i = 0
                :: else
                fi;
                /* What this rank brings, */
                if
                :: kind == going_out && is_root && IS_COUNTED ->
                    do
                    :: i < RANKS -> data[i * DEPTH + SLOT] = n + 1; i++
                    :: else -> break
                    od;
                    i = 0
                :: kind == piece -> stage[me * 2 + is_odd_piece] = n + 1
                :: is_root && (kind == reading_directly || kind == going_out && !IS_COUNTED) ||
                   kind == meeting || kind == by_last || kind == coming_in && !is_root ->
                    data[me * DEPTH + SLOT] = n + 1
                :: else
                fi;
                lent[me] = is_root && kind == reading_directly
            }
            /* which the others may see, */
            if
            :: is_root && (kind == going_out || kind == reading_directly) ||
               !IS_COUNTED && (kind == meeting || kind == piece || kind == coming_in && !is_root) ->
                store(PUBLISHED, n + 1);
#ifdef PUBLISHES_SILENTLY
                wakes = 0
#endif
            :: else
            fi
        :: else
        fi;

        /* and what it takes. */
        if
        :: !wakes && part == 3 ->
            part = 4;
            if
            :: !is_root && (kind == going_out || kind == reading_directly) -> goal = to_see_one
            :: !IS_COUNTED && (kind == meeting || kind == piece || kind == coming_in && is_root) -> goal = to_see_all
            :: else -> part = 5
            fi
        :: else
        fi
    }
    :: n == ROUNDS -> break
    od
}
