/* Names of PyTorch's autograd nodes, and the operations that they are made of. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tools/model/autograd_node.h"

static void nodes_have_the_operation_s_name(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"AddmmBackward0", "backward of addmm (AddmmBackward0)"},
        {"TBackward0", "backward of t (TBackward0)"},
        {"NativeLayerNormBackward0", "backward of native_layer_norm (NativeLayerNormBackward0)"},
        {"MaxPool2DWithIndicesBackward0",
         "backward of max_pool2d_with_indices (MaxPool2DWithIndicesBackward0)"},
        {"LogSoftmaxBackward11", "backward of log_softmax (LogSoftmaxBackward11)"},
        {"NativeLayerNormBackwardBackward0",
         "backward of native_layer_norm_backward (NativeLayerNormBackwardBackward0)"},
        {"Backward0", "backward (Backward0)"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        char function[256], title[AUTOGRAD_NODE] = "";
        snprintf(function, sizeof function,
                 "torch::autograd::generated::%s::apply(std::vector<at::Tensor>&&)", pairs[i][0]);
        assert_true(autograd_node_title(function, title));
        assert_string_equal(title, pairs[i][1]);
    }
}

static void nodes_of_no_operation_keep_their_name(void **state)
{
    (void)state;
    char title[AUTOGRAD_NODE] = "";
    assert_true(
        autograd_node_title("torch::autograd::AccumulateGrad::apply(std::vector<at::Tensor>&&)", title));
    assert_string_equal(title, "backward (AccumulateGrad)");
    assert_true(
        autograd_node_title("torch::autograd::CopyBackwards::apply(std::vector<at::Tensor>&&)", title));
    assert_string_equal(title, "backward of copy (CopyBackwards)");
}

static void other_functions_are_no_nodes(void **state)
{
    (void)state;
    char title[AUTOGRAD_NODE] = "as before", longest[512];
    static const char *const others[] = {"",
                                         "main",
                                         "at::_ops::addmm::call(at::Tensor const&)",
                                         "torch::autograd::Engine::thread_main(int)",
                                         "torch::autograd::Node::operator()(std::vector<at::Tensor>&&)",
                                         "torch::autograd::generated::",
                                         "torch::autograd::generated::AddmmBackward0::apply",
                                         "torch::autograd::::apply(int)",
                                         "mine::torch::autograd::AddBackward0::apply(int)",
                                         "torch::autograd::generated::AddBackward0::apply_with_saved(int)"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(autograd_node_title(others[i], title));
    snprintf(longest, sizeof longest, "torch::autograd::%0300d::apply(int)",
             1); /* a trace may have any name */
    assert_false(autograd_node_title(longest, title));
    assert_string_equal(title, "as before");
    snprintf(longest, sizeof longest, "torch::autograd::%s::apply(int)",
             "ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFGHIJKLMNBackward");
    assert_false(autograd_node_title(longest, title));
    assert_true(autograd_node_title(
        "torch::autograd::ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFGHIBackward0::apply(int)",
        title));
    assert_int_equal(strlen(title), sizeof("backward of  ()") - 1 + 61 + 60 + 70);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_have_the_operation_s_name),
        cmocka_unit_test(nodes_of_no_operation_keep_their_name),
        cmocka_unit_test(other_functions_are_no_nodes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
