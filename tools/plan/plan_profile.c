#include "tools/plan/plan_profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/output.h"
#include "profile/profile.h"
#include "tools/text/messages.h"

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The program's own file: the module with its name, or whose name begins with it (python3 may be
 * python3.11). */
static const struct model_module *find_program(const struct model *model)
{
    const char *name = model->header.program;
    size_t length = strnlen(name, sizeof(model->header.program));
    const struct model_module *found = NULL;
    for (size_t i = 0; length && i < model->modules.count; i++) {
        const char *own = last_part(model->modules.at[i].path);
        if (strncmp(own, name, length) != 0) continue;
        if (!own[length]) return &model->modules.at[i];
        if (!found) found = &model->modules.at[i];
    }
    return found;
}

static enum sl_status make(const struct model_module *program, struct sl_profile *out)
{
    *out = (struct sl_profile){.sluice = strdup(SLUICE_VERSION),
                               .written_s = (uint64_t)time(NULL),
                               .objects = calloc(1, sizeof(*out->objects))};
    if (!out->objects) return SL_ERR_NO_MEMORY;
    out->object_count = 1;
    out->objects[0].name = strdup(last_part(program->path));
    memcpy(out->objects[0].build_id, program->build, sizeof(program->build));
    return out->sluice && out->objects[0].name ? SL_OK : SL_ERR_NO_MEMORY;
}

int plan_write_profile(const struct model *model, const struct prediction *best, const char *path)
{
    struct sl_profile profile = {0};
    const struct model_module *program = find_program(model);
    bool is_one;
    enum sl_status status = sl_profile_read(path, &profile, &is_one);
    if (status && status != SL_ERR_IO && !is_one)
        return failure("cannot write the profile %s: %s", path, sl_file_profile.refusal);
    bool none = status == SL_ERR_IO && errno == ENOENT;
    if (none || (status && sl_file_overwrites())) {
        if (!program)
            return failure("the trace does not identify its program; name a profile that a run has written");
        status = make(program, &profile);
    }
    if (status == SL_OK) {
        profile.wanted.budget_bytes = best->setting.budget_bytes;
        profile.wanted.chunk_bytes = best->setting.chunk_bytes;
        free(profile.wanted.backing);
        profile.wanted.backing = best->setting.backing ? strdup(best->setting.backing) : NULL;
        if (best->setting.backing && !profile.wanted.backing) status = SL_ERR_NO_MEMORY;
    }
    if (status == SL_OK) status = sl_profile_write(path, &profile);
    const char *why = status == SL_ERR_IO ? sl_file_problem(&sl_file_profile, errno) : sl_status_text(status);
    if (status) failure("cannot write the profile %s: %s", path, why);
    sl_profile_free(&profile);
    return status ? EXIT_FAILED : EXIT_OK;
}
