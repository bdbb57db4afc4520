/* Where the server listens, and the token that requests from elsewhere need. */
#include "cli/web/web.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static bool is_loopback(const struct sockaddr *address) {
    if (address->sa_family == AF_INET) {
        struct sockaddr_in four;
        memcpy(&four, address, sizeof four);
        return ntohl(four.sin_addr.s_addr) >> 24 == 127;
    }
    struct sockaddr_in6 six;
    memcpy(&six, address, sizeof six);
    return IN6_IS_ADDR_LOOPBACK(&six.sin6_addr);
}

static int cannot(const char *address, unsigned port, const char *why) {
    return fail(EXIT_FAILED, "cannot listen at '%s', port %u: %s", address, port, why);
}

static int open_socket(const struct addrinfo *info) {
    const int one = 1, made = socket(info->ai_family, SOCK_STREAM, 0);
    if (made < 0) return -1;
    fcntl(made, F_SETFD, FD_CLOEXEC); /* commands of alerts must not hold it */
    setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(made, info->ai_addr, info->ai_addrlen) == 0 && listen(made, 64) == 0) return made;
    const int reason = errno;
    close(made);
    errno = reason;
    return -1;
}

/* The port that was chosen, where it was 0, and the address as it is written. */
static bool describe(int socket, web_site *site) {
    struct sockaddr_storage own;
    socklen_t size = sizeof own;
    char port[16];
    if (getsockname(socket, (struct sockaddr *)&own, &size) != 0 ||
        getnameinfo((struct sockaddr *)&own, size, site->address, sizeof site->address, port,
                    sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        return false;
    int64_t number = 0;
    if (eg_integer_parse(port, strlen(port), 1, 65535, &number, NULL)) return false;
    site->port = (unsigned)number;
    site->loopback = is_loopback((struct sockaddr *)&own);
    if (gethostname(site->name, sizeof site->name - 1) != 0) site->name[0] = 0;
    return true;
}

int web_listen(const char *address, unsigned port, web_site *site, int *out) {
    const struct addrinfo hints = {.ai_family = AF_UNSPEC,
                                   .ai_socktype = SOCK_STREAM,
                                   .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE};
    struct addrinfo *found = NULL;
    char service[16];
    *site = (web_site){.port = port};
    snprintf(service, sizeof service, "%u", port);
    const char *number = strcmp(address, "localhost") == 0 ? "127.0.0.1" : address;
    const int unknown = getaddrinfo(number, service, &hints, &found);
    if (unknown || !found)
        return fail(EXIT_USAGE, "--bind '%s' is no address such as 127.0.0.1, 0.0.0.0 or ::1",
                    address);
    *out = open_socket(found);
    freeaddrinfo(found);
    if (*out < 0) return cannot(address, port, strerror(errno));
    if (describe(*out, site)) return CLI_OK;
    close(*out);
    return cannot(address, port, "its own address is not to be had");
}

void web_print_address(const web_site *site) {
    const bool any = strcmp(site->address, "0.0.0.0") == 0 || strcmp(site->address, "::") == 0;
    const char *host = any ? (site->name[0] ? site->name : "localhost") : site->address;
    printf(strchr(host, ':') ? "http://[%s]:%u/%s%s\n" : "http://%s:%u/%s%s\n", host, site->port,
           site->token[0] ? "?token=" : "", site->token);
    fflush(stdout);
}

int web_make_token(char out[WEB_TOKEN_MAX + 1]) {
    unsigned char random[16];
    const int source = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    const ssize_t got = source >= 0 ? read(source, random, sizeof random) : -1;
    if (source >= 0) close(source);
    if (got != (ssize_t)sizeof random)
        return fail(EXIT_FAILED, "no random numbers for a token: /dev/urandom: %s",
                    strerror(errno));
    for (size_t i = 0; i < sizeof random; i++)
        snprintf(out + 2 * i, 3, "%02x", (unsigned)random[i]);
    return CLI_OK;
}
