#include "lex.h"

#include <stdlib.h>
#include <string.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' || c == '$' ||
           c == '%';
}

static int digit_value(char c)
{
    if (is_digit(c)) return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return 99;
}

static void skip_block_comment(struct sc_lexer *lexer)
{
    lexer->at += 2;
    while (lexer->at < lexer->end) {
        if (lexer->at + 1 < lexer->end && lexer->at[0] == '*' && lexer->at[1] == '/') {
            lexer->at += 2;
            return;
        }
        if (*lexer->at++ == '\n') lexer->line++;
    }
}

static void skip_space(struct sc_lexer *lexer)
{
    while (lexer->at < lexer->end) {
        char c = *lexer->at;
        char next = lexer->at + 1 < lexer->end ? lexer->at[1] : 0;
        if (c == '\n') {
            lexer->line++;
            lexer->at++;
        } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
            lexer->at++;
        } else if (c == '/' && next == '/') {
            while (lexer->at < lexer->end && *lexer->at != '\n') lexer->at++;
        } else if (c == '/' && next == '*') {
            skip_block_comment(lexer);
        } else {
            return;
        }
    }
}

/* Reads digits of `base` from `at` on, up to the first other character. */
static const char *read_digits(const char *at, const char *end, unsigned base, uint64_t *value)
{
    *value = 0;
    for (; at < end && digit_value(*at) < (int)base; at++)
        *value = *value * base + (unsigned)digit_value(*at);
    return at;
}

static void lex_decimal_float(struct sc_token *token, struct sc_lexer *lexer)
{
    char copy[64];
    size_t n = 0;
    const char *at = token->text;
    while (at < lexer->end && n + 1 < sizeof copy &&
           (is_digit(*at) || *at == '.' || *at == 'e' || *at == 'E' ||
            ((*at == '-' || *at == '+') && n && (copy[n - 1] == 'e' || copy[n - 1] == 'E'))))
        copy[n++] = *at++;
    copy[n] = 0;
    double number = strtod(copy, NULL);
    memcpy(&token->value, &number, sizeof number);
    token->kind = SC_TOKEN_FLOAT64;
    lexer->at = at;
}

static void lex_number(struct sc_token *token, struct sc_lexer *lexer)
{
    const char *at = lexer->at, *end = lexer->end;
    char second = at + 1 < end ? at[1] : 0;
    token->kind = SC_TOKEN_INTEGER;
    if (*at == '0' && (second == 'f' || second == 'F' || second == 'd' || second == 'D')) {
        unsigned digits = second == 'f' || second == 'F' ? 8 : 16;
        token->kind = digits == 8 ? SC_TOKEN_FLOAT32 : SC_TOKEN_FLOAT64;
        lexer->at = read_digits(at + 2, end, 16, &token->value);
        if (lexer->at != at + 2 + digits) token->kind = SC_TOKEN_BAD;
        return;
    }
    if (*at == '0' && (second == 'x' || second == 'X')) {
        at = read_digits(at + 2, end, 16, &token->value);
    } else if (*at == '0' && (second == 'b' || second == 'B')) {
        at = read_digits(at + 2, end, 2, &token->value);
    } else {
        at = read_digits(at, end, 10, &token->value);
        if (at < end && (*at == '.' || *at == 'e' || *at == 'E')) {
            lex_decimal_float(token, lexer);
            return;
        }
        if (*token->text == '0') read_digits(token->text, end, 8, &token->value);
    }
    if (at < end && (*at == 'U' || *at == 'u')) at++;
    lexer->at = at;
}

/* A directive ends where the next one begins: .reg.b32 are two. */
static void lex_word(struct sc_lexer *lexer)
{
    bool directive = *lexer->at == '.';
    lexer->at++;
    while (lexer->at < lexer->end) {
        if (directive && *lexer->at == '.') return;
        char c = *lexer->at;
        if (is_name(c) || c == '.') {
            lexer->at++;
        } else if (c == ':' && lexer->at + 1 < lexer->end && lexer->at[1] == ':') {
            lexer->at += 2;
        } else {
            return;
        }
    }
}

static void lex_string(struct sc_token *token, struct sc_lexer *lexer)
{
    token->text = ++lexer->at;
    while (lexer->at < lexer->end && *lexer->at != '"' && *lexer->at != '\n') lexer->at++;
    token->kind = lexer->at < lexer->end && *lexer->at == '"' ? SC_TOKEN_STRING : SC_TOKEN_BAD;
    token->bytes = (uint32_t)(lexer->at - token->text);
    if (lexer->at < lexer->end) lexer->at++;
}

struct sc_token sc_lex(struct sc_lexer *lexer)
{
    skip_space(lexer);
    struct sc_token token = {.kind = SC_TOKEN_END, .text = lexer->at, .line = lexer->line};
    if (lexer->at >= lexer->end || *lexer->at == 0) {
        lexer->at = lexer->end;
        return token;
    }
    char c = *lexer->at;
    if (c == '"') {
        lex_string(&token, lexer);
        return token;
    }
    if (is_digit(c)) {
        lex_number(&token, lexer);
    } else if (is_name(c) || c == '.') {
        token.kind = SC_TOKEN_WORD;
        lex_word(lexer);
    } else {
        token.kind = (unsigned char)c < 0x80 ? SC_TOKEN_PUNCT : SC_TOKEN_BAD;
        lexer->at++;
    }
    token.bytes = (uint32_t)(lexer->at - token.text);
    return token;
}

bool sc_token_is(const struct sc_token *token, const char *word)
{
    return (token->kind == SC_TOKEN_WORD || token->kind == SC_TOKEN_PUNCT) && strlen(word) == token->bytes &&
           memcmp(token->text, word, token->bytes) == 0;
}
