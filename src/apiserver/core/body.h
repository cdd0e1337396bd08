#pragma once

/* Bodies of requests. */

#include "apiserver/core/call.h"
#include "apiserver/core/protobuf.h"

/* How the bytes of a body are to be read. */
enum media { MEDIA_TYPE_JSON, MEDIA_TYPE_YAML, MEDIA_TYPE_PROTOBUF, MEDIA_TYPE_OTHER };
enum media media_of(const char *content_type);
/* Whether the body is of a form that the kind is read from; false: answered. */
bool body_check_media(struct api_call *c) must_check;

/* Whether a text has escapes of half a character, as JSON has them and YAML does not take them. */
bool body_has_surrogates(struct str body);
/* The bytes of the body as they are: a map, with apiVersion and kind of the right type if they are
 * there; binary ones have those of usual if they say nothing. *ret_twice: it has keys that are
 * there twice; of YAML c->twice tells which. Fails with the reason in Go's words; nothing is
 * answered. */
bool body_parse(struct api_call *c, const struct protobuf_type *usual, struct json *ret,
    bool *ret_twice, const char **ret_why) must_check;

/* The object in the body: of the call's kind (apiVersion and kind are filled in if missing), with
 * metadata in order and without fields that the kind does not have; those are an error or warnings
 * as the client asked (fieldValidation). Fails with the answer given. */
bool body_decode(struct api_call *c, struct json *ret) must_check;
/* The same for an object that was made here, by a patch. text (.ptr NULL: none) gives the order in
 * which unknown fields are told; twice: it has keys that are there twice. Fails with the reason. */
bool body_read_object(struct api_call *c, const struct api_kind *k, struct json *object,
    struct str text, bool twice, const char **ret_why) must_check;
/* apiVersion or kind of an object as Go reads them: whatever the case of their letters. */
struct json body_type_member(struct json object, const char *field);
/* Why these two cannot be read of a value: it is no object, they are no strings; NULL: they can. */
const char *body_type_trouble(struct arena *a, struct json v);
/* What Go's decoder says of a value that it cannot read, among what else it found; NULL: nothing.
 */
const char *body_type_error(const struct field_errors *errors);
/* Keys that are there twice in a patch, and what an operation of a JSON patch does not have: a
 * warning each, or a reason to refuse it. */
bool body_check_patch(
    struct api_call *c, struct str text, bool operations, const char **ret_why) must_check;
/* Keys that are there twice in an applied configuration: a warning each, or an error. */
bool body_report_yaml_twice(struct api_call *c) must_check;
