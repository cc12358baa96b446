/* The call graph, from a pass over all bodies before any of them is compiled. */
#include "build.h"

#include <string.h>

static bool begins(const struct sc_token *token, const char *word)
{
    size_t n = strlen(word);
    return token->kind == SC_TOKEN_WORD && token->bytes >= n && memcmp(token->text, word, n) == 0 &&
           (token->bytes == n || token->text[n] == '.');
}

/* Called after the opcode of a call: skips to the callee */
static void skip_results(struct sc_build *build)
{
    if (!sc_token_is(&build->token, "(")) return;
    while (build->token.kind != SC_TOKEN_END && !sc_token_is(&build->token, ")")) sc_advance(build);
    sc_advance(build);
    if (sc_token_is(&build->token, ",")) sc_advance(build);
}

static bool note_call(struct sc_build *build, struct sc_device_function *function)
{
    struct sc_token callee = build->token;
    if (callee.kind != SC_TOKEN_WORD) return true; /* reported later, by the compilation */
    sc_advance(build);
    if (callee.text[0] == '%') {
        function->indirect = true;
        return true;
    }
    function->call_count++;
    return sc_vec_push(&build->call_names, (struct sc_part){callee.text, callee.bytes}) ||
           sc_fail_memory(build);
}

bool sc_scan_body(struct sc_build *build, struct sc_device_function *function)
{
    unsigned depth = 0;
    function->first_call = build->call_names.count;
    do {
        if (build->token.kind == SC_TOKEN_END)
            return sc_fail(build, build->token.line, "a brace does not close");
        if (sc_token_is(&build->token, "{")) depth++;
        if (sc_token_is(&build->token, "}") && depth) depth--;
        if (sc_token_is(&build->token, ";")) function->instructions++;
        function->stack |= begins(&build->token, "alloca") || begins(&build->token, "stacksave");
        bool call = begins(&build->token, "call");
        sc_advance(build);
        if (!call) continue;
        skip_results(build);
        if (!note_call(build, function)) return false;
    } while (depth && build->status == SC_ENGINE_OK);
    return build->status == SC_ENGINE_OK;
}

static struct sc_device_function *find(struct sc_build *build, const char *text, uint32_t bytes)
{
    const struct sc_name *name = sc_names_find(&build->names, text, bytes);
    return name && name->kind == SC_NAME_FUNCTION ? &build->functions.at[name->index] : NULL;
}

void sc_mark_addresses(struct sc_build *build, struct sc_lexer at)
{
    unsigned depth = 0;
    sc_go_to(build, at);
    do sc_advance(build);
    while (build->token.kind != SC_TOKEN_END && !sc_token_is(&build->token, "{"));
    do {
        if (sc_token_is(&build->token, "{")) depth++;
        if (sc_token_is(&build->token, "}")) depth--;
        struct sc_device_function *function =
            build->token.kind == SC_TOKEN_WORD ? find(build, build->token.text, build->token.bytes) : NULL;
        if (function) function->address_taken = true;
        bool call = begins(&build->token, "call");
        sc_advance(build);
        if (!call) continue;
        skip_results(build);
        sc_advance(build);
    } while (depth && build->token.kind != SC_TOKEN_END);
}

/* Appends the functions that `from` may call to the queue, unless they are in `seen`. */
static void visit(struct sc_build *build, const struct sc_device_function *from, unsigned char *seen,
                  uint32_t *queue, uint32_t *count)
{
    build->names.unit = from->at.end;
    for (uint32_t i = 0; i < from->call_count; i++) {
        const struct sc_part *call = &build->call_names.at[from->first_call + i];
        const struct sc_device_function *callee = find(build, call->text, call->bytes);
        if (!callee) continue;
        uint32_t index = (uint32_t)(callee - build->functions.at);
        if (!seen[index]) seen[index] = 1, queue[(*count)++] = index;
    }
    for (uint32_t i = 0; from->indirect && i < build->functions.count; i++)
        if (build->functions.at[i].address_taken && !seen[i]) seen[i] = 1, queue[(*count)++] = i;
}

#define FUNCTIONS_MAX 2048u /* above this all functions count as recursive: the search is quadratic */
#define EXPANDED_MAX 1000000u

/* Number of instructions of a function with all its calls expanded, or EXPANDED_MAX */
static uint32_t expanded(struct sc_build *build, struct sc_device_function *function, unsigned depth)
{
    if (function->expanded) return function->expanded;
    uint32_t sum = function->instructions + 1;
    if (function->recursive || depth == 64) return EXPANDED_MAX;
    for (uint32_t i = 0; i < function->call_count && sum < EXPANDED_MAX; i++) {
        const struct sc_part *call = &build->call_names.at[function->first_call + i];
        build->names.unit = function->at.end;
        struct sc_device_function *callee = find(build, call->text, call->bytes);
        if (callee && !callee->recursive) sum += expanded(build, callee, depth + 1);
    }
    return function->expanded = sum < EXPANDED_MAX ? sum : EXPANDED_MAX;
}

bool sc_find_recursion(struct sc_build *build)
{
    uint32_t functions = build->functions.count;
    if (!functions) return true;
    unsigned char *seen = malloc(functions);
    uint32_t *queue = malloc(functions * sizeof *queue);
    bool ok = seen && queue;
    for (uint32_t f = 0; ok && f < functions; f++) {
        struct sc_device_function *function = &build->functions.at[f];
        uint32_t count = 0;
        function->recursive = functions > FUNCTIONS_MAX;
        if (function->recursive || !function->defined) continue;
        memset(seen, 0, functions);
        visit(build, function, seen, queue, &count);
        for (uint32_t i = 0; i < count && !seen[f]; i++)
            visit(build, &build->functions.at[queue[i]], seen, queue, &count);
        function->recursive = seen[f];
    }
    for (uint32_t f = 0; ok && f < functions; f++) expanded(build, &build->functions.at[f], 0);
    free(seen);
    free(queue);
    return ok || sc_fail_memory(build);
}
