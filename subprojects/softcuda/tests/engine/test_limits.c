/* Modules that nobody writes, but that a reader of untrusted text meets: they end in a module or in an error,
 * soon and without taking much memory. What takes minutes ends by the test's time limit. */
#include "ptx.h"

#include <stdio.h>
#include <stdlib.h>

static char *text;
static size_t used, room;

static void put(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void put(const char *format, ...)
{
    va_list arguments;
    if (room - used < 512) {
        room = room ? 2 * room : 1 << 20;
        text = realloc(text, room);
        assert_non_null(text);
    }
    va_start(arguments, format);
    used += (size_t)vsnprintf(text + used, room - used, format, arguments);
    va_end(arguments);
}

static void begin(void)
{
    used = 0;
    put(PTX_HEAD);
}

static enum sc_engine_status load(void)
{
    struct sc_diagnostic diagnostic;
    enum sc_engine_status status = ptx_try(text, &diagnostic);
    if (status == SC_ENGINE_INVALID_PTX) assert_true(diagnostic.text[0]);
    ptx_reset();
    return status;
}

static void expect(enum sc_engine_status wanted)
{
    enum sc_engine_status status = load();
    if (status != wanted) fail_msg("status %d, expected %d", status, wanted);
}

static void test_loops(void **state)
{
    (void)state;
    for (int varying = 0; varying < 2; varying++) { /* many ways back to one head */
        begin();
        put(".entry k() { .reg .pred %%p; .reg .b32 %%r; mov.u32 %%r, %s; L: setp.eq.u32 %%p, %%r, 1;\n",
            varying ? "%tid.x" : "1");
        for (int i = 0; i < 2000 + 2000 * !varying; i++) put("M%d: @%%p bra L;\n", i);
        put("ret; }");
        expect(SC_ENGINE_OK);
    }
    begin(); /* loops in loops */
    put(".entry k() { .reg .pred %%p; .reg .b32 %%r; mov.u32 %%r, %%tid.x; setp.ne.u32 %%p, %%r, 2;\n");
    for (int i = 0; i < 2000; i++) put("L%d: add.u32 %%r, %%r, 1;\n", i);
    for (int i = 2000; i-- > 0;) put("@%%p bra L%d;\n", i);
    put("ret; }");
    expect(SC_ENGINE_OK);
    begin(); /* into the middle of everything */
    put(".entry k() { .reg .pred %%p; .reg .b32 %%r; mov.u32 %%r, %%tid.x;\n");
    for (int i = 0; i < 10000; i++)
        put("A%d: setp.eq.u32 %%p, %%r, %d; @%%p bra A%d;\n", i, i, (int)(i * 7919ll % 10000));
    put("ret; }");
    expect(SC_ENGINE_OK);
    begin(); /* a table of everything everywhere */
    put(".entry k() { .reg .b32 %%r; mov.u32 %%r, %%tid.x;\nT: .branchtargets A0");
    for (int i = 1; i < 1000; i++) put(", A%d", i);
    put(";\n");
    for (int i = 0; i < 1000; i++) put("A%d: brx.idx %%r, T;\n", i);
    put("ret; }");
    expect(SC_ENGINE_OK);
}

/* Each value comes from one that is computed after it. */
static void test_values_against_the_order(void **state)
{
    enum { COUNT = 30000 };
    (void)state;
    begin();
    put(".entry k(.param .u64 p) { .reg .b64 %%r<%d>; .reg .pred %%p; .reg .f32 %%f; .reg .b32 %%t;\nL:\n",
        COUNT + 1);
    for (int i = 0; i < COUNT; i++) put("mov.u64 %%r%d, %%r%d;\n", i, i + 1);
    put("ld.param.u64 %%r%d, [p]; mov.u32 %%t, %%tid.x; cvt.u64.u32 %%r%d, %%t; atom.global.add.f32 %%f, "
        "[%%r0], %%f;\n",
        COUNT, COUNT);
    put("ld.global.f32 %%f, [%%r0+4]; setp.eq.f32 %%p, %%f, 0f00000000; @%%p bra L; ret; }");
    expect(SC_ENGINE_OK);
}

static void test_calls(void **state)
{
    (void)state;
    for (int returns = 0; returns < 2; returns++) { /* each function calls the next one twice */
        begin();
        for (int i = 0; i < 30; i++)
            put(".func f%d() { call f%d; call f%d; %s }\n", i, i + 1, i + 1, returns ? "ret;" : "");
        put(".func f30() { ret; }\n.entry k() { call f0; ret; }\n");
        load(); /* too many to expand: what matters is that it ends */
    }
    begin();
    put(".func f() { call f; ret; }\n.func g() { call h; ret; }\n.func h() { call g; ret; }\n.entry k() { "
        "call f; call g; }\n");
    load();
}

static void test_registers(void **state)
{
    (void)state;
    begin();
    put(".entry k() { .reg .b32 %%r<1000000>; .reg .pred %%p; setp.eq.u32 %%p, 1, 2;\n");
    for (int i = 0; i < 20000; i++) put("M%d: @%%p bra M%d;\n", i, i);
    put("ret; }");
    expect(SC_ENGINE_NO_MEMORY);
    begin();
    put(".entry k() { .reg .b64 %%r<4294967296>; ret; }");
    expect(SC_ENGINE_INVALID_PTX);
    begin();
    for (int i = 0; i < 20; i++)
        put(".entry k%d() { .reg .b64 %%r<1000000>; .reg .b32 %%s<1000000>; ret; }\n", i);
    expect(SC_ENGINE_INVALID_PTX);
    begin(); /* all alive at once */
    put(".entry k(.param .u64 p) { .reg .b32 %%r<20000>; .reg .b64 %%d; ld.param.u64 %%d, [p];\n");
    for (int i = 0; i < 20000; i++) put("ld.global.u32 %%r%d, [%%d+%d];\n", i, 4 * i);
    for (int i = 0; i < 20000; i++) put("st.global.u32 [%%d+%d], %%r%d;\n", 4 * i, i);
    put("ret; }");
    expect(SC_ENGINE_OK);
}

static void test_scopes_and_names(void **state)
{
    (void)state;
    begin();
    put(".entry k() ");
    for (int i = 0; i < 200000; i++) put("{");
    expect(SC_ENGINE_INVALID_PTX);
    begin();
    put(".entry k() { ret; ");
    for (int i = 0; i < 900; i++) put("{ ");
    for (int i = 0; i < 5000; i++) put("bra A%d;\n", i);
    for (int i = 0; i < 900; i++) put("} ");
    for (int i = 0; i < 5000; i++) put("A%d:\n", i);
    put("}");
    expect(SC_ENGINE_OK);
    begin();
    put(".entry k() {\n");
    for (int i = 0; i < 50000; i++) put("A%d:\n", i);
    put("ret; }");
    expect(SC_ENGINE_OK);
    begin();
    put(".entry k() { .reg .b32 %%r; add");
    for (int i = 0; i < 50000; i++) put(".u32");
    put(" %%r, %%r, 1");
    for (int i = 0; i < 50000; i++) put(", 1");
    put("; ret; }");
    expect(SC_ENGINE_INVALID_PTX);
}

static void test_variables(void **state)
{
    static const char *const too_large[] = {
        ".shared .b8 x[4294967295];\n.entry k() { .reg .b32 %r; ld.shared.u32 %r, [x]; ret; }",
        ".shared .b64 x[2147483647][2147483647][2147483647][8];\n.entry k() { ret; }",
        ".global .b8 x[18446744073709551615];\n.entry k() { ret; }",
        ".global .b64 x[2147483648][4294967296];\n.entry k() { ret; }",
        ".global .b8 x[-1];\n.entry k() { ret; }",
        ".global .b8 x[2] = {1, 2, 3};\n.entry k() { ret; }",
        ".const .b8 x[65537];\n.entry k() { ret; }",
        ".const .b8 x[65535];\n.const .b8 y[2];\n.entry k() { ret; }",
        ".entry k() { .shared .b8 x[500000]; .shared .b8 y[500000]; ret; }",
        ".entry k() { .local .b8 x[1048576]; ret; }",
        ".entry k(.param .b8 p[32765]) { ret; }",
        ".entry k(.param .b64 p[32764][32764][32764][32764][2]) { ret; }",
        ".entry k(.param .b8 p[20000], .param .b8 q[20000]) { ret; }",
    };
    (void)state;
    for (size_t i = 0; i < sizeof too_large / sizeof *too_large; i++) {
        begin();
        put("%s\n", too_large[i]);
        enum sc_engine_status status = load();
        if (status != SC_ENGINE_INVALID_PTX) fail_msg("status %d of %s", status, too_large[i]);
    }
    begin();
    put(".global .b8 x[1000000] = {1");
    for (int i = 1; i < 1000000; i++) put(",%d", i & 255);
    put("};\n.entry k() { ret; }");
    expect(SC_ENGINE_OK);
    begin();
    put(".global .b8 x[4] = ");
    for (int i = 0; i < 500000; i++) put("{");
    expect(SC_ENGINE_INVALID_PTX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loops),     cmocka_unit_test(test_values_against_the_order),
        cmocka_unit_test(test_calls),     cmocka_unit_test(test_registers),
        cmocka_unit_test(test_variables), cmocka_unit_test(test_scopes_and_names),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(text);
    return failed;
}
