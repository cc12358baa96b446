#include "source.h"

#include <string.h>

#include "parse.h"

static void free_source(struct sc_source *source)
{
    struct sc_build *build = &source->build;
    for (uint32_t i = 0; i < source->entries.count; i++) {
        free(source->entries.at[i].name);
        sc_vec_free(&source->entries.at[i].signature.parameters);
    }
    for (uint32_t i = 0; i < source->variables.count; i++) {
        free(source->variables.at[i].name);
        sc_vec_free(&source->variables.at[i].initial);
    }
    sc_vec_free(&source->entries);
    sc_vec_free(&source->variables);
    sc_vec_free(&source->fixups);
    sc_vec_free(&build->shared);
    sc_vec_free(&build->functions);
    sc_vec_free(&build->call_names);
    sc_names_free(&build->names);
    pthread_mutex_destroy(&source->lock);
    free(source->text);
    free(source);
}

void sc_source_unref(struct sc_source *source)
{
    if (source && __atomic_sub_fetch(&source->refs, 1, __ATOMIC_ACQ_REL) == 0) free_source(source);
}

/* Copies the texts and parses the copy. */
static void read_copy(struct sc_source *source, const struct sc_text *texts, size_t count)
{
    size_t bytes = 0, at = 0;
    for (size_t i = 0; i < count; i++) bytes += texts[i].bytes;
    struct sc_text *copies = calloc(count + 1, sizeof *copies);
    source->text = malloc(bytes + count); /* with a byte between texts: a text is known by where it ends */
    if (!copies || !source->text) {
        free(copies);
        source->build.status = SC_ENGINE_NO_MEMORY;
        return;
    }
    for (size_t i = 0; i < count; i++) {
        copies[i] = (struct sc_text){source->text + at, texts[i].bytes};
        if (texts[i].bytes) memcpy(source->text + at, texts[i].text, texts[i].bytes);
        at += texts[i].bytes + 1;
    }
    sc_read_source(source, copies, count);
    free(copies);
}

enum sc_engine_status sc_source_read(const struct sc_text *texts, size_t count, struct sc_source **out,
                                     struct sc_diagnostic *diagnostic)
{
    struct sc_diagnostic unused;
    if (diagnostic) memset(diagnostic, 0, sizeof *diagnostic);
    struct sc_source *source = calloc(1, sizeof *source);
    if (!source) return SC_ENGINE_NO_MEMORY;
    source->refs = 1;
    pthread_mutex_init(&source->lock, NULL);
    sc_names_init(&source->build.names);
    source->build.diagnostic = diagnostic ? diagnostic : &unused;
    read_copy(source, texts, count);
    source->build.diagnostic = NULL;
    enum sc_engine_status status = source->build.status;
    if (status == SC_ENGINE_OK)
        *out = source;
    else
        sc_source_unref(source);
    return status;
}
