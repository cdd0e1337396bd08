#include "node/names.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/resource.h"
#include "kube/file.h"
#include "kube/objects.h"
#include "tests/node/shelf.h"

static void fill(struct shelf *s)
{
    shelf_put(s,
        "Service",
        "my-web",
        "{'spec': {'clusterIP': '127.96.0.7', 'clusterIPs': ['127.96.0.7'], 'ports': [{'name': "
        "'http-x', 'port': 80, 'protocol': 'TCP'}, {'name': 'dns', 'port': 53, 'protocol': "
        "'UDP'}]}}");
    shelf_put(s, "Service", "db", "{'spec': {'clusterIP': 'None', 'ports': [{'port': 5}]}}");
    shelf_put(s, "Service", "far", "{'spec': {'type': 'ExternalName', 'externalName': 'a.b'}}");
    shelf_put(s,
        "EndpointSlice",
        "db-1",
        "{'metadata': {'labels': {'kubernetes.io/service-name': 'db'}}, 'endpoints': ["
        "{'addresses': ['127.64.0.1'], 'hostname': 'db-0', 'conditions': {'ready': true}},"
        "{'addresses': ['127.64.0.2'], 'hostname': 'db-1', 'conditions': {'ready': false}}]}");
    shelf_put(s,
        "EndpointSlice",
        "my-web-1",
        "{'metadata': {'labels': {'kubernetes.io/service-name': 'my-web'}}, 'endpoints': ["
        "{'addresses': ['127.64.0.3']}]}");
}

TEST(names_are_variables_as_the_kubelet_makes_them)
{
    struct shelf s;
    shelf_open(&s);
    fill(&s);
    check_json(names_env(test_arena(), s.objects, "ns", true),
        "{'MY_WEB_SERVICE_HOST': '127.96.0.7', 'MY_WEB_SERVICE_PORT': '80',"
        " 'MY_WEB_SERVICE_PORT_HTTP_X': '80', 'MY_WEB_SERVICE_PORT_DNS': '53',"
        " 'MY_WEB_PORT': 'tcp://127.96.0.7:80', 'MY_WEB_PORT_80_TCP': 'tcp://127.96.0.7:80',"
        " 'MY_WEB_PORT_80_TCP_PROTO': 'tcp', 'MY_WEB_PORT_80_TCP_PORT': '80',"
        " 'MY_WEB_PORT_80_TCP_ADDR': '127.96.0.7', 'MY_WEB_PORT_53_UDP': 'udp://127.96.0.7:53',"
        " 'MY_WEB_PORT_53_UDP_PROTO': 'udp', 'MY_WEB_PORT_53_UDP_PORT': '53',"
        " 'MY_WEB_PORT_53_UDP_ADDR': '127.96.0.7'}");
    check_json(names_env(test_arena(), s.objects, "ns", false), "{}");
    check_json(names_env(test_arena(), s.objects, "other", true), "{}");
    shelf_close(&s);
}

TEST(names_are_lines_of_hosts)
{
    struct shelf s;
    shelf_open(&s);
    fill(&s);
    struct buf b = BUF_INIT(1 << 20);
    names_hosts(&b, s.objects, "ns");
    static const char *const lines[] = {
        "127.96.0.7\tmy-web.ns.svc.cluster.local my-web.ns.svc my-web.ns my-web\n",
        "127.64.0.1\tdb.ns.svc.cluster.local db.ns.svc db.ns db\n",
        "127.64.0.1\tdb-0.db.ns.svc.cluster.local db-0.db.ns.svc db-0.db.ns db-0.db\n",
    };
    size_t length = 0;
    for (size_t i = 0; i < lengthof(lines); i++) {
        check(strstr(buf_text(&b), lines[i]));
        length += strlen(lines[i]);
    }
    check_int((int64_t)b.len, (int64_t)length); /* nothing else */
    buf_reset(&b);
    names_hosts(&b, s.objects, "other");
    check(strstr(buf_text(&b), "my-web.ns.svc my-web.ns\n"));
    buf_done(&b);

    struct pod_view v = { .pod = test_json("{'metadata': {'name': 'p', 'namespace': 'ns'}, 'spec':"
                                           " {'hostname': 'db-0', 'subdomain': 'db', 'hostAliases':"
                                           " [{'ip': '10.1.2.3', 'hostnames': ['a', 'b']}]}}"),
        .objects = s.objects,
        .pod_ip = "127.64.0.1" };
    const char *file = names_hosts_file(test_arena(), &v);
    check(strstr(file, "\n127.0.0.1\tlocalhost\n"));
    check(strstr(file, "\n127.64.0.1\tdb-0.db.ns.svc.cluster.local db-0\n"));
    check(strstr(file, "\n10.1.2.3 a b\n"));
    check(strstr(file, lines[0]));
    shelf_close(&s);
}

TEST(names_file_is_written_in_place_and_only_when_it_differs)
{
    char path[] = "/tmp/leeboard-hosts-XXXXXX";
    int fd = mkstemp(path);
    struct error err;
    struct str text;
    struct file_stamp before;
    check(fd >= 0);
    check(names_hosts_write(path, "one\ntwo\n", &err));
    before = file_stamp(path);
    check(names_hosts_write(path, "one\ntwo\n", &err));
    check(file_stamp_eq(before, file_stamp(path)));
    check(names_hosts_write(path, "three\n", &err));
    check(file_read(test_arena(), path, 100, &text, &err));
    check_text(text.ptr, "three\n");
    check(file_stamp(path).inode == before.inode);
    check_fails(names_hosts_write("/no/such/hosts", "x", &err), err, "/no/such/hosts");
    close(fd);
    unlink(path);
}

TEST(names_of_the_api_server_are_where_it_listens)
{
    struct shelf s;
    shelf_open(&s);
    objects_put(s.objects,
        &RESOURCE_SERVICE,
        test_json("{'metadata': {'name': 'kubernetes', 'namespace': 'default'}, 'spec': "
                  "{'clusterIP': '127.96.0.1', 'ports': [{'name': 'https', 'port': 443}]}}"));
    struct json env = names_env(test_arena(), s.objects, "ns", false);
    check_text(json_get_text(env, "KUBERNETES_SERVICE_HOST"), "127.96.0.1");
    objects_put(s.objects,
        &RESOURCE_ENDPOINT_SLICE,
        test_json("{'metadata': {'name': 'kubernetes', 'namespace': 'default'}, 'ports': "
                  "[{'name': 'https', 'port': 40123, 'protocol': 'TCP'}], 'endpoints': "
                  "[{'addresses': ['127.0.0.1']}]}"));
    env = names_env(test_arena(), s.objects, "ns", false);
    check_text(json_get_text(env, "KUBERNETES_SERVICE_HOST"), "127.0.0.1");
    check_text(json_get_text(env, "KUBERNETES_SERVICE_PORT"), "40123");
    check_text(json_get_text(env, "KUBERNETES_PORT"), "tcp://127.0.0.1:40123");
    shelf_close(&s);
}
