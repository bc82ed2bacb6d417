/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A doorbell (doorbell.h) under x86's memory model (total store order), for Spin:
 *
 *     spin -a doorbell.pml && cc -O2 -DSAFETY -o pan pan.c && ./pan    (no deadlock, no assertion fails)
 *
 * and with one of these mistakes, each of which must be found:
 *
 *     -DNO_FENCE      the sleeper's store to `is_asleep` may be late
 *     -DNO_LOOK       the sleeper does not look at `rings` once more
 *     -DRINGS_EARLY   who rings changes memory afterwards
 *     -DCLEARS_LATE   who rings takes `is_asleep` back after it has sent the byte
 *
 * Two processes change memory for a third one and ring. That sleeps whenever nobody has rung since it has looked, and
 * must see all changes in the end. Its sleeps have no time limit here.
 */
#define MESSAGES 2 /* of each process that rings */

byte changed;   /* memory */
byte rings;     /* changed by locked instructions, as is is_asleep */
bit is_asleep;
bit byte_there; /* in the wake-up socket: it has room for one here */

bit buffered;   /* the sleeper's store to `is_asleep`, not yet in memory */

active proctype drain() {
end:
    do
    :: atomic { buffered -> is_asleep = 1; buffered = 0 }
    od
}

active [2] proctype process_that_rings() {
    byte sent;
    bit was_asleep;
    do
    :: sent < MESSAGES ->
#ifdef RINGS_EARLY
        rings++;
        changed++;
#else
        changed++; /* visible no later than the locked addition that follows */
        rings++;
#endif
        sent++;
        if
        :: is_asleep ->
#ifdef CLEARS_LATE
            byte_there = 1;
            is_asleep = 0
#else
            atomic { was_asleep = is_asleep; is_asleep = 0 };
            if
            :: was_asleep -> byte_there = 1
            :: else
            fi
#endif
        :: else
        fi
    :: else -> break
    od
}

active proctype sleeper() {
    byte looked_at, seen;
    do
    :: seen == 2 * MESSAGES -> break
    :: seen < 2 * MESSAGES && rings != looked_at ->
        looked_at = rings;
        seen = changed
    :: seen < 2 * MESSAGES && rings == looked_at ->
#ifdef NO_FENCE
        atomic { !buffered -> buffered = 1 };
#else
        is_asleep = 1;
#endif
        if
#ifndef NO_LOOK
        :: rings != looked_at
#endif
        :: else -> atomic { byte_there -> byte_there = 0 }
        fi
    od
}
