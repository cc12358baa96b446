#include "ptx.h"

#include <stdio.h>
#include <stdlib.h>

#define ALLOCATIONS_MAX 256

static struct sc_range ranges[ALLOCATIONS_MAX];
static size_t range_count;

static bool find(void *context, uint64_t address, struct sc_range *out)
{
    (void)context;
    for (size_t i = 0; i < range_count; i++) {
        if (address < ranges[i].begin || address >= ranges[i].end) continue;
        *out = ranges[i];
        return true;
    }
    return false;
}

static const struct sc_address_space space = {find, NULL};

void *ptx_allocate(size_t bytes, enum sc_range_kind kind)
{
    void *memory = aligned_alloc(256, (bytes + 255) / 256 * 256 + 256);
    assert_non_null(memory);
    assert_true(range_count < ALLOCATIONS_MAX);
    memset(memory, 0, (bytes + 255) / 256 * 256 + 256);
    ranges[range_count++] =
        (struct sc_range){(uint64_t)(uintptr_t)memory, (uint64_t)(uintptr_t)memory + bytes, kind};
    return memory;
}

static uint64_t allocate(void *context, size_t bytes, size_t align)
{
    (void)context, (void)align;
    return (uint64_t)(uintptr_t)ptx_allocate(bytes, SC_RANGE_DEVICE);
}

static void release(void *context, uint64_t address)
{
    (void)context;
    for (size_t i = 0; i < range_count; i++) {
        if (ranges[i].begin != address) continue;
        ranges[i] = ranges[--range_count];
        free((void *)(uintptr_t)address);
        return;
    }
    fail_msg("released what was not allocated");
}

static const struct sc_module_memory memory = {allocate, release, NULL};

const struct sc_module_memory *ptx_memory(void)
{
    return &memory;
}

void ptx_reset(void)
{
    while (range_count) free((void *)(uintptr_t)ranges[--range_count].begin);
}

enum sc_engine_status ptx_try(const char *text, struct sc_diagnostic *diagnostic)
{
    struct sc_module *module = NULL;
    size_t bytes = strlen(text);
    char *exact = malloc(bytes + 1); /* a copy without a NUL, so that a read beyond it shows */
    assert_non_null(exact);
    memcpy(exact, text, bytes);
    enum sc_engine_status status = sc_module_load(exact, bytes, &memory, &module, diagnostic);
    free(exact);
    if (status == SC_ENGINE_OK) sc_module_unload(module);
    return status;
}

struct sc_module *ptx_load(const char *text)
{
    struct sc_module *module = NULL;
    struct sc_diagnostic diagnostic;
    enum sc_engine_status status = sc_module_load(text, strlen(text), &memory, &module, &diagnostic);
    if (status != SC_ENGINE_OK) fail_msg("line %u: %s", diagnostic.line, diagnostic.text);
    return module;
}

enum sc_engine_status ptx_launch(const struct sc_module *module, const struct ptx_launch *wish,
                                 void *const *parameters, struct sc_cost *cost, struct sc_fault *fault)
{
    const struct sc_function *function = sc_module_function(module, wish->kernel);
    struct sc_function_info info;
    char packed[4096];
    assert_non_null(function);
    sc_function_info(function, &info);
    assert_true(info.parameter_bytes <= sizeof packed);
    for (uint32_t i = 0; i < info.parameter_count; i++)
        memcpy(packed + info.parameters[i].offset_bytes, parameters[i], info.parameters[i].size_bytes);
    struct sc_launch launch = {
        .function = function,
        .grid = {wish->grid ? wish->grid : 1, wish->grid_y ? wish->grid_y : 1,
                 wish->grid_z ? wish->grid_z : 1},
        .block = {wish->block ? wish->block : 1, wish->block_y ? wish->block_y : 1, 1},
        .dynamic_shared_bytes = wish->shared,
        .parameters = packed,
        .space = &space,
        .workers = wish->workers ? wish->workers : 1,
        .watchdog_instructions = wish->watchdog,
        .heap = wish->heap,
        .heap_bytes = wish->heap_bytes,
        .cooperative = wish->cooperative,
        .sample_over = wish->sample_over,
        .sample_instructions = wish->sample_instructions,
        .scrap = wish->scrap,
    };
    return sc_run(&launch, cost, fault);
}

void ptx_good(const struct sc_module *module, const struct ptx_launch *launch, void *const *parameters)
{
    struct sc_cost cost;
    struct sc_fault fault = {0};
    enum sc_engine_status status = ptx_launch(module, launch, parameters, &cost, &fault);
    sc_cost_free(&cost);
    if (status != SC_ENGINE_OK)
        fail_msg("%s: status %d, fault %d, line %u, thread %u, address %#llx", launch->kernel, status,
                 fault.kind, fault.line, fault.thread[0], (unsigned long long)fault.address);
}

/* The whole module for one instruction; the caller frees it. */
static char *wrap(const char *text, char result)
{
    static const char before[] = PTX_HEAD
        ".visible .entry k(.param .u64 in, .param .u64 out, .param .u32 count) {\n"
        ".reg .pred %p, %q, %s, %t, %out;\n.reg .b16 %x, %y, %z, %w, %v;\n"
        ".reg .b32 %a, %b, %c, %d, %e, %i, %n;\n.reg .b64 %A, %B, %C, %D, %E, %in, %to;\n"
        "mov.u32 %i, %tid.x;\nmov.u32 %n, %ctaid.x;\nmad.lo.s32 %i, %n, 256, %i;\nld.param.u32 %n, [count];\n"
        "setp.ge.u32 %out, %i, %n;\n@%out bra END;\n"
        "ld.param.u64 %in, [in];\nmad.wide.u32 %in, %i, 24, %in;\n"
        "ld.global.u64 %A, [%in];\nld.global.u64 %B, [%in+8];\nld.global.u64 %C, [%in+16];\n"
        "cvt.u32.u64 %a, %A;\ncvt.u32.u64 %b, %B;\ncvt.u32.u64 %c, %C;\n"
        "cvt.u16.u64 %x, %A;\ncvt.u16.u64 %y, %B;\ncvt.u16.u64 %z, %C;\n"
        "and.b32 %d, %a, 1;\nsetp.ne.b32 %p, %d, 0;\nand.b32 %d, %b, 1;\nsetp.ne.b32 %q, %d, 0;\n"
        "and.b32 %d, %c, 1;\nsetp.ne.b32 %s, %d, 0;\n"
        "mov.b32 %d, 0xdeadbeef;\nmov.b64 %D, 0xdeadbeefdeadbeef;\nmov.b16 %w, 0xbeef;\nsetp.ne.b32 %t, %d, "
        "%d;\n";
    const char *after = result == 'd'   ? "cvt.u64.u32 %D, %d;\n"
                        : result == 'w' ? "cvt.u64.u16 %D, %w;\n"
                        : result == 't' ? "selp.b64 %D, 1, 0, %t;\n"
                                        : "";
    size_t bytes = sizeof before + strlen(text) + 512;
    char *whole = malloc(bytes);
    assert_non_null(whole);
    snprintf(whole, bytes,
             "%s%s\n%sld.param.u64 %%to, [out];\nmad.wide.u32 %%to, %%i, 8, %%to;\n"
             "st.global.u64 [%%to], %%D;\nEND: ret;\n}\n",
             before, text, after);
    return whole;
}

bool ptx_accepts(const char *text, char result, struct sc_diagnostic *diagnostic)
{
    char *whole = wrap(text, result);
    enum sc_engine_status status = ptx_try(whole, diagnostic);
    free(whole);
    ptx_reset();
    return status == SC_ENGINE_OK;
}

void ptx_run(const char *text, char result, const struct ptx_case *cases, size_t count, uint64_t *out)
{
    char *whole = wrap(text, result);
    struct sc_module *module = ptx_load(whole);
    struct ptx_case *in = ptx_allocate(count * sizeof *in, SC_RANGE_DEVICE);
    uint64_t *to = ptx_allocate(count * sizeof *to, SC_RANGE_DEVICE);
    uint32_t n = (uint32_t)count;
    memcpy(in, cases, count * sizeof *in);
    ptx_good(module, &(struct ptx_launch){.kernel = "k", .grid = (n + 255) / 256, .block = 256},
             (void *[]){&in, &to, &n});
    memcpy(out, to, count * sizeof *to);
    sc_module_unload(module);
    free(whole);
    ptx_reset();
}

uint64_t ptx_one(const char *text, char result, uint64_t a, uint64_t b, uint64_t c)
{
    struct ptx_case one = {a, b, c};
    uint64_t out;
    ptx_run(text, result, &one, 1, &out);
    return out;
}
