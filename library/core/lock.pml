/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The owner of core/lock.h and two threads that take its ownership away, under x86's memory model (total store order),
 * for Spin:
 *
 *     spin -a lock.pml && cc -O2 -DSAFETY -o pan pan.c && ./pan       (no deadlock, no assertion fails)
 *
 * and with one of these mistakes, each of which must be found:
 *
 *     -DNO_BARRIER      the other thread has no heavy fence
 *     -DLOOKS_ONCE      the owner does not look again after it has said that it is inside
 *     -DLEAVES_SILENTLY the owner does not say that it has left
 *     -DNOT_WOKEN       who waits inside is not woken, and sleeps on with the library to itself
 *     -DENTERS_EARLY    a third thread does not wait until the former owner has settled
 *     -DWAITS_INSIDE    the owner enters a call inside of its call as others do, and waits for itself
 *
 * The owner's plain stores to `inside` wait in a store buffer; its locked instructions, and the heavy fence of another
 * thread, empty it. A call of the owner may call MPI inside (a callback), and may wait: it sleeps then until it is
 * woken, by others that come or by the message, which never comes before the others have been inside.
 */
#define CALLS 2

bit inside_memory, inside_buffer, buffered; /* `inside` as others see it, and a store that waits */
bit owned = 1;                              /* owner_ is the owner's */
bit settled = 1;                            /* former_is_settled_ */
bit former;                                 /* former_ is the owner */
bit mutex;
bit sleeping, woken; /* the owner, in a wait */
byte visits;         /* of other threads */
byte in_library;     /* threads that are inside and do not wait: never 2 */

#define lock(m) atomic{m == 0->m = 1}
#define unlock(m) m = 0

inline drain_now() {
    if
        ::buffered->inside_memory = inside_buffer;
    buffered = 0 ::else fi
}

active proctype drain() {
end:
    do ::atomic{buffered->drain_now()} od
}

inline store_inside(value) {
    atomic {
        !buffered->inside_buffer = value;
        buffered = 1
    }
}

inline begin_work() {
    atomic {
        in_library++;
        assert(in_library == 1)
    }
}
inline end_work() {
    in_library--
}

/* ---- the owner. `holds`: it has the mutex; `mine`: what it has stored into `inside`. */

inline take_as_other(depth) {
    do ::atomic {
            mutex == 0->mutex = 1;
            drain_now()
        };
    if
#ifndef WAITS_INSIDE
        ::!settled &&former &&mine->settled = 1;
    holds = 1 + depth;
    break /* is_inside_as_owner */
#endif
        ::else->if ::settled &&!owned->holds = depth;
    break ::else->unlock(mutex);
    atomic{settled->skip} fi fi od
}

inline owner_leave() {
    store_inside(0);
    mine = 0;
    if
        ::owned->skip::else->if ::holds > 0->holds = 0;
    atomic {
        drain_now();
        unlock(mutex)
    }
    ::else->/* leave_as_owner: a locked instruction */
#ifdef LEAVES_SILENTLY
        skip
#else
        atomic {
        drain_now();
        told = 1
    }
#endif
            fi fi
}

bit told; /* steps_ has changed since the other thread looked */

active proctype owner() {
    byte calls = 0, holds = 0;
    bit mine = 0, as_owner;
    do ::calls == CALLS->break ::else->calls++;
    as_owner = 0;
    if
        ::owned->store_inside(1);
    mine = 1;
#ifdef LOOKS_ONCE
    as_owner = 1
#else
    if
        ::owned->as_owner = 1 ::else->owner_leave() /* withdraw */
                            fi
#endif
        ::else fi;
    if
        ::as_owner::else->take_as_other(1) fi;
    begin_work();
    end_work();
    if
        ::skip::as_owner &&holds == 0 && !owned->/* a call inside the call */
                                          take_as_other(1);
    begin_work();
    end_work();
    holds-- ::true->/* a wait: announces that it sleeps (locked), looks, gives away, sleeps */
        do ::visits == 2->break ::else->atomic {
        drain_now();
        sleeping = 1;
        woken = 0
    };
    if
        ::owned->/* nothing to give away */
                atomic{woken || visits == 2->sleeping = 0} ::else->if ::holds == 0 &&
            as_owner->atomic{mutex == 0->mutex = 1};
    assert(!settled && former);
    settled = 1;
    holds = 1 ::else fi;
    holds = 0;
    unlock(mutex);
    sleeping = 0;
    atomic{visits == 2->skip};
    as_owner = 0;
    take_as_other(1);
    break fi od fi;
    begin_work();
    end_work();
    if
        ::as_owner || mine->owner_leave()::else->holds = 0;
    unlock(mutex) fi od
}

active[2] proctype other() {
    lock(mutex);
    do
        ::!settled
            ->
#ifdef ENTERS_EARLY
            break
#else
            unlock(mutex);
    atomic{settled->skip};
    lock(mutex)
#endif
            ::settled &&owned->/* take_ownership_away */
            former = 1;
    settled = 0;
    owned = 0;
    unlock(mutex);
#ifndef NO_BARRIER
    atomic{drain_now()};
#endif
#ifndef NOT_WOKEN
    if
        ::atomic{inside_memory &&sleeping->woken = 1} ::else fi;
#endif
    lock(mutex);
    do ::told = 0;
    if
        ::settled || inside_memory == 0->break ::else->unlock(mutex);
    atomic{told || settled->skip};
    lock(mutex) fi od;
    settled = 1 ::settled && !owned->break od;
    begin_work();
    end_work();
    visits++;
    unlock(mutex)
}
