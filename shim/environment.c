#include "environment.h"

#include <string.h>
#include <unistd.h>

#include "base/options.h"

enum { MOST_VARIABLES = 4096 };

bool sl_environment_put(char *entry)
{
    static char *larger[MOST_VARIABLES + 2];
    size_t name = strcspn(entry, "=") + 1, count = 0, at;
    if (!environ) return false;
    while (environ[count]) count++;
    for (at = 0; at < count && strncmp(environ[at], entry, name) != 0;) at++;
    if (count > MOST_VARIABLES || (at == count && count == MOST_VARIABLES)) return false;
    if (environ != larger) memcpy(larger, environ, (count + 1) * sizeof *larger);
    larger[at] = entry;
    if (at == count) larger[count + 1] = NULL;
    environ = larger;
    return true;
}

void sl_environment_ask_frameworks(void)
{
    static char entries[SL_FRAMEWORK_VARIABLES][SL_FRAMEWORK_ENTRY];
    if (!sl_framework_may_come() || !sl_options_ask_frameworks()) return;
    size_t count = sl_framework_settings(entries);
    for (size_t i = 0; i < count; i++) sl_environment_put(entries[i]);
}
