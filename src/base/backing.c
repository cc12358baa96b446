#include "base/backing.h"

#include <stdlib.h>
#include <string.h>

#include "base/options.h"

#define LONGEST_RULE 64

static bool parse_site(const char *text, uint64_t *site)
{
    size_t digits = strspn(text += !strncmp(text, "0x", 2) ? 2 : 0, "0123456789abcdefABCDEF");
    if (!digits || digits > 16 || text[digits]) return false;
    *site = strtoull(text, NULL, 16);
    return true;
}

static bool parse_kind(const char *text, enum sl_backing_kind *kind)
{
    static const char *const names[] = {
        [SL_BACKING_UNIFIED] = "unified", [SL_BACKING_PINNED] = "pinned", [SL_BACKING_DEVICE] = "device"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(text, names[i])) {
            *kind = (enum sl_backing_kind)i;
            return true;
        }
    return false;
}

static bool parse_rule(char *text, struct sl_backing_rule *rule)
{
    char *what = text, *backing = strchr(text, '=');
    if (!backing) return false;
    *backing++ = 0;
    if (!parse_kind(backing, &rule->kind)) return false;
    rule->by_site = !strncmp(what, "site:", 5);
    if (rule->by_site) return parse_site(what + 5, &rule->value);
    return !strncmp(what, "from:", 5) && sl_parse_size(what + 5, &rule->value);
}

bool sl_backing_parse(const char *text, struct sl_backing *out)
{
    struct sl_backing parsed = {.count = 0};
    while (*text) {
        size_t length = strcspn(text, ",");
        char rule[LONGEST_RULE];
        if (length >= sizeof rule || parsed.count == SL_MOST_BACKING_RULES) return false;
        memcpy(rule, text, length);
        rule[length] = 0;
        if (!parse_rule(rule, &parsed.rules[parsed.count])) return false;
        parsed.count++;
        text += length;
        if (*text == ',' && !*++text) return false;
    }
    *out = parsed;
    return true;
}

enum sl_backing_kind sl_backing_of(const struct sl_backing *backing, uint64_t site, uint64_t bytes)
{
    for (uint32_t r = 0; r < backing->count; r++) {
        const struct sl_backing_rule *rule = &backing->rules[r];
        if (rule->by_site ? site == rule->value : bytes >= rule->value) return rule->kind;
    }
    return SL_BACKING_UNIFIED;
}

void sl_backing_add_device(struct sl_backing *backing, const struct sl_backing *from)
{
    for (uint32_t r = 0; r < from->count && backing->count < SL_MOST_BACKING_RULES; r++)
        if (from->rules[r].kind == SL_BACKING_DEVICE) backing->rules[backing->count++] = from->rules[r];
}

void sl_backing_put_device(struct sl_backing *backing, uint64_t site)
{
    if (backing->count < SL_MOST_BACKING_RULES) backing->count++;
    memmove(backing->rules + 1, backing->rules, (backing->count - 1) * sizeof *backing->rules);
    backing->rules[0] = (struct sl_backing_rule){.by_site = true, .kind = SL_BACKING_DEVICE, .value = site};
}
