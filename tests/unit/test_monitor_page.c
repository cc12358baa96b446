/* A page shows what its owner last wrote, complete or not at all; a page of a dead process goes; what is no
 * page, or another's, stays and is refused. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tools/top/page.h"

static char folder[] = "/tmp/sluice-monitor-XXXXXX", own[SL_MONITOR_PATH];

static int make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder)) return -1;
    return sl_monitor_path(folder, getpid(), own) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(own);
    return rmdir(folder);
}

static void a_page_shows_what_was_written(void **state)
{
    (void)state;
    static struct sl_monitor_record record;
    assert_true(sl_monitor_page_open(folder));
    struct stat status;
    assert_int_equal(stat(own, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0600);
    assert_int_equal(sl_monitor_read(own, &record), SL_OK);
    assert_int_equal(record.devices, 0);
    struct sl_stats figures = {.steps = 7, .total.bytes_in = {1, 2, 3}, .came = "a kernel"};
    sl_monitor_page_write(0, &figures);
    figures.steps = 9;
    sl_monitor_page_write(SL_MONITOR_DEVICES - 1, &figures);
    assert_int_equal(sl_monitor_read(own, &record), SL_OK);
    assert_int_equal(record.process, getpid());
    assert_int_equal(record.devices, 2);
    assert_int_equal(record.numbers[1], SL_MONITOR_DEVICES - 1);
    assert_int_equal(record.figures[0].steps, 7);
    assert_int_equal(record.figures[1].steps, 9);
    assert_int_equal(record.figures[1].total.bytes_in[2], 3);
    assert_string_equal(record.figures[1].came, "a kernel");
    assert_int_equal(record.user, geteuid());
    sl_monitor_page_close();
    assert_int_equal(sl_monitor_read(own, &record), SL_ERR_IO);
    sl_monitor_page_close();
}

/* The reader takes an entry again that was written meanwhile. The writer makes all words equal. */
static void an_entry_is_never_read_in_part(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t writer = fork();
    if (writer == 0) {
        static struct sl_stats figures;
        if (!sl_monitor_page_open(folder) || write(ends[1], "x", 1) != 1) _exit(1);
        for (uint64_t i = 1;; i++) {
            figures.steps = figures.live_bytes = figures.total.launches = figures.unallocated_bytes = i;
            sl_monitor_page_write(0, &figures);
        }
    }
    char path[SL_MONITOR_PATH], byte;
    static struct sl_monitor_record record;
    assert_true(sl_monitor_path(folder, writer, path));
    assert_int_equal(read(ends[0], &byte, 1), 1);
    for (int i = 0; i < 20000; i++) {
        assert_int_equal(sl_monitor_read(path, &record), SL_OK);
        if (!record.devices) continue;
        const struct sl_stats *f = &record.figures[0];
        assert_int_equal(f->steps, f->live_bytes);
        assert_int_equal(f->steps, f->total.launches);
        assert_int_equal(f->steps, f->unallocated_bytes);
    }
    kill(writer, SIGKILL);
    waitpid(writer, NULL, 0);
    struct stat link;
    assert_int_equal(sl_monitor_read(path, &record), SL_ERR_IO);
    assert_int_equal(lstat(path, &link), 0); /* the link is left, until the next process starts */
    assert_true(sl_monitor_page_open(folder));
    assert_int_equal(lstat(path, &link), -1);
    sl_monitor_page_close();
    close(ends[0]);
    close(ends[1]);
}

/* The image that follows exec has the same process number, and finds the page of the one before. */
static void a_left_page_of_the_same_number_is_replaced(void **state)
{
    (void)state;
    static struct sl_monitor_record record;
    char target[64];
    snprintf(target, sizeof target, "/proc/%ld/fd/0", (long)getpid());
    assert_int_equal(symlink(target, own), 0);
    assert_true(sl_monitor_page_open(folder));
    assert_int_equal(sl_monitor_read(own, &record), SL_OK);
    sl_monitor_page_close();
}

static bool put_text(const char *path, const char *text)
{
    int file = open(path, O_WRONLY);
    bool good = file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text);
    if (file >= 0) close(file);
    return good;
}

/* The same user in a user namespace of its own may not look at the processes outside. */
static bool enter_user_namespace(void)
{
    char map[64];
    snprintf(map, sizeof map, "%lu %lu 1", (unsigned long)geteuid(), (unsigned long)geteuid());
    return unshare(CLONE_NEWUSER) == 0 && put_text("/proc/self/uid_map", map);
}

/* A child opens a page of its own and closes it, its parent's still being there. */
static void check_child(bool in_user_namespace)
{
    int status;
    struct stat link;
    assert_true(sl_monitor_page_open(folder));
    pid_t child = fork();
    if (child == 0) {
        sl_monitor_page_leave();
        sl_monitor_page_close();
        if (in_user_namespace && !enter_user_namespace()) _exit(77);
        bool another = sl_monitor_page_open(folder);
        sl_monitor_page_close();
        _exit(!another);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    int lost = lstat(own, &link);
    sl_monitor_page_close();
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) skip();
    assert_int_equal(status, 0);
    assert_int_equal(lost, 0);
}

/* A child has no part in its parent's page: it neither removes it nor keeps it alive. */
static void a_child_leaves_the_page_alone(void **state)
{
    (void)state;
    check_child(false);
}

static void a_page_that_may_not_be_looked_at_is_left_alone(void **state)
{
    (void)state;
    check_child(true);
}

static void count_one(const char *path, void *context)
{
    int *found = context;
    assert_string_equal(path, own);
    ++*found;
}

/* Numbers of processes in another PID namespace mean nothing here. */
static void a_page_of_another_pid_namespace_is_left_alone(void **state)
{
    (void)state;
    char path[SL_MONITOR_PATH];
    int found = 0;
    struct stat link;
    snprintf(path, sizeof path, "%s/sluice-monitor-%lu-1073741824-1", folder, (unsigned long)geteuid());
    assert_int_equal(symlink("/proc/1073741824/fd/3", path), 0);
    assert_true(sl_monitor_page_open(folder));
    sl_monitor_list(folder, count_one, &found);
    sl_monitor_page_close();
    assert_int_equal(found, 1);
    assert_int_equal(lstat(path, &link), 0);
    assert_int_equal(unlink(path), 0);
}

/* Whatever another process of the user tries, the owner can store to its page, and readers see that. */
static void a_page_can_be_neither_cut_nor_written_to_by_others(void **state)
{
    (void)state;
    static struct sl_monitor_record record;
    struct sl_stats figures = {.steps = 7};
    assert_true(sl_monitor_page_open(folder));
    sl_monitor_page_write(0, &figures);
    int file = open(own, O_RDWR);
    assert_int_equal(truncate(own, 0), -1);
    assert_int_equal(open(own, O_WRONLY | O_TRUNC), -1);
    if (file >= 0) {
        assert_int_equal(ftruncate(file, 0), -1);
        assert_int_equal(write(file, "a letter", 8), -1);
        assert_ptr_equal(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0), MAP_FAILED);
        close(file);
    }
    figures.steps = 8;
    sl_monitor_page_write(0, &figures);
    assert_int_equal(sl_monitor_read(own, &record), SL_OK);
    assert_int_equal(record.figures[0].steps, 8);
    sl_monitor_page_close();
}

/* A link that another user made leads nowhere, even to a page of ours; nor does one to what is no page. */
static void a_link_of_another_user_is_not_followed(void **state)
{
    (void)state;
    static struct sl_monitor_record record;
    assert_true(sl_monitor_page_open(folder));
    if (geteuid() == 0) {
        assert_int_equal(lchown(own, 1, 1), 0);
        assert_int_equal(sl_monitor_read(own, &record), SL_ERR_IO);
        assert_int_equal(errno, EPERM);
    }
    sl_monitor_page_close();
    char target[64];
    int other = open("/dev/null", O_RDONLY);
    snprintf(target, sizeof target, "/proc/%ld/fd/%d", (long)getpid(), other);
    assert_int_equal(symlink(target, own), 0);
    assert_int_equal(sl_monitor_read(own, &record), SL_ERR_IO);
    assert_int_equal(unlink(own), 0);
    close(other);
}

/* Makes the link lead to `count` bytes of a file that has a page's name. Returns its descriptor. */
static int put(const void *bytes, size_t count)
{
    char target[64];
    int file = memfd_create("sluice-monitor", MFD_CLOEXEC);
    snprintf(target, sizeof target, "/proc/%ld/fd/%d", (long)getpid(), file);
    assert_int_equal(write(file, bytes, count), count);
    unlink(own);
    assert_int_equal(symlink(target, own), 0);
    return file;
}

static void what_is_no_page_is_refused(void **state)
{
    (void)state;
    static struct sl_monitor_record record;
    static struct {
        struct sl_monitor_head head;
        char rest[100];
    } file = {.head = {.magic = "SLMONIT\n", .version = SL_MONITOR_VERSION + 1}};
    assert_int_equal(sl_monitor_read(own, &record), SL_ERR_IO);
    int files[3] = {put("a letter", 8)};
    assert_int_equal(sl_monitor_read(own, &record), SL_ERR_FORMAT);
    files[1] = put(&file, sizeof file);
    assert_int_equal(sl_monitor_read(own, &record), SL_ERR_VERSION);
    file.head.version = SL_MONITOR_VERSION;
    file.head.head_bytes = sizeof file.head;
    file.head.entry_bytes = sizeof(struct sl_monitor_entry);
    file.head.entries = SL_MONITOR_DEVICES;
    files[2] = put(&file, sizeof file); /* ends early */
    assert_int_equal(sl_monitor_read(own, &record), SL_ERR_FORMAT);
    int found = 0;
    sl_monitor_list(folder, count_one, &found);
    assert_int_equal(found, 1);
    for (int i = 0; i < 3; i++) close(files[i]);
    assert_int_equal(unlink(own), 0);
    assert_int_equal(symlink("/dev/null", own), 0);
    assert_int_equal(sl_monitor_read(own, &record), SL_ERR_IO);
    assert_false(sl_monitor_page_open(folder)); /* it does not follow the link, nor remove it */
    assert_int_equal(unlink(own), 0);
    assert_false(sl_monitor_page_open("/nowhere"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_page_shows_what_was_written),
        cmocka_unit_test(an_entry_is_never_read_in_part),
        cmocka_unit_test(a_left_page_of_the_same_number_is_replaced),
        cmocka_unit_test(a_child_leaves_the_page_alone),
        cmocka_unit_test(a_page_that_may_not_be_looked_at_is_left_alone),
        cmocka_unit_test(a_page_of_another_pid_namespace_is_left_alone),
        cmocka_unit_test(a_page_can_be_neither_cut_nor_written_to_by_others),
        cmocka_unit_test(a_link_of_another_user_is_not_followed),
        cmocka_unit_test(what_is_no_page_is_refused),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
