/* State while PTX is parsed and compiled: the parser fills it, and the selectors turn each PTX instruction
 * into instructions on values (ir.h). `status` keeps the first failure; after it all functions do nothing.
 */
#ifndef SOFTCUDA_ENGINE_BUILD_H
#define SOFTCUDA_ENGINE_BUILD_H

#include "ir.h"
#include "names.h"

struct sc_module;

enum sc_operand_kind {
    SC_OPERAND_NONE,
    SC_OPERAND_VALUE,   /* register or special register */
    SC_OPERAND_LITERAL, /* bits, literal_kind */
    SC_OPERAND_ADDRESS, /* [value or name + offset]; value 0 for an absolute address */
    SC_OPERAND_VECTOR,  /* elements */
    SC_OPERAND_NAME,    /* a name that is not a register; may have an offset */
    SC_OPERAND_SINK,    /* _ */
};

#define SC_VECTOR_MAX 8

struct sc_operand {
    enum sc_operand_kind kind;
    enum sc_token_kind literal_kind; /* integer or float */
    uint32_t value;
    uint32_t second; /* p|q */
    bool second_given;
    bool negated;
    const char *text; /* of a name */
    uint32_t bytes;
    uint64_t bits;
    int64_t offset;
    unsigned count;
    struct {
        enum sc_operand_kind kind;
        enum sc_token_kind literal_kind;
        uint32_t value;
        uint64_t bits;
    } element[SC_VECTOR_MAX];
};

#define SC_PARTS_MAX 16
#define SC_OPERANDS_MAX 8

struct sc_part {
    const char *text;
    uint32_t bytes;
};

/* One parsed PTX instruction */
struct sc_instruction {
    uint32_t line;
    const char *text; /* starts at its opcode */
    struct sc_part part[SC_PARTS_MAX];
    unsigned part_count;
    uint32_t used; /* bit mask of the parts that a selector understood */
    struct sc_operand operand[SC_OPERANDS_MAX];
    unsigned count;
    uint32_t guard;
    bool negated;
    bool weighed; /* an emitted instruction already carries its weight of one */
};

struct sc_module_shared {
    const char *text;
    uint32_t name_bytes;
    uint64_t bytes, align;
    uint32_t offset; /* in the current function, or UINT32_MAX */
};

struct sc_device_function {
    const char *text;
    uint32_t bytes;
    struct sc_lexer at; /* position of its return parameters or its name */
    bool defined, weak;
    /* callgraph.c */
    bool indirect;      /* calls through pointers */
    bool stack;         /* uses alloca */
    bool address_taken; /* recorded only if the module calls through pointers */
    bool recursive;
    uint32_t first_call, call_count; /* in sc_build.call_names */
    uint32_t instructions, expanded; /* its own; and with all calls expanded */
};

/* A function that is compiled into the current program as its part i + 1; part 0 is the entry. See
 * stack.c. */
struct sc_outlined {
    uint32_t function, label, frame_bytes;
};

/* A constant whose value is known only when the whole program has been read */
enum sc_late_kind { SC_LATE_FRAME, SC_LATE_LIMIT };
struct sc_late {
    uint32_t value;
    enum sc_late_kind kind;
    uint32_t part;
};

#define SC_ARGUMENTS_MAX 64u

/* Variables that a call passes, in local memory; offsets count from the caller's frame */
struct sc_arguments {
    uint64_t offset[SC_ARGUMENTS_MAX], size[SC_ARGUMENTS_MAX];
    unsigned count;
};

struct sc_range_of_values {
    uint32_t first, count, depth;
};

struct sc_build {
    struct sc_lexer lexer;
    struct sc_token token; /* not yet consumed */
    struct sc_names names;
    const struct sc_module *module; /* that the function is compiled for */
    enum sc_engine_status status;
    struct sc_diagnostic *diagnostic;
    sc_vec(struct sc_module_shared) shared;
    sc_vec(struct sc_device_function) functions;
    sc_vec(struct sc_part) call_names; /* callees of all functions, by name */
    /* the current function */
    struct sc_ir_function ir;
    struct sc_instruction *now;
    uint32_t first_temporary; /* values from here on belong to the current instruction */
    uint32_t special[SC_SPECIAL_COUNT];
    sc_vec(uint32_t) constants;
    sc_vec(uint32_t) dynamic; /* constants that hold addresses of dynamic shared memory */
    uint32_t dynamic_align;
    uint32_t carry;             /* the value that holds CC.CF */
    uint32_t return_label;      /* of the call that is being expanded, or UINT32_MAX */
    unsigned call_depth, calls; /* calls: number of calls expanded in this function */
    /* stack.c */
    sc_vec(struct sc_outlined) outlined;
    sc_vec(uint32_t) sites;          /* labels that calls return to */
    sc_vec(uint32_t) returns, jumps; /* instructions: indexed branches that return, and branches to an
                                        address */
    sc_vec(struct sc_late) late;
    sc_vec(struct sc_range_of_values) ranges; /* registers in scope, with their scopes */
    uint32_t part;                            /* part of the program that is being read */
    uint32_t frame;                           /* the value that holds the frame's address, in parts 1 and up;
                                                 or 0 */
    uint32_t top;                             /* the value that holds the end of the stack, if alloca is used;
                                                 or 0 */
    uint32_t first_range;                     /* of this part, in ranges */
    uint32_t save_at, save_bytes;             /* in the frame: where registers are saved */
    bool deep;                                /* the depth of the stack is unknown */
};

/* Records the first failure. Returns false for convenience. */
bool sc_fail(struct sc_build *build, uint32_t line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool sc_fail_memory(struct sc_build *build);

/* Tokens. sc_go_to: continues at another position, possibly in another text. */
void sc_go_to(struct sc_build *build, struct sc_lexer at);
void sc_advance(struct sc_build *build);
bool sc_accept(struct sc_build *build, const char *word);
bool sc_expect(struct sc_build *build, const char *word);

/* operand.c */
bool sc_read_operand(struct sc_build *build, struct sc_operand *operand);
bool sc_read_integer(struct sc_build *build, int64_t *value); /* a signed constant */

/* body.c: reads from '{' to the matching '}' */
bool sc_read_body(struct sc_build *build);

/* call.c: reads a call, after its opcode, up to the semicolon */
bool sc_read_call(struct sc_build *build);
/* Binds a callee's parameters (.param .b64 name, ...) to the caller's variables, or to new ones in the frame
 * (NULL) */
bool sc_bind(struct sc_build *build, const struct sc_arguments *arguments);

/* callgraph.c. sc_scan_body reads a body, from '{' on, and records what it calls. sc_mark_addresses finds
 * functions whose address is taken in the body at `at`. sc_find_recursion is called when all bodies were
 * scanned. */
bool sc_scan_body(struct sc_build *build, struct sc_device_function *function);
void sc_mark_addresses(struct sc_build *build, struct sc_lexer at);
bool sc_find_recursion(struct sc_build *build);

/* stack.c: a call of a function or, if `pointer` is not 0, through that pointer */
bool sc_call_outlined(struct sc_build *build, uint32_t function, uint32_t pointer,
                      const struct sc_arguments *in, const struct sc_arguments *out);
uint32_t sc_frame_base(struct sc_build *build); /* the base of local variables' offsets */
bool sc_begin_stack(struct sc_build *build);    /* at the start of a function that uses alloca */
bool sc_read_outlined(struct sc_build *build);  /* after the entry: reads all functions that it calls */
bool sc_read_variable_type(struct sc_build *build, uint32_t *element_bytes, uint64_t *align);

/* emit.c: values and instructions. Functions that return a value return 0 on failure. */
uint32_t sc_new_value(struct sc_build *build, unsigned bytes);
uint32_t sc_constant(struct sc_build *build, unsigned bytes, uint64_t bits);
uint32_t sc_special_value(struct sc_build *build, enum sc_special special);
uint32_t sc_new_label(struct sc_build *build);
bool sc_set_label(struct sc_build *build, uint32_t label);
uint32_t sc_find_label(struct sc_build *build, const char *text, uint32_t bytes);

/* The address, value or constant of a named object; 0 on failure. */
uint32_t sc_name_value(struct sc_build *build, const struct sc_operand *operand, unsigned bytes);

/* An operand as a source of `bytes` bytes; with type 'f', literals are floating point. 0 on failure. */
uint32_t sc_source(struct sc_build *build, const struct sc_operand *operand, unsigned bytes, char type);

/* An operand as a destination of `bytes` bytes; a sink gets a new value. 0 on failure. */
uint32_t sc_target(struct sc_build *build, const struct sc_operand *operand, unsigned bytes);

/* Appends an instruction with the current line and guard; NULL on failure. Results that are temporaries are
 * not guarded. The pointer is valid until the next instruction is appended. */
struct sc_ir *sc_emit(struct sc_build *build, uint16_t code);

/* Emits the row of ops.def with this name. */
bool sc_emit_row(struct sc_build *build, const char *name, uint32_t result, uint32_t a, uint32_t b,
                 uint32_t c, uint32_t e);
/* The same with the current instruction's operands: destination 0, sources from 1 on. */
bool sc_emit_operands(struct sc_build *build, const char *name, bool saturate);

/* select_memory.c: computes an address operand, with its offset, as one value. sc_wide_address takes the
 * space from the modifiers; for sc_wide_address_in the caller sets it. */
bool sc_wide_address(struct sc_build *build, const struct sc_operand *operand, struct sc_access *access,
                     uint32_t *base);
bool sc_wide_address_in(struct sc_build *build, const struct sc_operand *operand, struct sc_access *access,
                        uint32_t *base);

/* select_packed.c: an instruction on one number, or on a pair in one register, which is processed number by
 * number */
struct sc_parts {
    const char *stem, *type; /* of the row's name; of the instruction */
    bool flush, saturate, relu;
    bool cross_sign; /* .xorsign.abs */
    uint8_t rounding;
};
bool sc_emit_parts(struct sc_build *build, const struct sc_parts *parts);

/* modifiers of the current instruction */
bool sc_has(struct sc_build *build, const char *modifier);
bool sc_part_is(const struct sc_part *part, const char *text);

/* The type modifier at position `from_end`, counted from the last: "s32" and so on; "" if there is none. */
const char *sc_type(struct sc_build *build, unsigned from_end);
unsigned sc_type_bits(const char *type);
const char *sc_untyped(const char *type); /* b32 for s32 and u32; other types unchanged */

/* select*.c: translates one PTX instruction */
bool sc_select(struct sc_build *build);
typedef bool sc_selector(struct sc_build *build);
struct sc_selector_entry {
    const char *opcode;
    sc_selector *select;
};
extern const struct sc_selector_entry sc_select_arithmetic[], sc_select_data[], sc_select_memory[],
    sc_select_control[], sc_select_matrix[], sc_select_convert[], sc_select_packed[], sc_select_async[],
    sc_select_stack[];

#endif
