/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The agreement of agreement.h among members of which any may be killed at any step, for Spin:
 *
 *     spin -a agreement.pml && cc -O2 -DSAFETY -o pan pan.c && ./pan       (no deadlock, no assertion fails)
 *
 * and with -DNO_COMPARE (a decision is stored whatever is there), -DNO_MARKS (the launcher does not tell who is gone)
 * or -DEARLY (whoever decides gives the memory of this decision back, not that of the one before), which must fail.
 *
 * What a member brings stands for itself: a decision is the set of members that it has seen to contribute. Waits are
 * conditions here; that a sleeper is woken when its condition changes is modelled in wait/sleep.pml.
 */
#ifndef MEMBERS
#define MEMBERS 2
#define AGREEMENTS 3
#endif

byte number[MEMBERS];          /* of the agreement that a member has contributed to: its slot */
bit killed[MEMBERS];
bit marked[MEMBERS];           /* by the launcher, once the process is gone */

byte decided;                  /* number of the last decision */
byte content[AGREEMENTS + 1];
bit given_back[AGREEMENTS + 1];

byte first_read[AGREEMENTS + 1]; /* what the first reader got, + 1; 0: nobody has read */

#define is_done(m) (number[m] == k || marked[m])
#if MEMBERS == 2
#define all_done (is_done(0) && is_done(1))
#else
#define all_done (is_done(0) && is_done(1) && is_done(2))
#endif

proctype member(byte self) {
    byte k = 1, seen, other;
    {
        do
        :: k > AGREEMENTS -> break
        :: else ->
            number[self] = k;
            if
            :: decided == k
            :: all_done ->
                if
                :: decided == k
                :: else ->
                    /* the proposal, read slot by slot */
                    seen = 0;
                    other = 0;
                    do
                    :: other == MEMBERS -> break
                    :: else ->
                        if
                        :: number[other] == k -> seen = seen | (1 << other)
                        :: else
                        fi;
                        other++
                    od;
#ifdef NO_COMPARE
                    atomic { decided = k; content[k] = seen };
#else
                    atomic {
                        if
                        :: decided == k - 1 -> decided = k; content[k] = seen
                        :: else -> seen = 0
                        fi
                    };
#endif
                    if
#ifdef EARLY
                    :: seen != 0 -> given_back[k] = 1
#else
                    :: seen != 0 -> given_back[k - 1] = 1
#endif
                    :: else
                    fi
                fi
            fi;
            atomic {
                assert(decided == k);
                assert(!given_back[k]);
                assert(first_read[k] == 0 || first_read[k] == content[k] + 1);
                first_read[k] = content[k] + 1;
                other = 0
            };
            k++
        od
    } unless { killed[self] };
    skip
}

active proctype killer() {
end:
    do
    :: !killed[0] -> killed[0] = 1
    :: !killed[1] -> killed[1] = 1
#if MEMBERS == 3
    :: !killed[2] -> killed[2] = 1
#endif
    :: break
    od
}

active proctype launcher() {
end:
    do
#ifndef NO_MARKS
    :: killed[0] && !marked[0] -> marked[0] = 1
    :: killed[1] && !marked[1] -> marked[1] = 1
#if MEMBERS == 3
    :: killed[2] && !marked[2] -> marked[2] = 1
#endif
#else
    :: false
#endif
    od
}

init {
    atomic {
        run member(0);
        run member(1);
#if MEMBERS == 3
        run member(2)
#endif
    }
}
