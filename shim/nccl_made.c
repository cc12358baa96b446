/* Numbers of the communicators that the program creates, for the trace; they are equal on all ranks. */
#include <stdbool.h>

#include "communicators.h"
#include "nccl_real.h"

#define IN_PROGRESS 7 /* ncclInProgress: a thread of NCCL makes it */

static void note_made(int result, void **made, int count, uint64_t number)
{
    bool is_made = result == 0 || result == IN_PROGRESS;
    for (int i = 0; is_made && made && i < count; i++)
        if (made[i]) sl_communicator_note(made[i], number);
}

#define SL_NCCL(symbol, declarations, arguments, number)                                                     \
    int sl_entry_##symbol declarations                                                                       \
    {                                                                                                        \
        sl_fn_##symbol *function = SL_NCCL_REAL(symbol, __builtin_return_address(0));                        \
        if (!function) return SL_NCCL_MISSING;                                                               \
        uint64_t of_all = number;                                                                            \
        int result = function arguments;                                                                     \
        note_made(result, made, 1, of_all);                                                                  \
        return result;                                                                                       \
    }                                                                                                        \
    SL_NCCL_EXPORT(symbol, declarations)
#include "nccl_made.def"
#undef SL_NCCL

/* All ranks are in this process; NCCL has no id for them except their positions. */
int sl_entry_ncclCommInitAll(void **made, int count, const int *devices)
{
    sl_fn_ncclCommInitAll *function = SL_NCCL_REAL(ncclCommInitAll, __builtin_return_address(0));
    if (!function) return SL_NCCL_MISSING;
    int result = function(made, count, devices);
    if (count > 0) note_made(result, made, count, sl_communicator_number(made, sizeof *made));
    return result;
}
SL_NCCL_EXPORT(ncclCommInitAll, (void **made, int count, const int *devices))
