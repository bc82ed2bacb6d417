/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sleeping on descriptors (descriptors.h, sleep.cpp) under x86's memory model (total store order), for Spin:
 *
 *     spin -a descriptors.pml && cc -O2 -DSAFETY -o pan pan.c && ./pan    (no deadlock, no assertion fails)
 *
 * and with one of these mistakes, each of which must be found:
 *
 *     -DNO_BYTE       who wakes writes nothing to the wake-up socket
 *     -DNO_HAND_OVER  a thread that ends its turn at the descriptors does not wake the others, of which one has to take it
 *     -DSTALE_BYTE    a thread that takes its turn does not look whether `wake` has changed before
 *     -DNOT_TOLD      who has received something does not wake the rank's other threads
 *     -DNO_BARRIER    as in sleep.pml
 *
 * One rank has two threads. One waits for what another rank changes in memory, at which it looks itself; the other for
 * messages by a socket, which any thread of the rank receives when it makes progress. One thread at a time is in the
 * library, unless it sleeps. Of two that sleep one watches the descriptors and the other the futex. Sleeps have no time
 * limit here.
 */
#define MESSAGES 2 /* of each kind */

byte delivered;          /* by memory: published */
byte arrived;            /* by the socket: in the kernel */
byte received;           /* by progress() */
byte sleeping;           /* threads; changed by locked instructions */
bit changed[2];          /* `wake` is not what the thread has seen */
bit byte_there;          /* in the wake-up socket: it has room for one here */
bit queued[2];           /* in the kernel's futex queue */
bit taken;               /* a thread's turn at the descriptors */
bit lock;

bit buffered;            /* the sender's store to `delivered`, not yet in memory */
byte buffered_value;

inline flush() {
    if
    :: buffered -> delivered = buffered_value; buffered = 0
    :: else
    fi
}

active proctype drain() {
end:
    do
    :: atomic { buffered -> flush() }
    od
}

inline wake_futex() {
    atomic { changed[0] = 1; changed[1] = 1 }; /* a locked add */
    atomic { queued[0] = 0; queued[1] = 0 }
}

/* wake_sleepers() */
inline wake_all() {
    wake_futex();
#ifndef NO_BYTE
    byte_there = 1
#endif
}

active proctype sender_by_memory() {
    byte sent = 0;
    do
    :: sent < MESSAGES ->
        atomic { !buffered -> buffered = 1; buffered_value = sent + 1 }
        sent++;
        if
        :: sleeping == 0
        :: sleeping > 0 -> atomic { flush() }; wake_all()
        fi
    :: else -> break
    od
}

active proctype sender_by_socket() {
    do
    :: arrived < MESSAGES -> arrived++
    :: else -> break
    od
}

/* with the lock */
inline progress() {
    atomic { moved = arrived > received; received = arrived };
#ifndef NOT_TOLD
    if
    :: moved && sleeping > 0 -> wake_all()
    :: else
    fi
#endif
}

#define ready ((by_memory && delivered > used) || (!by_memory && received > used))

proctype thread(bit by_memory) {
    byte used = 0;
    bit moved;
    do
    :: used == MESSAGES -> break
    :: used < MESSAGES && ready -> used++
    :: used < MESSAGES && !ready ->
        atomic { lock == 0 -> lock = 1 };
        progress();
        changed[by_memory] = 0;
        sleeping++;
#ifndef NO_BARRIER
        atomic { flush() }
#endif
        progress();
        if
        :: ready || moved -> skip
        :: else ->
            lock = 0;
            if
            :: atomic { !taken -> taken = 1 };
                if
#ifndef STALE_BYTE
                :: changed[by_memory]
#endif
                :: else -> /* ppoll, then all bytes are read */
                    atomic { byte_there || arrived > received -> byte_there = 0 }
                fi;
                taken = 0;
#ifndef NO_HAND_OVER
                if
                :: sleeping > 1 -> wake_futex()
                :: else
                fi
#endif
            :: atomic { taken -> skip };
                /* futex_wait: compares and queues in one step, under the kernel's lock */
                if
                :: atomic { changed[by_memory] -> skip }
                :: atomic { !changed[by_memory] -> queued[by_memory] = 1 };
                    atomic { queued[by_memory] == 0 -> skip }
                fi
            fi;
            atomic { lock == 0 -> lock = 1 }
        fi;
        sleeping--;
        lock = 0
    od
}

init {
    atomic { run thread(0); run thread(1) }
}
