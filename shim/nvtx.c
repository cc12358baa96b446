/* NVTX: ranges and marks that programs and libraries already name. The functions that NVTX's header compiles
 * into them, and those of the older libnvToolsExt, look for a tool at their first call: a library that
 * NVTX_INJECTION64_PATH names and that contains the function InitializeInjectionNvtx2 below. The tool gets
 * the tables of pointers through which all calls go, and stores its own functions there. */
#include <dlfcn.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/runtime.h"
#include "environment.h"
#include "marks.h"
#include "trace/events.h"

#define VARIABLE "NVTX_INJECTION64_PATH"
#define NO_LEVEL (-2) /* result of push and pop, because levels are not counted */
#define DOMAINS 64u

/* The interface of nvToolsExt.h, NVTX 2 and 3. */
typedef void function(void);
typedef struct {
    size_t bytes;
    int (*get_table)(int module, function ***table[], unsigned *count);
} callbacks;
typedef const void *get_export_table(uint32_t id);
enum { CALLBACKS = 1, CORE = 1, CORE_DOMAINS = 5 };
enum message_type { NO_MESSAGE, CHARACTERS, WIDE_CHARACTERS, REGISTERED };
struct attributes {
    uint16_t version, bytes;
    uint32_t category;
    int32_t colour_type;
    uint32_t colour;
    int32_t payload_type, reserved;
    uint64_t payload;
    int32_t message_type;
    const void *message;
};
_Static_assert(sizeof(struct attributes) == 48, "as NVTX has it");

__attribute__((visibility("default"))) int InitializeInjectionNvtx2(get_export_table *ask);

/* Names of domains by number, from 1; 0 is the default domain. Equal names give the same domain. */
static const char *_Atomic domain_names[DOMAINS];
static _Atomic bool domain_told[DOMAINS];
static _Atomic uint32_t ranges; /* number of ranges begun so far */

static void emit_mark(enum sl_mark_kind kind, uintptr_t domain, uint32_t range, const char *name)
{
    if (domain > DOMAINS) domain = 0;
    if (domain && !atomic_exchange(&domain_told[domain - 1], true))
        sl_runtime_mark_domain((uint32_t)domain, atomic_load(&domain_names[domain - 1]));
    sl_runtime_mark(kind, SL_MARKS_NVTX, (uint32_t)domain, range, name);
}

/* Of the attributes, only the message is kept. */
static const char *message_of(const struct attributes *attributes, char out[SL_MARK_NAME])
{
    int type = attributes && attributes->bytes >= sizeof *attributes ? attributes->message_type : NO_MESSAGE;
    if (type == CHARACTERS) return sl_mark_name(attributes->message, out);
    if (type == WIDE_CHARACTERS) return sl_mark_wide_name(attributes->message, out);
    if (type == REGISTERED && sl_is_interned(attributes->message)) return attributes->message;
    return "";
}

static uint64_t begin(uintptr_t domain, const char *name)
{
    uint32_t range = atomic_fetch_add(&ranges, 1) + 1;
    emit_mark(SL_MARK_BEGIN, domain, range, name);
    return range;
}

/* Functions without a domain or attributes: they use the default domain. */

static void mark(const char *name)
{
    char cut[SL_MARK_NAME];
    if (sl_runtime_tracing()) emit_mark(SL_MARK_MOMENT, 0, 0, sl_mark_name(name, cut));
}

static void mark_wide(const wchar_t *name)
{
    char cut[SL_MARK_NAME];
    if (sl_runtime_tracing()) emit_mark(SL_MARK_MOMENT, 0, 0, sl_mark_wide_name(name, cut));
}

static uint64_t range_start(const char *name)
{
    char cut[SL_MARK_NAME];
    return sl_runtime_tracing() ? begin(0, sl_mark_name(name, cut)) : 0;
}

static uint64_t range_start_wide(const wchar_t *name)
{
    char cut[SL_MARK_NAME];
    return sl_runtime_tracing() ? begin(0, sl_mark_wide_name(name, cut)) : 0;
}

static int range_push(const char *name)
{
    char cut[SL_MARK_NAME];
    if (sl_runtime_tracing()) emit_mark(SL_MARK_PUSH, 0, 0, sl_mark_name(name, cut));
    return NO_LEVEL;
}

static int range_push_wide(const wchar_t *name)
{
    char cut[SL_MARK_NAME];
    if (sl_runtime_tracing()) emit_mark(SL_MARK_PUSH, 0, 0, sl_mark_wide_name(name, cut));
    return NO_LEVEL;
}

/* Functions with a domain. */

static void domain_mark(uintptr_t domain, const struct attributes *attributes)
{
    char cut[SL_MARK_NAME];
    if (sl_runtime_tracing()) emit_mark(SL_MARK_MOMENT, domain, 0, message_of(attributes, cut));
}

static uint64_t domain_range_start(uintptr_t domain, const struct attributes *attributes)
{
    char cut[SL_MARK_NAME];
    return sl_runtime_tracing() ? begin(domain, message_of(attributes, cut)) : 0;
}

static void domain_range_end(uintptr_t domain, uint64_t range)
{
    if (range && sl_runtime_tracing()) emit_mark(SL_MARK_END, domain, (uint32_t)range, "");
}

static int domain_range_push(uintptr_t domain, const struct attributes *attributes)
{
    char cut[SL_MARK_NAME];
    if (sl_runtime_tracing()) emit_mark(SL_MARK_PUSH, domain, 0, message_of(attributes, cut));
    return NO_LEVEL;
}

static int domain_range_pop(uintptr_t domain)
{
    if (sl_runtime_tracing()) emit_mark(SL_MARK_POP, domain, 0, "");
    return NO_LEVEL;
}

/* Functions with attributes: they use the default domain. */

static void mark_ex(const struct attributes *attributes)
{
    domain_mark(0, attributes);
}

static uint64_t range_start_ex(const struct attributes *attributes)
{
    return domain_range_start(0, attributes);
}

static void range_end(uint64_t range)
{
    domain_range_end(0, range);
}

static int range_push_ex(const struct attributes *attributes)
{
    return domain_range_push(0, attributes);
}

static int range_pop(void)
{
    return domain_range_pop(0);
}

/* The handle of a registered text is the interned text; the handle of a domain is its number. Both stay valid
 * after the text or domain is destroyed. */

static const void *register_text(uintptr_t domain, const char *text)
{
    char cut[SL_MARK_NAME];
    (void)domain;
    return sl_intern_some(sl_mark_name(text, cut));
}

static const void *register_wide_text(uintptr_t domain, const wchar_t *text)
{
    char cut[SL_MARK_NAME];
    (void)domain;
    return sl_intern_some(sl_mark_wide_name(text, cut));
}

/* Domains beyond the limit share the last number. */
static uintptr_t number_domain(const char *name)
{
    const char *kept = sl_intern_some(name);
    for (uintptr_t i = 0; i < DOMAINS; i++) {
        const char *known = NULL;
        if (atomic_compare_exchange_strong(&domain_names[i], &known, kept) || known == kept) return i + 1;
    }
    return DOMAINS;
}

static uintptr_t domain_create(const char *name)
{
    char cut[SL_MARK_NAME];
    return number_domain(sl_mark_name(name, cut));
}

static uintptr_t domain_create_wide(const wchar_t *name)
{
    char cut[SL_MARK_NAME];
    return number_domain(sl_mark_wide_name(name, cut));
}

/* Functions by their index in NVTX's tables. Other functions stay unset and do nothing. */
static function *const core_functions[] = {
    [1] = (function *)mark_ex,          [2] = (function *)mark,          [3] = (function *)mark_wide,
    [4] = (function *)range_start_ex,   [5] = (function *)range_start,   [6] = (function *)range_start_wide,
    [7] = (function *)range_end,        [8] = (function *)range_push_ex, [9] = (function *)range_push,
    [10] = (function *)range_push_wide, [11] = (function *)range_pop,
};
static function *const domain_functions[] = {
    [1] = (function *)domain_mark,         [2] = (function *)domain_range_start,
    [3] = (function *)domain_range_end,    [4] = (function *)domain_range_push,
    [5] = (function *)domain_range_pop,    [10] = (function *)register_text,
    [11] = (function *)register_wide_text, [12] = (function *)domain_create,
    [13] = (function *)domain_create_wide,
};

static bool fill(const callbacks *from, int module, function *const *functions, unsigned count)
{
    function ***table = NULL;
    unsigned size = 0;
    if (!from->get_table(module, (function ****)&table, &size) || !table) return false;
    for (unsigned i = 0; i < count && i < size; i++)
        if (functions[i] && table[i]) *table[i] = functions[i];
    return true;
}

/* Called by each copy of NVTX in the process. 0: no tool. */
int InitializeInjectionNvtx2(get_export_table *ask)
{
    if (!sl_options_in_force()->trace[0] || !ask) return 0;
    const callbacks *from = ask(CALLBACKS);
    if (!from || from->bytes < sizeof *from || !from->get_table) return 0;
    if (!fill(from, CORE, core_functions, sizeof core_functions / sizeof *core_functions)) return 0;
    fill(from, CORE_DOMAINS, domain_functions, sizeof domain_functions / sizeof *domain_functions);
    return 1;
}

/* This library's absolute path. */
static bool own_path(char *out, size_t room)
{
    Dl_info info;
    if (!dladdr((const void *)InitializeInjectionNvtx2, &info) || !info.dli_fname) return false;
    size_t length = 0;
    if (*info.dli_fname != '/') {
        if (!getcwd(out, room)) return false;
        length = strlen(out);
        if (length + 1 >= room) return false;
        out[length++] = '/';
    }
    if (length + strlen(info.dli_fname) >= room) return false;
    strcpy(out + length, info.dli_fname);
    return true;
}

void sl_nvtx_offer(void)
{
    static char entry[sizeof VARIABLE + PATH_MAX] = VARIABLE "=";
    if (sl_options_in_force()->trace[0] && !getenv(VARIABLE) && own_path(entry + sizeof VARIABLE, PATH_MAX))
        sl_environment_put(entry);
}
