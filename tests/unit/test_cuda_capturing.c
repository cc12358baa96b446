/* Whether a stream captures: a driver that does not answer is asked again, in another way, and its silence is
 * no answer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "device/cuda_call.h"

static CUresult first, second; /* what the two functions say */
static CUstreamCaptureStatus status;
static int calls;

static CUresult is_capturing(CUstream stream, CUstreamCaptureStatus *out)
{
    (void)stream;
    calls++;
    if (first == CUDA_SUCCESS) *out = status;
    return first;
}

static CUresult capture_info(CUstream stream, CUstreamCaptureStatus *out, cuuint64_t *id, CUgraph *graph,
                             const CUgraphNode **dependencies, size_t *count)
{
    (void)stream, (void)id, (void)graph, (void)dependencies, (void)count;
    calls++;
    if (second == CUDA_SUCCESS) *out = status;
    return second;
}

static const struct sl_cuda_driver driver = {.stream_is_capturing = is_capturing,
                                             .stream_get_capture_info = capture_info};

static struct sl_answer ask(CUresult says_first, CUresult says_second, CUresult *refused)
{
    first = says_first;
    second = says_second;
    calls = 0;
    return sl_cuda_capturing(&driver, NULL, refused);
}

static void an_answer_is_taken(void **state)
{
    (void)state;
    status = CU_STREAM_CAPTURE_STATUS_NONE;
    assert_true(sl_is_no(ask(CUDA_SUCCESS, CUDA_SUCCESS, NULL)));
    assert_int_equal(calls, 1);
    status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
    assert_true(sl_is_yes(ask(CUDA_SUCCESS, CUDA_SUCCESS, NULL)));
    status = CU_STREAM_CAPTURE_STATUS_INVALIDATED;
    assert_true(sl_is_yes(ask(CUDA_SUCCESS, CUDA_SUCCESS, NULL)));
    /* The legacy stream cannot be used while another stream captures. */
    assert_true(sl_is_yes(ask(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, CUDA_SUCCESS, NULL)));
}

static void the_other_function_is_asked(void **state)
{
    (void)state;
    status = CU_STREAM_CAPTURE_STATUS_NONE;
    assert_true(sl_is_no(ask(CUDA_ERROR_OUT_OF_MEMORY, CUDA_SUCCESS, NULL)));
    status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
    assert_true(sl_is_yes(ask(CUDA_ERROR_UNKNOWN, CUDA_SUCCESS, NULL)));
    assert_int_equal(calls, 2);
}

static void silence_is_no_answer(void **state)
{
    (void)state;
    CUresult refused = CUDA_SUCCESS;
    struct sl_answer answer = ask(CUDA_ERROR_UNKNOWN, CUDA_ERROR_UNKNOWN, &refused);
    assert_false(sl_is_yes(answer) || sl_is_no(answer));
    assert_int_equal(refused, CUDA_ERROR_UNKNOWN);
    assert_in_range(calls, 3, 100);
    answer = ask(CUDA_ERROR_INVALID_HANDLE, CUDA_SUCCESS, &refused); /* not worth another call */
    assert_false(sl_is_yes(answer) || sl_is_no(answer));
    assert_int_equal(refused, CUDA_ERROR_INVALID_HANDLE);
    assert_int_equal(calls, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_is_taken),
        cmocka_unit_test(the_other_function_is_asked),
        cmocka_unit_test(silence_is_no_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
