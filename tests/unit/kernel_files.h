/* A folder with files such as the kernel shows them, for one test. */
#ifndef SLUICE_TESTS_KERNEL_FILES_H
#define SLUICE_TESTS_KERNEL_FILES_H

/* Its path, without a slash at the end. */
extern char kernel_files[];

/* For cmocka: makes the folder, and removes it with all that is in it. */
int make_kernel_files(void **state);
int remove_kernel_files(void **state);

/* Writes a file, and the folders that its path needs. `path` begins with a slash. */
void put(const char *path, const char *text);
/* The same for text with one number in it. */
void put_number(const char *path, unsigned long long number);

#endif
