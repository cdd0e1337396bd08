#include "base/atomic.h"

#include "tests/test.h"

static struct json filled(const char *text)
{
    return atomic_fill(test_arena(), test_json(text));
}

TEST(what_is_owned_as_a_whole_is_written_as_a_whole)
{
    check_json(filled("[{'name': 'A', 'valueFrom': {'fieldRef': {'fieldPath': 'x'}}}]"),
        "[{'name': 'A', 'valueFrom': {'fieldRef': {'fieldPath': 'x', 'apiVersion': 'v1'}}}]");
    check_json(filled("{'resourceFieldRef': {'resource': 'limits.cpu'}}"),
        "{'resourceFieldRef': {'resource': 'limits.cpu', 'divisor': '0'}}");
    check_json(filled("[{'serviceAccountToken': {'path': 't'}}]"),
        "[{'serviceAccountToken': {'path': 't', 'expirationSeconds': 3600}}]");
}

TEST(what_the_user_wrote_stays)
{
    static const char text[] = "[{'serviceAccountToken': {'path': 't', 'expirationSeconds': 600}}, "
                               "{'httpGet': {'port': 1}}, {'configMap': {'name': 'c'}}]";
    check_json(filled(text), text);
}
