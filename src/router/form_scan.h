#pragma once

/* Scans a multipart/form-data body as a stream (RFC 7578) and finds the field `model` and its
 * position, as in uploads of audio. Uses constant memory. */

#include "base/str.h"

#define FORM_BOUNDARY_MAX 70 /* RFC 2046 */
#define FORM_HEAD_MAX 2048
#define FORM_MODEL_MAX 511

struct form_scan {
    /* result */
    bool found;
    bool twice; /* two fields of that name */
    bool cut;   /* the value is longer than FORM_MODEL_MAX */
    char model[FORM_MODEL_MAX + 1];
    int64_t start, end; /* of the value, in the body */
    /* private */
    char mark[FORM_BOUNDARY_MAX + 5]; /* "\r\n--boundary" */
    uint32_t mark_len, matched, head_len, model_len, dashes;
    int state;
    bool wanted; /* the current part is the field */
    int64_t at;
    char head[FORM_HEAD_MAX];
};

/* False: the content type is not multipart/form-data with a boundary. */
bool form_scan_init(struct form_scan *s, struct str content_type) must_check;
void form_scan(struct form_scan *s, struct str bytes);
