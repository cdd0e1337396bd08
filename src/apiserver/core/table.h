#pragma once

/* Objects as rows of a table for people (`kubectl get`), or as their bare metadata; see accept.h
 * for how these are asked for. */

#include "apiserver/core/accept.h"

/* includeObject=, which decides what is beside the cells. */
enum table_include { TABLE_METADATA, TABLE_NONE, TABLE_OBJECT };
/* False: 400 with err's words. text NULL: metadata. */
bool table_include_parse(const char *text, enum table_include *ret, struct error *err) must_check;

/* The list of columnDefinitions. */
struct json table_columns(struct arena *a, const struct api_kind *k);
/* Whether a table without rows has null there: of kinds that the API server has no printer for. */
bool table_rows_are_null(const struct api_kind *k);
/* One row: cells, and object as asked for; accept's version is that of the bare metadata. */
struct json table_row(struct arena *a, const struct api_kind *k, const struct accept *accept,
    enum table_include include, struct json object, int64_t wall_ms);
/* A whole Table of one object, for a GET or an event of a watch; columns false: columnDefinitions
 * is null, as in all events but a watch's first. A bookmark's object makes a row of nothing. */
struct json table_of_object(struct arena *a, const struct api_kind *k, const struct accept *accept,
    enum table_include include, struct json object, bool columns, int64_t wall_ms);
/* kind, apiVersion and metadata; nothing else. */
struct json partial_of_object(
    struct arena *a, const struct api_kind *k, const struct accept *accept, struct json object);

/* "5m", "3d4h": how long ago, as kubectl prints it; "<unknown>", "<invalid>". */
const char *table_age(struct arena *a, const char *rfc3339, int64_t wall_ms);
