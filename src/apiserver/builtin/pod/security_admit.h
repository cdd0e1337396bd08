#pragma once

/* Enforces the Pod Security Standards, as the real server's admission does: pods are refused or get
 * warnings according to the labels of their namespace; workloads and namespaces get warnings. There
 * are no exemptions. */

#include "apiserver/core/registry.h"

/* A new pod, or one whose images or ephemeral containers change. */
bool pod_security_admit(const struct api_write *w, struct json pod, struct error *err) must_check;
/* Checks the labels of a namespace; warns about existing pods that a new level would refuse. */
bool pod_security_admit_namespace(
    const struct api_write *w, struct json ns, struct error *err) must_check;
/* The template of a workload; may be absent. */
void pod_security_warn(const struct api_write *w, struct json object, struct json tmpl);
