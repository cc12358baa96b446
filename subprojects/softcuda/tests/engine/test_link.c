/* Texts that are linked: what one declares another defines, and what a text keeps to itself. */
#include "ptx.h"

#include <stdio.h>

#define TEXTS_MAX 4

static enum sc_engine_status link(const char *const *texts, size_t count, struct sc_module **out,
                                  struct sc_diagnostic *diagnostic)
{
    struct sc_text given[TEXTS_MAX];
    for (size_t i = 0; i < count; i++) given[i] = (struct sc_text){texts[i], strlen(texts[i])};
    return sc_module_link(given, count, ptx_memory(), out, diagnostic);
}

static const char *const program[] = {
    PTX_HEAD
    ".extern .func (.param .b32 r) twice(.param .b32 a);\n.extern .global .align 4 .u32 counter;\n"
    ".extern .global .align 8 .u64 table[2];\n.global .align 4 .u32 own = 5;\n"
    ".weak .func (.param .b32 r) common(.param .b32 a) { st.param.b32 [r], 1; ret; }\n"
    ".visible .entry k(.param .u64 out) {\n.reg .b32 %r<6>;\n.reg .b64 %d<4>;\n"
    "ld.param.u64 %d1, [out];\nmov.u32 %r1, %tid.x;\nmad.wide.u32 %d1, %r1, 4, %d1;\n"
    "{ .param .b32 a, b; st.param.b32 [a], %r1; call (b), twice, (a); ld.param.b32 %r2, [b]; }\n"
    "ld.global.u32 %r3, [own];\nadd.u32 %r2, %r2, %r3;\nand.b32 %r3, %r1, 1;\nmov.u64 %d2, table;\n"
    "mad.wide.u32 %d2, %r3, 8, %d2;\nld.global.u64 %d3, [%d2];\n"
    "{ .param .b32 a, b; st.param.b32 [a], %r1; p: .callprototype (.param .b32 _) _ (.param .b32 _);\n"
    "call (b), %d3, (a), p; ld.param.b32 %r4, [b]; }\nadd.u32 %r2, %r2, %r4;\n"
    "red.global.add.u32 [counter], 1;\nst.global.u32 [%d1], %r2;\nret;\n}\n",
    PTX_HEAD ".visible .global .align 4 .u32 counter = 10;\n.global .align 4 .u32 own = 7;\n"
             ".func (.param .b32 r) hidden(.param .b32 a) { .reg .b32 %r<3>; ld.param.b32 %r1, [a]; "
             "ld.global.u32 %r2, [own];\n"
             "add.u32 %r1, %r1, %r2; st.param.b32 [r], %r1; ret; }\n"
             ".visible .func (.param .b32 r) twice(.param .b32 a) { .reg .b32 %r<3>; ld.param.b32 %r1, [a]; "
             "shl.b32 %r1, %r1, 1;\n"
             "{ .param .b32 x, y; st.param.b32 [x], %r1; call (y), hidden, (x); ld.param.b32 %r1, [y]; }\n"
             "st.param.b32 [r], %r1; ret; }\n"
             ".extern .func (.param .b32 r) common(.param .b32 a);\n"
             ".visible .global .align 8 .u64 table[2] = {hidden, common};\n"
             ".weak .entry both() { ret; }\n",
    PTX_HEAD ".weak .func (.param .b32 r) common(.param .b32 a) { st.param.b32 [r], 1; ret; }\n"
             ".func (.param .b32 r) hidden(.param .b32 a) { st.param.b32 [r], 99; ret; }\n"
             ".weak .entry both() { ret; }\n.weak .global .align 4 .u32 counter = 77;\n",
};

static void test_program(void **state)
{
    struct sc_module *module = NULL;
    struct sc_diagnostic diagnostic;
    (void)state;
    if (link(program, 3, &module, &diagnostic) != SC_ENGINE_OK)
        fail_msg("line %u: %s", diagnostic.line, diagnostic.text);
    uint32_t *out = ptx_allocate(400, SC_RANGE_DEVICE);
    ptx_good(module, &(struct ptx_launch){.kernel = "k", .block = 100}, (void *[]){&out});
    for (uint32_t i = 0; i < 100; i++) assert_int_equal(out[i], 2 * i + 7 + 5 + (i & 1 ? 1 : i + 7));
    uint64_t address;
    size_t bytes;
    assert_true(sc_module_variable(module, "counter", &address, &bytes));
    assert_int_equal(*(uint32_t *)(uintptr_t)address, 110);
    assert_non_null(sc_module_function(module, "both"));
    assert_int_equal(sc_module_function_count(module), 2);
    sc_module_unload(module);
    ptx_reset();
}

static void test_what_does_not_link(void **state)
{
    static const struct {
        const char *texts[2];
        const char *says;
    } bad[] = {
        {{PTX_HEAD ".extern .func f();\n.visible .entry k() { call f; ret; }\n",
          PTX_HEAD ".func f() { ret; }\n"},
         "not defined"},
        {{PTX_HEAD ".visible .func f() { ret; }\n", PTX_HEAD ".visible .func f() { ret; }\n"}, "twice"},
        {{PTX_HEAD ".visible .global .u32 x;\n", PTX_HEAD ".visible .global .u32 x;\n"}, "twice"},
        {{PTX_HEAD ".visible .entry k() { ret; }\n", PTX_HEAD ".visible .entry k() { ret; }\n"}, "twice"},
        {{PTX_HEAD
          ".extern .global .u32 x;\n.visible .entry k() { .reg .b32 %r; ld.global.u32 %r, [x]; ret; }\n",
          PTX_HEAD ".global .u32 x;\n"},
         "unknown name"},
        {{PTX_HEAD, "\x7f"
                    "ELF"},
         "not PTX"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct sc_module *module = NULL;
        struct sc_diagnostic diagnostic;
        assert_int_equal(link(bad[i].texts, 2, &module, &diagnostic), SC_ENGINE_INVALID_PTX);
        if (!strstr(diagnostic.text, bad[i].says)) fail_msg("%zu: %s", i, diagnostic.text);
    }
    ptx_reset();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_program),
        cmocka_unit_test(test_what_does_not_link),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
