/* What stands in the columns of the control plane's own kinds. */

#include "apiserver/builtin/cells/cells.h"
#include "apiserver/core/table.h"

struct json cell_request_duration(struct arena *a, struct json o, int64_t wall_ms)
{
    (void)wall_ms;
    int64_t seconds = json_get_int(o, "spec.expirationSeconds", 0);
    return json_str(seconds ? table_age(a, "1970-01-01T00:00:00Z", seconds * 1000) : "<none>");
}

/* "Approved,Issued" */
struct json cell_request_condition(struct arena *a, struct json o, int64_t wall_ms)
{
    (void)wall_ms;
    struct json conditions = json_get(o, "status.conditions");
    bool approved = json_present(json_find(conditions, "type", "Approved")),
         denied = json_present(json_find(conditions, "type", "Denied")),
         failed = json_present(json_find(conditions, "type", "Failed")),
         issued = !text_empty(json_get_text(o, "status.certificate"));
    return json_strf(a,
        "%s%s%s",
        denied     ? "Denied"
        : approved ? "Approved"
                   : "Pending",
        failed ? ",Failed" : "",
        issued ? ",Issued" : "");
}

struct json cell_service_ranges(struct arena *a, struct json o, int64_t wall_ms)
{
    (void)wall_ms;
    return cells_joined(a, json_get(o, "spec.cidrs"), NULL, ",");
}

/* "services/default/kubernetes" */
struct json cell_address_parent(struct arena *a, struct json o, int64_t wall_ms)
{
    (void)wall_ms;
    struct json ref = json_get(o, "spec.parentRef");
    const char *group = cells_text(ref, "group", ""), *namespace = cells_text(ref, "namespace", "");
    return json_strf(a,
        "%s%s%s/%s%s%s",
        cells_text(ref, "resource", ""),
        *group ? "." : "",
        group,
        namespace,
        *namespace ? "/" : "",
        cells_text(ref, "name", ""));
}

struct json cell_api_service(struct arena *a, struct json o, int64_t wall_ms)
{
    (void)wall_ms;
    struct json service = json_get(o, "spec.service");
    if (!json_present(service))
        return json_str("Local");
    return json_strf(
        a, "%s/%s", cells_text(service, "namespace", ""), cells_text(service, "name", ""));
}

/* "False (ServiceNotFound)" */
struct json cell_api_available(struct arena *a, struct json o, int64_t wall_ms)
{
    (void)wall_ms;
    struct json c = json_find(json_get(o, "status.conditions"), "type", "Available");
    const char *status = cells_text(c, "status", "Unknown");
    if (text_eq(status, "True") || !json_present(c))
        return json_str(status);
    return json_strf(a, "%s (%s)", status, cells_text(c, "reason", ""));
}
