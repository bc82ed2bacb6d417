/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A sender that waits for room in a ring, and its receiver that waits for messages (ring.h, wait/sleep.h), under x86's
 * memory model, for Spin:
 *
 *     spin -a room.pml && cc -O2 -DSAFETY -o pan pan.c && ./pan               (no deadlock, no assertion fails)
 *     spin -a -DNEVER_WAKES room.pml ...     the receiver gives room back and wakes nobody: must find a deadlock
 *     spin -a -DWAKES_SELDOM room.pml ...    it wakes once per whole ring: must find a deadlock
 *     spin -a -DNO_BARRIER room.pml ...      sleepers do not empty the other's store buffer: must find a deadlock
 *
 * The ring has RING bytes; a message takes one or two of them (at most a quarter), and one more where it would run over
 * the end, which is skipped. The receiver publishes what it has given back by pieces of PUBLISHED, and wakes the
 * sender once a quarter of the ring has been given back since the last time. Nobody's sleep has a time limit here.
 */
#define RING 8
#define PUBLISHED 1
#define MESSAGES 6

#ifdef WAKES_SELDOM
#define WOKEN_EVERY RING
#else
#define WOKEN_EVERY (RING / 4)
#endif

#define SENDER 0
#define RECEIVER 1

/* memory: how far the receiver has given back */
byte given_back;
byte messages;       /* how many messages that is */
byte ends[MESSAGES]; /* where a message ends, by its number: written before `messages` */

/* each side's word for sleeping, by side */
bit sleeping[2];
byte wake_word[2];
bit asleep[2];       /* in the kernel's futex queue */

/* the store buffers: a side's only buffered store is to its own counter */
bit buffered[2];
byte buffered_value[2];

inline drain(side) {
    if
    :: buffered[side] && side == SENDER -> messages = buffered_value[side]; buffered[side] = 0
    :: buffered[side] && side == RECEIVER -> given_back = buffered_value[side]; buffered[side] = 0
    :: else
    fi
}

inline publish(side, value) {
    atomic { !buffered[side] -> buffered[side] = 1; buffered_value[side] = value }
}

inline wake(own, other) {
    if
    :: atomic { sleeping[other] == 0 -> skip }
    :: atomic { sleeping[other] == 1 -> drain(own); wake_word[other]++ }
        atomic { asleep[other] = 0 }
    fi
}

/* One sleep of `own`, unless `condition` holds after it has been announced. */
inline sleep_unless(own, other, condition) {
    seen = wake_word[own];
    sleeping[own] = 1;
#ifndef NO_BARRIER
    atomic { drain(other) }
#endif
    if
    :: condition -> skip
    :: !(condition) ->
        if
        :: atomic { wake_word[own] != seen -> skip }
        :: atomic { wake_word[own] == seen -> asleep[own] = 1 }
            atomic { asleep[own] == 0 -> skip }
        fi
    fi
    sleeping[own] = 0
}

active proctype store_buffers() {
end:
    do
    :: atomic { buffered[SENDER] -> drain(SENDER) }
    :: atomic { buffered[RECEIVER] -> drain(RECEIVER) }
    od
}

active proctype sender() {
    byte sent, position, size, seen, end;
    do
    :: sent < MESSAGES ->
        if
        :: size = 1
        :: size = 2
        fi;
        /* where it would run over the end, the end is skipped */
        end = position + size;
        if
        :: (position % RING) + size > RING -> end = end + RING - (position % RING)
        :: else
        fi;
        do
        :: end <= given_back + RING -> break
        :: else -> sleep_unless(SENDER, RECEIVER, end <= given_back + RING)
        od;
        position = end;
        ends[sent] = end;
        sent++;
        publish(SENDER, sent);
        wake(SENDER, RECEIVER)
    :: else -> break
    od
}

active proctype receiver() {
    byte received, position, published, woken_for, seen;
    do
    :: received < MESSAGES ->
        do
        :: messages > received -> break
        :: else -> sleep_unless(RECEIVER, SENDER, messages > received)
        od;
        position = ends[received];
        ends[received] = 0; /* fewer states */
        received++;
        if
        :: position - published >= PUBLISHED ->
            published = position;
            publish(RECEIVER, position);
#ifndef NEVER_WAKES
            if
            :: published - woken_for >= WOKEN_EVERY -> woken_for = published; wake(RECEIVER, SENDER)
            :: else
            fi
#endif
        :: else
        fi
    :: else -> break
    od;
    assert(received == MESSAGES)
}
