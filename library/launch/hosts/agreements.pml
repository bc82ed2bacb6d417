/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Agreements of members on several hosts (agreements.h), any of which may be killed at any step, for Spin:
 *
 *     spin -a agreements.pml && cc -O2 -DSAFETY -o pan pan.c && ./pan       (no deadlock, no assertion fails)
 *
 * and with -DNO_RECHECK (a failure decides nothing), -DUNORDERED (a decision is told before the failure it counts on) or
 * -DLATE (what a member has sent counts though it was declared failed), which must fail.
 *
 * Each member is on a host of its own. A decision is the set of members that have failed. Waits are conditions here.
 */
#ifndef AGREEMENTS
#define AGREEMENTS 2
#endif
#define MEMBERS 2

mtype = { contribution, failure, decision };

chan request[MEMBERS] = [2] of { byte };           /* a member's datagrams: which agreement */
chan up[MEMBERS] = [4] of { mtype, byte };         /* a daemon to mpiexec: which agreement, or nothing */
chan down[MEMBERS] = [8] of { mtype, byte, byte }; /* mpiexec to a daemon: which member or agreement, and the set */

bit killed[MEMBERS];
byte marks[MEMBERS];    /* members that are marked as failed in the arena of a host */
byte ticket[MEMBERS];   /* the last agreement that was decided for the member */
byte content[MEMBERS];  /* and what was decided */
byte first_read[AGREEMENTS + 1]; /* what the first reader got, + 1 */

proctype member(byte self) {
    byte k = 1;
    {
        do
        :: k > AGREEMENTS -> break
        :: else ->
            request[self]!k;
            atomic {
                ticket[self] == k;
                assert((content[self] & marks[self]) == content[self]);
                assert(first_read[k] == 0 || first_read[k] == content[self] + 1);
                first_read[k] = content[self] + 1
            };
            k++
        od
    } unless { killed[self] };
    skip
}

proctype daemon(byte self) {
    byte which, set;
    bit is_told;
end:
    do
    :: request[self]?which -> up[self]!contribution(which)
    :: atomic { killed[self] && !is_told -> is_told = 1; up[self]!failure(0); marks[self] = marks[self] | (1 << self) }
    :: atomic { down[self]?failure(which, set) -> marks[self] = marks[self] | (1 << which) }
    :: atomic { down[self]?decision(which, set) -> content[self] = set; ticket[self] = which }
    od
}

byte failed;
byte contributed[AGREEMENTS + 1];
bit is_decided[AGREEMENTS + 1];

inline tell(kind, which, set) {
    down[0]!kind(which, set);
    down[1]!kind(which, set)
}

/* Decides what can be decided of agreement k. */
inline look_at(k) {
    if
    :: !is_decided[k] && contributed[k] != 0 && (contributed[k] | failed) == 3 ->
        is_decided[k] = 1;
        tell(decision, k, failed)
    :: else
    fi
}

proctype mpiexec() {
    byte which, from;
end:
    do
    :: atomic {
        if
        :: up[0]?contribution(which) -> from = 0
        :: up[1]?contribution(which) -> from = 1
        fi;
        if
#ifndef LATE
        :: failed & (1 << from)
#endif
        :: else ->
            assert(!is_decided[which]); /* it would be begun a second time */
            contributed[which] = contributed[which] | (1 << from);
            look_at(which)
        fi
    }
    :: atomic {
        if
        :: up[0]?failure(which) -> from = 0
        :: up[1]?failure(which) -> from = 1
        fi;
        failed = failed | (1 << from);
#ifndef UNORDERED
        tell(failure, from, 0);
#endif
#ifndef NO_RECHECK
        look_at(1);
        look_at(2);
#endif
#ifdef UNORDERED
        tell(failure, from, 0);
#endif
        skip
    }
    od
}

active proctype killer() {
end:
    do
    :: !killed[0] -> killed[0] = 1
    :: !killed[1] -> killed[1] = 1
    :: break
    od
}

init {
    atomic {
        run member(0);
        run member(1);
        run daemon(0);
        run daemon(1);
        run mpiexec()
    }
}
