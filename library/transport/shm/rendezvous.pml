/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The life of a rendezvous (rendezvous.h, send.cpp, receive.cpp) under x86's memory model, for Spin:
 *
 *     spin -a -DMESSAGES=1 rendezvous.pml && cc -O2 -DSAFETY -DCOLLAPSE -o pan pan.c && ./pan -m200000
 *     spin -a -DNONBLOCKING rendezvous.pml ...   two messages, no blocking calls, none moves from the start: half a minute
 *     spin -a rendezvous.pml ...                 two messages, all of it: minutes, some GB
 *                                                (no deadlock, no assertion fails)
 *
 * With one of these, and two messages, it must find an error:
 *
 *     -DTOUCHES_LATE       the receiver writes to the rendezvous after it has stored done
 *     -DLEAVES_EARLY       the sender has helped to copy, and goes on though the receiver has not said done
 *     -DFORGETS_HELPER     the receiver says done when no chunk is left, though the sender may still copy one
 *     -DNO_CLAIM           the sender takes its message away by a load and a store, not by compare-and-swap
 *     -DCANCELS_UNCLAIMED  it cancels in that way
 *     -DFOLLOWS_TOO_FAR    the receiver copies more of a moving message than its sender says is there
 *     -DNO_WAKE            the receiver wakes nobody when it has taken something from a stream
 *     -DCOMPLETES_ANYWAY   a sender whose last byte is in the block is done, though the receiver reads its buffer now
 *     -DBEGINS_AGAIN       a receiver that was refused asks for a stream, though its sender has begun one
 *     -DOVERWRITES         the sender writes into the block what does not fit beside what is not taken yet
 *     -DTOLD_EARLY         the receiver pushes on the attention stack before it stores the state
 *     -DREADS_NEXT_LATE    the sender reads the link of that stack after it has given the rendezvous back
 *     -DSTAYS_UNSEEN       a send that there was no memory for, and that is told of, is not looked at from then on
 *     -DNO_BARRIER         sleepers do not empty the other's store buffer
 *
 * A sender starts MESSAGES messages to one receiver, each of UNITS units (a chunk, what is streamed or pipelined at
 * once), and may wait for each before it starts the next. Each is sent by a blocking call or not, looked at or told of,
 * and moves from the start (then it may be synchronous) or not. While it is open, the sender may take it away or cancel
 * it at any time. The receiver takes them in order, as late as it likes. It may copy alone, together with a sender that
 * waits, be refused by the kernel, or want a stream, through a block of one unit or all; it may take the rest itself at
 * any time, or be refused then. Memory of the arena is there or not, whenever it is asked for, but for the reserve, which
 * one message has at a time. Nobody's sleep has a time limit.
 *
 * Checked: nobody waits for ever; each unit comes once, from memory that holds it, while send and receive are under
 * way; only its sender touches a rendezvous that is free or given out again; a message is delivered or cancelled, and
 * not both; a block of the arena is given back once, by its sender or by the receiver that keeps it.
 *
 * Only stores to `state`, to the ring, and the counters of a stream wait in a store buffer here. All others come before one of these or before a
 * locked instruction, which empties it, and are not looked at before that has been seen: they reach memory at once,
 * the worst case for who still uses what they overwrite.
 *
 * Left out: a full ring (room.pml), messages too long for their receive, several receivers that push on one attention
 * stack, a process that sends to itself, other threads, and how long anything takes.
 */
#ifndef MESSAGES
#define MESSAGES 2
#endif
#define RENDEZVOUS 2
#define UNITS 2

#define SENDER 0
#define RECEIVER 1

mtype = { open, taken, shared, wanted, streaming, pipelining, buffered, cancelled, done };

/* what a sender is about to do, and where it is in its loop */
mtype = { to_arena, help, begin_stream, stream, end_stream, claim };
mtype = { starting, looking, heeding, idling, sleeping_next };

/* What they share about a message, by rendezvous. */
mtype state[RENDEZVOUS];
bit notifies[RENDEZVOUS];
bit kept[RENDEZVOUS];
byte pipelined[RENDEZVOUS];
byte claimed[RENDEZVOUS];
byte copied[RENDEZVOUS];
byte next_with_attention[RENDEZVOUS]; /* 1 + the next; 0: none */
byte attention;             /* likewise */

/* the ring: how many messages have come, and what they are */
byte announced;
byte rendezvous_of[MESSAGES];
bit waits[MESSAGES];

/* each side's word for sleeping; `woken`: its futex has another value than it has seen */
bit sleeping[2];
bit woken[2];

/* the store buffers; what a side has under way to a state, it sees itself */
#define PIPELINED 10
#define COPIED 20
#define NONE_PIPELINED 30
#define RING 255
chan stores[2] = [4] of { byte, mtype }; /* which state, one of those and which, or RING */
mtype under_way[4];                      /* by side and rendezvous */

/* What is true, for assertions. */
byte describes[RENDEZVOUS];   /* 1 + the message; 0: it is free */
bit sent[MESSAGES];           /* the sender's buffer is the program's again */
bit given_up[MESSAGES];       /* by a cancel */
bit received[MESSAGES];       /* the receiver's buffer is the program's again */
byte got[MESSAGES * UNITS];   /* how often a unit has come */
bit has_block[MESSAGES];      /* of the arena */
byte in_block_from[MESSAGES]; /* the units that lie there */
byte in_block_to[MESSAGES];

/* for drain_one, within one step */
hidden byte which;
hidden mtype what;

inline drain_one(side) {
    stores[side] ? which, what;
    if
    :: which == RING -> announced++
    :: which >= NONE_PIPELINED && which != RING -> pipelined[which - NONE_PIPELINED] = 0
    :: which >= COPIED && which < NONE_PIPELINED -> copied[which - COPIED]++
    :: which >= PIPELINED && which < COPIED -> pipelined[which - PIPELINED]++
    :: which < PIPELINED ->
        state[which] = what;
        if
        :: under_way[side * 2 + which] == what -> under_way[side * 2 + which] = 0
        :: else /* another store to it follows */
        fi
    fi
}

inline drain(side) {
    do
    :: nempty(stores[side]) -> drain_one(side)
    :: empty(stores[side]) -> break
    od
}

inline store_state(side, r, value) {
    assert(under_way[side * 2 + r] != value);
    stores[side] ! r, value;
    under_way[side * 2 + r] = value
}

#define state_seen(side, r) (under_way[side * 2 + r] -> under_way[side * 2 + r] : state[r])

inline wake(own, other) {
    if
    :: sleeping[other] == 0
    :: d_step { sleeping[other] == 1 -> drain(own); woken[other] = 1 }
    fi
}

/* Before the last look and the sleep. */
inline announce_sleep(own, other) {
    d_step { woken[own] = 0; sleeping[own] = 1; drain(own) }
#ifndef NO_BARRIER
    d_step { drain(other) }
#endif
}

/* Both sides: one more chunk, until there is none. */
inline claim_chunk(side, r, chunk) {
    drain(side);
    chunk = claimed[r];
    if
    :: claimed[r] < UNITS -> claimed[r]++
    :: else
    fi
}

active proctype store_buffers() {
end:
    do
    :: d_step { nempty(stores[SENDER]) -> drain_one(SENDER) }
    :: d_step { nempty(stores[RECEIVER]) -> drain_one(RECEIVER) }
    od
}

/* A step is a look at memory and what follows without another. What is over is cleared, so that there are fewer
 * states. */

/* ------------------------------------------------------------------------------------------------- the sender */

inline finish_send(m) {
    is_outstanding[m] = 0;
    waits[m] = 0;
    sent[m] = 1
}

/* Nothing more to do about a message. */
inline idle() {
    does = 0;
    m = 0;
    r = 0
}

inline give_out_again(r) {
    describes[r] = 0;
    is_buffered[r] = 0;
    kept[r] = 0;
    stores[SENDER] ! NONE_PIPELINED + r, 0;
    copied[r] = 0;
    claimed[r] = 0;
    next_with_attention[r] = 0
}

/* The block of a message that is done, unless its receiver keeps it. */
inline take_back(m, r) {
    assert(has_block[m] != kept[r]);
    has_block[m] = 0;
    in_block_from[m] = 0;
    in_block_to[m] = 0;
    if
    :: has_reserve[m] -> reserve_is_free = 1; has_reserve[m] = 0
    :: else
    fi
}

/* A rendezvous that is done, of a send that has long been complete. */
inline collect(r) {
    assert(is_buffered[r] && describes[r] != 0);
    if
    :: given_up[describes[r] - 1]
    :: else -> take_back(describes[r] - 1, r)
    fi;
    give_out_again(r)
}

/* Those that nobody tells of. */
inline collect_buffered() {
    other = 0;
    do
    :: other < RENDEZVOUS ->
        if
        :: is_buffered[other] && !notifies[other] && state_seen(SENDER, other) == done -> collect(other)
        :: else
        fi;
        other++
    :: else -> break
    od;
    other = 0
}

/* Looks after a send, and says what it `does` next, if anything, and whether it `moves`. */
inline check(m, r) {
    moves = 1;
    if
    :: state_seen(SENDER, r) == done ->
        if
        :: keeps_block[m] -> take_back(m, r); keeps_block[m] = 0
        :: else
        fi;
        give_out_again(r);
        finish_send(m)
    :: state_seen(SENDER, r) == shared ->
        moves = 0;
        does = help
    :: state_seen(SENDER, r) == wanted ->
        collect_buffered();
        if
        :: !reserve_is_free -> moves = 0
        :: reserve_is_free -> reserve_is_free = 0; has_reserve[m] = 1; room[m] = 1; does = begin_stream
        :: room[m] = 1; does = begin_stream
#if MESSAGES == 1
        :: room[m] = UNITS; does = begin_stream
#endif
        fi
    :: state_seen(SENDER, r) == streaming ->
        if
#ifdef OVERWRITES
        :: in_block_to[m] < UNITS -> does = stream
#endif
        :: in_block_to[m] < UNITS && in_block_to[m] - copied[r] < room[m] -> does = stream
        :: else -> moves = 0
        fi
    :: else -> moves = 0
    fi
}

inline end_check() {
    moved = moved | moves;
    moves = 0;
    if
    :: !does -> m = 0; r = 0
    :: else
    fi
}

active proctype sender() {
    byte started, m, at, r, other, told, chunk, chunks, room[MESSAGES];
    bit waiting, announced_sleep, moved, moves;
    mtype phase = starting, does, then;
    bit is_outstanding[MESSAGES], has_reserve[MESSAGES], keeps_block[MESSAGES];
    bit is_buffered[RENDEZVOUS], reserve_is_free = 1;

    do
    /* The program starts its next message, unless it waits for the one before; or it asks how that goes. */
    :: atomic {
        !does && phase == starting && started < MESSAGES && !(waiting && !sent[started - 1]) ->
        m = started;
        started++;
        if
#ifndef NONBLOCKING
        :: waits[m] = 1; waiting = 1
#endif
        :: waiting = 0
        :: waiting = 1
        fi;
        collect_buffered();
        r = (describes[0] == 0 -> 0 : 1);
        assert(describes[r] == 0);
        describes[r] = m + 1;
        rendezvous_of[m] = r;
        is_outstanding[m] = 1;
        if
        :: !waits[m] -> notifies[r] = 1
        :: notifies[r] = 0
        fi;
        /* nobody sees it yet */
        if
        :: state[r] = open
#ifndef NONBLOCKING
        :: state[r] = pipelining;
            does = to_arena;
            if
            :: keeps_block[m] = 1 /* it is synchronous */
            :: skip
            fi
#endif
        fi;
        stores[SENDER] ! RING, 0
    }
        atomic {
            wake(SENDER, RECEIVER);
            if
            :: !does -> m = 0; r = 0
            :: else
            fi
        }
    :: atomic {
        !does && phase == starting && (started == MESSAGES || started > 0 && !sent[started - 1]) ->
        phase = looking
    }

    /* A round of progress: those it looks at, */
    :: atomic {
        !does && phase == looking ->
        do
        :: at < started && (!is_outstanding[at] || notifies[rendezvous_of[at]]) -> at++
        :: else -> break
        od;
        if
        :: at < started -> m = at; r = rendezvous_of[m]; at++; check(m, r); end_check()
        :: else ->
            at = 0;
            phase = heeding;
            if
            :: d_step { attention != 0 -> drain(SENDER); told = attention; attention = 0; moved = 1 }
            :: else -> phase = idling
            fi
        fi
    }
    /* those it is told of, */
    :: atomic {
        !does && phase == heeding && told != 0 ->
        r = told - 1;
        assert(describes[r] != 0);
        m = describes[r] - 1;
#ifndef READS_NEXT_LATE
        told = next_with_attention[r];
#endif
        if
        :: is_buffered[r] -> collect(r)
        :: else ->
            /* What is wanted takes several steps: it is looked at from now on. */
#ifndef STAYS_UNSEEN
            if
            :: state_seen(SENDER, r) == wanted -> notifies[r] = 0
            :: else
            fi;
#endif
            check(m, r)
        fi;
#ifdef READS_NEXT_LATE
        assert(describes[r] != 0);
        told = next_with_attention[r];
#endif
        end_check()
    }
    /* and what a call that waits does besides, at some time. */
    :: atomic {
        !does && (phase == heeding && told == 0 || phase == idling) ->
        phase = idling;
        do
        :: at < started && !is_outstanding[at] -> at++
        :: else -> break
        od;
        if
        :: at < started ->
            m = at;
            r = rendezvous_of[m];
            at++;
            if
            :: state_seen(SENDER, r) == open -> does = claim; then = pipelining
            :: state_seen(SENDER, r) == open && !waits[m] -> does = claim; then = cancelled
            :: idle()
            fi
        :: else ->
            at = 0;
            phase = (started < MESSAGES -> starting : looking);
            if
            :: moved || sent[started - 1] -> sleeping[SENDER] = 0; announced_sleep = 0; moved = 0
            :: else ->
                if
                :: started < MESSAGES && !waiting
                :: else -> phase = sleeping_next
                fi
            fi;
            if
            :: started == MESSAGES && sent[0] && sent[MESSAGES - 1] -> break
            :: else
            fi
        fi
    }
    :: !does && phase == sleeping_next ->
        if
        :: !announced_sleep -> announce_sleep(SENDER, RECEIVER); announced_sleep = 1
        :: else -> atomic { woken[SENDER] -> sleeping[SENDER] = 0; announced_sleep = 0 }
        fi;
        phase = looking

    /* copy_to_arena. In the end the send is complete, unless it is synchronous and its receive may not have begun. */
    :: does == to_arena ->
        do
        :: atomic {
            assert(!sent[m]);
            has_block[m] = 1;
            in_block_to[m]++;
            if
            :: in_block_to[m] < UNITS -> stores[SENDER] ! PIPELINED + r, 0
            :: else -> store_state(SENDER, r, buffered); break
            fi
        }
        od;
        atomic {
            wake(SENDER, RECEIVER);
            if
            :: keeps_block[m]
            :: else -> is_buffered[r] = 1; finish_send(m)
            fi;
            idle()
        }

    :: does == help ->
        do
        :: d_step { claim_chunk(SENDER, r, chunk) }
            if
            :: chunk == UNITS -> break
            :: d_step { chunk < UNITS -> assert(!sent[m] && !received[m]); got[m * UNITS + chunk]++; chunks++ }
            fi
        od;
        skip;
        d_step {
            drain(SENDER);
            copied[r] = copied[r] + chunks;
            chunks = 0;
            chunk = 0;
#ifdef LEAVES_EARLY
            finish_send(m);
#endif
            idle()
        }

    :: does == begin_stream ->
        d_step {
            drain(SENDER);
            if
            :: state[r] == wanted -> state[r] = streaming; has_block[m] = 1; keeps_block[m] = 1; does = stream
            :: else -> /* the receiver reads it after all */
                assert(!has_block[m]);
                if
                :: has_reserve[m] -> reserve_is_free = 1; has_reserve[m] = 0
                :: else
                fi;
                idle()
            fi
        }

    /* One unit of it. The last ends the send, unless the receiver reads its buffer now. */
    :: does == stream ->
        atomic {
            assert(!sent[m] && has_block[m]);
            in_block_to[m]++;
            in_block_from[m] = (in_block_to[m] > room[m] -> in_block_to[m] - room[m] : 0);
            stores[SENDER] ! PIPELINED + r, 0
        }
        atomic {
            wake(SENDER, RECEIVER);
            if
            :: in_block_to[m] < UNITS -> idle()
            :: else -> does = end_stream
            fi
        }
    :: does == end_stream ->
        d_step {
            drain(SENDER);
            if
#ifdef COMPLETES_ANYWAY
            :: state[r] == taken -> is_buffered[r] = 1; keeps_block[m] = 0; finish_send(m)
#endif
            :: state[r] == streaming ->
                state[r] = buffered;
                is_buffered[r] = 1;
                keeps_block[m] = 0;
                finish_send(m)
            :: else
            fi;
            idle()
        }

    /* attend, or cancel */
    :: does == claim ->
        atomic {
            does = 0;
            if
#ifdef NO_CLAIM
            :: then == pipelining -> state[r] = pipelining; does = to_arena
#endif
#ifdef CANCELS_UNCLAIMED
            :: then == cancelled -> state[r] = cancelled; given_up[m] = 1
#endif
            :: else ->
                d_step {
                    drain(SENDER);
                    if
                    :: state[r] == open ->
                        state[r] = then;
                        if
                        :: then == pipelining -> does = to_arena
                        :: else -> given_up[m] = 1
                        fi
                    :: else
                    fi
                }
            fi;
            if
            :: does == to_arena -> then = 0
            :: else ->
                then = 0;
                if
                :: given_up[m] -> assert(!received[m]); is_buffered[r] = 1; finish_send(m)
                :: else
                fi;
                idle()
            fi
        }
    od
}

/* ----------------------------------------------------------------------------------------------- the receiver */

#define touch(m, r) assert(describes[r] == m + 1)

/* Out of the sender's buffer. */
inline copy_unit(m, r, unit) {
    touch(m, r);
    assert(!sent[m] && !received[m]);
    got[m * UNITS + unit]++
}

/* Out of a block: from `unit` until `there`. */
inline copy_out(m, r) {
    d_step {
        touch(m, r);
        do
        :: unit < there ->
            assert(has_block[m] && in_block_from[m] <= unit && unit < in_block_to[m] && !received[m]);
            got[m * UNITS + unit]++;
            unit++
        :: else -> break
        od
    }
}

inline keep_block(m, r) {
    d_step { touch(m, r); assert(has_block[m]); has_block[m] = 0; kept[r] = 1 }
}

#define streams(m, state) (is_fetched[m] && (state == streaming || state == buffered))
#define fetchable(m) \
    (streams(m, state_seen(RECEIVER, rendezvous_of[m])) && pipelined[rendezvous_of[m]] > taken_units[m])

active proctype receiver() {
    byte came, m, r, unit, there, mine, next, taken_units[MESSAGES];
    bit is_told, moving, announced_sleep, is_fetched[MESSAGES], may_read[MESSAGES];
    mtype seen, then; /* `then`: what to hand the rendezvous over with */

    do
    :: atomic { !then && came == MESSAGES && !is_fetched[0] && !is_fetched[MESSAGES - 1] -> break }

    /* Nothing to do. */
    :: atomic {
        !then && (came < MESSAGES || is_fetched[0] || is_fetched[MESSAGES - 1]) && announced == came &&
        !fetchable(0) && !fetchable(MESSAGES - 1) ->
        skip
    }
        if
        :: !announced_sleep -> announce_sleep(RECEIVER, SENDER); announced_sleep = 1
        :: else -> atomic { woken[RECEIVER] -> sleeping[RECEIVER] = 0; announced_sleep = 0 }
        fi

    /* deliver */
    :: atomic { !then && announced > came -> m = came; r = rendezvous_of[m]; came++ }
        do
        :: atomic {
            touch(m, r);
            seen = state_seen(RECEIVER, r);
            if
            :: seen == open
            :: else -> break
            fi
        }
            d_step {
                drain(RECEIVER);
                if
                :: state[r] == open -> state[r] = taken; seen = taken
                :: else
                fi
            }
            if
            :: seen == taken -> break
            :: else
            fi
        od;
        if
        :: seen == cancelled -> then = done

        :: seen == pipelining || seen == buffered ->
            /* follow: as far as the sender has come, until all is here */
            moving = 1;
            do
            :: moving || unit < UNITS ->
                atomic {
                    (state[r] != pipelining || pipelined[r] > unit);
                    touch(m, r);
                    moving = (state[r] == pipelining);
                    there = (moving -> pipelined[r] : UNITS);
#ifdef FOLLOWS_TOO_FAR
                    there = UNITS
#endif
                }
                copy_out(m, r)
            :: else -> break
            od;
#ifndef TOUCHES_LATE
            if
            :: keep_block(m, r)
            :: skip
            fi;
#endif
            then = done

        :: seen == taken && waits[m] ->
            /* Both copy, chunk by chunk. */
            atomic { then = done; touch(m, r); store_state(RECEIVER, r, shared) }
            do
            :: d_step {
                claim_chunk(RECEIVER, r, unit);
                if
                :: unit < UNITS -> mine++
                :: else
                fi
            }
                if
                :: d_step { unit < UNITS -> copy_unit(m, r, unit) }
                :: unit == UNITS -> break
                fi
            od;
#ifndef FORGETS_HELPER
            atomic { copied[r] == UNITS - mine -> touch(m, r) }
#endif

        :: seen == taken ->
            /* It copies all, or wants it to stream, since it cannot or had better not. */
            if
            :: then = wanted
            :: !notifies[r] -> then = wanted; may_read[m] = 1
            :: d_step {
                then = done;
                do
                :: unit < UNITS -> copy_unit(m, r, unit); unit++
                :: else -> break
                od
            }
            fi
        fi;
        atomic {
            unit = 0;
            there = 0;
            mine = 0;
            moving = 0;
            if
            :: then == wanted ->
                is_fetched[m] = 1
            :: else
            fi
        }

    /* continue_fetches: what its sender has brought, */
    :: atomic {
        !then && (fetchable(0) || fetchable(MESSAGES - 1)) ->
        if
        :: fetchable(0) -> m = 0
        :: fetchable(MESSAGES - 1) -> m = MESSAGES - 1
        fi;
        r = rendezvous_of[m];
        unit = taken_units[m];
        there = unit + 1
    }
        atomic {
            copy_out(m, r);
            taken_units[m]++;
            stores[RECEIVER] ! COPIED + r, 0;
            unit = 0;
            there = 0
        }
        atomic {
            if
            :: taken_units[m] == UNITS -> is_fetched[m] = 0; then = done
            :: else ->
#ifndef NO_WAKE
                wake(RECEIVER, SENDER);
#endif
                m = 0;
                r = 0
            fi;
            sleeping[RECEIVER] = 0;
            announced_sleep = 0
        }
    /* or all that is missing (read_rest) */
    :: atomic {
        !then && (is_fetched[0] && may_read[0] || is_fetched[MESSAGES - 1] && may_read[MESSAGES - 1]) ->
        if
        :: is_fetched[0] && may_read[0] -> m = 0
        :: is_fetched[MESSAGES - 1] && may_read[MESSAGES - 1] -> m = MESSAGES - 1
        fi;
        r = rendezvous_of[m];
        seen = 0
    }
        d_step {
            drain(RECEIVER);
            touch(m, r);
            if
            :: state[r] == wanted || state[r] == streaming -> seen = state[r]; state[r] = taken
            :: else
            fi
        }
        if
        :: atomic { seen == 0 -> m = 0; r = 0 }
        :: d_step {
            seen != 0 ->
            unit = taken_units[m];
            do
            :: unit < UNITS -> copy_unit(m, r, unit); unit++
            :: else -> break
            od;
            unit = 0;
            is_fetched[m] = 0;
            then = done
        }
        :: atomic {
            seen != 0 ->
            may_read[m] = 0; /* refused */
            then = seen;
#ifdef BEGINS_AGAIN
            then = (pipelined[r] == 0 -> wanted : streaming)
#endif
        }
        fi

    :: then ->
        /* hand_over */
        if
        :: notifies[r] ->
#ifdef TOLD_EARLY
            touch(m, r);
#else
            atomic { touch(m, r); store_state(RECEIVER, r, then) }
#endif
            do
            :: atomic { touch(m, r); next = attention; next_with_attention[r] = next }
                d_step {
                    drain(RECEIVER);
                    if
                    :: attention == next -> attention = r + 1; is_told = 1
                    :: else
                    fi
                }
                if
                :: is_told -> is_told = 0; break
                :: else
                fi
            od;
#ifdef TOLD_EARLY
            store_state(RECEIVER, r, then);
#endif
            next = 0
        :: else -> atomic { touch(m, r); store_state(RECEIVER, r, then) }
        fi;
        atomic {
            wake(RECEIVER, SENDER);
#ifdef TOUCHES_LATE
            if
            :: seen == pipelining || seen == buffered -> keep_block(m, r)
            :: else
            fi;
#endif
            /* finish */
            if
            :: then == done && seen != cancelled ->
                assert(!given_up[m]);
                do
                :: unit < UNITS -> assert(got[m * UNITS + unit] == 1); got[m * UNITS + unit] = 0; unit++
                :: else -> break
                od;
                unit = 0;
                taken_units[m] = 0;
                may_read[m] = 0;
                received[m] = 1
            :: else
            fi;
            then = 0;
            seen = 0;
            m = 0;
            r = 0;
            sleeping[RECEIVER] = 0;
            announced_sleep = 0
        }
    od;
    assert((received[0] || given_up[0]) && (received[MESSAGES - 1] || given_up[MESSAGES - 1]))
}
