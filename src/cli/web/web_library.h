/* libmicrohttpd, opened when a server is asked for: it brings ten other libraries, which would double the time that every
 * command takes to start. */
#ifndef EG__CLI_WEB_LIBRARY_H
#define EG__CLI_WEB_LIBRARY_H

#include <microhttpd.h>
#include <stdbool.h>

/* Its functions, without MHD_ in front. */
#define WEB_LIBRARY_MAP(X)           \
    X(start_daemon)                  \
    X(stop_daemon)                   \
    X(get_connection_info)           \
    X(get_connection_values)         \
    X(lookup_connection_value)       \
    X(suspend_connection)            \
    X(resume_connection)             \
    X(create_response_from_buffer)   \
    X(create_response_from_callback) \
    X(add_response_header)           \
    X(queue_response)                \
    X(destroy_response)

typedef struct web_library {
#define WEB_LIBRARY_MEMBER(name) __typeof__(&MHD_##name) name;
    WEB_LIBRARY_MAP(WEB_LIBRARY_MEMBER)
#undef WEB_LIBRARY_MEMBER
} web_library;
extern web_library mhd; /* after web_missing() gave NULL */

#endif
