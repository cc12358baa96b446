#include "reference.h"

uint64_t reference_random(uint64_t *state, unsigned bits)
{
    uint64_t mask = bits < 64 ? (1ull << bits) - 1 : UINT64_MAX, x = next_random(state),
             how = next_random(state);
    if (how % 4 == 0) x >>= how / 4 % bits; /* short */
    if (how % 4 == 1) x = ~(x >> how / 4 % bits);
    if (how % 4 == 2) x &= x << 1 & next_random(state); /* few bits */
    return x & mask;
}

void reference_fill(struct reference_cases *cases, const uint64_t *values, size_t count, unsigned bits)
{
    uint64_t state = 0x9e3779b97f4a7c15ull;
    size_t pairs = count * count;
    for (size_t i = 0; i < REFERENCE_CASES; i++) {
        struct ptx_case *in = &cases->in[i];
        *in = (struct ptx_case){reference_random(&state, bits), reference_random(&state, bits),
                                reference_random(&state, bits)};
        if (i < pairs)
            *in =
                (struct ptx_case){values[i % count], values[i / count], values[(i * 7 + i / count) % count]};
        else if (i % 4 == 1)
            in->a = values[i / 4 % count];
        else if (i % 4 == 2)
            in->b = values[i / 4 % count];
    }
}

void reference_fill_integers(struct reference_cases *cases)
{
    static const uint64_t values[] = {0,
                                      1,
                                      2,
                                      3,
                                      7,
                                      8,
                                      15,
                                      16,
                                      17,
                                      31,
                                      32,
                                      33,
                                      63,
                                      64,
                                      65,
                                      0x7f,
                                      0x80,
                                      0xff,
                                      0x100,
                                      0x1010,
                                      0x7fff,
                                      0x8000,
                                      0x8001,
                                      0xffff,
                                      0x10000,
                                      0x7fffff,
                                      0x800000,
                                      0xffffff,
                                      0x1000000,
                                      0x55555555,
                                      0x7fffffff,
                                      0x80000000,
                                      0x80000001,
                                      0xfffffffe,
                                      0xffffffff,
                                      0x100000000,
                                      0x5555555555555555,
                                      0xaaaaaaaaaaaaaaaa,
                                      0x7ffffffffffffffe,
                                      0x7fffffffffffffff,
                                      0x8000000000000000,
                                      0x8000000000000001,
                                      0xffffffff00000000,
                                      0xfffffffffffffffe,
                                      0xffffffffffffffff};
    reference_fill(cases, values, sizeof values / sizeof *values, 64);
}

static unsigned wrong;

static void compare(const struct reference_cases *cases, const char *text, reference_function *right,
                    const void *what)
{
    for (size_t i = 0; i < REFERENCE_CASES; i++) {
        bool open = false;
        const struct ptx_case *in = &cases->in[i];
        uint64_t expected = right(in, what, &open);
        if (open || cases->out[i] == expected) continue;
        print_error("%s on %#llx %#llx %#llx: %#llx, expected %#llx\n", text, (unsigned long long)in->a,
                    (unsigned long long)in->b, (unsigned long long)in->c, (unsigned long long)cases->out[i],
                    (unsigned long long)expected);
        wrong++;
        return;
    }
}

void reference_check(struct reference_cases *cases, const char *text, char result, reference_function *right,
                     const void *what)
{
    struct sc_diagnostic diagnostic;
    if (ptx_accepts(text, result, &diagnostic)) {
        ptx_run(text, result, cases->in, REFERENCE_CASES, cases->out);
        compare(cases, text, right, what);
    } else {
        print_error("%s: %s\n", text, diagnostic.text);
        wrong++;
    }
}

void reference_end(void)
{
    unsigned count = wrong;
    wrong = 0;
    if (count) fail_msg("%u instructions are wrong", count);
}
