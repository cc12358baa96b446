/* How the driver is called: an error is told or kept quiet, a capture of the program's is never touched, and
 * a thread gets its mode and its context back, also from a driver that refuses now and then. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "device/cuda_call.h"

static int refusals;       /* to come */
static bool done_refusing; /* what is refused is done all the same */
static CUstreamCaptureMode mode;
static CUcontext current, below; /* of the calling thread */
static int calls;

/* Whether a call is refused, and whether it is done. */
static bool refuses(bool *done)
{
    bool refused = refusals > 0;
    if (refused) refusals--;
    *done = !refused || done_refusing;
    return refused;
}

static CUresult error_name(CUresult error, const char **name)
{
    (void)error;
    *name = "an error";
    return CUDA_SUCCESS;
}

static CUresult exchange_mode(CUstreamCaptureMode *exchanged)
{
    bool done, refused = refuses(&done);
    CUstreamCaptureMode before = mode;
    if (done) mode = *exchanged;
    if (done) *exchanged = before;
    return refused ? CUDA_ERROR_UNKNOWN : CUDA_SUCCESS;
}

static CUresult get_context(CUcontext *out)
{
    *out = current;
    return CUDA_SUCCESS;
}

static CUresult push_context(CUcontext context)
{
    bool done, refused = refuses(&done);
    if (done) {
        below = current;
        current = context;
    }
    return refused ? CUDA_ERROR_UNKNOWN : CUDA_SUCCESS;
}

static CUresult pop_context(CUcontext *out)
{
    bool done, refused = refuses(&done);
    *out = current;
    if (done) current = below;
    return refused ? CUDA_ERROR_UNKNOWN : CUDA_SUCCESS;
}

static const struct sl_cuda_driver driver = {.get_error_name = error_name,
                                             .stream_exchange_capture_mode = exchange_mode,
                                             .ctx_get_current = get_context,
                                             .ctx_push_current = push_context,
                                             .ctx_pop_current = pop_context};
static const struct sl_cuda cuda = {.driver = &driver, .context = (CUcontext)1};

static int start(void **state)
{
    (void)state;
    refusals = calls = 0;
    done_refusing = false;
    mode = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
    current = below = NULL;
    return 0;
}

/* A kernel's fault is the program's; everything that comes after it fails for that reason. */
static void a_lost_device_is_not_a_driver_that_fails(void **state)
{
    (void)state;
    assert_int_equal(sl_cuda_judge(&driver, CUDA_SUCCESS, "it"), SL_OK);
    assert_int_equal(sl_cuda_judge(&driver, CUDA_ERROR_ILLEGAL_ADDRESS, "it"), SL_ERR_LOST);
    assert_int_equal(sl_cuda_judge(&driver, CUDA_ERROR_DEINITIALIZED, "it"), SL_ERR_LOST);
    assert_int_equal(sl_cuda_judge(&driver, CUDA_ERROR_OUT_OF_MEMORY, "it"), SL_ERR_NO_MEMORY);
    assert_int_equal(sl_cuda_judge(&driver, CUDA_ERROR_INVALID_HANDLE, "it"), SL_ERR_DRIVER);
    assert_false(sl_cuda_error_lasts(CUDA_SUCCESS) || sl_cuda_error_lasts(CUDA_ERROR_NOT_READY));
}

static CUresult relaxed_call(void)
{
    calls++;
    assert_int_equal(mode, CU_STREAM_CAPTURE_MODE_RELAXED);
    return CUDA_ERROR_NOT_READY;
}

static void a_call_beside_captures_leaves_the_mode_as_it_was(void **state)
{
    (void)state;
    for (int done = 0; done < 2; done++)
        for (int refused = 0; refused < SL_CUDA_TRIES; refused++) {
            done_refusing = done;
            refusals = refused;
            assert_int_equal(SL_BESIDE_CAPTURES(&driver, relaxed_call()), CUDA_ERROR_NOT_READY);
            assert_int_equal(mode, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
        }
    assert_int_equal(calls, 2 * SL_CUDA_TRIES);
}

static CUresult call_that_ends_in_refusals(void)
{
    refusals = 2;
    return relaxed_call();
}

static void the_mode_is_given_back_at_a_second_try(void **state)
{
    (void)state;
    assert_int_equal(SL_BESIDE_CAPTURES(&driver, call_that_ends_in_refusals()), CUDA_ERROR_NOT_READY);
    assert_int_equal(mode, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
}

/* It could end a capture of the program's. */
static void without_the_mode_the_call_is_not_made(void **state)
{
    (void)state;
    refusals = 1000;
    assert_int_equal(SL_BESIDE_CAPTURES(&driver, relaxed_call()), CUDA_ERROR_UNKNOWN);
    assert_int_equal(calls, 0);
    assert_int_equal(mode, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
}

static CUresult answer_of(CUresult first, CUresult then)
{
    return calls++ ? then : first;
}

/* A refusal now and then is invisible; one for good is asked for a few times; after a fault there is nothing
 * to ask. */
static void what_is_refused_is_tried_again(void **state)
{
    (void)state;
    assert_int_equal(SL_PERSIST(answer_of(CUDA_ERROR_UNKNOWN, CUDA_SUCCESS)), CUDA_SUCCESS);
    assert_int_equal(calls, 2);
    calls = 0;
    assert_int_equal(SL_PERSIST(answer_of(CUDA_ERROR_UNKNOWN, CUDA_ERROR_INVALID_VALUE)),
                     CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(calls, SL_CUDA_TRIES);
    calls = 0;
    assert_int_equal(SL_PERSIST(answer_of(CUDA_ERROR_ILLEGAL_ADDRESS, CUDA_SUCCESS)),
                     CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_int_equal(calls, 1);
}

static CUresult call_inside(void)
{
    calls++;
    assert_ptr_equal(current, cuda.context);
    return CUDA_SUCCESS;
}

static CUresult inside(CUcontext context)
{
    current = context;
    return SL_IN_CONTEXT(&cuda, sl_cuda_enter(&cuda), call_inside());
}

static void a_call_is_made_in_its_context(void **state)
{
    (void)state;
    CUcontext other = (CUcontext)2;
    assert_int_equal(sl_cuda_enter(&cuda), SL_CUDA_STAYED); /* no other context is there */
    sl_cuda_are_several();
    assert_int_equal(inside(cuda.context), CUDA_SUCCESS);
    assert_int_equal(inside(other), CUDA_SUCCESS);
    assert_ptr_equal(current, other);
    refusals = 3;
    assert_int_equal(inside(other), CUDA_SUCCESS);
    assert_ptr_equal(current, other);
    refusals = 1;
    done_refusing = true; /* it is entered once all the same, and left once */
    assert_int_equal(inside(other), CUDA_SUCCESS);
    assert_ptr_equal(current, other);
    assert_int_equal(calls, 4);
    done_refusing = false;
    refusals = 1000;
    assert_int_equal(inside(other), CUDA_ERROR_INVALID_CONTEXT);
    assert_int_equal(calls, 4);
    assert_int_equal(sl_cuda_enter_for(&cuda, (CUstream)&calls), SL_CUDA_STAYED); /* streams know theirs */
}

/* Whether a stream captures: a driver that does not answer is asked again, in another way, and its silence is
 * no answer. */
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

static const struct sl_cuda_driver capturing_driver = {.stream_is_capturing = is_capturing,
                                                       .stream_get_capture_info = capture_info};

static struct sl_answer ask(CUresult says_first, CUresult says_second, CUresult *refused)
{
    first = says_first;
    second = says_second;
    calls = 0;
    return sl_cuda_capturing(&capturing_driver, NULL, refused);
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
        cmocka_unit_test_setup(a_lost_device_is_not_a_driver_that_fails, start),
        cmocka_unit_test_setup(a_call_beside_captures_leaves_the_mode_as_it_was, start),
        cmocka_unit_test_setup(the_mode_is_given_back_at_a_second_try, start),
        cmocka_unit_test_setup(without_the_mode_the_call_is_not_made, start),
        cmocka_unit_test_setup(what_is_refused_is_tried_again, start),
        cmocka_unit_test_setup(a_call_is_made_in_its_context, start),
        cmocka_unit_test(an_answer_is_taken),
        cmocka_unit_test(the_other_function_is_asked),
        cmocka_unit_test(silence_is_no_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
