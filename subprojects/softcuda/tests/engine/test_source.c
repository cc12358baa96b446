/* Functions that are compiled one by one, from PTX that was parsed once. */
#include "ptx.h"

#include <pthread.h>
#include <stdio.h>

static const char text[] =
    PTX_HEAD ".visible .global .align 4 .u32 counter = 7;\n"
             ".visible .global .align 8 .u64 place[3] = {0, counter, counter+4};\n"
             ".func (.param .b32 r) twice(.param .b32 a) { .reg .b32 %r<2>; ld.param.b32 %r1, [a];\n"
             "shl.b32 %r1, %r1, 1; st.param.b32 [r], %r1; ret; }\n"
             ".visible .entry good(.param .u32 a) {\n.reg .b32 %r<3>;\n.shared .b8 s[64];\n"
             "ld.param.u32 %r1, [a];\n{ .param .b32 x, y; st.param.b32 [x], %r1; call (y), twice, (x);\n"
             "ld.param.b32 %r1, [y]; }\nred.global.add.u32 [counter], %r1;\nret;\n}\n"
             ".visible .entry bad(.param .u64 a, .param .u8 b) .maxntid 96 {\n.reg .b32 %r<3>;\n"
             "{ .local .b32 counter;\n{\nfrobnicate.u32 %r1, %r2;\n}\n}\nret;\n}\n"
             ".visible .entry other() { .reg .b64 %d; mov.u64 %d, place; ret; }\n";
#define BAD_LINE 21u

static struct sc_source *read(const char *ptx)
{
    struct sc_source *source = NULL;
    struct sc_diagnostic diagnostic;
    if (sc_source_read(&(struct sc_text){ptx, strlen(ptx)}, 1, &source, &diagnostic))
        fail_msg("line %u: %s", diagnostic.line, diagnostic.text);
    return source;
}

static struct sc_module *create(struct sc_source *source, const struct sc_module_memory *memory)
{
    struct sc_module *module = NULL;
    assert_int_equal(sc_module_create(source, memory, &module), SC_ENGINE_OK);
    return module;
}

static void test_a_function_that_does_not_compile(void **state)
{
    struct sc_function_info info;
    struct sc_diagnostic diagnostic;
    (void)state;
    struct sc_source *source = read(text);
    struct sc_module *module = create(source, ptx_memory());
    sc_source_unref(source);
    struct sc_function *good = sc_module_function(module, "good"), *bad = sc_module_function(module, "bad");
    sc_function_info(bad, &info);
    assert_int_equal(info.parameter_count, 2);
    assert_int_equal(info.parameter_bytes, 9);
    assert_int_equal(info.max_threads, 96);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(sc_function_compile(bad, &diagnostic), SC_ENGINE_INVALID_PTX);
        assert_int_equal(diagnostic.line, BAD_LINE);
        assert_false(sc_function_is_compiled(bad));
    }
    assert_int_equal(sc_function_compile(bad, NULL), SC_ENGINE_INVALID_PTX);
    sc_function_info(good, &info);
    assert_int_equal(info.static_shared_bytes, 0);
    assert_int_equal(sc_function_compile(good, &diagnostic), SC_ENGINE_OK);
    assert_true(sc_function_is_compiled(good));
    sc_function_info(good, &info);
    assert_int_equal(info.static_shared_bytes, 64);
    assert_int_equal(sc_function_compile(sc_module_function(module, "other"), NULL), SC_ENGINE_OK);
    assert_int_equal(sc_module_compile(module, &diagnostic), SC_ENGINE_INVALID_PTX);
    assert_int_equal(diagnostic.line, BAD_LINE);
    uint32_t five = 5;
    ptx_good(module, &(struct ptx_launch){.kernel = "good", .block = 3}, (void *[]){&five});
    uint64_t address;
    size_t bytes;
    assert_true(sc_module_variable(module, "counter", &address, &bytes));
    assert_int_equal(*(uint32_t *)(uintptr_t)address, 37);
    sc_module_unload(module);
    ptx_reset();
}

/* Two modules of one source have variables of their own; one without memory can only be described. */
static void test_modules_of_one_source(void **state)
{
    struct sc_function_info info;
    uint64_t counter[2], place[2];
    size_t bytes;
    (void)state;
    struct sc_source *source = read(text);
    struct sc_module *module[2] = {create(source, ptx_memory()), create(source, ptx_memory())};
    struct sc_module *catalogue = create(source, NULL);
    sc_source_unref(source);
    for (uint32_t i = 0; i < 2; i++) {
        assert_true(sc_module_variable(module[i], "counter", &counter[i], &bytes));
        assert_true(sc_module_variable(module[i], "place", &place[i], &bytes));
        const uint64_t *places = (const uint64_t *)(uintptr_t)place[i];
        assert_int_equal(places[0], 0);
        assert_int_equal(places[1], counter[i]);
        assert_int_equal(places[2], counter[i] + 4);
        struct sc_function *good = sc_module_function(module[i], "good");
        assert_int_equal(sc_function_compile(good, NULL), SC_ENGINE_OK);
        uint32_t addend = i + 1;
        ptx_good(module[i], &(struct ptx_launch){.kernel = "good", .block = 1}, (void *[]){&addend});
    }
    assert_int_equal(*(uint32_t *)(uintptr_t)counter[0], 9);
    assert_int_equal(*(uint32_t *)(uintptr_t)counter[1], 11);
    sc_module_unload(module[0]);
    sc_module_unload(module[1]);
    struct sc_function *good = sc_module_function(catalogue, "good");
    assert_int_equal(sc_function_compile(good, NULL), SC_ENGINE_OK);
    sc_function_info(good, &info);
    assert_int_equal(info.static_shared_bytes, 64);
    sc_module_unload(catalogue);
    ptx_reset();
}

static void test_errors_of_the_parser(void **state)
{
    static const char *const bad[] = {
        PTX_HEAD ".visible .entry k() {\n",
        PTX_HEAD ".visible .entry k(.param .u32 a[0]) { ret; }\n",
        PTX_HEAD ".visible .entry k() { ret; }\n.visible .entry k() { ret; }\n",
        PTX_HEAD ".global .u64 x = missing;\n",
    };
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct sc_source *source = NULL;
        struct sc_diagnostic diagnostic;
        assert_int_equal(sc_source_read(&(struct sc_text){bad[i], strlen(bad[i])}, 1, &source, &diagnostic),
                         SC_ENGINE_INVALID_PTX);
        assert_true(diagnostic.line >= 4);
        assert_null(source);
    }
}

#define KERNELS 24
#define THREADS 6

struct race {
    struct sc_module *modules[2];
    pthread_barrier_t together;
};

/* Compiles all functions of both modules, beginning with the same one as every other thread. */
static void *compile_all(void *argument)
{
    struct race *race = argument;
    size_t failed = 0;
    pthread_barrier_wait(&race->together);
    for (size_t i = 0; i < 2 * KERNELS; i++) {
        struct sc_function *function = sc_module_function_at(race->modules[i & 1], i / 2);
        failed += sc_function_compile(function, NULL) != SC_ENGINE_OK;
        failed += !sc_function_is_compiled(function);
    }
    return (void *)failed;
}

static void test_threads(void **state)
{
    static char many[KERNELS * 200];
    struct race race;
    pthread_t threads[THREADS];
    size_t used = (size_t)snprintf(many, sizeof many, PTX_HEAD);
    (void)state;
    for (int i = 0; i < KERNELS; i++)
        used += (size_t)snprintf(
            many + used, sizeof many - used,
            ".visible .entry k%d(.param .u64 out) {\n.reg .b64 %%d;\n.reg .b32 %%r;\n"
            "ld.param.u64 %%d, [out];\nmov.u32 %%r, %d;\nst.global.u32 [%%d], %%r;\nret;\n}\n",
            i, i);
    struct sc_source *source = read(many);
    for (int i = 0; i < 2; i++) race.modules[i] = create(source, ptx_memory());
    sc_source_unref(source);
    pthread_barrier_init(&race.together, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, compile_all, &race), 0);
    for (int i = 0; i < THREADS; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
    uint32_t *out = ptx_allocate(4, SC_RANGE_DEVICE);
    for (uint32_t i = 0; i < KERNELS; i++) {
        char name[16];
        snprintf(name, sizeof name, "k%u", i);
        ptx_good(race.modules[i & 1], &(struct ptx_launch){.kernel = name, .block = 1}, (void *[]){&out});
        assert_int_equal(*out, i);
    }
    for (int i = 0; i < 2; i++) sc_module_unload(race.modules[i]);
    pthread_barrier_destroy(&race.together);
    ptx_reset();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_function_that_does_not_compile),
        cmocka_unit_test(test_modules_of_one_source),
        cmocka_unit_test(test_errors_of_the_parser),
        cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
