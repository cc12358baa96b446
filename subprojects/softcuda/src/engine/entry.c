/* Reads an .entry: its signature (parameters and directives), and its body, which becomes a program. */
#include "parse.h"

#include <string.h>

#define PARAMETERS_MAX_BYTES 32764u

void sc_begin_function(struct sc_build *build)
{
    sc_ir_free(&build->ir);
    memset(&build->ir, 0, sizeof build->ir);
    memset(build->special, 0, sizeof build->special);
    build->constants.count = build->dynamic.count = 0;
    build->dynamic_align = 16;
    build->carry = 0;
    build->return_label = UINT32_MAX;
    build->call_depth = build->calls = 0;
    build->outlined.count = build->sites.count = build->returns.count = build->jumps.count = 0;
    build->late.count = build->ranges.count = 0;
    build->part = build->frame = build->top = build->first_range = 0;
    build->deep = false;
    build->now = NULL;
    for (uint32_t i = 0; i < build->shared.count; i++) build->shared.at[i].offset = UINT32_MAX;
    if (!sc_vec_push(&build->ir.values, (struct sc_value){0})) sc_fail_memory(build); /* value 0 means none */
}

void sc_drop_function(struct sc_build *build)
{
    sc_ir_free(&build->ir);
    sc_vec_free(&build->constants);
    sc_vec_free(&build->dynamic);
    sc_vec_free(&build->outlined);
    sc_vec_free(&build->sites);
    sc_vec_free(&build->returns);
    sc_vec_free(&build->jumps);
    sc_vec_free(&build->late);
    sc_vec_free(&build->ranges);
}

/* .param .u64 .ptr .global .align 8 name[24] */
static bool read_parameter(struct sc_build *build, struct sc_signature *signature)
{
    uint32_t element;
    uint64_t align, bytes;
    if (!sc_expect(build, ".param") || !sc_read_variable_type(build, &element, &align)) return false;
    bytes = element;
    while (build->token.kind == SC_TOKEN_WORD && build->token.text[0] == '.') { /* .ptr and its attributes */
        bool takes_number = sc_token_is(&build->token, ".align");
        int64_t ignored;
        sc_advance(build);
        if (takes_number && !sc_read_integer(build, &ignored)) return false;
    }
    struct sc_token word = build->token;
    if (word.kind != SC_TOKEN_WORD) return sc_fail(build, word.line, "a parameter name is missing");
    sc_advance(build);
    while (sc_accept(build, "[")) {
        int64_t count = 0;
        if (!sc_read_integer(build, &count) || !sc_expect(build, "]")) return false;
        if (count < 1 || count > PARAMETERS_MAX_BYTES || (bytes *= (uint64_t)count) > PARAMETERS_MAX_BYTES)
            return sc_fail(build, word.line, "bad parameter size");
    }
    uint64_t offset = (signature->parameter_bytes + align - 1) & ~(align - 1);
    if (offset + bytes > PARAMETERS_MAX_BYTES) return sc_fail(build, word.line, "too many parameters");
    struct sc_name *name = sc_names_add(&build->names, word.text, word.bytes, SC_NAME_PARAM);
    struct sc_parameter parameter = {(uint32_t)offset, (uint32_t)bytes};
    if (!name || !sc_vec_push(&signature->parameters, parameter)) return sc_fail_memory(build);
    name->offset = offset;
    name->size = bytes;
    signature->parameter_bytes = (uint32_t)(offset + bytes);
    return true;
}

static bool read_directives(struct sc_build *build, struct sc_signature *signature)
{
    signature->max_threads = 1024;
    while (!sc_token_is(&build->token, "{")) {
        if (build->token.kind == SC_TOKEN_END || build->status != SC_ENGINE_OK)
            return sc_fail(build, build->token.line, "the body is missing");
        bool limit = sc_token_is(&build->token, ".maxntid") || sc_token_is(&build->token, ".reqntid");
        sc_advance(build);
        if (!limit) continue;
        uint64_t threads = 1;
        do {
            int64_t count;
            if (!sc_read_integer(build, &count)) return false;
            if (count < 1 || count > 1024) return sc_fail(build, build->token.line, "bad number of threads");
            threads *= (uint64_t)count;
        } while (sc_accept(build, ","));
        signature->max_threads = threads < 1024 ? (uint32_t)threads : 1024;
    }
    return true;
}

/* Dynamic shared memory starts at the end of the static part. */
static void place_dynamic(struct sc_build *build)
{
    if (!build->dynamic.count) return;
    uint32_t align = build->dynamic_align < 16 ? 16 : build->dynamic_align;
    build->ir.shared_bytes = (build->ir.shared_bytes + align - 1) & ~(align - 1);
    for (uint32_t i = 0; i < build->dynamic.count; i++)
        build->ir.values.at[build->dynamic.at[i]].bits += build->ir.shared_bytes;
}

static struct sc_program *make_program(struct sc_build *build)
{
    struct sc_ir *last = sc_emit(build, SC_OP_EXIT);
    if (!last) return NULL;
    last->weight = 0;
    if (!sc_read_outlined(build)) return NULL;
    for (uint32_t i = 0; i < build->ir.labels.count; i++)
        if (build->ir.labels.at[i] == UINT32_MAX) {
            sc_fail(build, build->token.line, "a branch goes to a label that does not exist");
            return NULL;
        }
    place_dynamic(build);
    struct sc_program *program = NULL;
    if (sc_find_blocks(&build->ir) && sc_order_blocks(&build->ir) && sc_find_liveness(&build->ir) &&
        sc_find_uniform(&build->ir) && sc_find_turns(&build->ir))
        program = sc_make_program(&build->ir);
    if (!program) sc_fail_memory(build);
    return program;
}

bool sc_read_signature(struct sc_build *build, struct sc_signature *signature)
{
    sc_advance(build); /* to the name */
    sc_advance(build);
    if (sc_accept(build, "(")) {
        while (!sc_accept(build, ")")) {
            if (!read_parameter(build, signature)) return false;
            if (!sc_token_is(&build->token, ")") && !sc_expect(build, ",")) return false;
        }
    }
    return read_directives(build, signature);
}

struct sc_program *sc_compile_entry(struct sc_build *build, const struct sc_entry *entry)
{
    struct sc_signature signature = {0}; /* read again, for the parameters' names */
    struct sc_program *program = NULL;
    sc_begin_function(build);
    sc_go_to(build, entry->at);
    sc_names_enter(&build->names);
    bool ok = sc_read_signature(build, &signature) && (!entry->function.stack || sc_begin_stack(build)) &&
              sc_read_body(build);
    if (ok) program = make_program(build);
    while (build->names.depth) sc_names_leave(&build->names); /* after a failure inner scopes are left open */
    sc_vec_free(&signature.parameters);
    sc_drop_function(build);
    return program;
}
