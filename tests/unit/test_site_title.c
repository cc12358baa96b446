/* Titles of allocation sites, and which frames of a call stack are the program's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tools/model/site_title.h"

static const struct model_module program = {.path = "/usr/bin/train", .id = 1},
                                 interpreter = {.path = "/usr/lib/libpython3.13.so.1.0"},
                                 loader = {.path = "/lib64/ld-linux-x86-64.so.2"},
                                 binding = {.path = "/lib/libtorch_python.so"};

static void frames_end_where_the_program_does(void **state)
{
    (void)state;
    struct frame frames[] = {
        {.function = "allocate"}, {.module = &program}, {.function = "main"}, {.function = "_start"}};
    assert_int_equal(frames_own(frames, 4, false), 3);
    frames[2].function = "worker";
    assert_int_equal(frames_own(frames, 4, false), 4);
    frames[3].function = "start_thread";
    assert_int_equal(frames_own(frames, 4, false), 3);
    assert_int_equal(frames_own(frames, 0, true), 0);
}

/* They stand for the interpreter and for what called it. Other programs are started by the loader, too. */
static void frames_of_python_replace_the_interpreter(void **state)
{
    (void)state;
    struct frame frames[] = {{.function = "allocate", .module = &program},
                             {.function = "call", .module = &program},
                             {.module = &interpreter},
                             {.function = "main", .module = &program}};
    assert_int_equal(frames_own(frames, 4, true), 2);
    assert_int_equal(frames_own(frames, 4, false), 4);
    frames[2].module = &loader;
    assert_int_equal(frames_own(frames, 4, true), 2);
    assert_int_equal(frames_own(frames, 4, false), 4);
}

static void the_interpreter_is_known_by_its_file_or_its_functions(void **state)
{
    (void)state;
    static const struct {
        const char *path, *function;
        bool is;
    } cases[] = {{"/usr/bin/python3.12", NULL, true},
                 {"/opt/libpython3.so", "f", true},
                 {"/opt/python", NULL, true},
                 {"/usr/lib/python_extension.so", NULL, false},
                 {"/usr/lib/libtorch_python.so", NULL, false},
                 {"/usr/bin/blender", "_PyEval_EvalFrameDefault", true},
                 {"/usr/bin/blender", "PyObject_Call", true},
                 {"/usr/bin/blender", "PyModule_Run", false},
                 {"/usr/bin/blender", NULL, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct model_module module = {.path = cases[i].path};
        struct frame frame = {.module = &module, .function = cases[i].function};
        assert_int_equal(frame_is_interpreter(&frame), cases[i].is);
    }
    assert_false(frame_is_interpreter(&(struct frame){0}));
}

/* An allocation that Python made in a node is not the node's: a checkpoint's forward is computed anew there.
 */
static void a_node_is_found_up_to_python(void **state)
{
    (void)state;
    char title[SITE_TITLE] = "as before";
    struct frame frames[] = {
        {.function = "allocate", .module = &program},
        {.module = &binding},
        {.module = &program},
        {.function = "torch::autograd::generated::MulBackward0::apply(int)", .module = &program}};
    assert_false(site_node_title(frames, 4, title));
    frames[1].module = &interpreter;
    assert_false(site_node_title(frames, 4, title));
    assert_string_equal(title, "as before");
    frames[1].module = &program;
    assert_true(site_node_title(frames, 4, title));
    assert_string_equal(title, "backward of mul (MulBackward0)");
}

static void assert_title(struct site_titles *titles, struct site_stack stack, const char *wanted)
{
    char title[SITE_TITLE];
    assert_string_equal(site_title(titles, &stack, title), wanted);
}

static void titles_name_the_innermost_line_and_the_program_s(void **state)
{
    (void)state;
    static struct model model;
    struct site_titles *titles = site_titles_new(&model);
    const struct model_python stack[] = {
        {.text = "Linear.forward /env/lib/python3.13/site-packages/torch/nn/linear.py", .line = 125},
        {.text = "call /env/lib/python3.13/site-packages/torch/nn/module.py", .line = 9},
        {.text = "Block.forward /home/my files/gpt.py", .line = 40},
        {.text = "main /home/my files/gpt.py", .line = 90}};
    assert_title(titles, (struct site_stack){7, NULL, stack, 4},
                 "Linear.forward (linear.py:125) <- Block.forward (gpt.py:40)");
    assert_title(titles, (struct site_stack){7, NULL, stack, 2}, "Linear.forward (linear.py:125)");
    assert_title(titles, (struct site_stack){7, NULL, stack + 2, 2}, "Block.forward (gpt.py:40)");
    const struct model_python bare = {.text = "<lambda>"};
    assert_title(titles, (struct site_stack){7, NULL, &bare, 1}, "<lambda>");
    assert_title(titles, (struct site_stack){0x7f, NULL, NULL, 0}, "site 0x7f");
    assert_title(titles, (struct site_stack){0x7f, "0+1b70 0+2", NULL, 0}, "0x1b70");
    site_titles_free(titles);
}

/* The longest names that a trace can have, of characters of four bytes. */
static void long_names_are_cut(void **state)
{
    (void)state;
    static struct model model;
    struct site_titles *titles = site_titles_new(&model);
    char text[1000] = "", title[SITE_TITLE];
    for (int i = 0; i < 110; i++) strcat(text, "\xf0\x9f\x98\x80");
    strcat(text, " /x/");
    for (int i = 0; i < 110; i++) strcat(text, "\xf0\x9f\x98\x80");
    const struct model_python frames[] = {{.text = text, .line = UINT32_MAX}};
    const struct site_stack stack = {7, NULL, frames, 1};
    assert_int_equal(strlen(site_title(titles, &stack, title)), 4 * 60 + 2 + 4 * 40 + 1 + 10 + 1);
    site_titles_free(titles);
}

static void stacks_are_found_by_number(void **state)
{
    (void)state;
    struct model_site sites[] = {{5, "1+2"}, {3, "1+3"}};
    struct model_python pythons[] = {{.site = 3, .text = "f x.py"},
                                     {.site = 5, .text = "g x.py"},
                                     {.site = 5, .depth = 1, .text = "h x.py"}};
    struct model model = {0};
    model.sites.at = sites;
    model.sites.count = 2;
    model.pythons.at = pythons;
    model.pythons.count = 3;
    struct site_stack stack = site_stack_find(&model, 5);
    assert_string_equal(stack.frames, "1+2");
    assert_ptr_equal(stack.python, &pythons[1]);
    assert_int_equal(stack.python_count, 2);
    stack = site_stack_find(&model, 4);
    assert_null(stack.frames);
    assert_int_equal(stack.python_count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_end_where_the_program_does),
        cmocka_unit_test(frames_of_python_replace_the_interpreter),
        cmocka_unit_test(the_interpreter_is_known_by_its_file_or_its_functions),
        cmocka_unit_test(a_node_is_found_up_to_python),
        cmocka_unit_test(titles_name_the_innermost_line_and_the_program_s),
        cmocka_unit_test(long_names_are_cut),
        cmocka_unit_test(stacks_are_found_by_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
