#pragma once

/* The fields of built-in kinds in Kubernetes' binary format: a generated table of constants, for
 * protobuf.c only. */

#include "base/base.h"

enum proto_form { PROTO_TEXT, PROTO_BYTES, PROTO_INT, PROTO_BOOL, PROTO_REAL, PROTO_MESSAGE };

/* Messages with a different form in JSON. */
enum proto_special {
    PROTO_PLAIN,
    PROTO_QUANTITY,      /* 1: text */
    PROTO_INT_OR_STRING, /* 1: which, 2: number, 3: text */
    PROTO_TIME,          /* 1: seconds, 2: nanoseconds */
    PROTO_MICRO_TIME,
    PROTO_RAW_JSON,  /* 1: JSON as bytes */
    PROTO_TEXT_LIST, /* 1: items */
    PROTO_EITHER,    /* the last present field, by number */
};

enum proto_flag {
    PROTO_REPEATED = 1,
    PROTO_MAP = 2,    /* entries of 1: key, 2: value */
    PROTO_INLINE = 4, /* its fields belong to the parent */
    PROTO_DROPS_ZERO = 8,
};

struct proto_field {
    uint32_t name; /* offset into proto_names */
    uint16_t number;
    uint16_t message; /* for PROTO_MESSAGE */
    uint8_t form;     /* enum proto_form */
    uint8_t flags;    /* enum proto_flag */
};

struct proto_message {
    uint16_t fields; /* the first one, by number */
    uint8_t count;
    uint8_t special; /* enum proto_special */
};

struct proto_kind {
    uint32_t name; /* "apps/v1/Deployment", "/v1/Pod" */
    uint32_t message;
};

extern const struct proto_field proto_fields[];
extern const struct proto_message proto_messages[];
extern const struct proto_kind proto_kinds[]; /* sorted by name */
extern const unsigned proto_kind_count;
extern const char proto_names[];
