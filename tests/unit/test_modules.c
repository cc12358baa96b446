/* Build ids in notes that are whole, cut, and wrong: what is mapped is read, and nothing else. */
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <elf.h>
#include <unistd.h>

#include <sys/mman.h>

#include "trace/objects.h"

#define NAME "GNU"

/* An object whose only mapped bytes end where a page ends: whoever reads on is killed. */
struct fake {
    char *pages, *notes;
    ElfW(Phdr) parts[2];
    struct dl_phdr_info object;
};

static void fill(struct fake *fake, const void *notes, size_t bytes, size_t align)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    fake->pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(fake->pages, MAP_FAILED);
    assert_int_equal(mprotect(fake->pages + page, page, PROT_NONE), 0);
    fake->notes = fake->pages + page - bytes;
    memcpy(fake->notes, notes, bytes);
    uint64_t offset = page - bytes;
    fake->parts[0] = (ElfW(Phdr)){.p_type = PT_LOAD, .p_flags = PF_R, .p_filesz = page, .p_memsz = page};
    fake->parts[1] = (ElfW(Phdr)){.p_type = PT_NOTE, .p_vaddr = offset, .p_filesz = bytes, .p_align = align};
    fake->object = (struct dl_phdr_info){
        .dlpi_addr = (uintptr_t)fake->pages, .dlpi_name = "", .dlpi_phdr = fake->parts, .dlpi_phnum = 2};
}

static void drop(struct fake *fake)
{
    munmap(fake->pages, 2 * (size_t)sysconf(_SC_PAGESIZE));
}

struct note {
    ElfW(Nhdr) head;
    char name[4];
    uint8_t bytes[20];
};

static struct note whole_note(void)
{
    struct note note = {.head = {sizeof NAME, 20, NT_GNU_BUILD_ID}, .name = NAME};
    for (unsigned i = 0; i < sizeof note.bytes; i++) note.bytes[i] = (uint8_t)(i + 1);
    return note;
}

static bool id_of(const void *notes, size_t bytes, size_t align, uint64_t id[2])
{
    struct fake fake;
    fill(&fake, notes, bytes, align);
    bool found = sl_build_id(&fake.object, id);
    drop(&fake);
    return found;
}

static void the_first_16_bytes_are_read(void **state)
{
    (void)state;
    uint64_t id[2];
    struct note notes[2] = {whole_note(), whole_note()};
    assert_true(id_of(notes, sizeof notes[0], 4, id));
    assert_memory_equal(id, notes[0].bytes, 16);
    notes[0].head.n_type = NT_GNU_ABI_TAG;
    notes[1].bytes[0] = 77;
    assert_true(id_of(notes, sizeof notes, 4, id));
    assert_memory_equal(id, notes[1].bytes, 16);
}

static void a_short_id_ends_in_zeros(void **state)
{
    (void)state;
    struct note note = whole_note();
    uint64_t id[2] = {1, 1};
    note.head.n_descsz = 8;
    assert_true(id_of(&note, sizeof note.head + 4 + 8, 4, id));
    assert_memory_equal(&id[0], note.bytes, 8);
    assert_int_equal(id[1], 0);
}

static void notes_of_8_bytes_are_aligned_so(void **state)
{
    (void)state;
    struct {
        ElfW(Nhdr) head;
        char name[4];
        uint8_t property[16];
        struct note note;
    } notes = {{4, 12, 5}, NAME, {0}, whole_note()};
    uint64_t id[2];
    assert_true(id_of(&notes, sizeof notes, 8, id));
    assert_memory_equal(id, notes.note.bytes, 16);
}

static void what_is_cut_or_wrong_has_no_id(void **state)
{
    (void)state;
    uint64_t id[2];
    struct note note = whole_note(), wrong;
    for (size_t bytes = 0; bytes < sizeof note; bytes++) assert_false(id_of(&note, bytes, 4, id));
    wrong = note;
    wrong.head.n_descsz = UINT32_MAX;
    assert_false(id_of(&wrong, sizeof wrong, 4, id));
    wrong = note;
    wrong.head.n_namesz = UINT32_MAX;
    assert_false(id_of(&wrong, sizeof wrong, 4, id));
    wrong = note;
    wrong.head.n_namesz = 0;
    assert_false(id_of(&wrong, sizeof wrong, 4, id));
    wrong.head = (ElfW(Nhdr)){0};
    assert_false(id_of(&wrong, sizeof wrong, 4, id));
}

static void what_is_not_mapped_is_not_read(void **state)
{
    (void)state;
    uint64_t id[2];
    struct note note = whole_note();
    struct fake fake;
    fill(&fake, &note, sizeof note, 4);
    fake.parts[1].p_filesz++;
    assert_false(sl_build_id(&fake.object, id));
    fake.parts[1].p_vaddr = UINT64_MAX - 8;
    assert_false(sl_build_id(&fake.object, id));
    fill(&fake, &note, sizeof note, 4);
    fake.parts[0].p_flags = 0;
    assert_false(sl_build_id(&fake.object, id));
    fake.object.dlpi_phnum = 0;
    assert_false(sl_build_id(&fake.object, id));
    drop(&fake);
}

static int number_all(struct dl_phdr_info *object, size_t bytes, void *argument)
{
    uint32_t *count = argument;
    bool is_new;
    (void)bytes;
    assert_int_equal(sl_module_number(object, &is_new), ++*count);
    assert_true(is_new);
    assert_int_equal(sl_module_number(object, &is_new), *count);
    assert_false(is_new);
    return 0;
}

static void objects_are_numbered_once(void **state)
{
    (void)state;
    uint32_t count = 0;
    dl_iterate_phdr(number_all, &count);
    assert_true(count >= 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_16_bytes_are_read),     cmocka_unit_test(a_short_id_ends_in_zeros),
        cmocka_unit_test(notes_of_8_bytes_are_aligned_so), cmocka_unit_test(what_is_cut_or_wrong_has_no_id),
        cmocka_unit_test(what_is_not_mapped_is_not_read),  cmocka_unit_test(objects_are_numbered_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
