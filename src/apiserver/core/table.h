#pragma once

/* Objects as rows of a table for people (`kubectl get`), or as bare metadata; see accept.h for how
 * they are requested. */

#include "apiserver/core/accept.h"

/* includeObject=: what a row contains besides the cells. */
enum table_include { TABLE_METADATA, TABLE_NONE, TABLE_OBJECT };
/* False: 400 with the message in err. text NULL: metadata. */
bool table_include_parse(const char *text, enum table_include *ret, struct error *err) must_check;

/* The list of columnDefinitions. */
struct json table_columns(struct arena *a, const struct api_kind *k);
/* Whether rows is null in an empty table: for kinds without a printer in the API server. */
bool table_rows_are_null(const struct api_kind *k);
/* One row: the cells, and the object as requested; the bare metadata has accept's version. */
struct json table_row(struct arena *a, const struct api_kind *k, const struct accept *accept,
    enum table_include include, struct json object, int64_t wall_ms);
/* A whole Table with one object, for a GET or a watch event. columns false: columnDefinitions is
 * null, as in all events but the first one of a watch. The row of a bookmark is empty. */
struct json table_of_object(struct arena *a, const struct api_kind *k, const struct accept *accept,
    enum table_include include, struct json object, bool columns, int64_t wall_ms);
/* kind, apiVersion and metadata; nothing else. */
struct json partial_of_object(
    struct arena *a, const struct api_kind *k, const struct accept *accept, struct json object);

/* "5m", "3d4h": how long ago, as kubectl prints it; "<unknown>", "<invalid>". */
const char *table_age(struct arena *a, const char *rfc3339, int64_t wall_ms);
