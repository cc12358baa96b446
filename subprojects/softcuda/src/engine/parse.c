/* Parses texts: variables, functions, entries. Bodies are scanned, not compiled. */
#include "parse.h"

#include <stdio.h>
#include <string.h>

/* An address in an initial value, by its name; resolved when all texts have been read */
struct reference {
    uint32_t variable;
    uint64_t offset;
    const char *text, *unit;
    uint32_t bytes, line;
    int64_t addend;
};

struct reader {
    struct sc_source *source;
    sc_vec(struct reference) references;
};

void sc_go_to(struct sc_build *build, struct sc_lexer at)
{
    build->lexer = at;
    build->names.unit = at.end;
}

void sc_advance(struct sc_build *build)
{
    build->token = sc_lex(&build->lexer);
    if (build->token.kind == SC_TOKEN_BAD) sc_fail(build, build->token.line, "not PTX");
}

bool sc_accept(struct sc_build *build, const char *word)
{
    if (!sc_token_is(&build->token, word)) return false;
    sc_advance(build);
    return true;
}

bool sc_expect(struct sc_build *build, const char *word)
{
    if (sc_accept(build, word)) return build->status == SC_ENGINE_OK;
    int shown = (int)(build->token.bytes < 60 ? build->token.bytes : 60);
    return sc_fail(build, build->token.line, "expected '%s', found '%.*s'", word, shown, build->token.text);
}

static bool skip_braces(struct sc_build *build)
{
    unsigned depth = 0;
    do {
        if (build->token.kind == SC_TOKEN_END)
            return sc_fail(build, build->token.line, "a brace does not close");
        if (sc_token_is(&build->token, "{")) depth++;
        if (sc_token_is(&build->token, "}") && depth) depth--;
        sc_advance(build);
    } while (depth && build->status == SC_ENGINE_OK);
    return build->status == SC_ENGINE_OK;
}

/* Skips to a ';', or past a body in braces. */
static bool skip_function(struct sc_build *build, struct sc_device_function *function)
{
    while (!sc_token_is(&build->token, "{") && !sc_token_is(&build->token, ";")) {
        if (build->token.kind == SC_TOKEN_END || build->status != SC_ENGINE_OK)
            return sc_fail(build, build->token.line, "the function does not end");
        sc_advance(build);
    }
    function->defined = sc_token_is(&build->token, "{");
    if (function->defined) return sc_scan_body(build, function);
    sc_advance(build);
    return true;
}

static struct sc_lexer here(const struct sc_build *build)
{
    return (struct sc_lexer){build->token.text, build->lexer.end, build->token.line};
}

/* The existing definition of this name, in the same text or shared by all texts */
static struct sc_name *find_same(struct sc_build *build, const char *text, uint32_t bytes,
                                 enum sc_name_kind kind)
{
    struct sc_name *name = sc_names_find(&build->names, text, bytes);
    bool hidden = name && !name->unit && build->names.local;
    return name && name->kind == kind && !hidden ? name : NULL;
}

static bool read_device_function(struct sc_build *build, bool weak)
{
    struct sc_device_function function = {.at = here(build)};
    while (sc_accept(build, ".noreturn")) function.at = here(build);
    if (sc_token_is(&build->token, "(")) {
        while (build->token.kind != SC_TOKEN_END && !sc_token_is(&build->token, ")")) sc_advance(build);
        if (!sc_expect(build, ")")) return false;
    }
    if (build->token.kind != SC_TOKEN_WORD)
        return sc_fail(build, build->token.line, "a function name is missing");
    function.text = build->token.text;
    function.bytes = build->token.bytes;
    if (!skip_function(build, &function)) return false;
    function.weak = weak;
    struct sc_name *name = find_same(build, function.text, function.bytes, SC_NAME_FUNCTION);
    if (name) {
        struct sc_device_function *known = &build->functions.at[name->index];
        if (function.defined && known->defined && !known->weak && !weak)
            return sc_fail(build, function.at.line, "defined twice: %.*s",
                           (int)(function.bytes < 200 ? function.bytes : 200), function.text);
        if (function.defined && (!known->defined || known->weak)) *known = function;
        if (!build->names.local) name->unit = NULL;
        return true;
    }
    name = sc_names_add(&build->names, function.text, function.bytes, SC_NAME_FUNCTION);
    if (!name) return sc_fail_memory(build);
    name->index = build->functions.count;
    return sc_vec_push(&build->functions, function) || sc_fail_memory(build);
}

#define VARIABLE_NONE UINT32_MAX

/* Reads one scalar of an initial value and appends it to the variable's; VARIABLE_NONE: discards it */
static bool read_scalar(struct reader *reader, uint32_t variable, uint32_t element)
{
    struct sc_source *source = reader->source;
    struct sc_build *build = &source->build;
    struct sc_operand operand;
    bool generic = sc_accept(build, "generic") && sc_expect(build, "(");
    if (!sc_read_operand(build, &operand)) return false;
    if (generic && !sc_expect(build, ")")) return false;
    if (generic && sc_token_is(&build->token, "+")) {
        int64_t more;
        if (!sc_read_integer(build, &more)) return false;
        operand.offset = (int64_t)((uint64_t)operand.offset + (uint64_t)more);
    }
    bool address = operand.kind == SC_OPERAND_NAME && element == 8;
    if (!address && operand.kind != SC_OPERAND_LITERAL)
        return sc_fail(build, build->token.line, "initial value not built");
    if (variable == VARIABLE_NONE) return true;
    struct sc_variable *to = &source->variables.at[variable];
    if (address) {
        struct reference reference = {variable,      to->initial.count, operand.text,  build->names.unit,
                                      operand.bytes, build->token.line, operand.offset};
        if (!sc_vec_push(&reader->references, reference)) return sc_fail_memory(build);
        operand.bits = 0;
    }
    if (operand.literal_kind == SC_TOKEN_FLOAT64 && element == 4) {
        double number;
        memcpy(&number, &operand.bits, 8);
        float single = (float)number;
        memcpy(&operand.bits, &single, 4);
    }
    for (uint32_t i = 0; i < element; i++)
        if (!sc_vec_push(&to->initial, (unsigned char)(operand.bits >> (8 * i))))
            return sc_fail_memory(build);
    return true;
}

/* = scalar or nested braces; more values than the variable's `bytes` hold are an error */
static bool read_initial(struct reader *reader, uint32_t variable, uint64_t bytes, uint32_t element)
{
    struct sc_build *build = &reader->source->build;
    uint64_t at = 0;
    unsigned depth = 0;
    if (element > 8) return sc_fail(build, build->token.line, "initial value not built");
    do {
        if (sc_accept(build, "{")) {
            depth++;
        } else if (sc_accept(build, "}")) {
            if (!depth) return sc_fail(build, build->token.line, "initial value not understood");
            depth--;
        } else if (sc_accept(build, ",")) {
            if (!depth) return sc_fail(build, build->token.line, "initial value not understood");
        } else {
            if (at + element > bytes) return sc_fail(build, build->token.line, "too many initial values");
            if (!read_scalar(reader, variable, element)) return false;
            at += element;
        }
    } while (depth && build->status == SC_ENGINE_OK);
    return build->status == SC_ENGINE_OK;
}

#define CONSTANT_MAX_BYTES (64u << 10) /* per module, as on every device */

enum variable_space { SPACE_GLOBAL, SPACE_MANAGED, SPACE_CONST, SPACE_SHARED };

static bool add_variable(struct reader *reader, const struct sc_token *word, uint64_t bytes, uint64_t align,
                         uint32_t element, enum variable_space space, bool weak)
{
    struct sc_source *source = reader->source;
    struct sc_build *build = &source->build;
    struct sc_variable variable = {.bytes = bytes, .align = align, .managed = space == SPACE_MANAGED};
    struct sc_name *same = find_same(build, word->text, word->bytes, SC_NAME_GLOBAL);
    if (same && weak) /* of several equal definitions the first is used */
        return !sc_accept(build, "=") || read_initial(reader, VARIABLE_NONE, bytes, element);
    if (same && !same->count)
        return sc_fail(build, word->line, "defined twice: %.*s", (int)(word->bytes < 200 ? word->bytes : 200),
                       word->text);
    if (space == SPACE_CONST && bytes > CONSTANT_MAX_BYTES - source->constant_bytes)
        return sc_fail(build, word->line, "more than 64 KiB of constants");
    variable.name = strndup(word->text, word->bytes);
    struct sc_name *name = sc_names_add(&build->names, word->text, word->bytes, SC_NAME_GLOBAL);
    if (!variable.name || !name || !sc_vec_push(&source->variables, variable)) {
        free(variable.name);
        return sc_fail_memory(build);
    }
    name->index = source->variables.count - 1;
    name->size = bytes;
    name->count = weak; /* a strong definition may replace it */
    if (space == SPACE_CONST) source->constant_bytes += (uint32_t)bytes;
    return !sc_accept(build, "=") || read_initial(reader, name->index, bytes, element);
}

static bool add_shared(struct sc_build *build, const struct sc_token *word, uint64_t bytes, uint64_t align,
                       bool dynamic)
{
    struct sc_name *name =
        sc_names_add(&build->names, word->text, word->bytes, dynamic ? SC_NAME_DYNAMIC : SC_NAME_SHARED);
    if (!name) return sc_fail_memory(build);
    name->size = dynamic ? align : bytes;
    if (dynamic) return true;
    struct sc_module_shared shared = {word->text, word->bytes, bytes, align, UINT32_MAX};
    name->count = 1; /* belongs to the module: placed where a function first uses it */
    name->index = build->shared.count;
    return sc_vec_push(&build->shared, shared) || sc_fail_memory(build);
}

/* .attribute(.managed) and others; only .managed has an effect */
static bool read_attributes(struct sc_build *build, bool *managed)
{
    *managed = false;
    while (sc_accept(build, ".attribute")) {
        while (build->token.kind != SC_TOKEN_END && !sc_token_is(&build->token, ")")) {
            if (sc_token_is(&build->token, ".managed")) *managed = true;
            sc_advance(build);
        }
        if (!sc_expect(build, ")")) return false;
    }
    return build->status == SC_ENGINE_OK;
}

static bool read_variables(struct reader *reader, enum variable_space space, bool external, bool weak)
{
    struct sc_build *build = &reader->source->build;
    uint32_t element;
    uint64_t align;
    bool managed;
    if (!read_attributes(build, &managed)) return false;
    if (managed && space == SPACE_GLOBAL) space = SPACE_MANAGED;
    if (!sc_read_variable_type(build, &element, &align)) return false;
    do {
        struct sc_token word = build->token;
        uint64_t bytes = element;
        bool open = false;
        if (word.kind != SC_TOKEN_WORD) return sc_fail(build, word.line, "a variable name is missing");
        sc_advance(build);
        while (sc_accept(build, "[")) {
            int64_t count = 0;
            if (sc_token_is(&build->token, "]"))
                open = true;
            else if (!sc_read_integer(build, &count))
                return false;
            if (!sc_expect(build, "]")) return false;
            if (count < 0 || count > (1ll << 31) || bytes > (1ull << 31))
                return sc_fail(build, word.line, "variable too large");
            bytes *= (uint64_t)count;
        }
        if (bytes > (1ull << 32)) return sc_fail(build, word.line, "variable too large");
        if (open && space != SPACE_SHARED && !external)
            return sc_fail(build, word.line, "an array without size is not built");
        bool ok = true;
        if (space == SPACE_SHARED)
            ok = add_shared(build, &word, bytes, align, external || open);
        else if (!external)
            ok = add_variable(reader, &word, bytes, align, element, space, weak);
        if (!ok) return false;
    } while (sc_accept(build, ","));
    return sc_expect(build, ";");
}

static bool skip_section(struct sc_build *build)
{
    while (build->token.kind != SC_TOKEN_END && !sc_token_is(&build->token, "{")) sc_advance(build);
    return skip_braces(build);
}

/* A template kernel is defined, as weak, in every text that uses it. */
static bool read_entry(struct reader *reader, bool weak)
{
    struct sc_source *source = reader->source;
    struct sc_build *build = &source->build;
    struct sc_entry entry = {.at = here(build)};
    struct sc_token word = build->token;
    if (!skip_function(build, &entry.function)) return false;
    if (!entry.function.defined) return true;
    for (uint32_t i = 0; i < source->entries.count; i++) {
        const char *known = source->entries.at[i].name;
        if (strncmp(known, word.text, word.bytes) != 0 || known[word.bytes]) continue;
        return weak || sc_fail(build, word.line, "defined twice: %.*s",
                               (int)(word.bytes < 200 ? word.bytes : 200), word.text);
    }
    entry.name = strndup(word.text, word.bytes);
    if (entry.name && sc_vec_push(&source->entries, entry)) return true;
    free(entry.name);
    return sc_fail_memory(build);
}

static bool read_directive(struct reader *reader)
{
    struct sc_build *build = &reader->source->build;
    bool external = false, weak = false;
    build->names.local = true;
    for (;;) {
        struct sc_token word = build->token;
        if (sc_accept(build, ".visible") || sc_accept(build, ".weak") || sc_accept(build, ".common") ||
            sc_accept(build, ".extern")) {
            external |= sc_token_is(&word, ".extern");
            weak |= sc_token_is(&word, ".weak") || sc_token_is(&word, ".common");
            build->names.local = false;
            continue;
        }
        if (sc_accept(build, ".func")) return read_device_function(build, weak);
        if (sc_accept(build, ".entry")) return read_entry(reader, weak);
        if (sc_accept(build, ".global")) return read_variables(reader, SPACE_GLOBAL, external, weak);
        if (sc_accept(build, ".const")) return read_variables(reader, SPACE_CONST, external, weak);
        if (sc_accept(build, ".shared")) return read_variables(reader, SPACE_SHARED, external, weak);
        if (sc_accept(build, ".section")) return skip_section(build);
        if (sc_token_is(&word, ".version") || sc_token_is(&word, ".target") || sc_token_is(&word, ".file") ||
            sc_token_is(&word, ".loc")) {
            while (build->token.kind != SC_TOKEN_END && build->token.line == word.line) sc_advance(build);
            return build->status == SC_ENGINE_OK;
        }
        if (sc_accept(build, ".address_size")) {
            int64_t bits;
            if (!sc_read_integer(build, &bits)) return false;
            return bits == 64 || sc_fail(build, word.line, "only 64-bit addresses are built");
        }
        if (sc_accept(build, ".pragma") || sc_accept(build, ".alias")) {
            while (build->token.kind != SC_TOKEN_END && !sc_token_is(&build->token, ";")) sc_advance(build);
            return sc_expect(build, ";");
        }
        if (sc_accept(build, ";")) return true;
        return sc_fail(build, word.line, "not PTX: %.*s", (int)(word.bytes < 60 ? word.bytes : 60),
                       word.text);
    }
}

static bool resolve_references(struct reader *reader)
{
    struct sc_source *source = reader->source;
    struct sc_build *build = &source->build;
    for (uint32_t i = 0; i < reader->references.count; i++) {
        const struct reference *reference = &reader->references.at[i];
        build->names.unit = reference->unit;
        const struct sc_name *name = sc_names_find(&build->names, reference->text, reference->bytes);
        bool function = name && name->kind == SC_NAME_FUNCTION;
        if (!function && (!name || name->kind != SC_NAME_GLOBAL))
            return sc_fail(build, reference->line, "initial value not built");
        if (function) build->functions.at[name->index].address_taken = true;
        struct sc_fixup fixup = {reference->variable, reference->offset, function, name->index,
                                 reference->addend};
        if (!sc_vec_push(&source->fixups, fixup)) return sc_fail_memory(build);
    }
    return true;
}

/* If any function calls through a pointer: finds the functions whose address is taken. */
static void find_addresses(struct sc_source *source)
{
    struct sc_build *build = &source->build;
    bool indirect = false;
    for (uint32_t i = 0; i < build->functions.count; i++) indirect |= build->functions.at[i].indirect;
    for (uint32_t i = 0; i < source->entries.count; i++) indirect |= source->entries.at[i].function.indirect;
    for (uint32_t i = 0; indirect && i < build->functions.count; i++)
        if (build->functions.at[i].defined) sc_mark_addresses(build, build->functions.at[i].at);
    for (uint32_t i = 0; indirect && i < source->entries.count; i++)
        sc_mark_addresses(build, source->entries.at[i].at);
}

static bool read_signatures(struct sc_source *source)
{
    struct sc_build *build = &source->build;
    build->names.local = false;
    for (uint32_t i = 0; build->status == SC_ENGINE_OK && i < source->entries.count; i++) {
        sc_go_to(build, source->entries.at[i].at);
        sc_names_enter(&build->names);
        sc_read_signature(build, &source->entries.at[i].signature);
        sc_names_leave(&build->names);
    }
    return build->status == SC_ENGINE_OK;
}

static bool read_text(struct reader *reader, const struct sc_text *text)
{
    struct sc_build *build = &reader->source->build;
    sc_go_to(build, (struct sc_lexer){text->text, text->text + text->bytes, 1});
    sc_advance(build);
    if (!sc_token_is(&build->token, ".version"))
        return sc_fail(build, build->token.line, "not PTX: it does not begin with .version");
    while (build->status == SC_ENGINE_OK && build->token.kind != SC_TOKEN_END)
        if (!read_directive(reader)) break;
    return build->status == SC_ENGINE_OK;
}

bool sc_read_source(struct sc_source *source, const struct sc_text *texts, size_t count)
{
    struct sc_build *build = &source->build;
    struct reader reader = {.source = source};
    sc_begin_function(build); /* because initial values are parsed as operands, which need values */
    for (size_t i = 0; i < count; i++)
        if (!read_text(&reader, &texts[i])) break;
    if (build->status == SC_ENGINE_OK && resolve_references(&reader)) find_addresses(source);
    if (build->status == SC_ENGINE_OK && sc_find_recursion(build)) read_signatures(source);
    sc_drop_function(build);
    sc_vec_free(&reader.references);
    return build->status == SC_ENGINE_OK;
}
