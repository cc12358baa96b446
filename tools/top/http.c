#include "tools/top/http.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"

enum { REST_MAX = 1 << 20 }; /* bytes that are read and not looked at */

struct words {
    const char *at[3];
    size_t bytes[3];
};

/* Whether the line is exactly three words with single spaces between them. */
static bool split(const char *line, size_t bytes, struct words *words)
{
    for (int i = 0; i < 3; i++) {
        const char *space = i < 2 ? memchr(line, ' ', bytes) : NULL;
        if (i < 2 && !space) return false;
        words->at[i] = line;
        words->bytes[i] = space ? (size_t)(space - line) : bytes;
        if (!words->bytes[i]) return false;
        line += words->bytes[i] + (space ? 1 : 0);
        bytes -= words->bytes[i] + (space ? 1 : 0);
    }
    return !memchr(words->at[2], ' ', words->bytes[2]);
}

static bool is(const char *text, size_t bytes, const char *word)
{
    return bytes == strlen(word) && !memcmp(text, word, bytes);
}

struct http_request http_read_request(const char *text, size_t bytes)
{
    struct http_request nothing = {.asked = HTTP_ASKS_NOTHING};
    const char *end = memchr(text, '\n', bytes);
    struct words words;
    if (!end) return nothing;
    size_t line = (size_t)(end - text);
    if (line && text[line - 1] == '\r') line--;
    if (!split(text, line, &words)) return nothing;
    if (!is(words.at[2], words.bytes[2], "HTTP/1.1") && !is(words.at[2], words.bytes[2], "HTTP/1.0"))
        return nothing;
    bool head = is(words.at[0], words.bytes[0], "HEAD");
    if (!head && !is(words.at[0], words.bytes[0], "GET"))
        return (struct http_request){.asked = HTTP_ASKS_CHANGE};
    const char *query = memchr(words.at[1], '?', words.bytes[1]);
    size_t path = query ? (size_t)(query - words.at[1]) : words.bytes[1];
    return (struct http_request){.asked = is(words.at[1], path, "/metrics") ? HTTP_ASKS_METRICS
                                          : is(words.at[1], path, "/")      ? HTTP_ASKS_START
                                                                            : HTTP_ASKS_OTHER,
                                 .head = head};
}

size_t http_headers_end(const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        if (text[i] != '\n') continue;
        if (i + 1 < bytes && text[i + 1] == '\n') return i + 2;
        if (i + 2 < bytes && text[i + 1] == '\r' && text[i + 2] == '\n') return i + 3;
    }
    return 0;
}

/* --- the connection */

struct connection {
    int socket;
    uint64_t until_ns; /* CLOCK_MONOTONIC: nothing is waited for later */
};

/* Whether `events` came in time. */
static bool wait_for(const struct connection *connection, short events)
{
    struct pollfd poll_for = {connection->socket, events, 0};
    for (;;) {
        uint64_t now = sl_clock_ns(CLOCK_MONOTONIC);
        if (now >= connection->until_ns) return false;
        int ready = poll(&poll_for, 1, (int)((connection->until_ns - now) / 1000000 + 1));
        if (ready > 0) return true;
        if (ready < 0 && errno != EINTR) return false;
    }
}

/* Bytes received; 0: the other side has ended, or too much time has passed. */
static size_t receive(const struct connection *connection, char *to, size_t room)
{
    for (;;) {
        ssize_t got = recv(connection->socket, to, room, 0);
        if (got >= 0) return (size_t)got;
        if (errno == EINTR) continue;
        if ((errno != EAGAIN && errno != EWOULDBLOCK) || !wait_for(connection, POLLIN)) return 0;
    }
}

static bool transmit(const struct connection *connection, const char *text, size_t bytes)
{
    while (bytes) {
        ssize_t sent = send(connection->socket, text, bytes, MSG_NOSIGNAL);
        if (sent >= 0) {
            text += sent;
            bytes -= (size_t)sent;
        } else if (errno != EINTR &&
                   ((errno != EAGAIN && errno != EWOULDBLOCK) || !wait_for(connection, POLLOUT))) {
            return false;
        }
    }
    return true;
}

/* `status`: what comes behind HTTP/1.1, which may have more headers. */
static void reply(const struct connection *connection, const char *status, const char *type, const char *text,
                  size_t bytes, bool head)
{
    static const char form[] =
        "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n";
    char headers[256];
    int length = snprintf(headers, sizeof(headers), form, status, type, bytes);
    if (length < 0 || (size_t)length >= sizeof(headers)) return;
    if (transmit(connection, headers, (size_t)length) && !head) transmit(connection, text, bytes);
}

static void reply_text(const struct connection *connection, const char *status, const char *text, bool head)
{
    reply(connection, status, "text/plain; charset=utf-8", text, strlen(text), head);
}

static void reply_metrics(const struct connection *connection, bool head, http_metrics *metrics,
                          void *context)
{
    size_t bytes;
    char *text = metrics(context, &bytes);
    if (text)
        reply(connection, "200 OK", "text/plain; version=0.0.4; charset=utf-8", text, bytes, head);
    else
        reply_text(connection, "500 Internal Server Error", "out of memory\n", head);
    free(text);
}

/* The answer to a request that is there as a whole. */
static void answer(const struct connection *connection, struct http_request request, http_metrics *metrics,
                   void *context)
{
    switch (request.asked) {
    case HTTP_ASKS_METRICS:
        return reply_metrics(connection, request.head, metrics, context);
    case HTTP_ASKS_START:
        return reply_text(connection, "200 OK", "sluice top: the figures are at /metrics\n", request.head);
    case HTTP_ASKS_OTHER:
        return reply_text(connection, "404 Not Found", "the figures are at /metrics\n", request.head);
    case HTTP_ASKS_CHANGE:
        return reply_text(connection, "405 Method Not Allowed\r\nAllow: GET, HEAD", "only GET and HEAD\n",
                          false);
    case HTTP_ASKS_NOTHING:
        return reply_text(connection, "400 Bad Request", "this is no request of HTTP/1\n", false);
    }
}

void http_answer(int socket, int wait_ms, http_metrics *metrics, void *context)
{
    struct connection connection = {socket, sl_clock_ns(CLOCK_MONOTONIC) + (uint64_t)wait_ms * 1000000};
    char text[HTTP_REQUEST_MAX];
    size_t bytes = 0, got = 1;
    while (got && bytes < sizeof(text) && !http_headers_end(text, bytes)) {
        got = receive(&connection, text + bytes, sizeof(text) - bytes);
        bytes += got;
    }
    if (http_headers_end(text, bytes))
        answer(&connection, http_read_request(text, bytes), metrics, context);
    else if (bytes == sizeof(text))
        reply_text(&connection, "431 Request Header Fields Too Large", "the request is too long\n", false);
    /* Closed with unread bytes, the connection would be reset, and the answer might be lost. */
    shutdown(socket, SHUT_WR);
    for (size_t rest = 0; got && rest < REST_MAX; rest += got) got = receive(&connection, text, sizeof(text));
}
