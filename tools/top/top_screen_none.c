/* For builds without curses. */
#include "tools/top/top.h"

bool top_screen(struct runs *runs, unsigned interval_ms, bool (*look)(void *context), void *context)
{
    (void)runs, (void)interval_ms, (void)look, (void)context;
    return false;
}
