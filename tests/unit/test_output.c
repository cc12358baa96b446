/* Files that are written inside somebody else's program: never one of theirs, never a signal, all or nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/output.h"

#define MARKER "notes:"
static const struct sl_file_kind notes = SL_FILE_KIND("no notes", MARKER);

static char folder[] = "/tmp/sluice-output-XXXXXX";
static char path[64], other[64];

static int make_folder(void **state)
{
    (void)state;
    strcpy(folder + strlen(folder) - 6, "XXXXXX");
    if (!mkdtemp(folder)) return -1;
    snprintf(path, sizeof(path), "%s/file", folder);
    snprintf(other, sizeof(other), "%s/other", folder);
    return 0;
}

/* Fails if anything but the two files was left. */
static int remove_folder(void **state)
{
    (void)state;
    unlink(path);
    unlink(other);
    return rmdir(folder);
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
    char text[4096];
    FILE *file = fopen(name, "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof(text) - 1, file)] = 0;
    fclose(file);
    assert_string_equal(text, expected);
}

/* The file is not opened for this reason, and nothing is changed. */
static void assert_refused(const char *name, const struct sl_file_kind *kind, int error)
{
    struct sl_output output = {.fd = -7, .device = 1, .inode = 2};
    errno = 0;
    assert_int_equal(sl_output_open(name, kind, &output), SL_ERR_IO);
    assert_int_equal(errno, error);
    assert_true(output.fd == -7 && output.device == 1 && output.inode == 2);
}

static struct sl_output opened(const struct sl_file_kind *kind)
{
    struct sl_output output = {.fd = -1};
    assert_int_equal(sl_output_open(path, kind, &output), SL_OK);
    assert_true(sl_output_valid(&output));
    return output;
}

static void a_new_file_is_private(void **state)
{
    (void)state;
    struct stat at;
    mode_t mask = umask(0);
    for (int kind = 0; kind < 2; kind++) {
        struct sl_output output = opened(kind ? &notes : NULL);
        assert_int_equal(fstat(output.fd, &at), 0);
        assert_int_equal(at.st_mode & 07777, 0600);
        assert_true(fcntl(output.fd, F_GETFD) & FD_CLOEXEC);
        sl_output_close(&output);
        unlink(path);
    }
    umask(mask);
}

static void an_old_file_is_emptied_or_gone_on_with(void **state)
{
    (void)state;
    put(path, MARKER " old");
    struct sl_output output = opened(NULL);
    assert_int_equal(sl_output_write(&output, " and new", 8), SL_OK);
    sl_output_close(&output);
    assert_content(path, MARKER " old and new");
    output = opened(&notes);
    assert_int_equal(sl_output_write(&output, "new", 3), SL_OK);
    sl_output_close(&output);
    assert_content(path, "new");
    assert_refused(path, &notes, EEXIST); /* is no notes any more */
    assert_content(path, "new");
}

static void links_pipes_and_second_names_are_refused(void **state)
{
    (void)state;
    put(other, MARKER);
    for (int kind = 0; kind < 2; kind++) {
        assert_int_equal(symlink(other, path), 0);
        assert_refused(path, kind ? &notes : NULL, ELOOP);
        unlink(path);
        assert_int_equal(link(other, path), 0);
        assert_refused(path, kind ? &notes : NULL, EPERM);
        unlink(path);
        assert_int_equal(mkfifo(path, 0600), 0);
        assert_refused(path, kind ? &notes : NULL, kind ? EINVAL : ENXIO);
        unlink(path);
        assert_refused(folder, kind ? &notes : NULL, EISDIR);
    }
    assert_content(other, MARKER);
    if (geteuid() != 0) return;
    assert_int_equal(chown(other, 65534, (gid_t)-1), 0);
    assert_refused(other, &notes, EPERM);
    assert_refused(other, NULL, EPERM);
}

/* A program that closed one of its standard streams would print into our file. */
static void standard_descriptors_stay_the_programs(void **state)
{
    (void)state;
    for (int closed = 0; closed < 3; closed++) {
        struct sl_output output = {.fd = -1};
        int kept = fcntl(closed, F_DUPFD_CLOEXEC, 10);
        close(closed);
        enum sl_status status = sl_output_open(path, &notes, &output);
        bool taken = fcntl(closed, F_GETFD) >= 0;
        dup2(kept, closed);
        close(kept);
        assert_int_equal(status, SL_OK);
        assert_false(taken);
        assert_true(output.fd >= 3 && fcntl(output.fd, F_GETFD) & FD_CLOEXEC);
        sl_output_close(&output);
    }
}

/* Two processes that were given one name: the second must not empty what the first writes. */
static void a_file_is_one_writers(void **state)
{
    (void)state;
    struct sl_output output = opened(&notes);
    assert_int_equal(sl_output_write(&output, MARKER " mine", strlen(MARKER " mine")), SL_OK);
    assert_refused(path, &notes, EWOULDBLOCK);
    assert_content(path, MARKER " mine");
    sl_output_close(&output);
    assert_int_equal(output.fd, -1);
    output = opened(&notes);
    sl_output_close(&output);
}

/* Daemons close whatever is open, and open files of their own. */
static void a_descriptor_that_is_another_files_now_is_left_alone(void **state)
{
    (void)state;
    struct sl_output output = opened(NULL);
    int number = output.fd;
    put(other, "theirs");
    int theirs = open(other, O_RDWR);
    assert_int_equal(dup2(theirs, number), number);
    close(theirs);
    assert_false(sl_output_valid(&output));
    sl_output_close(&output);
    assert_int_equal(output.fd, -1);
    assert_true(fcntl(number, F_GETFD) >= 0);
    close(number);
    output.fd = number;
    assert_false(sl_output_valid(&output)); /* nothing at all is there */
    sl_output_close(&output);
    assert_false(sl_output_valid(&output));
    sl_output_close(&output);
    assert_content(other, "theirs");
}

static bool is_pending(int number)
{
    sigset_t pending;
    sigpending(&pending);
    return sigismember(&pending, number);
}

static void assert_unblocked(int number)
{
    sigset_t now;
    assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &now), 0);
    assert_false(sigismember(&now, number));
}

/* Their default is the end of the process. */
static void failed_writes_raise_no_signal(void **state)
{
    (void)state;
    int ends[2];
    struct rlimit limit;
    char bytes[300] = MARKER;
    assert_int_equal(pipe(ends), 0);
    close(ends[0]);
    assert_int_equal(sl_output_put(ends[1], bytes, 1), -1);
    assert_int_equal(errno, EPIPE);
    assert_false(is_pending(SIGPIPE));
    assert_unblocked(SIGPIPE);
    close(ends[1]);

    struct sl_output output = opened(&notes);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &(struct rlimit){100, limit.rlim_max}), 0);
    enum sl_status status = sl_output_write(&output, bytes, sizeof(bytes));
    int error = errno;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_int_equal(status, SL_ERR_IO);
    assert_int_equal(error, EFBIG);
    assert_false(is_pending(SIGXFSZ));
    assert_unblocked(SIGXFSZ);
    struct stat at;
    assert_int_equal(fstat(output.fd, &at), 0);
    assert_int_equal(at.st_size, 100); /* what there was room for */
    sl_output_close(&output);
}

/* One that was on its way to the program before is the program's. */
static void a_signal_of_the_programs_stays_pending(void **state)
{
    (void)state;
    int ends[2], number;
    sigset_t one, before;
    sigemptyset(&one);
    sigaddset(&one, SIGPIPE);
    assert_int_equal(pthread_sigmask(SIG_BLOCK, &one, &before), 0);
    assert_int_equal(pthread_kill(pthread_self(), SIGPIPE), 0);
    assert_int_equal(pipe(ends), 0);
    close(ends[0]);
    assert_int_equal(sl_output_put(ends[1], "x", 1), -1);
    assert_true(is_pending(SIGPIPE));
    assert_int_equal(sigwait(&one, &number), 0);
    assert_int_equal(pthread_sigmask(SIG_SETMASK, &before, NULL), 0);
    close(ends[1]);
}

static void a_file_is_replaced_as_a_whole(void **state)
{
    (void)state;
    struct stat before, after;
    put(path, MARKER " old");
    int reader = open(path, O_RDONLY);
    assert_int_equal(stat(path, &before), 0);
    assert_int_equal(chmod(path, 0644), 0);
    assert_int_equal(sl_output_replace(path, &notes, MARKER " new", strlen(MARKER " new")), SL_OK);
    assert_content(path, MARKER " new");
    assert_int_equal(stat(path, &after), 0);
    assert_int_not_equal(before.st_ino, after.st_ino);
    assert_int_equal(after.st_mode & 07777, 0600);
    char text[32] = "";
    assert_true(read(reader, text, sizeof(text) - 1) > 0);
    assert_string_equal(text, MARKER " old"); /* who reads the old one reads it to its end */
    close(reader);
}

static void assert_not_replaced(const char *name, int error)
{
    errno = 0;
    assert_int_equal(sl_output_replace(name, &notes, MARKER, strlen(MARKER)), SL_ERR_IO);
    assert_int_equal(errno, error);
}

/* For what is at that name. */
static void assert_not_allowed(const char *name, int error)
{
    assert_not_replaced(name, error);
    errno = 0;
    assert_false(sl_output_allowed(name, &notes));
    assert_int_equal(errno, error);
}

static void only_a_file_of_ours_is_replaced(void **state)
{
    (void)state;
    char nowhere[96];
    put(other, MARKER " stays");
    assert_int_equal(symlink(other, path), 0);
    assert_not_allowed(path, EPERM);
    unlink(path);
    assert_int_equal(link(other, path), 0);
    assert_not_allowed(path, EPERM);
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_not_allowed(path, EINVAL);
    unlink(path);
    put(path, "a letter");
    assert_not_allowed(path, EEXIST);
    assert_content(path, "a letter");
    assert_not_allowed(folder, EINVAL);
    snprintf(nowhere, sizeof(nowhere), "%s/no/file", folder);
    assert_not_replaced(nowhere, ENOENT);
    assert_true(sl_output_allowed(nowhere, &notes));
    assert_content(other, MARKER " stays");
    assert_true(sl_output_allowed("/dev/null", &notes));
    assert_int_equal(sl_output_replace("/dev/null", &notes, MARKER, strlen(MARKER)), SL_OK);
    struct stat at;
    assert_int_equal(stat("/dev/null", &at), 0);
    assert_true(S_ISCHR(at.st_mode));
}

/* Half a file is worse than the old one; and what is not finished does not stay beside it. */
static void what_cannot_be_finished_changes_nothing(void **state)
{
    (void)state;
    struct rlimit limit;
    char bytes[300] = MARKER;
    put(path, MARKER " old");
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &(struct rlimit){100, limit.rlim_max}), 0);
    enum sl_status status = sl_output_replace(path, &notes, bytes, sizeof(bytes));
    int error = errno;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_int_equal(status, SL_ERR_IO);
    assert_int_equal(error, EFBIG);
    assert_content(path, MARKER " old"); /* remove_folder sees what else there is */
}

/* The name beside the file is not ours alone: what stands there already is written over only if it is of our
 * kind. */
static void a_file_that_stands_beside_it_is_kept(void **state)
{
    (void)state;
    char beside[96];
    snprintf(beside, sizeof(beside), "%s.%ld", path, (long)getpid());
    put(beside, "somebody else's");
    assert_not_replaced(path, EEXIST);
    assert_content(beside, "somebody else's");
    assert_int_equal(access(path, F_OK), -1);
    put(beside, MARKER " of a process with our number, before");
    assert_int_equal(sl_output_replace(path, &notes, MARKER, strlen(MARKER)), SL_OK);
    assert_content(path, MARKER);
    assert_int_equal(access(beside, F_OK), -1);
}

static void bytes_are_put_at_their_place(void **state)
{
    (void)state;
    struct rlimit limit;
    put(path, MARKER " old");
    int file = open(path, O_WRONLY);
    assert_true(sl_output_put_at(file, "new", 3, (off_t)strlen(MARKER) + 1));
    assert_content(path, MARKER " new");
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &(struct rlimit){100, limit.rlim_max}), 0);
    bool beyond = sl_output_put_at(file, "new", 3, 100);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_false(beyond);
    assert_false(sl_output_put_at(-1, "new", 3, 0));
    close(file);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        TEST(a_new_file_is_private),
        TEST(an_old_file_is_emptied_or_gone_on_with),
        TEST(links_pipes_and_second_names_are_refused),
        TEST(standard_descriptors_stay_the_programs),
        TEST(a_file_is_one_writers),
        TEST(a_descriptor_that_is_another_files_now_is_left_alone),
        TEST(failed_writes_raise_no_signal),
        TEST(a_signal_of_the_programs_stays_pending),
        TEST(a_file_is_replaced_as_a_whole),
        TEST(only_a_file_of_ours_is_replaced),
        TEST(what_cannot_be_finished_changes_nothing),
        TEST(a_file_that_stands_beside_it_is_kept),
        TEST(bytes_are_put_at_their_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
