#pragma once

/* Containers with one thing wrong each, and what the real server says of it. */

#include "apiserver/builtin/pod/pod.h"
#include "tests/test.h"

struct pod_case {
    const char *members; /* of the container; NULL after the last */
    const char *field;   /* of the first error; NULL: nothing is wrong */
    const char *message;
    const char *spec; /* members of the spec, if any, with a comma behind */
};

/* The container's pod has the volumes `dir` (emptyDir) and `disk` (a claim) and the claim `gpu`. */
static inline void pod_cases_check(const struct pod_case *cases)
{
    for (const struct pod_case *c = cases; c->members; c++) {
        const char *text = arena_printf(test_arena(),
            "{%s 'containers': [{'name': 'c', 'image': 'i', %s}],"
            " 'volumes': [{'name': 'dir', 'emptyDir': {}},"
            " {'name': 'disk', 'persistentVolumeClaim': {'claimName': 'x'}}],"
            " 'resourceClaims': [{'name': 'gpu', 'resourceClaimName': 'x'}]}",
            c->spec ? c->spec : "",
            c->members);
        struct field_errors e;
        field_errors_init(&e, test_arena());
        pod_spec_check(&e, pod_spec_fill(test_arena(), test_json(text)), "spec");
        check_text(e.count ? e.items[0].path : NULL, c->field);
        check_text(e.count ? e.items[0].message : NULL, c->message);
    }
}
