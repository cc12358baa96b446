/* The page of the node: what one process says the others see, what a dead one had is anybody's, a file that
 * somebody else made is left alone, and none is left behind. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/log.h"
#include "node/page.h"

#define VERSION_AT 8 /* in the file, behind the magic */

static char folder[] = "/tmp/sluice-page-XXXXXX", path[64], log_path[64];
static struct sl_node_table table;

static int make_folder(void **state)
{
    (void)state;
    strcpy(folder + strlen(folder) - 6, "XXXXXX");
    if (!mkdtemp(folder)) return -1;
    snprintf(path, sizeof(path), "%s/node", folder);
    snprintf(log_path, sizeof(log_path), "%s/log", folder);
    sl_log_open(0, log_path);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    sl_log_open(0, NULL);
    unlink(path);
    unlink(log_path);
    return rmdir(folder);
}

static bool is_there(void)
{
    struct stat status;
    return lstat(path, &status) == 0;
}

static struct sl_node_entry claims(uint64_t bytes)
{
    return (struct sl_node_entry){.process = (uint64_t)getpid(), .claimed_bytes = bytes, .job = 7};
}

static void join(struct sl_node *node, uint64_t bytes)
{
    assert_int_equal(sl_node_join(path, node, &table), SL_OK);
    struct sl_node_entry entry = claims(bytes);
    sl_node_unlock(node, &entry);
}

/* States that the process claims so much. False: it is alone. */
static bool change(struct sl_node *node, uint64_t bytes)
{
    struct sl_node_entry entry = claims(bytes);
    bool locked = sl_node_lock(node, &table);
    sl_node_unlock(node, &entry);
    return locked;
}

/* How many others a process sees, and what they claim together. */
static uint32_t others_of(struct sl_node *node, uint64_t *claimed)
{
    uint32_t count = 0;
    *claimed = 0;
    struct sl_node_entry own = claims(1);
    if (sl_node_lock(node, &table)) {
        off_t at = (off_t)(offsetof(struct sl_node_table, entries) + node->slot * sizeof(own));
        assert_in_range(pread(node->file, &own, sizeof(own), at), 0, sizeof(own));
    }
    for (uint32_t s = 0; s < SL_NODE_SLOTS; s++) {
        count += table.entries[s].process != 0;
        *claimed += table.entries[s].claimed_bytes;
    }
    sl_node_unlock(node, &own);
    return count;
}

/* Another process, which claims so much, and then waits to be killed. With `settles` false it keeps the lock.
 */
static pid_t start_other(uint64_t bytes, bool settles)
{
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (!child) {
        struct sl_node node;
        struct sl_node_entry entry = claims(bytes);
        if (sl_node_join(path, &node, &table) != SL_OK) _exit(1);
        sl_node_unlock(&node, &entry);
        if (!settles) sl_node_lock(&node, &table);
        if (write(ready[1], "", 1) != 1) _exit(1);
        for (;;) pause();
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return child;
}

static void kill_other(pid_t child)
{
    int status;
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
}

static int lines_logged(void)
{
    char text[4096];
    int lines = 0, fd = open(log_path, O_RDONLY);
    ssize_t got = fd < 0 ? 0 : read(fd, text, sizeof(text));
    if (fd >= 0) close(fd);
    for (ssize_t i = 0; i < got; i++) lines += text[i] == '\n';
    return lines;
}

static void others_see_what_is_said(void **state)
{
    (void)state;
    struct sl_node one, two;
    struct stat status;
    uint64_t claimed;
    join(&one, 100);
    join(&two, 200);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0600);
    assert_int_equal(others_of(&one, &claimed), 1);
    assert_int_equal(claimed, 200);
    assert_int_equal(table.entries[two.slot].job, 7);
    assert_true(change(&two, 300));
    assert_int_equal(others_of(&one, &claimed), 1);
    assert_int_equal(claimed, 300);
    sl_node_leave(&two);
    assert_int_equal(others_of(&one, &claimed), 0);
    assert_true(is_there());
    sl_node_leave(&one);
    assert_false(is_there());
    assert_int_equal(lines_logged(), 0);
}

static void the_dead_have_nothing(void **state)
{
    (void)state;
    struct sl_node node;
    uint64_t claimed;
    pid_t dead = start_other(100, true), living = start_other(200, true);
    join(&node, 300);
    assert_int_equal(others_of(&node, &claimed), 2);
    kill_other(dead);
    assert_int_equal(others_of(&node, &claimed), 1);
    assert_int_equal(claimed, 200);
    dead = start_other(400, true); /* in the same slot */
    assert_int_equal(others_of(&node, &claimed), 2);
    assert_int_equal(claimed, 600);
    kill_other(dead);
    kill_other(living);
    sl_node_leave(&node);
    assert_false(is_there());
}

/* Killed with the lock, too: it must not keep others out. */
static void what_all_left_when_they_were_killed_is_taken_over(void **state)
{
    (void)state;
    struct sl_node node;
    uint32_t count;
    uint64_t claimed;
    pid_t first = start_other(100, true), second = start_other(200, true);
    assert_int_equal(sl_node_look(path, &table, &count), SL_OK);
    assert_int_equal(count, 2);
    kill_other(second);
    second = start_other(200, false);
    kill_other(first);
    kill_other(second);
    assert_true(is_there());
    join(&node, 300);
    assert_int_equal(others_of(&node, &claimed), 0);
    sl_node_leave(&node);
    assert_false(is_there());
    kill_other(start_other(100, true));
    assert_true(is_there());
    assert_int_equal(sl_node_look(path, &table, &count), SL_OK);
    assert_int_equal(count, 0);
    assert_false(is_there());
}

static void it_is_not_removed_under_those_who_have_it(void **state)
{
    (void)state;
    struct sl_node node;
    uint32_t count;
    join(&node, 1);
    assert_int_equal(sl_node_look(path, &table, &count), SL_OK);
    assert_int_equal(count, 1);
    assert_true(is_there());
    sl_node_leave(&node);
}

/* A process that was stopped with the lock is waited for once, and for a second. */
static void who_does_not_get_the_lock_goes_on_alone(void **state)
{
    (void)state;
    struct sl_node node, late;
    uint32_t count;
    uint64_t claimed;
    join(&node, 100);
    pid_t other = start_other(200, false);
    assert_false(change(&node, 300));
    assert_int_equal(lines_logged(), 1);
    uint64_t before = sl_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    for (int i = 0; i < 1000; i++) assert_false(change(&node, 300));
    assert_in_range(sl_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - before, 0, 100000000);
    assert_int_equal(others_of(&node, &claimed), 0);
    assert_int_equal(sl_node_join(path, &late, &table), SL_ERR_IO);
    assert_int_equal(sl_node_look(path, &table, &count), SL_ERR_IO);
    kill_other(other);
    join(&late, 400);
    assert_int_equal(others_of(&late, &claimed), 1);
    assert_int_equal(claimed, 100); /* what it had before is still known */
    sl_node_leave(&node);
    sl_node_leave(&late);
    assert_false(is_there());
}

/* A helper process that a program forks and that outlives it has no part in its slot; nor does a program lose
 * it that closes all its descriptors. */
static void a_child_has_no_part_in_it(void **state)
{
    (void)state;
    struct sl_node node;
    int child_number[2];
    pid_t helper = 0;
    uint32_t count;
    assert_int_equal(pipe(child_number), 0);
    pid_t parent = fork();
    if (!parent) {
        join(&node, 100);
        helper = fork();
        if (!helper)
            for (;;) pause();
        syscall(SYS_close_range, 3, child_number[1] - 1, 0);
        syscall(SYS_close_range, child_number[1] + 1, ~0u, 0);
        if (write(child_number[1], &helper, sizeof(helper)) != sizeof(helper)) _exit(1);
        for (;;) pause();
    }
    assert_int_equal(read(child_number[0], &helper, sizeof(helper)), sizeof(helper));
    assert_int_equal(sl_node_look(path, &table, &count), SL_OK);
    assert_int_equal(count, 1);
    kill_other(parent);
    assert_int_equal(sl_node_look(path, &table, &count), SL_OK);
    assert_int_equal(count, 0);
    assert_false(is_there());
    kill(helper, SIGKILL);
    close(child_number[0]);
    close(child_number[1]);
}

static void put(const void *bytes, size_t count, off_t at)
{
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, bytes, count, at), count);
    close(fd);
}

static void refused(void)
{
    struct sl_node node;
    uint32_t count;
    int before = lines_logged();
    assert_int_equal(sl_node_join(path, &node, &table), SL_ERR_INVALID);
    assert_false(change(&node, 1));
    assert_int_equal(lines_logged(), before + 1);
    assert_int_equal(sl_node_look(path, &table, &count), SL_ERR_INVALID);
    sl_node_leave(&node);
    assert_true(is_there()); /* it is not ours to remove */
}

static void what_others_could_have_made_is_refused(void **state)
{
    (void)state;
    struct sl_node node;
    put("", 1, 0);
    assert_int_equal(chmod(path, 0660), 0);
    refused();
    unlink(path);
    assert_int_equal(symlink("/etc/passwd", path), 0);
    refused();
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    refused();
    unlink(path);
    if (geteuid() == 0) {
        put("", 1, 0);
        assert_int_equal(chown(path, 1, 1), 0);
        refused();
        unlink(path);
    }
    put("", 1, 0);
    char other_name[80];
    snprintf(other_name, sizeof(other_name), "%s.other", path);
    assert_int_equal(link(path, other_name), 0);
    refused();
    unlink(other_name);
    unlink(path);
    join(&node, 1); /* with nothing in the way */
    sl_node_leave(&node);
}

/* Of another version, or damaged, while somebody has it: what he says cannot be understood. */
static void what_is_not_understood_is_refused_while_somebody_has_it(void **state)
{
    (void)state;
    struct sl_node node;
    static const uint32_t version = 99;
    pid_t other = start_other(100, true);
    put(&version, sizeof(version), VERSION_AT);
    refused();
    kill_other(other);
    uint64_t claimed;
    join(&node, 1);
    assert_int_equal(others_of(&node, &claimed), 0);
    sl_node_leave(&node);
    assert_false(is_there());
    struct sl_node second;
    put("what nobody wrote", 18, 0); /* or cut short: by a process that was killed over it */
    join(&node, 1);
    join(&second, 2);
    assert_int_equal(others_of(&node, &claimed), 1);
    sl_node_leave(&second);
    sl_node_leave(&node);
    assert_false(is_there());
}

/* Whatever another process does to the file, what is lost is known again with the next changes. */
static void a_file_that_is_cut_or_overwritten_or_gone_harms_nobody(void **state)
{
    (void)state;
    struct sl_node one, two;
    uint64_t claimed;
    static char garbage[sizeof(struct sl_node_table)];
    for (int way = 0; way < 3; way++) {
        join(&one, 100);
        join(&two, 200);
        memset(garbage, 0xff, sizeof(garbage));
        if (way == 0) assert_int_equal(truncate(path, 0), 0);
        if (way == 1) put(garbage, sizeof(garbage), 0);
        if (way == 2) put(garbage, sizeof(garbage), offsetof(struct sl_node_table, entries));
        others_of(&one, &claimed);
        assert_true(change(&one, 101));
        assert_true(change(&two, 202));
        assert_int_equal(others_of(&one, &claimed), 1);
        assert_int_equal(claimed, 202);
        assert_int_equal(unlink(path), 0);
        assert_false(change(&one, 104));
        assert_int_equal(others_of(&one, &claimed), 0);
        sl_node_leave(&one);
        sl_node_leave(&two);
    }
}

/* As a program does that becomes a daemon. */
static void a_program_that_closes_its_descriptors_keeps_its_slot(void **state)
{
    (void)state;
    struct sl_node one, two;
    uint64_t claimed;
    int before = dup(0);
    join(&one, 100);
    assert_int_equal(dup(0), before + 1); /* none of ours is left open */
    assert_int_equal(one.file, -1);
    join(&two, 200);
    assert_int_equal(others_of(&two, &claimed), 1);
    assert_int_equal(claimed, 100);
    sl_node_leave(&one);
    sl_node_leave(&two);
    assert_false(is_there());
    close(before);
    close(before + 1);
}

/* The program limits the size of its files, and the file with it. Breaks if that ends the program. */
static void a_limit_of_file_sizes_is_an_error(void **state)
{
    (void)state;
    struct sl_node node;
    struct rlimit before, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = 4096;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    enum sl_status status = sl_node_join(path, &node, &table);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(status, SL_ERR_IO);
    join(&node, 1);
    sl_node_leave(&node);
}

static void a_full_page_takes_no_more(void **state)
{
    (void)state;
    static struct sl_node nodes[SL_NODE_SLOTS], one_more;
    for (uint32_t i = 0; i < SL_NODE_SLOTS; i++) join(&nodes[i], i);
    uint64_t claimed;
    assert_int_equal(sl_node_join(path, &one_more, &table), SL_ERR_UNSUPPORTED);
    assert_int_equal(others_of(&nodes[0], &claimed), SL_NODE_SLOTS - 1);
    for (uint32_t i = 0; i < SL_NODE_SLOTS; i++) sl_node_leave(&nodes[i]);
    assert_false(is_there());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(others_see_what_is_said, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(the_dead_have_nothing, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(what_all_left_when_they_were_killed_is_taken_over, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(it_is_not_removed_under_those_who_have_it, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(who_does_not_get_the_lock_goes_on_alone, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_child_has_no_part_in_it, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(what_others_could_have_made_is_refused, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(what_is_not_understood_is_refused_while_somebody_has_it, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(a_file_that_is_cut_or_overwritten_or_gone_harms_nobody, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(a_program_that_closes_its_descriptors_keeps_its_slot, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(a_limit_of_file_sizes_is_an_error, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_full_page_takes_no_more, make_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
