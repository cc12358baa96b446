/* The PTX reader on arbitrary text, and what loads, briefly executed: with parameters that are zero, that are
 * garbage and that are addresses. Whatever the text says, the answer is a status. */
#include "engine.h"
#include "fuzz.h"

#define MEMORY_MAX (16u << 20) /* of a module's variables */
#define RANGES_MAX 64u
#define INSTRUCTIONS_MAX 20000u
#define KERNELS_MAX 3u
#define SHARED_MAX (227u << 10)
#define LOCAL_MAX (64u << 10)

static struct sc_range ranges[RANGES_MAX];
static unsigned range_count;
static size_t allocated;

static uint64_t allocate(void *context, size_t bytes, size_t align)
{
    (void)context, (void)align;
    if (range_count == RANGES_MAX || bytes > MEMORY_MAX - allocated) return 0;
    void *memory = aligned_alloc(4096, (bytes + 4096) / 4096 * 4096);
    if (!memory) return 0;
    uint64_t begin = (uint64_t)(uintptr_t)memory;
    ranges[range_count++] = (struct sc_range){begin, begin + bytes, range_count % 3};
    allocated += bytes;
    return begin;
}

static void release(void *context, uint64_t address)
{
    (void)context;
    for (unsigned i = 0; i < range_count; i++) {
        if (ranges[i].begin != address) continue;
        allocated -= ranges[i].end - ranges[i].begin;
        ranges[i] = ranges[--range_count];
        free((void *)(uintptr_t)address);
        return;
    }
    __builtin_trap(); /* released what was not allocated */
}

static bool find(void *context, uint64_t address, struct sc_range *out)
{
    (void)context;
    for (unsigned i = 0; i < range_count; i++) {
        if (address < ranges[i].begin || address >= ranges[i].end) continue;
        *out = ranges[i];
        return true;
    }
    return false;
}

static const struct sc_address_space space = {find, NULL};
static const struct sc_module_memory memory = {allocate, release, NULL};

static void launch(const struct sc_function *function, const struct sc_function_info *info,
                   const uint64_t *parameters)
{
    uint32_t threads = info->max_threads < 40 ? info->max_threads : 40;
    const struct sc_launch wish = {
        .function = function,
        .grid = {2, 1, 1},
        .block = {threads, 1, 1},
        .dynamic_shared_bytes = 64,
        .parameters = parameters,
        .space = &space,
        .workers = 1,
        .watchdog_instructions = INSTRUCTIONS_MAX,
    };
    struct sc_cost cost;
    struct sc_fault fault = {0};
    const enum sc_engine_status status = sc_run(&wish, &cost, &fault);
    if (status == SC_ENGINE_INVALID_PTX || (status == SC_ENGINE_FAULT) != (fault.kind != SC_FAULT_NONE))
        __builtin_trap();
    sc_cost_free(&cost);
}

static void run(const struct sc_function *function, uint64_t address)
{
    static uint64_t parameters[4096];
    struct sc_function_info info;
    sc_function_info(function, &info);
    if (info.parameter_bytes > sizeof parameters) __builtin_trap();
    if (info.static_shared_bytes + 64 > SHARED_MAX || info.local_bytes > LOCAL_MAX) return;
    for (unsigned kind = 0; kind < 3; kind++) {
        uint64_t state = 0x9e3779b97f4a7c15;
        for (size_t i = 0; i < sizeof parameters / sizeof *parameters; i++) {
            state = state * 6364136223846793005 + 1442695040888963407;
            parameters[i] = kind == 0 ? 0 : kind == 1 ? state : address;
        }
        launch(function, &info, parameters);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct sc_module *module = NULL;
    struct sc_diagnostic diagnostic;
    char *exact = malloc(bytes); /* a copy that ends where it ends, so that reading beyond it shows */
    if (!exact) return 0;
    memcpy(exact, data, bytes);
    const enum sc_engine_status status = sc_module_load(exact, bytes, &memory, &module, &diagnostic);
    free(exact);
    if (status == SC_ENGINE_FAULT || (status == SC_ENGINE_OK) != (module != NULL)) __builtin_trap();
    if (status == SC_ENGINE_INVALID_PTX && !diagnostic.text[0]) __builtin_trap();
    if (module) {
        const uint64_t address = allocate(NULL, 4096, 16);
        memset((void *)(uintptr_t)address, 0, address ? 4096 : 0);
        for (size_t i = 0; i < sc_module_function_count(module) && i < KERNELS_MAX; i++)
            run(sc_module_function_at(module, i), address);
        if (address) release(NULL, address);
    }
    sc_module_unload(module);
    if (range_count || allocated) __builtin_trap(); /* a leak */
    return 0;
}

#ifdef SOFTCUDA_LIBFUZZER
/* Besides libFuzzer's own changes: whole instructions copied, removed and moved, and operands exchanged, so
 * that much of what comes out still loads. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t bytes, size_t max_bytes);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t max_bytes, unsigned seed);

struct piece {
    size_t begin, end;
};

static unsigned take(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static bool is_word(uint8_t c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '%' || c == '_';
}

/* A word or, where `statement`, what stands between two semicolons */
static struct piece find_piece(const uint8_t *data, size_t bytes, bool statement, unsigned *seed)
{
    size_t begin = take(seed) % bytes, end;
    if (statement) {
        while (begin > 0 && data[begin - 1] != ';') begin--;
        for (end = begin; end < bytes && data[end] != ';';) end++;
        return (struct piece){begin, end < bytes ? end + 1 : end};
    }
    while (begin < bytes && !is_word(data[begin])) begin++;
    while (begin > 0 && is_word(data[begin - 1])) begin--;
    for (end = begin; end < bytes && is_word(data[end]);) end++;
    return (struct piece){begin, end};
}

/* Puts `length` bytes of `with` where `old` is. */
static size_t replace(uint8_t *data, size_t bytes, size_t max_bytes, struct piece old, const uint8_t *with,
                      size_t length)
{
    if (bytes - (old.end - old.begin) + length > max_bytes) return bytes;
    memmove(data + old.begin + length, data + old.end, bytes - old.end);
    memcpy(data + old.begin, with, length);
    return bytes - (old.end - old.begin) + length;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t max_bytes, unsigned seed)
{
    static const char *const numbers[] = {"0",          "1",          "-1",         "31",
                                          "32",         "255",        "65536",      "0x7fffffff",
                                          "0xffffffff", "0f7F800000", "0fFFFFFFFF", "0d7FF0000000000000",
                                          "4294967296", "%tid.x"};
    uint8_t copy[512];
    unsigned how = take(&seed) % 8;
    if (!bytes || how < 3) return LLVMFuzzerMutate(data, bytes, max_bytes);
    struct piece from = find_piece(data, bytes, how >= 6, &seed),
                 to = find_piece(data, bytes, how >= 6, &seed);
    size_t length = from.end - from.begin;
    if (length > sizeof copy) return LLVMFuzzerMutate(data, bytes, max_bytes);
    memcpy(copy, data + from.begin, length);
    if (how == 3) {
        const char *number = numbers[take(&seed) % (sizeof numbers / sizeof *numbers)];
        return replace(data, bytes, max_bytes, to, (const uint8_t *)number, strlen(number));
    }
    if (how == 6) to.end = to.begin;             /* a copy of the statement before another one */
    if (how == 7 && take(&seed) % 2) length = 0; /* without the other one */
    return replace(data, bytes, max_bytes, to, copy, length);
}
#endif
