#pragma once

/* Where the Pod Security Standards are asked for, as by the real server's admission: pods of a
 * namespace whose labels say so are refused or warned about, workloads and namespaces warned about.
 * Nobody and nothing is exempt. */

#include "apiserver/core/registry.h"

/* A pod that is created, or whose images or ephemeral containers are changed. */
bool pod_security_admit(const struct api_write *w, struct json pod, struct error *err) must_check;
/* The labels of a namespace; warns of pods in there that a new level would refuse. */
bool pod_security_admit_namespace(
    const struct api_write *w, struct json ns, struct error *err) must_check;
/* The template of a workload, absent or not. */
void pod_security_warn(const struct api_write *w, struct json object, struct json tmpl);
