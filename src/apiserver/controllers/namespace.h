#pragma once

/* The life of namespaces: Active, then Terminating while their contents are deleted, then gone. */

#include "apiserver/verbs/write.h"

bool namespace_is_ending(struct apiserver *s, const struct store_object *ns);
/* DELETE of a namespace; see delete_object(). */
bool namespace_delete(struct write *w, struct json finalizers, struct json *object,
    const struct store_object **ret, bool *ret_gone) must_check;
/* Goes on with every namespace that is Terminating. True: something was done. *ret_waits: there is
 * one that has to wait until objects in it are gone. */
bool namespace_run(struct apiserver *s, bool *ret_waits);
