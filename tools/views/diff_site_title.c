#include "tools/views/diff_site_title.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "tools/model/kernel_title.h"
#include "tools/model/symbols.h"
#include "tools/text/terminal.h"

/* Four bytes for each column fit into a title. */
enum { FUNCTION_COLUMNS = 60, FILE_COLUMNS = 40 };

struct site_titles {
    const struct diff *diff;
    struct symbols *symbols[DIFF_SIDES];
    struct sl_map users[DIFF_SIDES]; /* word of a call stack -> number of sites that have it */
};

/* The next word of the frames' text: its hash, or 0 at the end. */
static uint64_t next_word(const char **text)
{
    uint64_t hash = 1;
    while (*text && **text == ' ') ++*text;
    if (!*text || !**text) return 0;
    for (; **text && **text != ' '; ++*text) hash = sl_hash_word(hash, (unsigned char)**text);
    return hash | 1;
}

static uint32_t users_of(const struct sl_map *users, uint64_t word)
{
    uint32_t count = sl_map_get(users, word);
    return count == SL_NONE ? 0 : count;
}

struct site_titles *site_titles_new(const struct diff *diff)
{
    struct site_titles *titles = calloc(1, sizeof(*titles));
    bool good = titles != NULL;
    if (good) titles->diff = diff;
    for (unsigned s = 0; s < DIFF_SIDES && good; s++) {
        const struct sites *sites = &diff->sides[s].sites;
        titles->symbols[s] = symbols_new(diff->sides[s].model);
        good = titles->symbols[s] != NULL;
        for (size_t i = 0; i < sites->count && good; i++) {
            const char *text = sites->at[i].frames;
            for (uint64_t word; good && (word = next_word(&text));)
                good = sl_map_put(&titles->users[s], word, users_of(&titles->users[s], word) + 1);
        }
    }
    if (good) return titles;
    site_titles_free(titles);
    return NULL;
}

void site_titles_free(struct site_titles *titles)
{
    if (!titles) return;
    for (unsigned s = 0; s < DIFF_SIDES; s++) {
        symbols_close(titles->symbols[s]);
        sl_map_free(&titles->users[s]);
    }
    free(titles);
}

/* The bytes of `text` up to `end` or the columns that a title has for it. */
static int shown_bytes(const char *text, char end, size_t columns)
{
    size_t most = text_prefix(text, columns);
    for (size_t i = 0; end && i < most; i++)
        if (text[i] == end) return (int)i;
    return (int)most;
}

static void print_frame(const struct frame *frame, char out[SITE_TITLE])
{
    const char *file = frame->source   ? file_name(frame->source)
                       : frame->module ? file_name(frame->module->path)
                                       : "";
    char line[16] = "";
    if (frame->source) snprintf(line, sizeof(line), ":%u", frame->line);
    snprintf(out, SITE_TITLE, "%.*s (%.*s%s)", shown_bytes(frame->function, '(', FUNCTION_COLUMNS),
             frame->function, shown_bytes(file, 0, FILE_COLUMNS), file, line);
}

const char *site_title(struct site_titles *titles, const struct diff_site *site, char out[SITE_TITLE])
{
    unsigned s = site->of[DIFF_B] ? DIFF_B : DIFF_A;
    const char *text = site->of[s]->frames, *from = text;
    uint32_t fewest = UINT32_MAX;
    snprintf(out, SITE_TITLE, "site 0x%" PRIx64, site->of[s]->site);
    for (uint64_t word; (word = next_word(&text)); from = text) {
        struct frame frames[FRAMES_MAX];
        char one[64];
        while (*from == ' ') from++;
        size_t length = strcspn(from, " ");
        uint32_t users = users_of(&titles->users[s], word);
        if (users >= fewest || length >= sizeof(one)) continue;
        memcpy(one, from, length);
        one[length] = 0;
        if (!symbols_frames(titles->symbols[s], one, frames, FRAMES_MAX) || !frames[0].function) continue;
        fewest = users;
        print_frame(&frames[0], out);
    }
    return out;
}
