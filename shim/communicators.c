#include "communicators.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/map.h"

/* Bound of the table, which then forgets its oldest entries. The number of an unknown communicator is 0. */
#define MOST 512

static struct {
    pthread_mutex_t lock;
    struct known {
        const void *communicator;
        uint64_t number, splits;
    } known[MOST];
    uint32_t next;
} communicators = {.lock = PTHREAD_MUTEX_INITIALIZER};

uint64_t sl_communicator_number(const void *id, size_t bytes)
{
    uint64_t hash = bytes, word;
    for (size_t at = 0; at < bytes; at += sizeof word) {
        word = 0;
        memcpy(&word, (const char *)id + at, bytes - at < sizeof word ? bytes - at : sizeof word);
        hash = sl_hash_word(hash, word);
    }
    return hash ? hash : 1;
}

static struct known *find(const void *communicator)
{
    for (uint32_t i = 0; communicator && i < MOST; i++)
        if (communicators.known[i].communicator == communicator) return &communicators.known[i];
    return NULL;
}

void sl_communicator_note(const void *communicator, uint64_t number)
{
    pthread_mutex_lock(&communicators.lock);
    struct known *known = find(communicator);
    if (!known) known = &communicators.known[communicators.next++ % MOST];
    *known = (struct known){communicator, number, 0};
    pthread_mutex_unlock(&communicators.lock);
}

uint64_t sl_communicator_split(const void *parent, uint64_t group)
{
    pthread_mutex_lock(&communicators.lock);
    struct known *known = find(parent);
    uint64_t words[] = {known ? known->number : 0, known ? ++known->splits : 0, group};
    pthread_mutex_unlock(&communicators.lock);
    return sl_communicator_number(words, sizeof words);
}

uint64_t sl_communicator(const void *communicator)
{
    pthread_mutex_lock(&communicators.lock);
    const struct known *known = find(communicator);
    uint64_t number = known ? known->number : 0;
    pthread_mutex_unlock(&communicators.lock);
    return number;
}
