#include "caller.h"

#include <link.h>
#include <stdint.h>
#include <string.h>

/* How the names of their objects begin. */
static const char *const sharing[] = {"libnccl", "libnvshmem", "nvshmem", "libuct_cuda"};

struct question {
    uintptr_t address;
    bool shares;
};

bool sl_object_holds(const struct dl_phdr_info *object, uintptr_t address)
{
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        if (part->p_type == PT_LOAD && address - (object->dlpi_addr + part->p_vaddr) < part->p_memsz)
            return true;
    }
    return false;
}

/* Not by dladdr: see trace/sites.c. */
static int look_at(struct dl_phdr_info *object, size_t bytes, void *argument)
{
    struct question *question = argument;
    (void)bytes;
    if (!sl_object_holds(object, question->address)) return 0;
    const char *slash = strrchr(object->dlpi_name, '/'), *name = slash ? slash + 1 : object->dlpi_name;
    for (size_t i = 0; i < sizeof sharing / sizeof *sharing; i++)
        question->shares |= !strncmp(name, sharing[i], strlen(sharing[i]));
    return 1;
}

bool sl_caller_shares_memory(const void *caller)
{
    struct question question = {.address = (uintptr_t)caller};
    dl_iterate_phdr(look_at, &question);
    return question.shares;
}
