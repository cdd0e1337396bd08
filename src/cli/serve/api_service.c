#include "cli/serve/api_service.h"

#include <arpa/inet.h>
#include <malloc.h>
#include <stdlib.h>

#include "apiserver/core/server.h"
#include "apiserver/store/sqlite.h"
#include "apiserver/store/store.h"
#include "base/str.h"
#include "cli/serve/apiserver_files.h"
#include "cli/serve/apiserver_http.h"
#include "cli/serve/listen.h"
#include "http/loop.h"
#include "http/tls.h"

#define WATCH_PACE_MS 3
#define HEAP_KEEP_BYTES (16 << 20)
#define HOSTS_MAX 32
/* A flush may require another one; each has less work. */
#define START_ROUNDS_MAX 100

struct api_service {
    struct arena *arena;
    struct api_service_options options;
    struct store_sqlite *disk;
    struct store *store;
    struct apiserver *server;
    struct apiserver_files files;
    struct tls_context *tls;
    struct apiserver_http *http;
    struct listen_address address;
};

bool api_service_check_listen(const char *text, struct error *err)
{
    struct listen_address ignored;
    return listen_read("--listen", text, &ignored, err);
}

/* The address of the Service kubernetes, which pods use; NULL: the range is invalid, and is
 * refused. */
static const char *first_address(struct arena *a, const char *range)
{
    struct in_addr address;
    char text[INET_ADDRSTRLEN];
    const char *network = arena_strndup(a, range, strcspn(range, "/"));
    if (inet_pton(AF_INET, network, &address) != 1)
        return NULL;
    address.s_addr = htonl(ntohl(address.s_addr) + 1);
    return arena_strdup(a, inet_ntop(AF_INET, &address, text, sizeof(text)));
}

static const char *const *hosts(struct api_service *s)
{
    const char **list = arena_array(s->arena, HOSTS_MAX + 3, sizeof(*list));
    const char *range = s->options.service_cidr;
    const char *service = range ? first_address(s->arena, range) : NULL;
    size_t count = 0;
    if (service)
        list[count++] = service;
    if (*s->address.host)
        list[count++] = s->address.host;
    struct str rest = str_of(s->options.names);
    while (rest.ptr && rest.len && count < HOSTS_MAX)
        list[count++] = str_dup(s->arena, str_trim(str_cut(&rest, ',')));
    return list;
}

static bool make_server(struct api_service *s, struct error *err)
{
    const struct api_service_options *o = &s->options;
    const struct env *env = loop_env(o->loop);
    if (o->folder) {
        s->disk = store_sqlite_open(
            o->folder, &(struct store_sqlite_options){ .no_fsync = o->no_fsync }, err);
        if (!s->disk)
            return false;
    }
    s->store = store_new(
        env, &(struct store_options){ .disk = s->disk ? store_sqlite_disk(s->disk) : NULL }, err);
    if (!s->store || !apiserver_files_load(s->arena, o->folder, hosts(s), &s->files, err))
        return false;
    s->server = apiserver_new(
        &(struct apiserver_options){
            .env = env,
            .store = s->store,
            .token_key = s->files.token_key,
            .root_ca = s->files.ca,
            .service_cidr = o->service_cidr,
            .loopback_endpoints = o->loopback_endpoints,
            .logs = o->logs,
            .sessions = o->sessions != NULL,
            .watch_pace_ms = WATCH_PACE_MS,
        },
        err);
    if (!s->server)
        return false;
    for (int i = 0; i < START_ROUNDS_MAX && apiserver_is_pending(s->server); i++)
        apiserver_flush(s->server);
    return true;
}

static bool make_http(struct api_service *s, struct error *err)
{
    s->tls = tls_server_new(
        &(struct tls_server_options){
            .certificate = s->files.certificate,
            .key = s->files.key,
            .client_ca = s->files.ca,
        },
        err);
    if (!s->tls)
        return false;
    s->http = apiserver_http_new(
        &(struct apiserver_http_options){
            .loop = s->options.loop,
            .server = s->server,
            .address = *s->address.host ? s->address.host : NULL,
            .port = s->address.port,
            .tls = s->tls,
            .sessions = s->options.sessions,
        },
        err);
    if (!s->http) {
        struct error why = *err;
        return fail(
            err, why.code, "%s; --listen takes another, with port 0 any free one", why.text);
    }
    apiserver_set_endpoint(s->server, listen_name(&s->address), apiserver_http_port(s->http));
    return true;
}

struct api_service *api_service_new(
    struct arena *a, const struct api_service_options *options, struct error *err)
{
    struct api_service *s = mem_new_of(struct api_service);
    s->arena = a;
    s->options = *options;
    if (listen_read("--listen", options->listen, &s->address, err) && make_server(s, err) &&
        make_http(s, err))
        return s;
    api_service_free(s);
    return NULL;
}

void api_service_close(struct api_service *s)
{
    apiserver_http_free(take(s->http));
}

void api_service_free(struct api_service *s)
{
    if (!s)
        return;
    api_service_close(s);
    apiserver_free(s->server);
    if (s->store)
        store_free(s->store);
    if (s->disk)
        store_sqlite_close(s->disk);
    tls_context_unref(s->tls);
    free(s);
}

struct apiserver *api_service_server(const struct api_service *s)
{
    return s->server;
}

struct apiserver_http *api_service_http(const struct api_service *s)
{
    return s->http;
}

const char *api_service_url(const struct api_service *s)
{
    const char *host = listen_name(&s->address);
    return arena_printf(s->arena,
        strchr(host, ':') ? "https://[%s]:%d" : "https://%s:%d",
        host,
        apiserver_http_port(s->http));
}

bool api_service_write_kubeconfig(const struct api_service *s, const char *path, struct error *err)
{
    return apiserver_files_write_kubeconfig(s->arena, &s->files, api_service_url(s), path, err);
}

/* Returning memory after each request costs more than the request itself. */
void api_service_tune_heap(void)
{
    mallopt(M_ARENA_MAX, 1);
    mallopt(M_TRIM_THRESHOLD, HEAP_KEEP_BYTES);
    mallopt(M_MMAP_THRESHOLD, HEAP_KEEP_BYTES / 128);
}
