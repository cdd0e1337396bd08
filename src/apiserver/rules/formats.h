#pragma once

/* The string formats that an API server checks in custom resources; it ignores others. */

#include "base/str.h"

enum format {
    FORMAT_UNKNOWN = 0, /* not checked */
    FORMAT_BSON_OBJECT_ID,
    FORMAT_BYTE_TEXT, /* base64 */
    FORMAT_CIDR,
    FORMAT_CREDIT_CARD,
    FORMAT_DATE,
    FORMAT_DATE_TIME,
    FORMAT_DURATION_TEXT,
    FORMAT_EMAIL,
    FORMAT_HEX_COLOR,
    FORMAT_HOSTNAME,
    FORMAT_IPV4,
    FORMAT_IPV6,
    FORMAT_ISBN,
    FORMAT_ISBN10,
    FORMAT_ISBN13,
    FORMAT_LONG_NAME, /* k8s-long-name: a DNS subdomain */
    FORMAT_MAC,
    FORMAT_PASSWORD,
    FORMAT_RGB_COLOR,
    FORMAT_SHORT_NAME, /* k8s-short-name: a DNS label */
    FORMAT_SSN,
    FORMAT_URI,
    FORMAT_UUID,
    FORMAT_UUID3,
    FORMAT_UUID4,
    FORMAT_UUID5,
    FORMAT_NUMBERS, /* formats after this are for numbers */
    FORMAT_INT32 = FORMAT_NUMBERS,
    FORMAT_INT64,
    FORMAT_FLOAT,
    FORMAT_DOUBLE,
};

/* Finds a format by its name in a schema of this type (string, integer, number, NULL: not set);
 * dashes are ignored ("date-time", "datetime"). FORMAT_UNKNOWN: the API server does not check
 * it. */
enum format format_of(const char *name, const char *type);
bool format_matches(enum format f, struct str text);
