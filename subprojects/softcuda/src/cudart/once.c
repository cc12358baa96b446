#include "once.h"

#include "driver/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define MAX_KEYS 1024 /* more than there are functions */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *seen[MAX_KEYS];
static size_t seen_count;

static bool first_time(const char *key)
{
    bool first = true;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < seen_count && first; i++) first = strcmp(seen[i], key) != 0;
    if (first && seen_count < MAX_KEYS) seen[seen_count++] = key;
    pthread_mutex_unlock(&lock);
    return first;
}

void sc_log_once(const char *key, const char *format, ...)
{
    if (!first_time(key)) return;
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    sc_log("%s", line);
}
