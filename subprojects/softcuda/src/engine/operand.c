/* Parses operands and converts them to values. */
#include "build.h"

#include <string.h>

#include "module.h"

static const struct {
    const char *name;
    uint8_t special;
} specials[] = {
    {"%tid.x", SC_SPECIAL_TID_X},
    {"%tid.y", SC_SPECIAL_TID_Y},
    {"%tid.z", SC_SPECIAL_TID_Z},
    {"%laneid", SC_SPECIAL_LANE},
    {"%warpid", SC_SPECIAL_WARP},
    {"%lanemask_eq", SC_SPECIAL_LANEMASK_EQ},
    {"%lanemask_le", SC_SPECIAL_LANEMASK_LE},
    {"%lanemask_lt", SC_SPECIAL_LANEMASK_LT},
    {"%lanemask_ge", SC_SPECIAL_LANEMASK_GE},
    {"%lanemask_gt", SC_SPECIAL_LANEMASK_GT},
    {"%ntid.x", SC_SPECIAL_NTID_X},
    {"%ntid.y", SC_SPECIAL_NTID_Y},
    {"%ntid.z", SC_SPECIAL_NTID_Z},
    {"%nctaid.x", SC_SPECIAL_NCTAID_X},
    {"%nctaid.y", SC_SPECIAL_NCTAID_Y},
    {"%nctaid.z", SC_SPECIAL_NCTAID_Z},
    {"%ctaid.x", SC_SPECIAL_CTAID_X},
    {"%ctaid.y", SC_SPECIAL_CTAID_Y},
    {"%ctaid.z", SC_SPECIAL_CTAID_Z},
    {"%nwarpid", SC_SPECIAL_NWARP},
    {"%dynamic_smem_size", SC_SPECIAL_DYNAMIC_SHARED},
    {"%total_smem_size", SC_SPECIAL_TOTAL_SHARED},
    {"%smid", SC_SPECIAL_SM},
    {"%envreg1", SC_SPECIAL_ENVREG_1},
    {"%envreg2", SC_SPECIAL_ENVREG_2},
};

/* Special registers that are constant on this device, and clocks */
static const struct {
    const char *name;
    uint8_t bytes;
    bool clock;
    uint64_t bits;
} fixed[] = {
    {"%nsmid", 4, false, 1},
    {"%gridid", 8, false, 1},
    {"%clusterid.x", 4, false, 0},
    {"%clusterid.y", 4, false, 0},
    {"%clusterid.z", 4, false, 0},
    {"%cluster_ctaid.x", 4, false, 0},
    {"%cluster_ctaid.y", 4, false, 0},
    {"%cluster_ctaid.z", 4, false, 0},
    {"%cluster_nctaid.x", 4, false, 1},
    {"%cluster_nctaid.y", 4, false, 1},
    {"%cluster_nctaid.z", 4, false, 1},
    {"%cluster_ctarank", 4, false, 0},
    {"%cluster_nctarank", 4, false, 1},
    {"%is_explicit_cluster", 4, false, 0},
    {"%aggr_smem_size", 4, false, 0},
    {"WARP_SZ", 4, false, 32},
    {"%clock", 4, true, 0},
    {"%clock_hi", 4, true, 0},
    {"%clock64", 8, true, 0},
    {"%globaltimer", 8, true, 0},
    {"%globaltimer_lo", 4, true, 0},
    {"%globaltimer_hi", 4, true, 0},
};

static bool text_is(const char *text, uint32_t bytes, const char *word)
{
    return strlen(word) == bytes && memcmp(text, word, bytes) == 0;
}

/* Finds %r17 in a range declared as %r<100> */
static uint32_t find_in_range(struct sc_build *build, const char *text, uint32_t bytes)
{
    uint32_t digits = 0;
    uint64_t number = 0;
    while (digits < bytes && text[bytes - 1 - digits] >= '0' && text[bytes - 1 - digits] <= '9') digits++;
    for (uint32_t used = digits; used > 0; used--) { /* %a1<5> also declares %a10 to %a14 */
        uint32_t stem = bytes - used;
        if (used > 9 || (used > 1 && text[stem] == '0')) continue;
        const struct sc_name *name = sc_names_find(&build->names, text, stem);
        if (!name || name->kind != SC_NAME_RANGE) continue;
        number = 0;
        for (uint32_t i = stem; i < bytes; i++) number = number * 10 + (uint64_t)(text[i] - '0');
        if (number < name->count) return name->index + (uint32_t)number;
    }
    return 0;
}

static uint32_t find_register(struct sc_build *build, const char *text, uint32_t bytes)
{
    const struct sc_name *name = sc_names_find(&build->names, text, bytes);
    if (name) return name->kind == SC_NAME_REGISTER ? name->index : 0;
    uint32_t value = find_in_range(build, text, bytes);
    if (value) return value;
    for (size_t i = 0; i < sizeof specials / sizeof *specials; i++)
        if (text_is(text, bytes, specials[i].name)) return sc_special_value(build, specials[i].special);
    if ((bytes > 7 && memcmp(text, "%envreg", 7) == 0) ||
        (bytes > 22 && memcmp(text, "%reserved_smem_offset_", 22) == 0))
        return sc_constant(build, 4, 0);
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) {
        if (!text_is(text, bytes, fixed[i].name)) continue;
        if (!fixed[i].clock) return sc_constant(build, fixed[i].bytes, fixed[i].bits);
        value = sc_new_value(build, fixed[i].bytes);
        struct sc_ir *ir = sc_emit(build, SC_OP_CLOCK);
        if (!ir) return 0;
        ir->result[0] = value, ir->result_count = 1, ir->guard = 0;
        ir->immediate = bytes > 3 && memcmp(text + bytes - 3, "_hi", 3) == 0 ? 32 : 0;
        return value;
    }
    return 0;
}

bool sc_read_integer(struct sc_build *build, int64_t *value)
{
    bool negative = false;
    while (sc_token_is(&build->token, "-") || sc_token_is(&build->token, "+")) {
        negative ^= sc_token_is(&build->token, "-");
        sc_advance(build);
    }
    if (build->token.kind != SC_TOKEN_INTEGER)
        return sc_fail(build, build->token.line, "a number is missing");
    *value = (int64_t)(negative ? 0 - build->token.value : build->token.value);
    sc_advance(build);
    return build->status == SC_ENGINE_OK;
}

static bool is_number(const struct sc_token *token)
{
    return token->kind == SC_TOKEN_INTEGER || token->kind == SC_TOKEN_FLOAT32 ||
           token->kind == SC_TOKEN_FLOAT64;
}

static bool read_literal(struct sc_build *build, struct sc_operand *operand)
{
    bool negative = sc_accept(build, "-");
    if (!is_number(&build->token)) return sc_fail(build, build->token.line, "a number is missing");
    operand->kind = SC_OPERAND_LITERAL;
    operand->literal_kind = build->token.kind;
    operand->bits = build->token.value;
    if (negative && build->token.kind == SC_TOKEN_INTEGER) operand->bits = 0 - operand->bits;
    if (negative && build->token.kind == SC_TOKEN_FLOAT32) operand->bits ^= 0x80000000u;
    if (negative && build->token.kind == SC_TOKEN_FLOAT64) operand->bits ^= 1ull << 63;
    sc_advance(build);
    return true;
}

/* A register, or a name with an offset */
static bool read_word(struct sc_build *build, struct sc_operand *operand)
{
    struct sc_token word = build->token;
    if (word.kind != SC_TOKEN_WORD) return sc_fail(build, word.line, "an operand is missing");
    sc_advance(build);
    operand->text = word.text;
    operand->bytes = word.bytes;
    if (word.bytes == 1 && word.text[0] == '_') {
        operand->kind = SC_OPERAND_SINK;
        return true;
    }
    operand->value = find_register(build, word.text, word.bytes);
    operand->kind = operand->value ? SC_OPERAND_VALUE : SC_OPERAND_NAME;
    if (build->status != SC_ENGINE_OK) return false;
    if (!operand->value && word.text[0] == '%')
        return sc_fail(build, word.line, "unknown register %.*s", (int)(word.bytes < 100 ? word.bytes : 100),
                       word.text);
    return true;
}

static bool read_vector(struct sc_build *build, struct sc_operand *operand)
{
    operand->kind = SC_OPERAND_VECTOR;
    do {
        struct sc_operand element = {0};
        if (operand->count == SC_VECTOR_MAX) return sc_fail(build, build->token.line, "vector too long");
        if (!(is_number(&build->token) || sc_token_is(&build->token, "-") ? read_literal(build, &element)
                                                                          : read_word(build, &element)))
            return false;
        if (element.kind == SC_OPERAND_NAME)
            return sc_fail(build, build->token.line, "a register is missing");
        unsigned i = operand->count++;
        operand->element[i].kind = element.kind;
        operand->element[i].value = element.value;
        operand->element[i].bits = element.bits;
        operand->element[i].literal_kind = element.literal_kind;
    } while (sc_accept(build, ","));
    return sc_expect(build, "}");
}

static bool read_address(struct sc_build *build, struct sc_operand *operand)
{
    if (is_number(&build->token) || sc_token_is(&build->token, "-")) {
        if (!sc_read_integer(build, &operand->offset)) return false;
    } else if (!read_word(build, operand)) {
        return false;
    }
    operand->kind = SC_OPERAND_ADDRESS;
    if (sc_token_is(&build->token, "+") || sc_token_is(&build->token, "-")) {
        int64_t more;
        if (!sc_read_integer(build, &more)) return false;
        operand->offset = (int64_t)((uint64_t)operand->offset + (uint64_t)more);
    }
    return sc_expect(build, "]");
}

bool sc_read_operand(struct sc_build *build, struct sc_operand *operand)
{
    memset(operand, 0, sizeof *operand);
    if (sc_accept(build, "{")) return read_vector(build, operand);
    if (sc_accept(build, "[")) return read_address(build, operand);
    if (is_number(&build->token) || sc_token_is(&build->token, "-")) return read_literal(build, operand);
    operand->negated = sc_accept(build, "!");
    if (!read_word(build, operand)) return false;
    if (operand->kind == SC_OPERAND_NAME &&
        (sc_token_is(&build->token, "+") || sc_token_is(&build->token, "-")))
        return sc_read_integer(build, &operand->offset);
    if (sc_accept(build, "|")) {
        struct sc_operand second = {0};
        if (!read_word(build, &second)) return false;
        if (second.kind == SC_OPERAND_NAME) return sc_fail(build, build->token.line, "a register is missing");
        operand->second = second.value;
        operand->second_given = true;
    }
    return true;
}

static uint32_t shared_address(struct sc_build *build, uint32_t index, const struct sc_operand *operand,
                               unsigned bytes)
{
    struct sc_module_shared *shared = &build->shared.at[index];
    if (shared->offset == UINT32_MAX) {
        uint64_t start = (build->ir.shared_bytes + shared->align - 1) & ~(shared->align - 1);
        if (start + shared->bytes > (1u << 20))
            return sc_fail(build, build->token.line, "too much shared memory");
        shared->offset = (uint32_t)start;
        build->ir.shared_bytes = (uint32_t)(start + shared->bytes);
    }
    return sc_constant(build, bytes, shared->offset + (uint64_t)operand->offset);
}

uint32_t sc_name_value(struct sc_build *build, const struct sc_operand *operand, unsigned bytes)
{
    const struct sc_name *name = sc_names_find(&build->names, operand->text, operand->bytes);
    int shown = (int)(operand->bytes < 100 ? operand->bytes : 100);
    if (!name) return sc_fail(build, build->token.line, "unknown name %.*s", shown, operand->text);
    uint32_t base, result;
    switch (name->kind) {
    case SC_NAME_SHARED:
        if (name->count) return shared_address(build, name->index, operand, bytes);
        return sc_constant(build, bytes, name->offset + (uint64_t)operand->offset);
    case SC_NAME_DYNAMIC: {
        struct sc_value value = {
            .kind = SC_VALUE_CONSTANT, .bytes = (uint8_t)bytes, .bits = (uint64_t)operand->offset};
        if (name->size > build->dynamic_align) build->dynamic_align = (uint32_t)name->size;
        if (!sc_vec_push(&build->ir.values, value) ||
            !sc_vec_push(&build->dynamic, build->ir.values.count - 1))
            return sc_fail_memory(build);
        return build->ir.values.count - 1;
    }
    case SC_NAME_GLOBAL:
        if (bytes != 8) return sc_fail(build, build->token.line, "an address needs 64 bits");
        return sc_constant(build, 8, build->module->variables[name->index] + (uint64_t)operand->offset);
    case SC_NAME_LOCAL:
    case SC_NAME_MESSAGE:
    case SC_NAME_PARAM:
        if (bytes != 8) return sc_fail(build, build->token.line, "an address needs 64 bits");
        base = name->kind == SC_NAME_PARAM ? sc_special_value(build, SC_SPECIAL_PARAM_BASE)
                                           : sc_frame_base(build);
        result = sc_new_value(build, 8);
        if (!sc_emit_row(build, "add_b64", result, base,
                         sc_constant(build, 8, name->offset + (uint64_t)operand->offset), 0, 0))
            return 0;
        return result;
    case SC_NAME_FUNCTION:
        if (bytes != 8) return sc_fail(build, build->token.line, "an address needs 64 bits");
        return sc_constant(build, 8, sc_module_function_address(build->module, name->index));
    default:
        return sc_fail(build, build->token.line, "%.*s is not a variable", shown, operand->text);
    }
}

static uint64_t literal_bits(enum sc_token_kind kind, uint64_t bits, unsigned bytes, char type)
{
    float single;
    double number;
    uint32_t low = (uint32_t)bits;
    if (kind == SC_TOKEN_INTEGER && type != 'f') return bits;
    if (kind == SC_TOKEN_INTEGER)
        number = (double)(int64_t)bits;
    else if (kind == SC_TOKEN_FLOAT32 && bytes == 4)
        return low;
    else if (kind == SC_TOKEN_FLOAT32)
        memcpy(&single, &low, 4), number = single;
    else if (bytes == 8)
        return bits;
    else
        memcpy(&number, &bits, 8);
    if (bytes == 4) {
        single = (float)number;
        memcpy(&low, &single, 4);
        return low;
    }
    memcpy(&bits, &number, 8);
    return bits;
}

uint32_t sc_source(struct sc_build *build, const struct sc_operand *operand, unsigned bytes, char type)
{
    uint32_t line = build->now ? build->now->line : build->token.line;
    if (build->status != SC_ENGINE_OK) return 0;
    uint32_t value = operand->value;
    if (operand->kind == SC_OPERAND_LITERAL)
        return sc_constant(build, bytes, literal_bits(operand->literal_kind, operand->bits, bytes, type));
    if (operand->kind == SC_OPERAND_NAME) return sc_name_value(build, operand, bytes);
    if (operand->kind != SC_OPERAND_VALUE) return sc_fail(build, line, "a register or number is missing");
    if (build->ir.values.at[value].bytes != bytes) {
        /* %laneid and similar registers may be read into 64 bits; other registers must have the right
         * size. */
        if (build->ir.values.at[value].kind == SC_VALUE_REGISTER || bytes != 8)
            return sc_fail(build, line, "operand has the wrong size");
        uint32_t wide = sc_new_value(build, 8);
        return sc_emit_row(build, "cvt_u64_u32", wide, value, 0, 0, 0) ? wide : 0;
    }
    if (operand->negated) {
        uint32_t opposite = sc_new_value(build, 4);
        return sc_emit_row(build, "not_pred", opposite, value, 0, 0, 0) ? opposite : 0;
    }
    return value;
}

uint32_t sc_target(struct sc_build *build, const struct sc_operand *operand, unsigned bytes)
{
    if (build->status != SC_ENGINE_OK) return 0;
    if (operand->kind == SC_OPERAND_SINK) return sc_new_value(build, bytes);
    if (operand->kind != SC_OPERAND_VALUE || build->ir.values.at[operand->value].kind != SC_VALUE_REGISTER)
        return sc_fail(build, build->now->line, "the destination is not a register");
    if (build->ir.values.at[operand->value].bytes != bytes)
        return sc_fail(build, build->now->line, "the destination has the wrong size");
    return operand->value;
}
