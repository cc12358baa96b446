/* Lexer for PTX. The text need not end in NUL and is not trusted. */
#ifndef SOFTCUDA_ENGINE_LEX_H
#define SOFTCUDA_ENGINE_LEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sc_token_kind {
    SC_TOKEN_END,
    SC_TOKEN_WORD,    /* name, directive or opcode with its modifiers: letters, digits and $ % _ . :: */
    SC_TOKEN_INTEGER, /* value: 64 bits */
    SC_TOKEN_FLOAT32, /* 0f........: value holds the bits */
    SC_TOKEN_FLOAT64, /* 0d................ or decimal: value holds the bits */
    SC_TOKEN_STRING,  /* text without the quotes */
    SC_TOKEN_PUNCT,   /* one character */
    SC_TOKEN_BAD,
};

struct sc_token {
    enum sc_token_kind kind;
    const char *text; /* into the PTX */
    uint32_t bytes;
    uint32_t line;
    uint64_t value;
};

struct sc_lexer {
    const char *at, *end;
    uint32_t line;
};

/* Returns the next token; at the end, SC_TOKEN_END at every call. Never reads outside [at, end). */
struct sc_token sc_lex(struct sc_lexer *lexer);

/* Whether the token is exactly this word or punctuation character */
bool sc_token_is(const struct sc_token *token, const char *word);

#endif
