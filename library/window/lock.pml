// SPDX-License-Identifier: BSD-3-Clause
/* The lock of a rank's window memory (window/shared.h) with its waiting and waking (state.cpp, wait/sleep.pml), under
   sequential consistency: the steps that other ranks must see in order are atomic additions, which are full fences.

   Checked: an exclusive holder is alone; nobody sleeps for ever, that is, no rank is left asleep at the end (the
   verifier's invalid end states); and whoever took a ticket first enters no later than an exclusive one after it.
   SHARED and EXCLUSIVE say how many ranks ask for which. With MEETS an exclusive one comes first, and the shared ones
   after it go on only once all of them are inside. Mistakes that it finds: LEAVES_SILENTLY, SLEEPS_AT_ONCE, NO_QUEUE (a
   shared lock does not wait for its turn), and with MEETS ENTERS_SILENTLY. */

#ifndef SHARED
#define SHARED 2
#endif
#ifndef EXCLUSIVE
#define EXCLUSIVE 1
#endif
#define RANKS (SHARED + EXCLUSIVE)

#ifndef MEETS
byte tickets;
#else
byte tickets = 1;
#endif
byte shared_turn, exclusive_turn; /* PassiveLock */
byte waiting;                              /* PassiveLock::waiting */
bool waits[RANKS];                         /* WindowEntry::waits */
bool sleeping[RANKS], woken[RANKS];        /* RankRecord */
byte shared_inside, exclusive_inside, met;

/* wake_waiters(): after the turns have changed. A rank that is about to sleep has announced it before it looks. */
inline wake_waiters() {
    if
    :: waiting == 0
    :: else ->
        other = 0;
        do
        :: other == RANKS -> break
        :: else ->
            if
            :: waits[other] && sleeping[other] -> woken[other] = true
            :: else
            fi;
            other++
        od
    fi;
    other = 0
}

#ifndef NO_QUEUE
#define admits (exclusive -> exclusive_turn == ticket : shared_turn == ticket)
#else
#define admits (exclusive -> exclusive_turn == ticket : true)
#endif

proctype rank(byte self; bool exclusive) {
    byte ticket, other;
#ifdef MEETS
    if
    :: exclusive
    :: else -> atomic { ticket = tickets; tickets++ }
    fi;
#else
    atomic { ticket = tickets; tickets++ }
#endif
    if
    :: admits
    :: else ->
        waits[self] = true;
        waiting++;
        do
        :: admits -> break
        :: else ->
            sleeping[self] = true;
            if
#ifndef SLEEPS_AT_ONCE
            :: admits
            :: else -> woken[self]; woken[self] = false
#else
            :: woken[self]; woken[self] = false
#endif
            fi;
            sleeping[self] = false
        od;
        waiting--;
        waits[self] = false
    fi;
    if
    :: exclusive ->
        exclusive_inside++;
        assert(exclusive_inside == 1 && shared_inside == 0);
        assert(exclusive_turn == ticket); /* all with earlier tickets have left */
        exclusive_inside--;
        shared_turn = shared_turn + 1;
        exclusive_turn++
    :: else ->
        shared_turn = ticket + 1;
#ifndef ENTERS_SILENTLY
        wake_waiters();
#endif
        shared_inside++;
        assert(exclusive_inside == 0);
#ifdef MEETS
        met++;
        met == SHARED;
#endif
        shared_inside--;
        exclusive_turn++
    fi;
#ifndef LEAVES_SILENTLY
    wake_waiters()
#endif
}

init {
    byte next = 0;
    atomic {
        do
        :: next < SHARED -> run rank(next, false); next++
        :: next >= SHARED && next < RANKS -> run rank(next, true); next++
        :: next == RANKS -> break
        od
    }
}
