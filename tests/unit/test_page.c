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

#include "base/log.h"
#include "node/page.h"

#define VERSION_AT 8 /* in the file, behind the magic */

static char folder[] = "/tmp/sluice-page-XXXXXX", path[64], log_path[64];
static struct sl_node_entry others[SL_NODE_SLOTS];

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

static void join(struct sl_node *node, uint64_t taken_bytes)
{
    assert_int_equal(sl_node_join(path, node), SL_OK);
    sl_node_say(node,
                &(struct sl_node_entry){.process = (uint64_t)getpid(), .taken_bytes = taken_bytes, .job = 7});
    sl_node_settle(node);
}

/* Another process, which says that it has taken so much, and then waits to be killed. With `settles` false it
 * is in the middle of its registration. */
static pid_t start_other(uint64_t taken_bytes, bool settles)
{
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (!child) {
        struct sl_node node;
        if (sl_node_join(path, &node) != SL_OK) _exit(1);
        sl_node_say(&node,
                    &(struct sl_node_entry){.process = (uint64_t)getpid(), .taken_bytes = taken_bytes});
        if (settles) sl_node_settle(&node);
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
    join(&one, 100);
    join(&two, 200);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0600);
    assert_int_equal(sl_node_others(&one, others), 1);
    assert_int_equal(others[0].taken_bytes, 200);
    assert_int_equal(others[0].job, 7);
    sl_node_set(&two, SL_NODE_WORD(taken_bytes), &(uint64_t){300}, 1);
    assert_int_equal(sl_node_others(&one, others), 1);
    assert_int_equal(others[0].taken_bytes, 300);
    sl_node_leave(&two);
    assert_int_equal(sl_node_others(&one, others), 0);
    assert_true(is_there());
    sl_node_leave(&one);
    assert_false(is_there());
    assert_int_equal(lines_logged(), 0);
}

static void what_the_dead_had_is_reclaimed(void **state)
{
    (void)state;
    struct sl_node node;
    pid_t dead = start_other(100, true), living = start_other(200, true);
    join(&node, 300);
    kill_other(dead);
    assert_int_equal(sl_node_others(&node, others), 2);
    assert_int_equal(sl_node_bury(&node), 1);
    assert_int_equal(sl_node_others(&node, others), 1);
    assert_int_equal(others[0].taken_bytes, 200);
    assert_int_equal(sl_node_bury(&node), 0);
    kill_other(living);
    sl_node_leave(&node);
    assert_false(is_there());
}

/* Killed in the middle of registration, too: its lock must not keep others out. */
static void what_all_left_when_they_were_killed_is_taken_over(void **state)
{
    (void)state;
    struct sl_node node;
    uint32_t count;
    pid_t first = start_other(100, true), second = start_other(200, false);
    assert_int_equal(sl_node_look(path, others, &count), SL_OK);
    assert_int_equal(count, 2);
    kill_other(first);
    kill_other(second);
    assert_true(is_there());
    assert_int_equal(sl_node_look(path, others, &count), SL_OK);
    assert_int_equal(count, 0);
    join(&node, 300);
    sl_node_bury(&node);
    assert_int_equal(sl_node_others(&node, others), 0);
    sl_node_leave(&node);
    assert_false(is_there());
    kill_other(start_other(100, true));
    assert_true(is_there());
    sl_node_sweep(path);
    assert_false(is_there());
}

static void it_is_not_removed_under_those_who_have_it(void **state)
{
    (void)state;
    struct sl_node node;
    join(&node, 1);
    sl_node_sweep(path);
    assert_true(is_there());
    sl_node_leave(&node);
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
    assert_int_equal(sl_node_look(path, others, &count), SL_OK);
    assert_int_equal(count, 1);
    kill_other(parent);
    assert_int_equal(sl_node_look(path, others, &count), SL_OK);
    assert_int_equal(count, 0);
    sl_node_sweep(path);
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
    assert_int_equal(sl_node_join(path, &node), SL_ERR_INVALID);
    assert_false(sl_node_is_registered(&node));
    assert_int_equal(lines_logged(), before + 1);
    assert_int_equal(sl_node_look(path, others, &count), SL_ERR_INVALID);
    sl_node_sweep(path);
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
    join(&node, 1);
    assert_int_equal(sl_node_others(&node, others), 0);
    sl_node_leave(&node);
    assert_false(is_there());
    struct sl_node second;
    put("what nobody wrote", 18, 0); /* or cut short: by a process that was killed over it */
    join(&node, 1);
    join(&second, 2);
    assert_int_equal(sl_node_others(&node, others), 1);
    sl_node_leave(&second);
    sl_node_leave(&node);
    assert_false(is_there());
}

static void use(struct sl_node *node, uint64_t taken_bytes)
{
    sl_node_set(node, SL_NODE_WORD(taken_bytes), &taken_bytes, 1);
    sl_node_count(node, SL_NODE_WORD(link), 1);
    sl_node_bury(node);
    sl_node_others(node, others);
}

/* Whatever another process does to the file, what is lost are statements. */
static void a_file_that_is_cut_or_overwritten_or_gone_harms_nobody(void **state)
{
    (void)state;
    struct sl_node one, two;
    static char garbage[SL_NODE_SLOTS * sizeof(struct sl_node_slot)];
    join(&one, 100);
    join(&two, 200);
    assert_int_equal(truncate(path, 0), 0);
    assert_int_equal(sl_node_others(&one, others), 0);
    use(&one, 101);
    use(&two, 201);
    assert_int_equal(sl_node_others(&one, others), 0); /* a process that is not stated is no process */
    sl_node_say(&two, &(struct sl_node_entry){.process = 2, .taken_bytes = 202});
    assert_int_equal(sl_node_others(&one, others), 1);
    assert_int_equal(others[0].taken_bytes, 202);
    memset(garbage, 0xff, sizeof(garbage));
    put(garbage, sizeof(garbage), 0);
    assert_true(sl_node_others(&one, others) < SL_NODE_SLOTS);
    use(&one, 103);
    assert_int_equal(unlink(path), 0);
    use(&one, 104);
    sl_node_leave(&one);
    sl_node_leave(&two);
}

/* As a program does that becomes a daemon. The file is opened again, and the slot stays its own. */
static void a_program_that_closes_its_descriptors_keeps_its_slot(void **state)
{
    (void)state;
    struct sl_node one, two;
    join(&one, 100);
    close(one.pages);
    int stranger = open("/dev/zero", O_RDWR);
    sl_node_set(&one, SL_NODE_WORD(taken_bytes), &(uint64_t){101}, 1);
    assert_true(one.pages != stranger);
    join(&two, 200);
    assert_int_equal(sl_node_bury(&two), 0);
    assert_int_equal(sl_node_others(&two, others), 1);
    assert_int_equal(others[0].taken_bytes, 101);
    close(one.pages);
    sl_node_leave(&one);
    sl_node_leave(&two);
    assert_false(is_there());
    close(stranger);
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
    enum sl_status status = sl_node_join(path, &node);
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
    assert_int_equal(sl_node_join(path, &one_more), SL_ERR_UNSUPPORTED);
    assert_int_equal(sl_node_others(&nodes[0], others), SL_NODE_SLOTS - 1);
    for (uint32_t i = 0; i < SL_NODE_SLOTS; i++) sl_node_leave(&nodes[i]);
    assert_false(is_there());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(others_see_what_is_said, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(what_the_dead_had_is_reclaimed, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(what_all_left_when_they_were_killed_is_taken_over, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(it_is_not_removed_under_those_who_have_it, make_folder,
                                        remove_folder),
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
