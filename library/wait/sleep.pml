/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The sleep/wake protocol of sleep.h under x86's memory model (total store order), for Spin:
 *
 *     spin -a sleep.pml && cc -O2 -DSAFETY -o pan pan.c && ./pan          (no deadlock, no assertion fails)
 *     spin -a -DNO_BARRIER sleep.pml && cc -O2 -DSAFETY -o pan pan.c && ./pan   (must find the lost wake-up)
 *
 * The sender's stores wait in a store buffer, in order, and reach memory at any later moment; its loads read
 * its own buffer first, then memory. membarrier empties the sender's buffer. The waiter sleeps without a time
 * limit here (the real one looks again ten times a second), so that a lost wake-up shows as a deadlock.
 */
#define MESSAGES 3

/* memory */
byte delivered;      /* the ring: number of messages published */
bit sleeping;
byte wake_word;
bit asleep;          /* the kernel's futex queue */
byte wanted_word;    /* value the waiter compared in futex_wait */

/* the sender's store buffer: the only buffered store is to `delivered` (wake_word is changed by a locked
 * instruction, which empties the buffer) */
bit buffered;
byte buffered_value;

inline flush() {
    if
    :: buffered -> delivered = buffered_value; buffered = 0
    :: else
    fi
}

/* the store buffer drains by itself, at any time */
active proctype drain() {
end:
    do
    :: atomic { buffered -> delivered = buffered_value; buffered = 0 }
    od
}

active proctype sender() {
    byte sent = 0;
    do
    :: sent < MESSAGES ->
        /* deliver: a plain store */
        atomic { !buffered -> buffered = 1; buffered_value = sent + 1 }
        sent++;
        /* light fence: order for the compiler only. Then look at `sleeping`. */
        if
        :: atomic { sleeping == 0 -> skip }
        :: atomic { sleeping == 1 -> flush(); wake_word++ } ; /* locked add, then futex_wake */
            atomic { asleep = 0 }
        fi
    :: else -> break
    od
}

active proctype waiter() {
    byte received = 0;
    byte seen;
    do
    :: received == MESSAGES -> break
    :: else ->
        if
        :: atomic { delivered > received -> received++ }
        :: atomic { delivered == received ->
            seen = wake_word }
            sleeping = 1;      /* locked: not buffered */
#ifndef NO_BARRIER
            atomic { flush() } /* membarrier */
#endif
            if
            :: atomic { delivered > received -> skip }
            :: atomic { delivered == received -> skip };
                /* futex_wait: compares and queues in one step, under the kernel's lock */
                if
                :: atomic { wake_word != seen -> skip }
                :: atomic { wake_word == seen -> asleep = 1 };
                    atomic { asleep == 0 -> skip }
                fi
            fi;
            sleeping = 0
        fi
    od;
    assert(received == MESSAGES)
}
