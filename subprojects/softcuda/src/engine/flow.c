/* Finds basic blocks and their order. */
#include "ir.h"

#include <string.h>

#define NONE UINT32_MAX

static bool ends_block(uint16_t code)
{
    return code == SC_OP_BRANCH || code == SC_OP_BRANCH_INDEXED || code == SC_OP_EXIT ||
           code == SC_OP_BARRIER;
}

void sc_ir_free(struct sc_ir_function *function)
{
    sc_vec_free(&function->values);
    sc_vec_free(&function->code);
    sc_vec_free(&function->labels);
    sc_vec_free(&function->targets);
    sc_vec_free(&function->blocks);
    sc_vec_free(&function->order);
    sc_vec_free(&function->parts);
    sc_vec_free(&function->edges);
    free(function->live_bits);
    function->live_bits = NULL;
}

static bool cut_blocks(struct sc_ir_function *function, uint32_t *block_of)
{
    uint32_t count = function->code.count;
    for (uint32_t i = 0; i < count;) {
        uint32_t begin = i, block = function->blocks.count;
        do {
            bool last = ends_block(function->code.at[i].code);
            block_of[i++] = block;
            if (last) break;
        } while (i < count && block_of[i] == NONE);
        struct sc_ir_block made = {.begin = begin, .end = i, .successor = {NONE, NONE}};
        if (!sc_vec_push(&function->blocks, made)) return false;
    }
    return true;
}

bool sc_find_blocks(struct sc_ir_function *function)
{
    uint32_t count = function->code.count;
    uint32_t *block_of = malloc(((size_t)count + 1) * sizeof *block_of);
    if (!block_of) return false;
    for (uint32_t i = 0; i <= count; i++) block_of[i] = NONE;
    for (uint32_t i = 0; i < function->labels.count; i++)
        block_of[function->labels.at[i]] = 0; /* marks the start of a block */
    bool ok = cut_blocks(function, block_of);
    for (uint32_t i = 0; ok && i < function->blocks.count; i++) {
        struct sc_ir_block *block = &function->blocks.at[i];
        const struct sc_ir *last = &function->code.at[block->end - 1];
        bool follows = i + 1 < function->blocks.count;
        if (last->code == SC_OP_BRANCH_INDEXED) {
            block->targets = (uint32_t)last->immediate;
            block->target_count = last->table_count;
        } else if (last->code == SC_OP_BRANCH) {
            block->successor[1] = block_of[function->labels.at[last->immediate]];
            if (last->guard && follows) block->successor[0] = i + 1;
        } else if (last->code != SC_OP_EXIT || last->guard) {
            if (follows) block->successor[0] = i + 1;
        }
    }
    for (uint32_t i = 0; ok && i < function->targets.count; i++)
        function->targets.at[i] = block_of[function->labels.at[function->targets.at[i]]];
    free(block_of);
    return ok;
}

struct visit {
    uint32_t block, next;
};

/* Numbers blocks in depth-first postorder; unreachable blocks keep NONE. `depth`, which may be NULL, is the
 * loop depth of each block: the successor in fewer loops is visited first, so that it comes later in reverse
 * order. */
static bool postorder(const struct sc_ir_function *function, uint32_t root, const uint32_t *depth,
                      uint32_t *number, uint32_t *sequence, uint32_t *count)
{
    uint32_t blocks = function->blocks.count, top = 0, done = 0;
    struct visit *stack = malloc(((size_t)blocks + 1) * sizeof *stack);
    if (!stack) return false;
    for (uint32_t i = 0; i < blocks; i++) number[i] = NONE;
    unsigned char *seen = calloc(blocks + 1, 1);
    if (!seen) {
        free(stack);
        return false;
    }
    stack[top++] = (struct visit){root, 0};
    seen[root] = 1;
    while (top) {
        struct visit *visit = &stack[top - 1];
        const struct sc_ir_block *block = &function->blocks.at[visit->block];
        uint32_t n = sc_successor_count(block);
        if (visit->next == n) {
            number[visit->block] = done;
            sequence[done++] = visit->block;
            top--;
            continue;
        }
        uint32_t pick = visit->next++;
        if (depth && pick < 2 && block->successor[0] != NONE && block->successor[1] != NONE &&
            depth[block->successor[1]] < depth[block->successor[0]])
            pick = 1 - pick;
        else if (!depth && pick < 2)
            pick = 1 - pick;
        else if (depth && pick < 2 && block->successor[0] != NONE && block->successor[1] != NONE &&
                 depth[block->successor[1]] == depth[block->successor[0]])
            pick = 1 - pick;
        uint32_t to = sc_successor_at(function, block, pick);
        if (to == NONE || seen[to]) continue;
        seen[to] = 1;
        stack[top++] = (struct visit){to, 0};
    }
    free(stack);
    free(seen);
    *count = done;
    return true;
}

struct predecessors {
    uint32_t *first, *list; /* of block b: list[first[b]] to list[first[b + 1]] */
};

static bool find_predecessors(const struct sc_ir_function *function, struct predecessors *out)
{
    uint32_t blocks = function->blocks.count, edges = 0;
    out->first = calloc((size_t)blocks + 2, sizeof *out->first);
    out->list = NULL;
    if (!out->first) return false;
    for (uint32_t pass = 0; pass < 2; pass++) {
        for (uint32_t b = 0; b < blocks; b++) {
            const struct sc_ir_block *block = &function->blocks.at[b];
            for (uint32_t i = 0; i < sc_successor_count(block); i++) {
                uint32_t to = sc_successor_at(function, block, i);
                if (to == NONE) continue;
                if (pass == 0)
                    out->first[to + 2]++, edges++;
                else
                    out->list[out->first[to + 1]++] = b;
            }
        }
        if (pass == 1) break;
        for (uint32_t b = 0; b < blocks; b++) out->first[b + 2] += out->first[b + 1];
        out->list = malloc(((size_t)edges + 1) * sizeof *out->list);
        if (!out->list) return false;
    }
    return true;
}

/* Immediate dominators (Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm") */
static void find_dominators(const struct predecessors *before, uint32_t root, const uint32_t *number,
                            const uint32_t *sequence, uint32_t count, uint32_t blocks, uint32_t *dominator)
{
    for (uint32_t i = 0; i < blocks; i++) dominator[i] = NONE;
    dominator[root] = root;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t s = count - 1; s-- > 0;) {
            uint32_t b = sequence[s], found = NONE;
            for (uint32_t i = before->first[b]; i < before->first[b + 1]; i++) {
                uint32_t p = before->list[i], q = found;
                if (number[p] == NONE || dominator[p] == NONE) continue;
                while (q != NONE && p != q) {
                    if (number[p] < number[q])
                        p = dominator[p];
                    else
                        q = dominator[q];
                }
                found = p;
            }
            if (found != dominator[b]) dominator[b] = found, changed = true;
        }
    }
}

/* Blocks in preorder of the dominator tree: a block dominates the `size` blocks from `enter` on. */
struct tree {
    uint32_t *enter, *size, *next;
};

static void number_tree(const uint32_t *dominator, const uint32_t *sequence, uint32_t count,
                        struct tree *tree)
{
    for (uint32_t s = 0; s < count; s++) tree->size[sequence[s]] = 1;
    for (uint32_t s = 0; s + 1 < count; s++) tree->size[dominator[sequence[s]]] += tree->size[sequence[s]];
    tree->enter[sequence[count - 1]] = 0, tree->next[sequence[count - 1]] = 1; /* the root */
    for (uint32_t s = count - 1; s-- > 0;) {
        uint32_t b = sequence[s], above = dominator[b];
        tree->enter[b] = tree->next[above];
        tree->next[above] += tree->size[b];
        tree->next[b] = tree->enter[b] + 1;
    }
}

static bool dominates(const struct tree *tree, uint32_t a, uint32_t b)
{
    return tree->enter[b] - tree->enter[a] < tree->size[a];
}

/* Computes loop depths: for every edge to a block that dominates its source, the blocks of that loop are one
 * level deeper. A loop with several such edges counts several times for some of its blocks; this does not
 * affect the comparisons. */
static void find_depth(const struct sc_ir_function *function, const struct predecessors *before,
                       const uint32_t *number, const struct tree *tree, uint32_t *depth, uint32_t *stack,
                       uint32_t *mark)
{
    uint32_t blocks = function->blocks.count, stamp = 0;
    memset(depth, 0, blocks * sizeof *depth);
    memset(mark, 0, blocks * sizeof *mark);
    for (uint32_t head = 0; head < blocks; head++) {
        if (number[head] == NONE) continue;
        uint32_t top = 0;
        stamp++;
        for (uint32_t i = before->first[head]; i < before->first[head + 1]; i++) {
            uint32_t tail = before->list[i];
            if (number[tail] == NONE || !dominates(tree, head, tail) || mark[tail] == stamp) continue;
            mark[tail] = stamp;
            stack[top++] = tail;
        }
        if (!top) continue;
        if (mark[head] != stamp) depth[head]++;
        mark[head] = stamp;
        while (top) {
            uint32_t b = stack[--top];
            depth[b]++;
            if (b == head) continue;
            for (uint32_t i = before->first[b]; i < before->first[b + 1]; i++) {
                uint32_t p = before->list[i];
                if (number[p] == NONE || mark[p] == stamp) continue;
                mark[p] = stamp;
                stack[top++] = p;
            }
        }
    }
}

/* Whether in the chosen order every backward edge goes to a block that dominates all blocks up to the edge's
 * source. Then waiting lanes are always at or after the running ones, and no lane overtakes another within a
 * loop. */
static bool is_regular(const struct sc_ir_function *function, const struct tree *tree, uint32_t *extent)
{
    uint32_t blocks = function->order.count;
    if (blocks > 4096) return false; /* because the check is not linear */
    for (uint32_t i = 0; i < blocks; i++) extent[i] = i;
    for (uint32_t i = 0; i < blocks; i++) {
        const struct sc_ir_block *block = &function->blocks.at[function->order.at[i]];
        for (uint32_t k = 0; k < sc_successor_count(block); k++) {
            uint32_t to = sc_successor_at(function, block, k);
            if (to == NONE) continue;
            uint32_t at = function->blocks.at[to].order;
            if (at > i) continue;
            /* it is known to dominate all blocks before `extent` */
            while (extent[at] <= i && dominates(tree, to, function->order.at[extent[at]])) extent[at]++;
            if (extent[at] <= i) return false;
        }
    }
    return true;
}

struct ordering {
    struct predecessors before;
    struct tree tree;
    uint32_t *number, *sequence, *dominator, *depth, *stack, *mark;
};

/* Appends the blocks that are reachable from `root` to the order. */
static bool order_from(struct sc_ir_function *function, struct ordering *o, uint32_t root)
{
    uint32_t blocks = function->blocks.count, count = 0;
    if (!postorder(function, root, NULL, o->number, o->sequence, &count)) return false;
    find_dominators(&o->before, root, o->number, o->sequence, count, blocks, o->dominator);
    number_tree(o->dominator, o->sequence, count, &o->tree);
    find_depth(function, &o->before, o->number, &o->tree, o->depth, o->stack, o->mark);
    if (!postorder(function, root, o->depth, o->number, o->sequence, &count)) return false;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t block = o->sequence[count - 1 - i];
        function->blocks.at[block].order = function->order.count;
        if (!sc_vec_push(&function->order, block)) return false;
    }
    return true;
}

static uint32_t block_at(const struct sc_ir_function *function, uint32_t instruction)
{
    uint32_t low = 0, high = function->blocks.count;
    while (high - low > 1) {
        uint32_t middle = (low + high) / 2;
        if (function->blocks.at[middle].begin <= instruction)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Appends a part after the parts that it calls, so that lanes in a callee run before those that wait for
 * them. */
static bool order_part(struct sc_ir_function *function, struct ordering *o, uint32_t part,
                       unsigned char *done, unsigned depth)
{
    if (done[part]) return true;
    done[part] = 1;
    for (uint32_t i = 0; i < function->edges.count && depth < 256; i++)
        if (function->edges.at[i].from == part &&
            !order_part(function, o, function->edges.at[i].to, done, depth + 1))
            return false;
    return order_from(function, o, part ? block_at(function, function->parts.at[part - 1]) : 0);
}

/* Orders functions that are not expanded one by one, as if calls were not branches. */
static bool order_parts(struct sc_ir_function *function, struct ordering *o)
{
    struct sc_ir_function alone = *function;
    uint32_t blocks = function->blocks.count, parts = function->parts.count + 1;
    unsigned char *done = calloc(parts, 1);
    alone.blocks.at = malloc(blocks * sizeof *alone.blocks.at);
    bool ok = alone.blocks.at && done;
    for (uint32_t b = 0; ok && b < blocks; b++) {
        struct sc_ir_block *block = &alone.blocks.at[b];
        *block = function->blocks.at[b];
        enum sc_transfer transfer = (enum sc_transfer)function->code.at[block->end - 1].transfer;
        if (transfer == SC_TRANSFER_NONE) continue;
        block->successor[0] = transfer == SC_TRANSFER_CALL ? b + 1 : NONE;
        block->successor[1] = NONE;
        block->target_count = 0;
    }
    ok = ok && find_predecessors(&alone, &o->before);
    for (uint32_t part = 0; ok && part < parts; part++) ok = order_part(&alone, o, part, done, 0);
    for (uint32_t b = 0; ok && b < blocks; b++) function->blocks.at[b].order = alone.blocks.at[b].order;
    function->order.at = alone.order.at;
    function->order.count = alone.order.count;
    function->order.capacity = alone.order.capacity;
    free(alone.blocks.at);
    free(done);
    return ok;
}

bool sc_order_blocks(struct sc_ir_function *function)
{
    uint32_t blocks = function->blocks.count;
    uint32_t *memory = malloc(((size_t)blocks + 1) * 9 * sizeof *memory);
    struct ordering o = {.number = memory};
    bool ok = memory != NULL;
    if (ok) {
        o.sequence = o.number + blocks + 1, o.dominator = o.sequence + blocks + 1;
        o.depth = o.dominator + blocks + 1, o.stack = o.depth + blocks + 1, o.mark = o.stack + blocks + 1;
        o.tree = (struct tree){o.mark + blocks + 1, o.mark + 2 * (blocks + 1), o.mark + 3 * (blocks + 1)};
        for (uint32_t b = 0; b < blocks; b++) function->blocks.at[b].order = NONE;
    }
    if (function->parts.count) {
        ok = ok && order_parts(function, &o);
        function->regular = false;
    } else {
        ok = ok && find_predecessors(function, &o.before) && order_from(function, &o, 0);
        function->regular = ok && is_regular(function, &o.tree, o.stack);
    }
    free(memory);
    free(o.before.first);
    free(o.before.list);
    return ok;
}
