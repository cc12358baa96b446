/* Calls: the callee's body is read again in place of the call. Parameters and results are passed in local
 * memory. Calls through pointers and recursion cannot be expanded, and are refused. */
#include "build.h"

#include <string.h>

#define DEPTH_MAX 32u
#define CALLS_MAX 20000u
#define ARGUMENTS_MAX 32u

struct arguments {
    uint64_t offset[ARGUMENTS_MAX]; /* in local memory */
    unsigned count;
};

/* (a, b, c), all names of .param variables */
static bool read_arguments(struct sc_build *build, struct arguments *arguments)
{
    if (!sc_expect(build, "(")) return false;
    while (!sc_accept(build, ")")) {
        const struct sc_name *name = build->token.kind == SC_TOKEN_WORD
                                         ? sc_names_find(&build->names, build->token.text, build->token.bytes)
                                         : NULL;
        if (!name || name->kind != SC_NAME_MESSAGE || arguments->count == ARGUMENTS_MAX)
            return sc_fail(build, build->token.line,
                           "an argument that is not a .param variable is not built");
        arguments->offset[arguments->count++] = name->offset;
        sc_advance(build);
        if (!sc_token_is(&build->token, ")") && !sc_expect(build, ",")) return false;
    }
    return true;
}

/* The callee's (.param .b64 name, ...) as names for the caller's variables */
static bool bind(struct sc_build *build, const struct arguments *arguments)
{
    unsigned count = 0;
    if (!sc_expect(build, "(")) return false;
    while (!sc_accept(build, ")")) {
        uint32_t element;
        uint64_t align;
        if (!sc_expect(build, ".param") || !sc_read_variable_type(build, &element, &align)) return false;
        if (build->token.kind != SC_TOKEN_WORD || count == arguments->count)
            return sc_fail(build, build->token.line, "the call does not fit the function");
        struct sc_name *name =
            sc_names_add(&build->names, build->token.text, build->token.bytes, SC_NAME_MESSAGE);
        if (!name) return sc_fail_memory(build);
        name->offset = arguments->offset[count++];
        sc_advance(build);
        while (sc_accept(build, "[")) {
            int64_t ignored;
            if (!sc_token_is(&build->token, "]") && !sc_read_integer(build, &ignored)) return false;
            if (!sc_expect(build, "]")) return false;
        }
        if (!sc_token_is(&build->token, ")") && !sc_expect(build, ",")) return false;
    }
    return true;
}

static uint32_t load_argument(struct sc_build *build, uint64_t offset, unsigned bytes)
{
    uint32_t value = sc_new_value(build, bytes), base = sc_special_value(build, SC_SPECIAL_LOCAL);
    struct sc_ir *ir = sc_emit(build, SC_OP_LOAD);
    if (!ir) return 0;
    ir->access = (struct sc_access){SC_SPACE_LOCAL, (uint8_t)bytes, 1, 8, 0, 0, (uint8_t)bytes, 0};
    ir->immediate = (int64_t)offset;
    ir->source[0] = base, ir->source_count = 1;
    ir->result[0] = value, ir->result_count = 1;
    ir->guard = 0;
    return value;
}

/* vprintf and __assertfail are the device runtime's own. */
static bool call_builtin(struct sc_build *build, bool print, const struct arguments *in,
                         const struct arguments *out)
{
    uint32_t first = load_argument(build, in->offset[0], 8), second = load_argument(build, in->offset[1], 8);
    uint32_t third = print ? 0 : load_argument(build, in->offset[2], 4);
    uint32_t result = print && out->count ? sc_new_value(build, 4) : 0,
             base = sc_special_value(build, SC_SPECIAL_LOCAL);
    struct sc_ir *ir = sc_emit(build, print ? SC_OP_PRINT : SC_OP_ASSERT);
    if (!ir) return false;
    ir->source[0] = first, ir->source[1] = second, ir->source[2] = third;
    ir->source_count = third ? 3 : 2;
    if (print) build->ir.ordered = true; /* output comes block after block */
    ir->result[0] = result, ir->result_count = result != 0;
    if (!result) return true;
    ir = sc_emit(build, SC_OP_STORE);
    if (!ir) return false;
    ir->access = (struct sc_access){SC_SPACE_LOCAL, 4, 1, 8, 0, 0, 4, 0};
    ir->immediate = (int64_t)out->offset[0];
    ir->source[0] = base, ir->source[1] = result, ir->source_count = 2;
    return true;
}

/* Reads the callee's text at `at` with the arguments bound. */
static bool expand(struct sc_build *build, struct sc_lexer at, const struct arguments *in,
                   const struct arguments *out)
{
    struct sc_lexer lexer = build->lexer;
    struct sc_token token = build->token;
    struct sc_instruction *now = build->now;
    uint32_t return_label = build->return_label, end = sc_new_label(build);
    build->lexer = at;
    build->now = NULL;
    build->return_label = end;
    build->call_depth++;
    sc_names_enter(&build->names);
    sc_advance(build);
    bool ok = (!sc_token_is(&build->token, "(") || bind(build, out));
    if (ok) sc_advance(build); /* its name */
    ok = ok && (!sc_token_is(&build->token, "(") || bind(build, in));
    while (ok && build->token.kind != SC_TOKEN_END && !sc_token_is(&build->token, "{")) sc_advance(build);
    ok = ok && sc_read_body(build) && sc_set_label(build, end);
    sc_names_leave(&build->names);
    build->call_depth--;
    build->return_label = return_label;
    build->now = now;
    build->token = token;
    build->lexer = lexer;
    return ok;
}

/* call[.uni] [(results),] name[, (arguments)]; */
bool sc_read_call(struct sc_build *build)
{
    struct sc_instruction *now = build->now;
    struct arguments in = {.count = 0}, out = {.count = 0};
    uint32_t over = UINT32_MAX;
    build->carry = 0;
    if (sc_token_is(&build->token, "(") && (!read_arguments(build, &out) || !sc_expect(build, ",")))
        return false;
    struct sc_token word = build->token;
    int shown = (int)(word.bytes < 100 ? word.bytes : 100);
    const struct sc_name *name =
        word.kind == SC_TOKEN_WORD ? sc_names_find(&build->names, word.text, word.bytes) : NULL;
    if (!name || name->kind != SC_NAME_FUNCTION)
        return sc_fail(build, now->line, "a call through a pointer is not built: %.*s", shown, word.text);
    const struct sc_device_function callee = build->functions.at[name->index];
    sc_advance(build);
    if (sc_accept(build, ",") && !read_arguments(build, &in)) return false;
    if (!sc_expect(build, ";")) return false;
    if (now->guard) { /* @p call is @!p bra over; call; over: */
        struct sc_ir *ir = sc_emit(build, SC_OP_BRANCH);
        over = sc_new_label(build);
        if (!ir) return false;
        build->ir.code.at[build->ir.code.count - 1].negated = !now->negated;
        build->ir.code.at[build->ir.code.count - 1].immediate = over;
        now->guard = 0;
    }
    bool print = word.bytes == 7 && memcmp(word.text, "vprintf", 7) == 0;
    bool assert_fail = word.bytes == 12 && memcmp(word.text, "__assertfail", 12) == 0;
    bool ok;
    if (!callee.defined && ((print && in.count == 2) || (assert_fail && in.count >= 3)))
        ok = call_builtin(build, print, &in, &out);
    else if (!callee.defined)
        ok = sc_fail(build, now->line, "the function is not defined: %.*s", shown, word.text);
    else if (build->call_depth == DEPTH_MAX)
        ok = sc_fail(build, now->line, "recursion is not built: %.*s", shown, word.text);
    else if (build->calls++ == CALLS_MAX)
        ok = sc_fail(build, now->line, "too many calls: %.*s", shown, word.text);
    else
        ok = expand(build, callee.at, &in, &out);
    return ok && (over == UINT32_MAX || sc_set_label(build, over));
}
