#include "callsite.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FRAMES_SEEN 24
#define FRAMES_SHOWN 4
#define SITES_MAX 65536
#define BUCKETS 1024

/* Bounds of this library, from the linker. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

static struct sc_site *buckets[BUCKETS];
static unsigned site_count;

void sc_site_init(void)
{
    void *frame;
    backtrace(&frame, 1);
}

static bool is_own(const void *address)
{
    return (const char *)address >= __ehdr_start && (const char *)address < _end;
}

const struct sc_site *sc_site_here(void)
{
    void *seen[FRAMES_SEEN];
    int count = backtrace(seen, FRAMES_SEEN), first = 0;
    while (first < count && is_own(seen[first])) first++;
    count -= first;
    if (count > SC_SITE_FRAMES) count = SC_SITE_FRAMES;
    unsigned long hash = (unsigned long)count;
    for (int i = 0; i < count; i++) hash = (hash ^ (unsigned long)seen[first + i]) * 0x9e3779b97f4a7c15ul;
    struct sc_site **bucket = &buckets[hash >> 32 & (BUCKETS - 1)];
    for (struct sc_site *site = *bucket; site; site = site->next)
        if (site->hash == hash && site->count == count &&
            !memcmp(site->frames, seen + first, (size_t)count * sizeof *seen))
            return site;
    struct sc_site *site = site_count < SITES_MAX ? calloc(1, sizeof *site) : NULL;
    if (!site) return NULL;
    *site = (struct sc_site){.next = *bucket, .hash = hash, .count = count};
    memcpy(site->frames, seen + first, (size_t)count * sizeof *seen);
    *bucket = site;
    site_count++;
    return site;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool is_runtime(const char *object)
{
    return !strncmp(object, "libcudart.so", 12) || !strncmp(object, "libcublas", 9) ||
           !strncmp(object, "libsoftcuda_blas", 16);
}

void sc_site_print(const struct sc_site *site, char *out, size_t out_bytes)
{
    size_t used = 0;
    int shown = 0;
    snprintf(out, out_bytes, "an unknown place");
    for (int i = 0; site && i < site->count && shown < FRAMES_SHOWN && used < out_bytes; i++) {
        Dl_info info;
        /* A return address may lie behind the end of its function, so look up the call before it. */
        const char *address = (const char *)site->frames[i] - 1;
        if (!dladdr(address, &info) || !info.dli_fname) memset(&info, 0, sizeof info);
        const char *object = info.dli_fname ? base_name(info.dli_fname) : "?";
        if (is_runtime(object)) continue;
        if (shown && !strncmp(object, "libc.so", 7))
            break; /* the caller of main, or the start of the
                      thread */
        int length = snprintf(out + used, out_bytes - used, "%s%s+0x%lx", shown++ ? " < " : "", object,
                              (unsigned long)(address + 1 - (const char *)info.dli_fbase));
        used += (size_t)length;
        if (info.dli_sname && used < out_bytes)
            used += (size_t)snprintf(out + used, out_bytes - used, " (%s+0x%lx)", info.dli_sname,
                                     (unsigned long)(address + 1 - (const char *)info.dli_saddr));
    }
}
