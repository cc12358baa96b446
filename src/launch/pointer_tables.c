#include "launch/access.h"

#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/grow.h"

#define TABLES_MAX 4096u
#define WHERE_TABLE 0x80000000u /* in sl_word.where: not a parameter itself */

void sl_tables_close(struct sl_tables *tables)
{
    for (uint32_t i = 0; i < tables->count; i++) free(tables->tables[i].targets);
    free(tables->tables);
    free(tables->variables);
    *tables = (struct sl_tables){0};
}

void sl_tables_variable(struct sl_tables *tables, uint64_t address, uint64_t bytes, uint64_t module)
{
    for (uint32_t v = 0; v < tables->variable_count; v++)
        if (tables->variables[v].address == address) {
            tables->variables[v] = (struct sl_variable){address, bytes, module};
            return;
        }
    if (tables->variable_count == TABLES_MAX || !sl_grow(&tables->variables, &tables->variable_capacity,
                                                         tables->variable_count, sizeof *tables->variables))
        return;
    tables->variables[tables->variable_count++] = (struct sl_variable){address, bytes, module};
}

/* The first table that ends after `address`. */
static uint32_t table_from(const struct sl_tables *tables, uint64_t address)
{
    uint32_t low = 0, high = tables->count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (tables->tables[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void forget(struct sl_tables *tables, uint64_t begin, uint64_t end)
{
    uint32_t at = table_from(tables, begin), past = at;
    while (past < tables->count && tables->tables[past].begin < end) free(tables->tables[past++].targets);
    if (past == at) return;
    memmove(&tables->tables[at], &tables->tables[past], (tables->count - past) * sizeof *tables->tables);
    tables->count -= past - at;
}

/* The words of a copy that are addresses in live allocations. The program's source may not be readable
 * memory. Then the driver reports the error; sluice must not fault. */
static uint32_t read_targets(struct sl_scanner *scanner, const struct sl_launch *launch, uint64_t **targets)
{
    uint64_t *words = scanner->tables.words;
    uint64_t skip = -launch->upload.to & 7, bytes = launch->upload.bytes - skip;
    struct iovec to = {words, bytes}, from = {(char *)launch->upload.from + skip, bytes};
    uint32_t count = 0;
    if (launch->upload.bytes < skip + 8 || process_vm_readv(getpid(), &to, 1, &from, 1, 0) != (ssize_t)bytes)
        return 0;
    for (uint64_t w = 0; w < bytes / 8; w++)
        if (sl_arena_owns(words[w]) && sl_place_find(scanner->placement, words[w]) != SL_NONE)
            words[count++] = words[w];
    if (!count) return 0;
    *targets = malloc(count * sizeof **targets);
    if (!*targets) return 0;
    memcpy(*targets, words, count * sizeof *words);
    return count;
}

/* Adds a new table. Launch cache entries do not know of it, so they become invalid. */
static void keep(struct sl_scanner *scanner, const struct sl_table *table)
{
    struct sl_tables *tables = &scanner->tables;
    if (tables->count == TABLES_MAX ||
        !sl_grow(&tables->tables, &tables->capacity, tables->count, sizeof *tables->tables)) {
        free(table->targets);
        return;
    }
    uint32_t at = table_from(tables, table->begin);
    memmove(&tables->tables[at + 1], &tables->tables[at], (tables->count - at) * sizeof *tables->tables);
    tables->tables[at] = *table;
    tables->count++;
    scanner->extents.version++;
}

static void note_upload(struct sl_scanner *scanner, const struct sl_launch *launch)
{
    struct sl_tables *tables = &scanner->tables;
    struct sl_table table = {.begin = launch->upload.to, .end = launch->upload.to + launch->upload.bytes};
    uint32_t at = table_from(tables, table.begin);
    struct sl_table *known = at < tables->count ? &tables->tables[at] : NULL;
    table.slot = sl_place_find(scanner->placement, table.begin);
    const struct sl_variable *variable = NULL, *variables = tables->variables;
    for (uint32_t v = 0; table.slot == SL_NONE && v < tables->variable_count && !variable; v++)
        if (table.begin - variables[v].address < variables[v].bytes) variable = &variables[v];
    if (table.slot == SL_NONE && !variable) return;
    table.module = variable ? variable->module : 0;
    table.target_count = read_targets(scanner, launch, &table.targets);
    if (table.target_count && known && known->begin == table.begin && known->end == table.end) {
        free(known->targets);
        *known = table;
        return;
    }
    forget(tables, table.begin, table.end);
    if (!table.target_count) return;
    tables->in_variables |= variable != NULL;
    keep(scanner, &table);
}

void sl_tables_note(struct sl_scanner *scanner, const struct sl_launch *launch)
{
    if (launch->upload.bytes && launch->upload.bytes <= SL_TABLE_BYTES) {
        note_upload(scanner, launch);
        return;
    }
    uint32_t own = launch->span_count;
    for (uint32_t i = 0; scanner->tables.count && i < own + launch->more_span_count; i++) {
        const struct sl_span *span = i < own ? &launch->spans[i] : &launch->more_spans[i - own];
        if (span->write) forget(&scanner->tables, span->address, span->address + span->bytes);
    }
}

static void follow_table(struct sl_scanner *scanner, struct sl_table *table, uint64_t parameter)
{
    table->followed = scanner->tables.walks;
    for (uint32_t t = 0; t < table->target_count && scanner->usage.word_count < SL_MAX_WORDS; t++)
        scanner->scanned[scanner->usage.word_count++] = (struct sl_word){
            .address = table->targets[t], .parameter = parameter, .where = (uint32_t)parameter};
}

static void follow_variables(struct sl_scanner *scanner, uint32_t number)
{
    uint64_t module = scanner->kernels.kernels[number].module;
    for (uint32_t t = 0; module && t < scanner->tables.count; t++)
        if (scanner->tables.tables[t].slot == SL_NONE && scanner->tables.tables[t].module == module)
            follow_table(scanner, &scanner->tables.tables[t], (uint64_t)number << 32 | WHERE_TABLE | 0xffff);
}

void sl_tables_follow(struct sl_scanner *scanner, uint32_t number)
{
    struct sl_tables *tables = &scanner->tables;
    if (!tables->count) return;
    tables->walks++;
    if (tables->in_variables && number) follow_variables(scanner, number);
    for (uint32_t w = 0; w < scanner->usage.word_count; w++) {
        uint64_t address = scanner->scanned[w].address;
        uint32_t s = sl_place_find(scanner->placement, address);
        if (s == SL_NONE) continue;
        const struct sl_slot *slot = &scanner->placement->slots[s];
        uint64_t end = slot->address + sl_slot_extent_end(slot, address - slot->address);
        if (end > address + SL_TABLE_BYTES) end = address + SL_TABLE_BYTES;
        for (uint32_t t = table_from(tables, address); t < tables->count && tables->tables[t].begin < end;
             t++) {
            struct sl_table *table = &tables->tables[t];
            if (table->slot == s && table->followed != tables->walks)
                follow_table(scanner, table, (uint64_t)number << 32 | WHERE_TABLE | w);
        }
    }
}
