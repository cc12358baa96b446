#include "tools/views/sites_folded.h"

#include <inttypes.h>
#include <string.h>

#include "tools/model/symbols.h"

/* Without what would end the frame or the line. */
static void put_frame(const char *name, size_t bytes, bool *first, FILE *to)
{
    if (!*first) fputc(';', to);
    *first = false;
    for (size_t i = 0; i < bytes; i++) {
        unsigned char c = (unsigned char)name[i];
        fputc(c == ';' ? ':' : c < ' ' || c == 127 ? '?' : c, to);
    }
}

static void put_native(const struct frame *frame, bool *first, FILE *to)
{
    char place[512];
    const char *name = frame->function;
    if (!name) {
        const char *module = frame->module ? file_name(frame->module->path) : NULL;
        snprintf(place, sizeof(place), "%s%s0x%" PRIx64, module ? module : "", module ? "+" : "",
                 frame->offset);
        name = place;
    }
    put_frame(name, strlen(name), first, to);
}

void sites_folded(const struct sites *sites, struct site_titles *titles, FILE *to)
{
    for (size_t s = 0; s < sites->count; s++) {
        const struct site_figures *site = &sites->at[s];
        struct frame frames[FRAMES_MAX];
        bool first = true;
        if (!site->share_bytes) continue;
        size_t count = symbols_frames(site_titles_symbols(titles), site->frames, frames, FRAMES_MAX);
        for (size_t i = site->python_count; i-- > 0;) {
            struct python_place place = python_place(&site->python[i]);
            char name[SITE_TITLE];
            int bytes = snprintf(name, sizeof(name), "%.*s (%s:%" PRIu32 ")", (int)place.function_bytes,
                                 place.function, file_name(place.file), site->python[i].line);
            put_frame(name, (size_t)bytes < sizeof(name) ? (size_t)bytes : sizeof(name) - 1, &first, to);
        }
        for (size_t i = frames_own(frames, count, site->python_count > 0); i-- > 0;)
            put_native(&frames[i], &first, to);
        if (first) fprintf(to, "site 0x%" PRIx64, site->site);
        fprintf(to, " %" PRIu64 "\n", site->share_bytes);
    }
}
