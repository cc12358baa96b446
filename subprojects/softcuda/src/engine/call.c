/* Calls: if possible, the callee's body is read again in place of the call (stack.c handles the other cases).
 * Parameters and results are passed in local memory. */
#include "build.h"

#include <string.h>

#define DEPTH_MAX 32u
#define CALLS_MAX 20000u
#define EXPANDED_MAX 30000u /* instructions of an entry; above this, calls are not expanded */

/* (a, b, c), where all are names of .param variables */
static bool read_arguments(struct sc_build *build, struct sc_arguments *arguments)
{
    if (!sc_expect(build, "(")) return false;
    while (!sc_accept(build, ")")) {
        const struct sc_name *name = build->token.kind == SC_TOKEN_WORD
                                         ? sc_names_find(&build->names, build->token.text, build->token.bytes)
                                         : NULL;
        if (!name || name->kind != SC_NAME_MESSAGE || arguments->count == SC_ARGUMENTS_MAX)
            return sc_fail(build, build->token.line,
                           "an argument that is not a .param variable is not built");
        arguments->offset[arguments->count] = name->offset;
        arguments->size[arguments->count++] = name->size;
        sc_advance(build);
        if (!sc_token_is(&build->token, ")") && !sc_expect(build, ",")) return false;
    }
    return true;
}

static bool place_parameter(struct sc_build *build, struct sc_name *name)
{
    uint64_t at = (build->ir.local_bytes + 15ull) & ~15ull;
    if (at + name->size > (1u << 19)) return sc_fail(build, build->token.line, "variables too large");
    name->offset = at;
    build->ir.local_bytes = (uint32_t)(at + name->size);
    return true;
}

bool sc_bind(struct sc_build *build, const struct sc_arguments *arguments)
{
    unsigned count = 0;
    if (!sc_expect(build, "(")) return false;
    while (!sc_accept(build, ")")) {
        uint32_t element;
        uint64_t align, bytes;
        if (!sc_expect(build, ".param") || !sc_read_variable_type(build, &element, &align)) return false;
        struct sc_token word = build->token;
        if (word.kind != SC_TOKEN_WORD || (arguments && count == arguments->count))
            return sc_fail(build, word.line, "the call does not fit the function");
        sc_advance(build);
        bytes = element;
        while (sc_accept(build, "[")) {
            int64_t more = 0;
            if (!sc_token_is(&build->token, "]") && !sc_read_integer(build, &more)) return false;
            if (!sc_expect(build, "]")) return false;
            if (more < 0 || more > (1 << 20) || (bytes *= (uint64_t)more) > (1u << 20))
                return sc_fail(build, word.line, "variable too large");
        }
        struct sc_name *name = sc_names_add(&build->names, word.text, word.bytes, SC_NAME_MESSAGE);
        if (!name) return sc_fail_memory(build);
        name->size = bytes;
        if (arguments)
            name->offset = arguments->offset[count++];
        else if (!place_parameter(build, name))
            return false;
        if (!sc_token_is(&build->token, ")") && !sc_expect(build, ",")) return false;
    }
    return true;
}

static uint32_t load_argument(struct sc_build *build, uint64_t offset, unsigned bytes)
{
    uint32_t value = sc_new_value(build, bytes), base = sc_frame_base(build);
    struct sc_ir *ir = sc_emit(build, SC_OP_LOAD);
    if (!ir) return 0;
    ir->access = (struct sc_access){SC_SPACE_LOCAL, (uint8_t)bytes, 1, 8, 0, 0, (uint8_t)bytes, 0};
    ir->immediate = (int64_t)offset;
    ir->source[0] = base, ir->source_count = 1;
    ir->result[0] = value, ir->result_count = 1;
    ir->guard = 0;
    return value;
}

/* vprintf and __assertfail are functions of the device runtime. */
static bool call_builtin(struct sc_build *build, bool print, const struct sc_arguments *in,
                         const struct sc_arguments *out)
{
    uint32_t first = load_argument(build, in->offset[0], 8), second = load_argument(build, in->offset[1], 8);
    uint32_t third = print ? 0 : load_argument(build, in->offset[2], 4);
    uint32_t result = print && out->count ? sc_new_value(build, 4) : 0, base = sc_frame_base(build);
    struct sc_ir *ir = sc_emit(build, print ? SC_OP_PRINT : SC_OP_ASSERT);
    if (!ir) return false;
    ir->source[0] = first, ir->source[1] = second, ir->source[2] = third;
    ir->source_count = third ? 3 : 2;
    if (print) build->ir.ordered = true; /* output is in the order of blocks */
    ir->result[0] = result, ir->result_count = result != 0;
    if (!result) return true;
    ir = sc_emit(build, SC_OP_STORE);
    if (!ir) return false;
    ir->access = (struct sc_access){SC_SPACE_LOCAL, 4, 1, 8, 0, 0, 4, 0};
    ir->immediate = (int64_t)out->offset[0];
    ir->source[0] = base, ir->source[1] = result, ir->source_count = 2;
    return true;
}

/* malloc(size) and free(pointer) */
static bool call_heap(struct sc_build *build, bool release, const struct sc_arguments *in,
                      const struct sc_arguments *out)
{
    uint32_t value = load_argument(build, in->offset[0], 8), base = sc_frame_base(build);
    uint32_t result = release ? 0 : sc_new_value(build, 8);
    struct sc_ir *ir = value ? sc_emit(build, SC_OP_HEAP) : NULL;
    if (!ir) return false;
    ir->immediate = release;
    ir->source[0] = value, ir->source_count = 1;
    ir->result[0] = result, ir->result_count = result != 0;
    build->ir.ordered = build->ir.heap = true; /* addresses depend on the order of blocks */
    if (release) return true;
    ir = sc_emit(build, SC_OP_STORE);
    if (!ir) return false;
    ir->access = (struct sc_access){SC_SPACE_LOCAL, 8, 1, 8, 0, 0, 8, 0};
    ir->immediate = (int64_t)out->offset[0];
    ir->source[0] = base, ir->source[1] = result, ir->source_count = 2;
    return true;
}

static bool is_called(const struct sc_device_function *function, const char *name)
{
    return strlen(name) == function->bytes && memcmp(function->text, name, function->bytes) == 0;
}

/* Reads the callee's text at `at`, with the arguments bound to its parameters. */
static bool expand(struct sc_build *build, struct sc_lexer at, const struct sc_arguments *in,
                   const struct sc_arguments *out)
{
    struct sc_lexer lexer = build->lexer;
    struct sc_token token = build->token;
    struct sc_instruction *now = build->now;
    uint32_t return_label = build->return_label, end = sc_new_label(build);
    sc_go_to(build, at);
    build->now = NULL;
    build->return_label = end;
    build->call_depth++;
    sc_names_enter(&build->names);
    sc_advance(build);
    bool ok = (!sc_token_is(&build->token, "(") || sc_bind(build, out));
    if (ok) sc_advance(build); /* its name */
    ok = ok && (!sc_token_is(&build->token, "(") || sc_bind(build, in));
    while (ok && build->token.kind != SC_TOKEN_END && !sc_token_is(&build->token, "{")) sc_advance(build);
    ok = ok && sc_read_body(build) && sc_set_label(build, end);
    sc_names_leave(&build->names);
    build->call_depth--;
    build->return_label = return_label;
    build->now = now;
    build->token = token;
    sc_go_to(build, lexer);
    return ok;
}

static bool call_named(struct sc_build *build, uint32_t function, const struct sc_arguments *in,
                       const struct sc_arguments *out)
{
    const struct sc_device_function callee = build->functions.at[function];
    int shown = (int)(callee.bytes < 100 ? callee.bytes : 100);
    bool print = is_called(&callee, "vprintf"), assert_fail = is_called(&callee, "__assertfail");
    bool allocate = is_called(&callee, "malloc"), release = is_called(&callee, "free");
    if (!callee.defined && ((print && in->count == 2) || (assert_fail && in->count >= 3)))
        return call_builtin(build, print, in, out);
    if (!callee.defined && ((allocate && out->count == 1) || release) && in->count == 1)
        return call_heap(build, release, in, out);
    if (!callee.defined)
        return sc_fail(build, build->now->line, "the function is not defined: %.*s", shown, callee.text);
    if (build->calls++ == CALLS_MAX)
        return sc_fail(build, build->now->line, "too many calls: %.*s", shown, callee.text);
    if (callee.recursive || callee.stack || build->call_depth == DEPTH_MAX ||
        build->ir.code.count + (uint64_t)callee.expanded > EXPANDED_MAX)
        return sc_call_outlined(build, function, 0, in, out);
    return expand(build, callee.at, in, out);
}

/* call[.uni] [(results),] name|pointer[, (arguments)][, prototype]; */
bool sc_read_call(struct sc_build *build)
{
    struct sc_instruction *now = build->now;
    struct sc_arguments in = {.count = 0}, out = {.count = 0};
    uint32_t over = UINT32_MAX, pointer = 0, function = 0;
    build->carry = 0;
    build->first_temporary = build->ir.values.count;
    if (sc_token_is(&build->token, "(") && (!read_arguments(build, &out) || !sc_expect(build, ",")))
        return false;
    struct sc_token word = build->token;
    int shown = (int)(word.bytes < 100 ? word.bytes : 100);
    const struct sc_name *name =
        word.kind == SC_TOKEN_WORD ? sc_names_find(&build->names, word.text, word.bytes) : NULL;
    if (name && name->kind == SC_NAME_FUNCTION) {
        function = name->index;
        sc_advance(build);
    } else {
        struct sc_operand operand;
        if (!sc_read_operand(build, &operand)) return false;
        if (operand.kind != SC_OPERAND_VALUE)
            return sc_fail(build, now->line, "the function is not declared: %.*s", shown, word.text);
        pointer = sc_source(build, &operand, 8, 'b');
        if (!pointer) return false;
    }
    if (sc_accept(build, ",") && sc_token_is(&build->token, "(") && !read_arguments(build, &in)) return false;
    while (!sc_token_is(&build->token, ";") && build->token.kind != SC_TOKEN_END &&
           build->status == SC_ENGINE_OK)
        sc_advance(build); /* the prototype */
    if (!sc_expect(build, ";")) return false;
    if (now->guard) { /* @p call is @!p bra over; call; over: */
        struct sc_ir *ir = sc_emit(build, SC_OP_BRANCH);
        over = sc_new_label(build);
        if (!ir) return false;
        build->ir.code.at[build->ir.code.count - 1].negated = !now->negated;
        build->ir.code.at[build->ir.code.count - 1].immediate = over;
        now->guard = 0;
    }
    bool ok =
        pointer ? sc_call_outlined(build, 0, pointer, &in, &out) : call_named(build, function, &in, &out);
    return ok && (over == UINT32_MAX || sc_set_label(build, over));
}
