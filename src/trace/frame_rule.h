/* What a step from one frame to its caller reads, by the call frame information of the code.
 *
 * The unwinder follows what these tables say without asking whether the memory can be read. The tables are
 * true of compiled code, but not of how a program entered it: the first function on a hand-made stack has no
 * return address, and hand-written code may leave anything in a register that the table computes the caller's
 * frame from. So each step is looked at before it is made.
 */
#ifndef SLUICE_FRAME_RULE_H
#define SLUICE_FRAME_RULE_H

#include "base/types.h"

/* The registers' numbers in these tables, which are the unwinder's, too. */
#if defined(__x86_64__)
enum {
    SL_FRAME_POINTER = 6,
    SL_FRAME_STACK = 7,
    SL_FRAME_GENERAL = 16,
    SL_FRAME_RETURN = 16,
    SL_FRAME_REGISTERS = 33
};
#elif defined(__aarch64__)
enum {
    SL_FRAME_POINTER = 29,
    SL_FRAME_STACK = 31,
    SL_FRAME_GENERAL = 32,
    SL_FRAME_RETURN = 30,
    SL_FRAME_REGISTERS = 96
};
#endif

/* Offsets in bytes of the lowest and the highest word that is read; lowest > highest: none is. */
struct sl_frame_span {
    int32_t lowest, highest;
};

/* The CFA is the caller's stack pointer after the call has returned: `base` plus `offset` or, where `held`,
 * the word that lies there. */
struct sl_frame_rule {
    uint8_t base; /* a general register */
    bool held;
    bool has_address; /* the return address lies at CFA + address_at */
    bool saves_pointer, pointer_at_pointer;
    int32_t offset, address_at;
    int32_t pointer_at; /* where the caller's frame pointer lies if it is saved: from the CFA or the frame
                           pointer on */
    struct sl_frame_span from_cfa, from_pointer; /* includes all that is read, other registers too */
};

/* The rule in force where a call returns to `address`. `entry`: the description of the function (FDE) in
 * .eh_frame, which begins at `start`. *rule is set only on success. False: the tables say that there is no
 * caller, or that the frame was made by a signal, or something that compilers do not say of frames that wait
 * for a call. Preconditions: the entries are complete in memory, and stay there. */
bool sl_frame_rule_read(const void *entry, uintptr_t start, uintptr_t address, struct sl_frame_rule *rule);

#endif
