/* Parses function bodies: declarations, labels and instructions. */
#include "build.h"

#include <string.h>

static const struct sc_selector_entry *const tables[] = {
    sc_select_arithmetic, sc_select_data,   sc_select_memory, sc_select_control, sc_select_matrix,
    sc_select_convert,    sc_select_packed, sc_select_async,  sc_select_stack};

static sc_selector *find_selector(const struct sc_part *opcode)
{
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        for (const struct sc_selector_entry *entry = tables[t]; entry->opcode; entry++)
            if (sc_part_is(opcode, entry->opcode)) return entry->select;
    return NULL;
}

static void split_opcode(struct sc_instruction *now, const struct sc_token *word)
{
    const char *at = word->text, *end = at + word->bytes;
    while (at < end && now->part_count < SC_PARTS_MAX) {
        const char *dot = memchr(at, '.', (size_t)(end - at));
        if (!dot) dot = end;
        now->part[now->part_count++] = (struct sc_part){at, (uint32_t)(dot - at)};
        at = dot < end ? dot + 1 : end;
    }
}

/* Number of characters of the instruction's text to show in a message */
static int shown_of(const struct sc_build *build)
{
    const char *text = build->now->text;
    int shown = 0;
    while (shown < 160 && text + shown < build->lexer.end && !strchr(";\n", text[shown])) shown++;
    return shown;
}

static bool refuse(struct sc_build *build)
{
    return sc_fail(build, build->now->line, "instruction not built: %.*s", shown_of(build), build->now->text);
}

bool sc_select(struct sc_build *build)
{
    struct sc_instruction *now = build->now;
    sc_selector *select = find_selector(&now->part[0]);
    int shown = shown_of(build);
    if (!select) return refuse(build);
    build->first_temporary = build->ir.values.count;
    if (!select(build)) {
        if (build->status == SC_ENGINE_OK)
            sc_fail(build, now->line, "not understood: %.*s", shown, now->text);
        return false;
    }
    uint32_t all = (1u << now->part_count) - 2;
    if ((now->used & all) != all)
        return sc_fail(build, now->line, "modifier not built: %.*s", shown, now->text);
    return true;
}

static bool read_instruction(struct sc_build *build)
{
    static const struct sc_instruction none;
    struct sc_instruction now = none;
    struct sc_operand guard = {0};
    build->first_temporary = UINT32_MAX;
    if (sc_accept(build, "@")) {
        if (!sc_read_operand(build, &guard)) return false;
        if (guard.kind != SC_OPERAND_VALUE || build->ir.values.at[guard.value].bytes != 4)
            return sc_fail(build, build->token.line, "the predicate is not a register");
        now.guard = guard.value;
        now.negated = guard.negated;
    }
    if (build->token.kind != SC_TOKEN_WORD)
        return sc_fail(build, build->token.line, "an instruction is missing");
    now.line = build->token.line;
    now.text = build->token.text;
    split_opcode(&now, &build->token);
    if (!now.part_count) return sc_fail(build, now.line, "an instruction is missing");
    build->now = &now;
    bool ok = sc_part_is(&now.part[0], "call") || find_selector(&now.part[0]) || refuse(build);
    sc_advance(build);
    if (ok && sc_part_is(&now.part[0], "call")) {
        ok = sc_read_call(build);
    } else if (ok) {
        while (ok && !sc_token_is(&build->token, ";")) {
            if (now.count == SC_OPERANDS_MAX) {
                ok = sc_fail(build, now.line, "too many operands");
                break;
            }
            ok = sc_read_operand(build, &now.operand[now.count++]);
            if (ok && !sc_token_is(&build->token, ";")) ok = sc_expect(build, ",");
        }
        ok = ok && sc_select(build) && sc_expect(build, ";");
    }
    build->now = NULL;
    return ok;
}

static const struct {
    const char *name;
    uint8_t bytes;
} variable_types[] = {
    {".b8", 1},   {".u8", 1},  {".s8", 1},    {".b16", 2},    {".u16", 2},  {".s16", 2},   {".f16", 2},
    {".bf16", 2}, {".b32", 4}, {".u32", 4},   {".s32", 4},    {".f32", 4},  {".b64", 8},   {".u64", 8},
    {".s64", 8},  {".f64", 8}, {".f16x2", 4}, {".bf16x2", 4}, {".pred", 1}, {".b128", 16},
};

/* [.align N] [.v2|.v4] .type, with other directives in between */
bool sc_read_variable_type(struct sc_build *build, uint32_t *element_bytes, uint64_t *align)
{
    uint32_t lanes = 1;
    *align = 0;
    for (;;) {
        struct sc_token word = build->token;
        if (word.kind != SC_TOKEN_WORD || word.text[0] != '.')
            return sc_fail(build, word.line, "a type is missing");
        sc_advance(build);
        if (sc_token_is(&word, ".align")) {
            int64_t value;
            if (!sc_read_integer(build, &value)) return false;
            if (value < 1 || value > 4096 || (value & (value - 1)))
                return sc_fail(build, word.line, "bad alignment");
            *align = (uint64_t)value;
            continue;
        }
        if (sc_token_is(&word, ".attribute")) {
            while (build->token.kind != SC_TOKEN_END && !sc_token_is(&build->token, ")")) sc_advance(build);
            if (!sc_expect(build, ")")) return false;
            continue;
        }
        if (sc_token_is(&word, ".v2") || sc_token_is(&word, ".v4")) {
            lanes = (uint32_t)(word.text[2] - '0');
            continue;
        }
        for (size_t i = 0; i < sizeof variable_types / sizeof *variable_types; i++) {
            if (!sc_token_is(&word, variable_types[i].name)) continue;
            *element_bytes = variable_types[i].bytes * lanes;
            if (!*align) *align = *element_bytes;
            return true;
        }
        return sc_fail(build, word.line, "type not built: %.*s", (int)(word.bytes < 60 ? word.bytes : 60),
                       word.text);
    }
}

static bool declare_registers(struct sc_build *build)
{
    uint64_t align;
    uint32_t bytes;
    if (!sc_read_variable_type(build, &bytes, &align)) return false;
    if (bytes > 8) return sc_fail(build, build->token.line, "registers of this size are not built");
    unsigned container = bytes == 8 ? 8 : 4;
    do {
        struct sc_token word = build->token;
        int64_t count = 1;
        if (word.kind != SC_TOKEN_WORD) return sc_fail(build, word.line, "a register name is missing");
        sc_advance(build);
        bool range = sc_accept(build, "<");
        if (range && (!sc_read_integer(build, &count) || !sc_expect(build, ">"))) return false;
        if (count < 1 || count > 1000000) return sc_fail(build, word.line, "bad number of registers");
        struct sc_name *name =
            sc_names_add(&build->names, word.text, word.bytes, range ? SC_NAME_RANGE : SC_NAME_REGISTER);
        if (!name) return sc_fail_memory(build);
        name->index = build->ir.values.count;
        name->count = (uint32_t)count;
        struct sc_range_of_values values = {name->index, name->count, build->names.depth};
        if (!sc_vec_push(&build->ranges, values)) return sc_fail_memory(build);
        for (int64_t i = 0; i < count; i++)
            if (!sc_new_value(build, container)) return false;
    } while (sc_accept(build, ","));
    return sc_expect(build, ";");
}

/* .shared, .local and .param variables of a function */
static bool declare_variables(struct sc_build *build, enum sc_name_kind kind)
{
    uint64_t align;
    uint32_t element;
    if (!sc_read_variable_type(build, &element, &align)) return false;
    do {
        struct sc_token word = build->token;
        uint64_t bytes = element;
        bool open = false;
        if (word.kind != SC_TOKEN_WORD) return sc_fail(build, word.line, "a variable name is missing");
        sc_advance(build);
        while (sc_accept(build, "[")) {
            int64_t count = 0;
            open = sc_token_is(&build->token, "]");
            if (!open && !sc_read_integer(build, &count)) return false;
            if (!sc_expect(build, "]")) return false;
            if (count < 0 || count > (1 << 20) || (bytes *= (uint64_t)count) > (1u << 20))
                return sc_fail(build, word.line, "variable too large");
        }
        struct sc_name *name = sc_names_add(&build->names, word.text, word.bytes, kind);
        if (!name) return sc_fail_memory(build);
        uint32_t *used = kind == SC_NAME_SHARED ? &build->ir.shared_bytes : &build->ir.local_bytes;
        name->offset = (*used + align - 1) & ~(align - 1);
        name->size = bytes;
        if (name->offset + bytes > (1u << 19)) return sc_fail(build, word.line, "variables too large");
        *used = (uint32_t)(name->offset + bytes);
    } while (sc_accept(build, ","));
    return sc_expect(build, ";");
}

/* label: .branchtargets a, b, c; */
static bool read_table(struct sc_build *build, const struct sc_token *word)
{
    uint32_t first = build->ir.targets.count;
    do {
        if (build->token.kind != SC_TOKEN_WORD) return sc_fail(build, word->line, "a label is missing");
        uint32_t label = sc_find_label(build, build->token.text, build->token.bytes);
        if (!sc_vec_push(&build->ir.targets, label)) return sc_fail_memory(build);
        sc_advance(build);
    } while (sc_accept(build, ","));
    struct sc_name *name = sc_names_add(&build->names, word->text, word->bytes, SC_NAME_TABLE);
    if (!name) return sc_fail_memory(build);
    name->index = first;
    name->count = build->ir.targets.count - first;
    return sc_expect(build, ";");
}

static bool skip_to(struct sc_build *build, const char *word)
{
    while (build->token.kind != SC_TOKEN_END && !sc_token_is(&build->token, word)) sc_advance(build);
    return sc_expect(build, word);
}

static void skip_line(struct sc_build *build)
{
    uint32_t line = build->token.line;
    while (build->token.kind != SC_TOKEN_END && build->token.line == line) sc_advance(build);
}

/* Leaves a scope. A label that was used in it but not defined yet may still be defined in the enclosing
 * scope. */
static bool leave_scope(struct sc_build *build)
{
    sc_vec(struct sc_name) open = {0};
    const struct sc_names *names = &build->names;
    bool ok = true;
    for (uint32_t i = names->all.count; i-- > 0 && names->all.at[i].depth == names->depth;) {
        const struct sc_name *name = &names->all.at[i];
        if (name->kind == SC_NAME_LABEL && build->ir.labels.at[name->index] == UINT32_MAX)
            ok = sc_vec_push(&open, *name) && ok;
    }
    while (build->ranges.count && build->ranges.at[build->ranges.count - 1].depth == build->names.depth)
        build->ranges.count--;
    sc_names_leave(&build->names);
    for (uint32_t i = 0; ok && i < open.count; i++) {
        struct sc_name *name = sc_names_add(&build->names, open.at[i].text, open.at[i].bytes, SC_NAME_LABEL);
        ok = name != NULL;
        if (ok) name->index = open.at[i].index;
    }
    sc_vec_free(&open);
    return ok || sc_fail_memory(build);
}

#define SCOPES_MAX 1000u

static bool read_statement(struct sc_build *build, unsigned *depth)
{
    struct sc_token word = build->token;
    if (word.kind == SC_TOKEN_END || word.kind == SC_TOKEN_BAD)
        return sc_fail(build, word.line, word.kind == SC_TOKEN_END ? "the function does not end" : "not PTX");
    if (sc_accept(build, "{")) {
        if (++*depth > SCOPES_MAX) return sc_fail(build, word.line, "braces nest too deep");
        sc_names_enter(&build->names);
        return true;
    }
    if (sc_accept(build, "}")) {
        --*depth;
        return leave_scope(build);
    }
    if (sc_accept(build, ";")) return true;
    if (word.kind == SC_TOKEN_WORD && word.text[0] == '.') {
        if (sc_token_is(&word, ".loc") || sc_token_is(&word, ".file")) {
            skip_line(build);
            return true;
        }
        sc_advance(build);
        if (sc_token_is(&word, ".reg")) return declare_registers(build);
        if (sc_token_is(&word, ".shared")) return declare_variables(build, SC_NAME_SHARED);
        if (sc_token_is(&word, ".local")) return declare_variables(build, SC_NAME_LOCAL);
        if (sc_token_is(&word, ".param")) return declare_variables(build, SC_NAME_MESSAGE);
        if (sc_token_is(&word, ".pragma")) return skip_to(build, ";");
        return sc_fail(build, word.line, "directive not built: %.*s",
                       (int)(word.bytes < 60 ? word.bytes : 60), word.text);
    }
    if (word.kind == SC_TOKEN_WORD) {
        /* a label, if a colon follows */
        struct sc_lexer ahead = build->lexer;
        struct sc_token next = sc_lex(&ahead);
        if (sc_token_is(&next, ":")) {
            sc_advance(build);
            sc_advance(build);
            if (sc_accept(build, ".branchtargets")) return read_table(build, &word);
            if (sc_token_is(&build->token, ".callprototype") || sc_token_is(&build->token, ".calltargets"))
                return skip_to(build, ";"); /* the call's variables carry the same information */
            return sc_set_label(build, sc_find_label(build, word.text, word.bytes));
        }
    }
    return read_instruction(build);
}

bool sc_read_body(struct sc_build *build)
{
    unsigned depth = 0;
    do {
        if (!read_statement(build, &depth)) return false;
    } while (depth && build->status == SC_ENGINE_OK);
    return build->status == SC_ENGINE_OK;
}
