#pragma once

/* Request bodies. */

#include "apiserver/core/call.h"
#include "apiserver/core/protobuf.h"

/* The format of a body. */
enum media { MEDIA_TYPE_JSON, MEDIA_TYPE_YAML, MEDIA_TYPE_PROTOBUF, MEDIA_TYPE_OTHER };
enum media media_of(const char *content_type);
/* Whether the kind can be read from this format; false: answered. */
bool body_check_media(struct api_call *c) must_check;

/* Whether a text has escapes for surrogate pairs, which JSON allows and YAML does not. */
bool body_has_surrogates(struct str body);
/* Parses the body unchanged: a map, with apiVersion and kind of the right type if present. Binary
 * bodies without a type get that of `usual`. *ret_twice: it has duplicate keys; for YAML c->twice
 * lists them. Fails with the reason in Go's words; sets no answer. */
bool body_parse(struct api_call *c, const struct protobuf_type *usual, struct json *ret,
    bool *ret_twice, const char **ret_why) must_check;

/* Decodes the object in the body: it must be of the call's kind (missing apiVersion and kind are
 * filled in). Its metadata is normalized, and fields that the kind does not have are removed; these
 * are errors or warnings as the client requested (fieldValidation). On failure the answer is
 * set. */
bool body_decode(struct api_call *c, struct json *ret) must_check;
/* The same for an object created here by a patch. text (.ptr NULL: none) gives the order in which
 * unknown fields are reported; twice: it has duplicate keys. Fails with the reason. */
bool body_read_object(struct api_call *c, const struct api_kind *k, struct json *object,
    struct str text, bool twice, const char **ret_why) must_check;
/* apiVersion or kind of an object as Go reads it: keys are matched without case. */
struct json body_type_member(struct json object, const char *field);
/* Why these two cannot be read from a value: it is not an object, or they are not strings. NULL:
 * they can. */
const char *body_type_trouble(struct arena *a, struct json v);
/* Go's decoder error for a value that cannot be read; NULL: none. */
const char *body_type_error(const struct field_errors *errors);
/* Reports duplicate keys in a patch, and unknown members of JSON patch operations: one warning
 * each, or an error. */
bool body_check_patch(
    struct api_call *c, struct str text, bool operations, const char **ret_why) must_check;
/* Reports duplicate keys in an applied configuration: one warning each, or an error. */
bool body_report_yaml_twice(struct api_call *c) must_check;
