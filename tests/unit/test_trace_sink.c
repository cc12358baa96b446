/* The trace's file as it is written: blocks that can be read, within the limit, and no byte in anybody else's
 * file. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/log.h"
#include "trace/trace_sink.h"
#include "trace_file.h"

static char folder[] = "/tmp/sluice-sink-XXXXXX";
static char path[64], other[64];
static struct sl_trace_sink sink;

static int clear(void **state)
{
    (void)state;
    sl_trace_sink_close(&sink);
    if (sink.workspace) munmap(sink.workspace, sink.workspace_bytes);
    sink = (struct sl_trace_sink){0};
    unlink(path);
    unlink(other);
    return 0;
}

static void open_sink(uint64_t limit_bytes)
{
    assert_int_equal(sl_trace_sink_open(&sink, path, limit_bytes), SL_OK);
}

static void add(sl_tick tick, uint64_t noise)
{
    struct sl_event event = {
        .type = SL_EVENT_LAUNCH, .tick = tick, .time_ns = tick, .a = noise, .c = noise ^ noise >> 29};
    sl_trace_sink_add(&sink, 1, &event);
}

/* Records that cannot be compressed to nothing. */
static void add_noise(sl_tick from, sl_tick to)
{
    for (sl_tick tick = from; tick <= to; tick++) add(tick, tick * 0x9e3779b97f4a7c15);
}

static struct trace_content closed_and_read(void)
{
    sl_trace_sink_flush(&sink, 1);
    sl_trace_sink_add(&sink, 0, &(struct sl_event){.type = SLUICE_TRACE_END, .a = sink.records});
    sl_trace_sink_flush(&sink, 0);
    sl_trace_sink_close(&sink);
    return trace_read_file(path);
}

static void put(const char *name, const char *text)
{
    FILE *file = fopen(name, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void assert_content(const char *name, const char *expected)
{
    char text[64];
    FILE *file = fopen(name, "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof(text) - 1, file)] = 0;
    fclose(file);
    assert_string_equal(text, expected);
}

static off_t size_of(const char *name)
{
    struct stat at;
    assert_int_equal(stat(name, &at), 0);
    return at.st_size;
}

/* The sink is as before, and nothing was changed on the disk. */
static void assert_refused(const char *name, int error)
{
    static struct sl_trace_sink zeros;
    errno = 0;
    assert_int_equal(sl_trace_sink_open(&sink, name, 0), SL_ERR_IO);
    assert_int_equal(errno, error);
    sink.file.fd = 0; /* -1 or as it was: none */
    assert_memory_equal(&sink, &zeros, sizeof(sink));
}

static void only_a_trace_or_nothing_is_replaced(void **state)
{
    (void)state;
    static char long_path[PATH_MAX + 2];
    memset(long_path, '/', PATH_MAX);
    assert_refused(long_path, ENAMETOOLONG);
    assert_refused("/no/such/folder/trace", ENOENT);
    put(path, "a letter");
    assert_refused(path, EEXIST);
    assert_content(path, "a letter");
    assert_int_equal(symlink(path, other), 0);
    assert_refused(other, ELOOP);
    put(path, "");
    open_sink(0);
    sl_trace_sink_close(&sink);
    munmap(sink.workspace, sink.workspace_bytes);
    sink = (struct sl_trace_sink){0};
    open_sink(0); /* in place of the one before */
}

static void records_are_written_as_they_were_added(void **state)
{
    (void)state;
    open_sink(0);
    sl_trace_sink_flush(&sink, 1); /* an empty block is none */
    assert_int_equal(size_of(path), sizeof(struct sluice_trace_header));
    for (size_t i = 0; i < trace_sample_count; i++) sl_trace_sink_add(&sink, 7, &trace_samples[i]);
    assert_int_equal(size_of(path), sizeof(struct sluice_trace_header)); /* in the making */
    sl_trace_sink_flush(&sink, 7);
    assert_int_equal(sink.records, trace_sample_count);
    assert_int_equal(sink.lost, 17); /* as the sample of a gap says */
    struct trace_content content = closed_and_read();
    assert_int_equal(content.problem.status, SL_OK);
    assert_int_equal(content.count, trace_sample_count);
    for (size_t i = 0; i < trace_sample_count; i++) {
        const struct sl_event *is = &content.records[i].event, *was = &trace_samples[i];
        assert_int_equal(content.records[i].thread, 7);
        assert_int_equal(is->type, was->type);
        assert_int_equal(is->tick, was->tick);
        assert_int_equal(is->time_ns, was->time_ns / 64 * 64); /* finer than is worth a byte */
        assert_int_equal(is->a, was->a);
        assert_int_equal(is->d, was->d);
    }
    trace_content_free(&content);
}

/* Walks the file: how many blocks and frames it has; none is of more than 256 KiB, which damage could take.
 */
static void count_blocks(unsigned *block_count, unsigned *frame_count)
{
    struct sluice_trace_block block;
    size_t frame_bytes = 0;
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_int_equal(fseek(file, sizeof(struct sluice_trace_header), SEEK_SET), 0);
    for (*block_count = *frame_count = 0; fread(&block, sizeof(block), 1, file) == 1; ++*block_count) {
        *frame_count += !block.group;
        frame_bytes = (block.group ? frame_bytes : 0) + block.payload_bytes;
        assert_true(frame_bytes <= 256 * SL_KIB);
        assert_int_equal(fseek(file, block.stored_bytes, SEEK_CUR), 0);
    }
    fclose(file);
}

/* Many blocks in several frames, one after the other, and a frame that was ended early. */
static void blocks_follow_each_other(void **state)
{
    (void)state;
    const sl_tick all = 100000;
    unsigned block_count, frame_count;
    open_sink(0);
    add_noise(1, all / 3);
    sl_trace_sink_begin_group(&sink);
    add_noise(all / 3 + 1, all);
    struct trace_content content = closed_and_read();
    assert_int_equal(content.problem.status, SL_OK);
    assert_int_equal(content.count, all);
    for (sl_tick i = 0; i < all; i++) assert_int_equal(content.records[i].event.tick, i + 1);
    trace_content_free(&content);
    count_blocks(&block_count, &frame_count);
    assert_true(frame_count > 2 && block_count > 2 * frame_count);
}

/* A block of a new frame is read though those before it are damaged. */
static void a_new_frame_needs_nothing_before_it(void **state)
{
    (void)state;
    open_sink(0);
    for (int block = 0; block < 4; block++) {
        if (block == 2) sl_trace_sink_begin_group(&sink);
        for (sl_tick tick = 1; tick <= 100; tick++) add((sl_tick)block * 100 + tick, 0);
        sl_trace_sink_flush(&sink, 1);
    }
    sl_trace_sink_close(&sink);
    static uint8_t bytes[1 << 16];
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t size = fread(bytes, 1, sizeof(bytes), file);
    fclose(file);
    bytes[sizeof(struct sluice_trace_header) + 60] ^= 1; /* in the first block */
    bool found;
    struct trace_content content = trace_read_past_damage(bytes, size, &found);
    assert_true(found);
    assert_int_equal(content.records[0].event.type, SL_EVENT_GAP);
    assert_int_equal(content.records[0].event.a, 200); /* with the second, which continues the first */
    assert_int_equal(content.records[1].event.tick, 201);
    assert_int_equal(content.count, 1 + 200);
    trace_content_free(&content);
}

/* A small block: one of nearly any size comes to stand at a segment's end. */
static void add_few(sl_tick *tick)
{
    sl_tick count = 1 + *tick * 0x9e3779b97f4a7c15 % 7;
    add_noise(*tick + 1, *tick + count);
    *tick += count;
    sl_trace_sink_flush(&sink, 1);
}

/* Whatever is written, the file is never larger, its first half stays, and the laps are counted. */
static void a_limited_file_goes_round(void **state)
{
    (void)state;
    const uint64_t limit = SL_TRACE_LIMIT_LEAST;
    sl_tick tick = 0;
    open_sink(limit);
    assert_int_equal(sink.lap, 0);
    while (!sink.lap) add_few(&tick);
    assert_in_range(size_of(path), limit / 2 - sizeof(sink.block), limit / 2 + sizeof(sink.block));
    static uint8_t before[SL_TRACE_LIMIT_LEAST / 2], after[sizeof(before)];
    int fd = open(path, O_RDONLY);
    size_t kept = limit / 2 - sizeof(sink.block);
    assert_int_equal(pread(fd, before, kept, 0), kept);
    for (uint32_t lap = 1; lap < 3 * SL_TRACE_SEGMENTS;) {
        add_few(&tick);
        assert_true(sink.at <= sink.end);
        assert_in_range(sink.lap, lap, lap + 1);
        if (sink.lap == lap) continue;
        lap = sink.lap;
        assert_true((uint64_t)size_of(path) <= limit);
        assert_int_equal((sink.at - sink.tail_offset) / sink.segment_bytes, (lap - 1) % SL_TRACE_SEGMENTS);
    }
    assert_int_equal(pread(fd, after, kept, 0), kept);
    assert_memory_equal(before, after, kept);
    close(fd);
    struct trace_content content = closed_and_read();
    assert_int_equal(content.problem.status, SL_OK);
    assert_int_equal(content.records[0].event.tick, 1);
    assert_int_equal(content.records[content.count - 1].event.tick, tick);
    trace_content_free(&content);
}

/* A terminal has no places to go back to: it gets all of the trace, and its header promises no segments. */
static void what_cannot_be_positioned_has_no_limit(void **state)
{
    (void)state;
    struct termios raw;
    struct sluice_trace_header header = {.segments = 77};
    int terminal = posix_openpt(O_RDWR | O_NOCTTY);
    if (terminal < 0 || grantpt(terminal) || unlockpt(terminal) || tcgetattr(terminal, &raw)) skip();
    cfmakeraw(&raw);
    assert_int_equal(tcsetattr(terminal, TCSANOW, &raw), 0);
    assert_int_equal(sl_trace_sink_open(&sink, ptsname(terminal), SL_TRACE_LIMIT_LEAST), SL_OK);
    assert_int_equal(read(terminal, &header, sizeof(header)), sizeof(header));
    assert_memory_equal(header.magic, SLUICE_TRACE_MAGIC, sizeof(header.magic));
    assert_int_equal(header.segments, 0);
    assert_int_equal(header.tail_offset, 0);
    assert_int_equal(sink.end, UINT64_MAX);
    close(terminal);
}

/* Daemons close whatever is open, and open files of their own. */
static void a_closed_file_ends_the_trace(void **state)
{
    (void)state;
    char log[80], text[256] = "";
    snprintf(log, sizeof(log), "%s/log", folder);
    sl_log_open(0, log);
    open_sink(0);
    add_noise(1, 10);
    sl_trace_sink_flush(&sink, 1);
    int number = sink.file.fd;
    put(other, "theirs");
    int theirs = open(other, O_RDWR);
    assert_int_equal(dup2(theirs, number), number);
    close(theirs);
    for (int i = 0; i < 3; i++) {
        add_noise(11, 20);
        sl_trace_sink_flush(&sink, 1);
    }
    sl_trace_sink_close(&sink);
    assert_content(other, "theirs");
    assert_true(fcntl(number, F_GETFD) >= 0);
    close(number);
    sl_log_open(0, NULL);
    FILE *file = fopen(log, "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof(text) - 1, file)] = 0;
    fclose(file);
    unlink(log);
    assert_non_null(strstr(text, path));
    assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1); /* said once */
    struct trace_content content = trace_read_file(path);
    assert_int_equal(content.count, 10);
    trace_content_free(&content);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(only_a_trace_or_nothing_is_replaced, clear),
        cmocka_unit_test_teardown(records_are_written_as_they_were_added, clear),
        cmocka_unit_test_teardown(blocks_follow_each_other, clear),
        cmocka_unit_test_teardown(a_new_frame_needs_nothing_before_it, clear),
        cmocka_unit_test_teardown(a_limited_file_goes_round, clear),
        cmocka_unit_test_teardown(what_cannot_be_positioned_has_no_limit, clear),
        cmocka_unit_test_teardown(a_closed_file_ends_the_trace, clear),
    };
    if (!mkdtemp(folder)) return 1;
    snprintf(path, sizeof(path), "%s/trace", folder);
    snprintf(other, sizeof(other), "%s/other", folder);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    rmdir(folder);
    return failed;
}
