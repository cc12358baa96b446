#include "kernel_files.h"

#include <errno.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

char kernel_files[] = "/tmp/sluice-kernel-XXXXXX";

void put(const char *path, const char *text)
{
    char ours[1024];
    snprintf(ours, sizeof(ours), "%s%s", kernel_files, path);
    for (char *slash = ours + strlen(kernel_files) + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
        *slash = 0;
        assert_true(mkdir(ours, 0700) == 0 || errno == EEXIST);
    }
    FILE *file = fopen(ours, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

void put_number(const char *path, unsigned long long number)
{
    char text[32];
    snprintf(text, sizeof(text), "%llu\n", number);
    put(path, text);
}

static int remove_one(const char *path, const struct stat *at, int type, struct FTW *walk)
{
    (void)at, (void)type, (void)walk;
    return remove(path);
}

int make_kernel_files(void **state)
{
    (void)state;
    strcpy(kernel_files + strlen(kernel_files) - 6, "XXXXXX");
    return mkdtemp(kernel_files) ? 0 : -1;
}

int remove_kernel_files(void **state)
{
    (void)state;
    return nftw(kernel_files, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}
