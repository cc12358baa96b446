#include "driver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "base/log.h"
#include "elf_symbol.h"
#include "entry.h"
#include "lookup.h"
#include "recording/recording.h"

#define DRIVER_FILE "libcuda.so.1"

struct row {
    const char *symbol, *name;
    int version;
    bool per_thread; /* NULL means the calling thread's own stream */
    void *entry;
    size_t field; /* offset in struct sl_real */
};

#define FIELD(symbol) offsetof(struct sl_real, f_##symbol)
static const struct row rows[] = {
#define SL_ROW0(symbol, name, version)                                                                       \
    {#symbol, name, version, false, (void *)sl_entry_##symbol, FIELD(symbol)},
#define SL_ROW(symbol, name, version, declarations, arguments) SL_ROW0(symbol, name, version)
#define SL_PAIR(symbol, suffix, name, version, thread_version, declarations, arguments)                      \
    SL_ROW0(symbol, name, version){                                                                          \
        #symbol "_" #suffix,     name, thread_version, true, (void *)sl_entry_##symbol##_##suffix,           \
        FIELD(symbol##_##suffix)},
#include "driver_api.def"
#undef SL_ROW0
#undef SL_ROW
#undef SL_PAIR
};
#define ROW_COUNT (sizeof(rows) / sizeof(rows[0]))

/* Maps real functions to rows, by open addressing. A function has up to two addresses: that of its symbol and
 * that from the resolver. */
#define MAP_SLOTS 1024
_Static_assert(ROW_COUNT * 2 < MAP_SLOTS * 3 / 4, "the map of real functions is too small");
struct view {
    struct sl_real real;
    struct sl_cuda_driver functions;
    const char *missing; /* the first function that the backend needs and this driver lacks, or NULL */
    int version;         /* as cuDriverGetVersion says it */
    struct sl_address_range range;
    const void *known[MAP_SLOTS];
    const struct row *row_of[MAP_SLOTS];
};

typedef CUresult resolver_v1(const char *name, void **function, int version, cuuint64_t flags);
typedef CUresult resolver_v2(const char *name, void **function, int version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult *status);

struct sl_real sl_real;
struct sl_address_range sl_driver_range;
static struct view view; /* complete and constant once `loaded` */
static bool loaded;
static pthread_mutex_t publishing = PTHREAD_MUTEX_INITIALIZER;
static __thread bool loading __attribute__((tls_model("initial-exec")));

static uint32_t map_slot(const void *const *known, const void *function)
{
    uint32_t slot = (uint32_t)(((uint64_t)(uintptr_t)function * UINT64_C(0x9E3779B97F4A7C15)) >> 54);
    while (known[slot] && known[slot] != function) slot = (slot + 1) % MAP_SLOTS;
    return slot;
}

/* If several rows share an address, the first row keeps it: they are one function with one prototype. */
static void map_add(struct view *into, const void *function, const struct row *row)
{
    uint32_t slot = map_slot(into->known, function);
    if (into->known[slot]) return;
    into->known[slot] = function;
    into->row_of[slot] = row;
}

static void *ask_resolver(void *handle, const char *name, int version, bool per_thread)
{
    cuuint64_t flags =
        per_thread ? CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM : CU_GET_PROC_ADDRESS_LEGACY_STREAM;
    resolver_v2 *ask = (resolver_v2 *)sl_real_dlsym(handle, "cuGetProcAddress_v2");
    resolver_v1 *ask_v1 = (resolver_v1 *)sl_real_dlsym(handle, "cuGetProcAddress");
    CUdriverProcAddressQueryResult status;
    void *function = NULL;
    CUresult result = CUDA_ERROR_NOT_FOUND;
    if (ask)
        result = ask(name, &function, version, flags, &status);
    else if (ask_v1)
        result = ask_v1(name, &function, version, flags);
    return result == CUDA_SUCCESS ? function : NULL;
}

static void find_symbols(struct view *into, void *handle)
{
    for (size_t i = 0; i < ROW_COUNT; i++) {
        void *function = sl_real_dlsym(handle, rows[i].symbol);
        if (!function) continue;
        memcpy((char *)&into->real + rows[i].field, &function, sizeof(function));
        map_add(into, function, &rows[i]);
    }
}

/* The symbol is exact. The resolver is asked as well, because it may return other addresses than the symbols
 * have, but never for a version beyond the driver's own: it would return an older function with another
 * prototype. */
static void ask_for_rows(struct view *into, void *handle, int driver_version)
{
    for (size_t i = 0; i < ROW_COUNT; i++) {
        if (rows[i].version > driver_version) continue;
        void *function = ask_resolver(handle, rows[i].name, rows[i].version, rows[i].per_thread), *by_symbol;
        if (!function) continue;
        map_add(into, function, &rows[i]);
        memcpy(&by_symbol, (char *)&into->real + rows[i].field, sizeof(by_symbol));
        if (!by_symbol) memcpy((char *)&into->real + rows[i].field, &function, sizeof(function));
    }
}

/* The same rule for the functions that sluice calls. */
static void *find_called(void *handle, const char *symbol, int version, int driver_version)
{
    void *function = sl_real_dlsym(handle, symbol);
    char name[64];
    size_t length = strlen(symbol);
    if (function || version > driver_version || length >= sizeof(name)) return function;
    memcpy(name, symbol, length + 1);
    if (length > 3 && name[length - 3] == '_' && name[length - 2] == 'v') name[length - 3] = 0;
    return ask_resolver(handle, name, version, false);
}

static void find_called_functions(struct view *into, void *handle, int driver_version)
{
#define SL_FIND(field, symbol, version, required, arguments)                                                 \
    {                                                                                                        \
        void *function = find_called(handle, symbol, version, driver_version);                               \
        memcpy(&into->functions.field, &function, sizeof(function));                                         \
        if (!function && required && !into->missing) into->missing = symbol;                                 \
    }
    SL_CUDA_DRIVER_FUNCTIONS(SL_FIND)
#undef SL_FIND
}

/* A handle on the loaded driver, which is never closed. Not found by a path: the loader knows it by its name,
 * or `hint` lies in it. */
static void *loaded_driver(const void *hint)
{
    void *handle = dlopen(DRIVER_FILE, RTLD_LAZY | RTLD_NOLOAD);
    Dl_info info;
    if (handle || !hint || !dladdr(hint, &info) || !info.dli_fname) return handle;
    handle = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (!handle) return NULL;
    if (!sl_real_dlsym(handle, "cuInit") || !sl_real_dlsym(handle, "cuDriverGetVersion")) {
        dlclose(handle);
        return NULL;
    }
    return handle;
}

/* Makes the functions found so far callable. Several threads may do this at once, while finished ones already
 * read the pointers without a lock. A pointer is overwritten only by a better one: that of a symbol by that
 * of the resolver. */
static void publish_functions(const struct view *found, bool resolved)
{
    __atomic_store_n(&sl_driver_range.low, found->range.low, __ATOMIC_RELAXED);
    __atomic_store_n(&sl_driver_range.high, found->range.high, __ATOMIC_RELEASE);
    for (size_t i = 0; i < ROW_COUNT; i++) {
        void **to = (void **)((char *)&sl_real + rows[i].field), *function;
        void *there = __atomic_load_n(to, __ATOMIC_ACQUIRE);
        memcpy(&function, (const char *)&found->real + rows[i].field, sizeof(function));
        while (
            function && there != function && (!there || resolved) &&
            !__atomic_compare_exchange_n(to, &there, function, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        }
    }
}

static void publish_view(const struct view *found)
{
    pthread_mutex_lock(&publishing);
    if (!loaded) {
        view = *found;
        __atomic_store_n(&loaded, true, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&publishing);
}

static bool find_driver(struct view *found, const void *hint)
{
    int version = 0;
    void *handle = loaded_driver(hint);
    CUresult (*get_version)(int *) = handle ? sl_real_dlsym(handle, "cuDriverGetVersion") : NULL;
    if (!get_version || !sl_elf_range((const void *)get_version, &found->range.low, &found->range.high))
        return false;
    find_symbols(found, handle);
    publish_functions(found, false);
    if (get_version(&version) != CUDA_SUCCESS) return false;
    found->version = version;
    ask_for_rows(found, handle, version);
    find_called_functions(found, handle, version);
    publish_functions(found, true);
    publish_view(found);
    return true;
}

/* No lock of this library is held while the loader's lock is taken: another thread may hold the loader's lock
 * during a look-up in this library. Publishes the symbols before it asks the resolver, because the driver may
 * call its own functions by names that this library replaces. */
bool sl_driver_load(const void *hint)
{
    if (__atomic_load_n(&loaded, __ATOMIC_ACQUIRE)) return true;
    if (loading) return false;

    /* The view is not on the stack, because the stack of the program's thread may be small, and not from an
     * allocator, because the allocator may be what does this look-up. The first thread uses the static view,
     * so that a lack of memory does not hide the driver. */
    static struct view first;
    static bool first_taken;
    bool is_first = !__atomic_exchange_n(&first_taken, true, __ATOMIC_ACQUIRE);
    struct view *found = &first;
    if (!is_first)
        found = mmap(NULL, sizeof *found, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (found == MAP_FAILED) return false;
    loading = true;
    bool usable = find_driver(found, hint);
    loading = false;
    if (usable) sl_recording_begin();
    if (is_first) {
        memset(found, 0, sizeof *found);
        __atomic_store_n(&first_taken, false, __ATOMIC_RELEASE);
    } else {
        munmap(found, sizeof *found);
    }
    return usable;
}

bool sl_driver_load_now(void)
{
    if (sl_driver_load(NULL)) return true;
    return dlopen(DRIVER_FILE, RTLD_LAZY) && sl_driver_load(NULL);
}

void *sl_driver_entry_for(const void *function)
{
    uint32_t slot = map_slot(view.known, function);
    return view.known[slot] ? view.row_of[slot]->entry : NULL;
}

static const struct row *row_named(const char *symbol)
{
    for (size_t i = 0; i < ROW_COUNT; i++)
        if (!strcmp(rows[i].symbol, symbol)) return &rows[i];
    return NULL;
}

bool sl_driver_intercepts(const char *symbol)
{
    return row_named(symbol) != NULL;
}

void *sl_driver_entry_named(const char *symbol)
{
    const struct row *row = row_named(symbol);
    void *function = NULL;
    if (row) memcpy(&function, (const char *)&view.real + row->field, sizeof(function));
    return function ? row->entry : NULL;
}

const struct sl_cuda_driver *sl_driver_functions(void)
{
    if (!view.missing) return &view.functions;
    if (view.version < SL_OLDEST_DRIVER)
        sl_warn_once("the driver is of CUDA %d.%d, and sluice needs CUDA %d.%d or newer: the program runs "
                     "without sluice",
                     view.version / 1000, view.version % 1000 / 10, SL_OLDEST_DRIVER / 1000,
                     SL_OLDEST_DRIVER % 1000 / 10);
    else
        sl_warn_once("the CUDA driver lacks %s, which those of CUDA %d.%d have: the program runs without "
                     "sluice",
                     view.missing, SL_OLDEST_DRIVER / 1000, SL_OLDEST_DRIVER % 1000 / 10);
    return NULL;
}

void sl_driver_after_fork(void)
{
    pthread_mutex_init(&publishing, NULL);
    loading = false;
}
