/* A build without libmicrohttpd has no server. */
#include "cli/web/web.h"

const char *web_missing(void) { return "built without libmicrohttpd"; }
int web_open(web_server **out, const web_site *site, int listens, eg_monitor *monitor) {
    (void)out, (void)site, (void)listens, (void)monitor;
    return fail(EXIT_FAILED, "there is no web server: %s", web_missing());
}
void web_lock(web_server *server) { (void)server; }
void web_unlock(web_server *server) { (void)server; }
int web_publish(web_server *server) {
    (void)server;
    return CLI_OK;
}
void web_tick(web_server *server) { (void)server; }
void web_close(web_server *server) { (void)server; }
