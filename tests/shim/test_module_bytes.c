/* Sizes of variables, from images. */
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "module_bytes.h"

static void declarations_of_ptx(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t bytes;
    } cases[] = {
        {".version 7.0\n.global .align 4 .b8 table[4096];\n", 4096},
        {"// x\n.visible .global .align 16 .v4 .f32 table[10][20] = {1, 2};\n.global .u64 n;\n", 3208},
        {".weak .global .f16 h[3];", 6},
        {"\n .extern .global .align 4 .b8 table[4096];\n", 4096 * 0},
        {".global .attribute(.managed) .align 4 .b8 table[4096];", 0},
        {".entry k() { ld.global.u32 r1, [r2]; atom.global .u32 r3, [r4 + 400]; }", 0},
        {".global .b8 a[281474976710656];\n.global .b8 b[281474976710656][281474976710656];", UINT64_C(1)
                                                                                                  << 47},
        {".global", 0},
        {".global ", 0},
        {".global .b8 x[", 0},
        {"", 0},
        {"no image", 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        if (sl_module_bytes(cases[i].text) != cases[i].bytes) fail_msg("case %zu", i);
    assert_int_equal(sl_module_bytes(NULL), 0);
}

static void sections_of_elf(void **state)
{
    (void)state;
    struct {
        Elf64_Ehdr head;
        Elf64_Shdr sections[3];
    } image = {.head = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64},
                        .e_shoff = sizeof(Elf64_Ehdr),
                        .e_shentsize = sizeof(Elf64_Shdr),
                        .e_shnum = 3},
               .sections = {{.sh_size = 5},
                            {.sh_size = 1000, .sh_flags = SHF_ALLOC, .sh_type = SHT_NOBITS},
                            {.sh_size = 7, .sh_flags = SHF_ALLOC | SHF_EXECINSTR}}};
    assert_int_equal(sl_module_bytes(&image), 1007);
    image.head.e_shentsize = 3;
    assert_int_equal(sl_module_bytes(&image), 0);
}

/* The driver refuses such an image; it is not for sluice to read where it points. */
static void a_damaged_elf_is_not_followed(void **state)
{
    (void)state;
    long page = sysconf(_SC_PAGESIZE);
    char *last =
        (char *)mmap(NULL, 2 * (size_t)page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) +
        page;
    assert_int_equal(munmap(last, (size_t)page), 0);
    Elf64_Ehdr head = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64},
                       .e_shentsize = sizeof(Elf64_Shdr),
                       .e_shnum = UINT16_MAX};
    char *image = last - sizeof head;
    const uint64_t places[] = {sizeof head, (uint64_t)1 << 40, UINT64_MAX - 8};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        head.e_shoff = places[i];
        memcpy(image, &head, sizeof head);
        assert_int_equal(sl_module_bytes(image), 0);
    }
    memcpy(last - 5, &head, 5); /* cut after its first five bytes */
    assert_int_equal(sl_module_bytes(last - 5), 0);
    munmap(last - page, (size_t)page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(declarations_of_ptx),
                                       cmocka_unit_test(sections_of_elf),
                                       cmocka_unit_test(a_damaged_elf_is_not_followed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
