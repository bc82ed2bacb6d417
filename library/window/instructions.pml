// SPDX-License-Identifier: BSD-3-Clause
/* Accumulate operations by instructions and under the lock (window/instructions.h). As on x86 a rank's store to its own
   at_instructions may stay in its store buffer while it goes on to load: it then sees its own store, others see the old
   value. All other steps are atomic instructions or releases behind them, which empty the buffer first.

   Checked: nobody is at an instruction while somebody changes the same element under the lock. Mistakes that it finds:
   NO_BARRIER (the change does not empty the buffers), NO_WAIT (it does not wait for those inside), TWO_STATES (others
   take the lock while those inside are still waited for). */

#define SINGLES 2
#define ARRAYS 2

mtype = { by_instructions, changing, locked };
mtype accumulates = by_instructions;
bool at_instructions[SINGLES], buffered[SINGLES]; /* buffered: 1 is on its way to at_instructions */
byte inside, vectors;
bool taken;

inline take() {
    atomic { !taken -> taken = true; vectors++ };
    assert(inside == 0);
    atomic { vectors--; taken = false }
}

proctype single(byte self) {
    byte turns;
    do
    :: turns == 2 -> break
    :: else ->
        turns++;
        buffered[self] = true; /* at_instructions = 1, in the buffer */
        if
        :: atomic { buffered[self]; at_instructions[self] = true; buffered[self] = false } /* it may arrive by now */
        :: skip
        fi;
        if
        :: accumulates == by_instructions ->
            /* The instruction is locked: it empties the buffer. */
            atomic { if :: buffered[self] -> at_instructions[self] = true; buffered[self] = false :: else fi; inside++ };
            assert(vectors == 0);
            inside--;
            at_instructions[self] = false
        :: else ->
            atomic { at_instructions[self] = false; buffered[self] = false };
#ifndef TWO_STATES
            accumulates == locked;
#endif
            take()
        fi
    od
}

proctype array() {
    byte other;
    bool first;
    atomic { first = accumulates == by_instructions; if :: first -> accumulates = changing :: else fi };
    if
    :: first ->
#ifndef NO_BARRIER
        other = 0;
        atomic {
            do
            :: other == SINGLES -> break
            :: else ->
                if :: buffered[other] -> at_instructions[other] = true; buffered[other] = false :: else fi;
                other++
            od
        };
#endif
#ifndef NO_WAIT
        other = 0;
        do
        :: other == SINGLES -> break
        :: else -> !at_instructions[other]; other++
        od;
#endif
        accumulates = locked
    :: else ->
#ifndef TWO_STATES
        accumulates == locked
#else
        skip
#endif
    fi;
    take()
}

init {
    atomic { run single(0); run single(1); run array(); run array() }
}
