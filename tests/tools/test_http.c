/* Requests and addresses as users, scanners and mistakes send them: what is asked for, and nothing is read
 * behind the end. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include "tools/text/messages.h"
#include "tools/top/listen.h"

int failure(const char *format, ...)
{
    (void)format;
    return EXIT_FAILED;
}

/* In memory that ends with the text, so that a sanitizer or valgrind sees a read behind it. */
static struct http_request read_exactly(const char *text, size_t bytes, size_t *headers)
{
    char *copy = malloc(bytes ? bytes : 1);
    assert_non_null(copy);
    memcpy(copy, text, bytes);
    struct http_request request = http_read_request(copy, bytes);
    *headers = http_headers_end(copy, bytes);
    free(copy);
    return request;
}

static const struct {
    const char *text;
    enum http_asked asked;
    bool head;
} lines[] = {
    {"GET /metrics HTTP/1.1\r\n", HTTP_ASKS_METRICS, false},
    {"GET /metrics HTTP/1.0\n", HTTP_ASKS_METRICS, false},
    {"HEAD /metrics HTTP/1.1\r\n", HTTP_ASKS_METRICS, true},
    {"GET /metrics?name=gpt HTTP/1.1\r\n", HTTP_ASKS_METRICS, false},
    {"GET / HTTP/1.1\r\n", HTTP_ASKS_START, false},
    {"GET /metrics/ HTTP/1.1\r\n", HTTP_ASKS_OTHER, false},
    {"GET /metric HTTP/1.1\r\n", HTTP_ASKS_OTHER, false},
    {"GET /../etc/passwd HTTP/1.1\r\n", HTTP_ASKS_OTHER, false},
    {"GET ? HTTP/1.1\r\n", HTTP_ASKS_OTHER, false},
    {"POST /metrics HTTP/1.1\r\n", HTTP_ASKS_CHANGE, false},
    {"get /metrics HTTP/1.1\r\n", HTTP_ASKS_CHANGE, false},
    {"GET /metrics HTTP/2.0\r\n", HTTP_ASKS_NOTHING, false},
    {"PRI * HTTP/2.0\r\n", HTTP_ASKS_NOTHING, false},
    {"GET /metrics\r\n", HTTP_ASKS_NOTHING, false},
    {"GET  /metrics HTTP/1.1\r\n", HTTP_ASKS_NOTHING, false},
    {"GET /metrics HTTP/1.1 \r\n", HTTP_ASKS_NOTHING, false},
    {" GET /metrics HTTP/1.1\r\n", HTTP_ASKS_NOTHING, false},
    {"GET /metrics HTTP/1.1", HTTP_ASKS_NOTHING, false},
    {"\r\n", HTTP_ASKS_NOTHING, false},
    {"\n", HTTP_ASKS_NOTHING, false},
    {"  \n", HTTP_ASKS_NOTHING, false},
    {"", HTTP_ASKS_NOTHING, false},
    {"\x16\x03\x01\x02 \x01\x01 \xfc\n", HTTP_ASKS_NOTHING, false},
};

static void what_is_asked(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
        size_t headers;
        struct http_request request = read_exactly(lines[i].text, strlen(lines[i].text), &headers);
        if (request.asked != lines[i].asked || request.head != lines[i].head)
            fail_msg("%s: %d, %d", lines[i].text, request.asked, request.head);
    }
}

static void where_headers_end(void **state)
{
    (void)state;
    static const char whole[] = "GET / HTTP/1.1\r\nHost: a\r\n\r\nrest",
                      plain[] = "GET / HTTP/1.1\nHost: a\n\nrest";
    size_t headers;
    for (size_t bytes = 0; bytes < sizeof(whole); bytes++) {
        read_exactly(whole, bytes, &headers);
        assert_int_equal(headers, bytes < 27 ? 0 : 27);
    }
    for (size_t bytes = 0; bytes < sizeof(plain); bytes++) {
        read_exactly(plain, bytes, &headers);
        assert_int_equal(headers, bytes < 24 ? 0 : 24);
    }
}

/* Any bytes, and mostly those that matter. */
static void any_bytes(void **state)
{
    (void)state;
    static const char often[] = "GET /metrics HTTP/1.1\r\n?";
    char text[64];
    srand(7);
    for (int round = 0; round < 20000; round++) {
        size_t bytes = (size_t)rand() % sizeof(text), headers;
        for (size_t i = 0; i < bytes; i++)
            text[i] = rand() % 8 ? often[(size_t)rand() % (sizeof(often) - 1)] : (char)rand();
        if (round % 2 && bytes > 24) memcpy(text, often, 23);
        read_exactly(text, bytes, &headers);
        assert_true(headers <= bytes);
    }
}

static void assert_place(const char *text, const char *address, unsigned port)
{
    struct listen_place place;
    assert_true(listen_read_place(text, &place));
    char found[INET6_ADDRSTRLEN];
    const struct sockaddr_in *four = (const struct sockaddr_in *)&place.address;
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)&place.address;
    bool is_six = place.address.ss_family == AF_INET6;
    inet_ntop(place.address.ss_family, is_six ? (const void *)&six->sin6_addr : &four->sin_addr, found,
              sizeof(found));
    assert_string_equal(found, address);
    assert_int_equal(ntohs(is_six ? six->sin6_port : four->sin_port), port);
}

static void places(void **state)
{
    (void)state;
    assert_place("9105", "127.0.0.1", 9105);
    assert_place("0", "127.0.0.1", 0);
    assert_place("65535", "127.0.0.1", 65535);
    assert_place("0.0.0.0:9105", "0.0.0.0", 9105);
    assert_place("[::1]:80", "::1", 80);
    static const char *const wrong[] = {"",
                                        ":",
                                        "x",
                                        "65536",
                                        "99999999999999999999",
                                        "-1",
                                        " 80",
                                        "80 ",
                                        "1.2.3.4",
                                        "1.2.3:80",
                                        ":80",
                                        "localhost:80",
                                        "::1:80",
                                        "[::1]80",
                                        "[::1]",
                                        "[]:80",
                                        "[:80",
                                        "]:80",
                                        "[1.2.3.4]:80",
                                        "[0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000]:80"};
    struct listen_place place;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
        if (listen_read_place(wrong[i], &place)) fail_msg("%s is a place", wrong[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_asked),
        cmocka_unit_test(where_headers_end),
        cmocka_unit_test(any_bytes),
        cmocka_unit_test(places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
