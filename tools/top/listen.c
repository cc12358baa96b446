#include "tools/top/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/text/messages.h"

enum { QUEUE = 16, WAIT_MS = 2000 }; /* for one connection, so that a silent one delays others no longer */

/* --- where */

static bool read_port(const char *text, in_port_t *port)
{
    size_t digits = strspn(text, "0123456789");
    if (!digits || digits > 5 || text[digits]) return false;
    unsigned long number = strtoul(text, NULL, 10);
    *port = htons((uint16_t)number);
    return number <= UINT16_MAX;
}

bool listen_read_place(const char *text, struct listen_place *place)
{
    struct sockaddr_in *four = (struct sockaddr_in *)&place->address;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)&place->address;
    const char *colon = strrchr(text, ':');
    char host[INET6_ADDRSTRLEN + 2] = "127.0.0.1";
    in_port_t port;
    if (!read_port(colon ? colon + 1 : text, &port)) return false;
    if (colon) {
        size_t length = (size_t)(colon - text);
        if (length >= sizeof(host)) return false;
        memcpy(host, text, length);
        host[length] = 0;
    }
    memset(place, 0, sizeof(*place));
    place->text = text;
    size_t length = strlen(host);
    if (length > 2 && host[0] == '[' && host[length - 1] == ']') {
        host[length - 1] = 0;
        *six = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = port};
        place->bytes = sizeof(*six);
        return inet_pton(AF_INET6, host + 1, &six->sin6_addr) == 1;
    }
    *four = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = port};
    place->bytes = sizeof(*four);
    return inet_pton(AF_INET, host, &four->sin_addr) == 1;
}

static void print_url(int server)
{
    struct sockaddr_storage address;
    socklen_t bytes = sizeof(address);
    char host[INET6_ADDRSTRLEN] = "";
    if (getsockname(server, (struct sockaddr *)&address, &bytes)) return;
    const struct sockaddr_in *four = (const struct sockaddr_in *)&address;
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)&address;
    if (address.ss_family == AF_INET6) {
        inet_ntop(AF_INET6, &six->sin6_addr, host, sizeof(host));
        printf("http://[%s]:%u/metrics\n", host, ntohs(six->sin6_port));
    } else {
        inet_ntop(AF_INET, &four->sin_addr, host, sizeof(host));
        printf("http://%s:%u/metrics\n", host, ntohs(four->sin_port));
    }
    fflush(stdout);
}

static int open_server(const struct listen_place *place)
{
    int server = socket(place->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), on = 1;
    if (server < 0) return -1;
    setsockopt(server, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (bind(server, (const struct sockaddr *)&place->address, place->bytes) == 0 &&
        listen(server, QUEUE) == 0)
        return server;
    int error = errno;
    close(server);
    errno = error;
    return -1;
}

/* --- until when */

static volatile sig_atomic_t ended;

static void end(int signal)
{
    (void)signal;
    ended = 1;
}

/* Has both signals end the server. They are blocked, and come only while it waits with the mask *waiting, so
 * that none is missed. */
static void take_signals(sigset_t *waiting)
{
    struct sigaction action = {.sa_handler = end};
    sigset_t both;
    sigemptyset(&both);
    sigaddset(&both, SIGINT);
    sigaddset(&both, SIGTERM);
    sigprocmask(SIG_BLOCK, &both, waiting);
    sigdelset(waiting, SIGINT);
    sigdelset(waiting, SIGTERM);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

/* Whether nothing came of it only because the other side, or the network, gave up. */
static bool is_passing(int error)
{
    return error != EMFILE && error != ENFILE && error != ENOBUFS && error != ENOMEM;
}

int listen_serve(const struct listen_place *place, http_metrics *metrics, void *context)
{
    sigset_t waiting;
    int server = open_server(place);
    if (server < 0) return failure("cannot listen at %s: %s", place->text, strerror(errno));
    take_signals(&waiting);
    print_url(server);
    int status = EXIT_OK;
    while (!ended && status == EXIT_OK) {
        struct pollfd next = {server, POLLIN, 0};
        if (ppoll(&next, 1, NULL, &waiting) <= 0) continue;
        int connection = accept4(server, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (connection >= 0) {
            http_answer(connection, WAIT_MS, metrics, context);
            close(connection);
        } else if (!is_passing(errno)) {
            status = failure("cannot accept a connection: %s", strerror(errno));
        }
    }
    close(server);
    return status;
}
