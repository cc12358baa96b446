#include "nccl_real.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>

#include "lookup.h"
#include "nccl.h"
#include "trace/objects.h"

#define LIBRARY "libnccl.so" /* prefix of its file name */

struct sl_nccl_real sl_nccl_real;

/* The path of the object that holds `inside` or, if `inside` is 0, of NCCL's own library. */
struct search {
    uintptr_t inside;
    char path[PATH_MAX];
};

/* The search only records the path: opening a library needs the loader's lock, which is held here. */
static int look_at(struct dl_phdr_info *object, size_t bytes, void *argument)
{
    struct search *search = argument;
    const char *slash = strrchr(object->dlpi_name, '/'), *name = slash ? slash + 1 : object->dlpi_name;
    size_t length = strlen(object->dlpi_name);
    (void)bytes;
    bool found =
        search->inside ? sl_object_holds(object, search->inside) : !strncmp(name, LIBRARY, strlen(LIBRARY));
    if (!found || length >= PATH_MAX) return 0;
    memcpy(search->path, object->dlpi_name, length + 1);
    return 1;
}

static void *find_in(uintptr_t inside, const char *name)
{
    struct search search = {.inside = inside};
    if (!dl_iterate_phdr(look_at, &search) || !search.path[0]) return NULL;
    void *library = dlopen(search.path, RTLD_LAZY | RTLD_NOLOAD);
    void *function = library ? sl_real_dlsym(library, name) : NULL;
    if (library) dlclose(library); /* it stays loaded */
    return function;
}

/* Searches the global symbols, then the caller's own scope: Python loads libraries into a module's scope. */
void *sl_nccl_find(const char *name, const void *caller)
{
    void *function = sl_real_dlsym(RTLD_NEXT, name);
    if (!function && caller) function = find_in((uintptr_t)caller, name);
    return function ? function : find_in(0, name);
}

static const struct row {
    const char *name;
    void *entry;
    void *_Atomic *real;
} rows[] = {
#define SL_NCCL(symbol, declarations, arguments, ...)                                                        \
    {#symbol, (void *)sl_entry_##symbol, (void *_Atomic *)&sl_nccl_real.f_##symbol},
#include "nccl_api.def"
#include "nccl_made.def"
    SL_NCCL(ncclGroupStart, , ) SL_NCCL(ncclGroupEnd, , ) SL_NCCL(ncclCommInitAll, , )
#undef SL_NCCL
};

static const struct row *row_of(const char *name)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!strcmp(rows[i].name, name)) return &rows[i];
    return NULL;
}

bool sl_nccl_intercepts(const char *name)
{
    return row_of(name) != NULL;
}

bool sl_nccl_is_there(const char *name)
{
    return sl_nccl_find(name, NULL) != NULL;
}

void *sl_nccl_entry_for(const char *name, void *function)
{
    const struct row *row = row_of(name);
    void *known = NULL;
    if (function == row->entry) return function;
    if (atomic_compare_exchange_strong(row->real, &known, function) || known == function) return row->entry;
    return function;
}
