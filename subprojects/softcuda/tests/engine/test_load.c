/* Text that is not PTX, or not PTX that is built: a line and a reason, never a crash. */
#include "ptx.h"

#include <stdio.h>
#include <stdlib.h>

#define ENTRY                                                                                                \
    PTX_HEAD ".visible .entry k(.param .u64 p) {\n.reg .pred %p;\n.reg .b32 %r<4>;\n.reg .b64 "              \
             "%rd<4>;\n.reg .b16 %h;\n"
#define BODY_LINE 9u /* the first line after ENTRY */

static const struct {
    const char *text;
    uint32_t line;
} bad[] = {
    {"", 1},
    {"\x7f"
     "ELF",
     1},
    {"hello", 1},
    {".version 8.0\n.target sm_90\n.address_size 32\n", 3},
    {PTX_HEAD "nonsense\n", 4},
    {PTX_HEAD ".visible .entry k(\n", 5},
    {PTX_HEAD ".visible .entry k() {\n", 5},
    {PTX_HEAD ".global .align 3 .b8 x;\n", 4},
    {PTX_HEAD ".global .b8 x[2] = {1, 2, 3};\n", 4},
    {PTX_HEAD ".global .b8 x[99999999999];\n", 4},
    {PTX_HEAD ".global .texref t;\n", 4},
    {PTX_HEAD ".global .u64 x = missing;\n", 4},
    {ENTRY "wgmma.fence.sync.aligned;\n}\n", BODY_LINE},
    {ENTRY "add.s32 %r1, %r2;\n}\n", BODY_LINE},
    {ENTRY "add.s32 %r1, %r2, %rd1;\n}\n", BODY_LINE},
    {ENTRY "add.s32 %rd1, %r2, %r3;\n}\n", BODY_LINE},
    {ENTRY "add.s64 %rd1, %r2, %rd3;\n}\n", BODY_LINE},
    {ENTRY "add.s32 %r9, %r2, %r3;\n}\n", BODY_LINE},
    {ENTRY "add.strange.s32 %r1, %r2, %r3;\n}\n", BODY_LINE},
    {ENTRY "add %r1, %r2, %r3;\n}\n", BODY_LINE},
    {ENTRY "add.s32 5, %r2, %r3;\n}\n", BODY_LINE},
    {ENTRY "add.s32 %tid.x, %r2, %r3;\n}\n", BODY_LINE},
    {ENTRY "setp.eq %p, %r1, %r2;\n}\n", BODY_LINE},
    {ENTRY "ld.global.u32 %r1, %rd1;\n}\n", BODY_LINE},
    {ENTRY "ld.global.u32 %r1, [%rd1;\n}\n", BODY_LINE},
    {ENTRY "ld.global.v4.u32 {%r1, %r2}, [%rd1];\n}\n", BODY_LINE},
    {ENTRY "ld.global.v2.u32 {%r1, %rd2}, [%rd1];\n}\n", BODY_LINE},
    {ENTRY "ld.param.u32 %r1, [q];\n}\n", BODY_LINE},
    {ENTRY "ld.param.u64 %rd1, [p+8];\n}\n", BODY_LINE},
    {ENTRY "mov.u32 %r1, missing;\n}\n", BODY_LINE},
    {ENTRY "bra 5;\n}\n", BODY_LINE},
    {ENTRY "call %r1, (p);\n}\n", BODY_LINE},
    {ENTRY "call malloc;\n}\n", BODY_LINE},
    {ENTRY "addc.u32 %r1, %r2, %r3;\n}\n", BODY_LINE},
    {ENTRY "mov.b32 {%h, %h, %h}, %r1;\n}\n", BODY_LINE},
    {ENTRY "L: L: ret;\n}\n", BODY_LINE},
    {ENTRY ".reg .b32 %x<2000000000>;\n}\n", BODY_LINE},
    {ENTRY ".local .b8 big[100000000];\n}\n", BODY_LINE},
    {ENTRY "\n\nadd.s32 %r1, %r2, ;\n}\n", BODY_LINE + 2},
    {ENTRY "/* one\ntwo */ // three\n@%r7 ret;\n}\n", BODY_LINE + 2},
    {ENTRY "brx.idx %r1, NONE;\n}\n", BODY_LINE},
};

static void test_bad_text_names_its_line(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct sc_diagnostic diagnostic = {0};
        enum sc_engine_status status = ptx_try(bad[i].text, &diagnostic);
        if (status != SC_ENGINE_INVALID_PTX || diagnostic.line != bad[i].line || !diagnostic.text[0])
            fail_msg("%s: status %d, line %u, expected %u: %s", bad[i].text, status, diagnostic.line,
                     bad[i].line, diagnostic.text);
        ptx_reset();
    }
}

static void test_an_unknown_label(void **state)
{
    struct sc_diagnostic diagnostic;
    (void)state;
    assert_int_equal(ptx_try(ENTRY "bra NOWHERE;\n}\n", &diagnostic), SC_ENGINE_INVALID_PTX);
}

static void test_no_diagnostic_wanted(void **state)
{
    (void)state;
    assert_int_equal(ptx_try(bad[12].text, NULL), SC_ENGINE_INVALID_PTX);
}

static const char whole[] =
    ENTRY "{ .reg .b32 %x; mov.u32 %x, %tid.x; }\n.shared .align 16 .b8 s[64];\nld.param.u64 %rd1, [p];\n"
          "mov.u32 %r1, s;\nst.shared.v2.u32 [%r1+8], {%r1, %r2};\nL: add.s32 %r2, %r2, -1;\nsetp.gt.s32 %p, "
          "%r2, 0;\n"
          "@!%p bra M;\nbar.sync 0;\nmov.b32 {%h, _}, %r1;\ncvt.rn.f32.s32 %r3, %r2;\nfma.rn.f32 %r3, %r3, "
          "0f3F800000, 1.5;\n"
          "bra.uni L;\nM: shfl.sync.down.b32 %r1|%p, %r2, 4, 31, -1;\natom.global.add.u32 %r1, [%rd1], "
          "1;\nret;\n}\n";

/* Every way to cut a good text short, and every way to damage one of its characters */
static void test_damaged_text(void **state)
{
    static const char replacements[] = {0, '%', '.', ';', '}', '[', '9', 'r', (char)0xff, '"', '<'};
    struct sc_diagnostic diagnostic;
    char copy[sizeof whole];
    (void)state;
    assert_int_equal(ptx_try(whole, &diagnostic), SC_ENGINE_OK);
    for (size_t n = 0; n < sizeof whole - 2; n++) {
        memcpy(copy, whole, n);
        copy[n] = 0;
        ptx_try(copy, &diagnostic);
    }
    for (size_t at = 0; at < sizeof whole - 1; at++)
        for (size_t k = 0; k < sizeof replacements; k++) {
            memcpy(copy, whole, sizeof whole);
            copy[at] = replacements[k];
            ptx_try(copy, &diagnostic);
        }
    ptx_reset();
}

/* What the driver asks of a module */
static void test_functions(void **state)
{
    struct sc_function_info info;
    (void)state;
    struct sc_module *module = ptx_load(
        PTX_HEAD
        ".visible .entry first(.param .u8 a, .param .u64 b, .param .align 16 .b8 c[20], .param .u16 d)\n"
        ".maxntid 64, 2, 1\n.minnctapersm 3\n{\nret;\n}\n.entry second() { exit; }\n");
    assert_int_equal(sc_module_function_count(module), 2);
    assert_null(sc_module_function(module, "third"));
    assert_null(sc_module_function_at(module, 2));
    assert_ptr_equal(sc_module_function(module, "second"), sc_module_function_at(module, 1));
    sc_function_info(sc_module_function(module, "first"), &info);
    assert_string_equal(info.name, "first");
    assert_int_equal(info.parameter_count, 4);
    static const struct sc_parameter expected[4] = {{0, 1}, {8, 8}, {16, 20}, {36, 2}};
    assert_memory_equal(info.parameters, expected, sizeof expected);
    assert_int_equal(info.parameter_bytes, 38);
    assert_int_equal(info.max_threads, 128);
    sc_module_unload(module);
    sc_module_unload(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bad_text_names_its_line),
        cmocka_unit_test(test_an_unknown_label),
        cmocka_unit_test(test_no_diagnostic_wanted),
        cmocka_unit_test(test_damaged_text),
        cmocka_unit_test(test_functions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
