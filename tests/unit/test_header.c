/* The installed header compiles alone, and says what is in a file's first bytes. */
#include "sluice/trace.h"

_Static_assert(sizeof(struct sluice_trace_header) == 128, "part of the format");
_Static_assert(sizeof(struct sluice_trace_block) == 48, "part of the format");
_Static_assert(sizeof(SLUICE_TRACE_MAGIC) - 1 == sizeof(((struct sluice_trace_header *)0)->magic), "magic");

int main(void)
{
    return SLUICE_TRACE_ALLOC == 1 && SLUICE_TRACE_GAP == 10 && SLUICE_TRACE_END == 255 ? 0 : 1;
}
