#pragma once

/* The life cycle of namespaces: Active, then Terminating while their contents are deleted, then
 * gone. */

#include "apiserver/verbs/write.h"

bool namespace_is_ending(struct apiserver *s, const struct store_object *ns);
/* DELETE of a namespace; see delete_object(). */
bool namespace_delete(struct write *w, struct json finalizers, struct json *object,
    const struct store_object **ret, bool *ret_gone) must_check;
/* Continues with every Terminating namespace. Returns true if it did anything. *ret_waits: at least
 * one must wait for objects in it. */
bool namespace_run(struct apiserver *s, bool *ret_waits);
