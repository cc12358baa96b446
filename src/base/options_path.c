#include "base/options_path.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/option_table.h"
#include "base/options.h"

bool sl_options_absolute(const char *path, char *out, size_t out_bytes)
{
    size_t used = 0, length = strlen(path);
    if (path[0] != '/') {
        if (out_bytes > PATH_MAX) out_bytes = PATH_MAX;
        if (!getcwd(out, out_bytes)) return false;
        /* From the end, so that each % is doubled in place. */
        size_t here = strlen(out), doubled = here;
        for (const char *at = out; *at; at++) doubled += *at == '%';
        if (doubled + 1 >= out_bytes) return false;
        used = doubled;
        while (here) {
            char c = out[--here];
            out[--doubled] = c;
            if (c == '%') out[--doubled] = c;
        }
        out[used++] = '/';
    }
    if (used + length >= out_bytes) return false;
    memcpy(out + used, path, length + 1);
    return true;
}

/* The launchers' variables, innermost launcher first. */
static const char *const rank_variables[] = {"RANK",     "OMPI_COMM_WORLD_RANK", "PMIX_RANK",
                                             "PMI_RANK", "MV2_COMM_WORLD_RANK",  "SLURM_PROCID"};
static char rank[12] = "0";
static bool has_rank;

void sl_options_note_rank(void)
{
    for (size_t i = 0; i < sizeof(rank_variables) / sizeof(*rank_variables); i++) {
        const char *value = secure_getenv(rank_variables[i]);
        size_t digits = value ? strspn(value, "0123456789") : 0;
        if (!digits || value[digits] || digits >= sizeof(rank)) continue;
        memcpy(rank, value, digits + 1);
        has_rank = true;
        return;
    }
}

bool sl_options_expand(const char *template, char *out, size_t out_bytes)
{
    size_t used = 0;
    for (const char *at = template; *at; at++) {
        char piece[HOST_NAME_MAX + 1] = {*at, 0};
        if (*at == '%' && at[1] && strchr("phr%", at[1])) {
            at++;
            if (*at == 'p') snprintf(piece, sizeof(piece), "%ld", (long)getpid());
            if (*at == 'r') memcpy(piece, rank, sizeof(rank));
            if (*at == 'h' && gethostname(piece, sizeof(piece)) != 0)
                snprintf(piece, sizeof(piece), "localhost");
            piece[sizeof(piece) - 1] = 0;
        }
        size_t length = strlen(piece);
        if (used + length >= out_bytes) return false;
        memcpy(out + used, piece, length);
        used += length;
    }
    if (used >= out_bytes) return false;
    out[used] = 0;
    return true;
}

const char *sl_options_rank(void)
{
    return has_rank ? rank : NULL;
}
