#include "touched.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static FILE *file;  /* guarded by the driver's lock */
static bool wanted; /* set once; read without the lock by kernels that still run while another thread ends the
                       process */

void sc_touched_init(void)
{
    const char *wish = sc_options()->touched;
    if (!*wish) return;
    char path[4096];
    sc_expand_path(wish, path, sizeof path);
    file = fopen(path, "we");
    wanted = file != NULL;
    if (wanted)
        sc_engine_note_touches();
    else
        sc_log("cannot write what is touched to %s: %s", path, strerror(errno));
}

bool sc_touched_wanted(void)
{
    return wanted;
}

struct box {
    uint64_t address, width, height, depth, pitch, slice;
};

static void add_box(struct sc_touches *touches, const struct box *box, bool write)
{
    for (uint64_t z = 0; z < box->depth; z++)
        for (uint64_t y = 0; y < box->height; y++)
            sc_touches_add(touches, box->address + z * box->slice + y * box->pitch, box->width, write);
}

static void add_copy(struct sc_touches *touches, const struct sc_copy_work *copy)
{
    struct box box = {copy->destination,      copy->width, copy->height, copy->depth, copy->destination_pitch,
                      copy->destination_slice};
    if (copy->to != SC_SIDE_PAGEABLE) add_box(touches, &box, true);
    box = (struct box){copy->source, copy->width,        copy->height,
                       copy->depth,  copy->source_pitch, copy->source_slice};
    if (copy->from != SC_SIDE_PAGEABLE) add_box(touches, &box, false);
}

static void print_ranges(const char *name, const struct sc_touched *touched, size_t count, bool written)
{
    uint64_t begin = 0, end = 0;
    bool first = true;
    fprintf(file, ", \"%s\": [", name);
    for (size_t i = 0; i <= count; i++) {
        bool here = i < count && (written ? touched[i].written : touched[i].read);
        if (here && touched[i].begin == end) {
            end = touched[i].end;
            continue;
        }
        if (i < count && !here) continue;
        if (end) {
            fprintf(file, "%s[%llu, %llu]", first ? "" : ", ", (unsigned long long)begin,
                    (unsigned long long)(end - begin));
            first = false;
        }
        begin = i < count ? touched[i].begin : 0;
        end = i < count ? touched[i].end : 0;
    }
    fputs("]", file);
}

static void print_line(const struct sc_op *op, const char *kind, const struct sc_touched *touched,
                       size_t count)
{
    fprintf(file, "{\"op\": %llu, \"kind\": \"%s\", \"name\": \"%s\", \"stream\": %llu, \"graph\": %llu",
            (unsigned long long)op->id, kind,
            op->kind == SC_OP_KERNEL && op->launch.name ? op->launch.name : "", op->stream_id,
            (unsigned long long)op->graph);
    if (op->dropped) fputs(", \"dropped\": true", file);
    print_ranges("read", touched, count, false);
    print_ranges("written", touched, count, true);
    fputs("}\n", file);
}

void sc_touched_write(const struct sc_op *op)
{
    if (!file) return;
    if (op->kind == SC_OP_KERNEL) {
        print_line(op, "kernel", op->cost.touched, op->cost.touched_count);
    } else if (op->kind == SC_OP_COPY || op->kind == SC_OP_SET) {
        struct sc_touches touches = {0};
        struct sc_touched *touched = NULL;
        size_t count = 0;
        const struct sc_set_work *set = &op->set;
        struct box filled = {set->address, set->width * set->element_bytes, set->height, 1, set->pitch, 0};
        if (op->kind == SC_OP_COPY && !op->dropped) add_copy(&touches, &op->copy);
        if (op->kind == SC_OP_SET && !op->dropped) add_box(&touches, &filled, true);
        if (!sc_touches_ranges(&touches, &touched, &count)) sc_log("no memory to tell what operations touch");
        print_line(op, op->kind == SC_OP_COPY ? "copy" : "set", touched, count);
        free(touched);
        sc_touches_free(&touches);
    } else if (op->kind == SC_OP_JOIN && op->graph == op->id) {
        print_line(op, "graph", NULL, 0);
    }
}

void sc_touched_flush(void)
{
    if (file) fflush(file);
}

void sc_touched_close(void)
{
    if (file && fclose(file)) sc_log("cannot write what is touched");
    file = NULL;
}
