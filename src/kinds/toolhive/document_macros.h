#pragma once

/* Rows of document tables: omitempty unless the name ends in ALWAYS. For files that hold tables. */

#include "kinds/toolhive/document.h"

#define TEXT(name_)                                                                                \
    {                                                                                              \
        .name = name_, .kind = DOCUMENT_TEXT, .omitempty = true                                    \
    }
#define TEXT_ALWAYS(name_)                                                                         \
    {                                                                                              \
        .name = name_, .kind = DOCUMENT_TEXT                                                       \
    }
#define TEXTS(name_)                                                                               \
    {                                                                                              \
        .name = name_, .kind = DOCUMENT_TEXT, .shape = DOCUMENT_LIST, .omitempty = true            \
    }
#define TEXT_MAP(name_)                                                                            \
    {                                                                                              \
        .name = name_, .kind = DOCUMENT_TEXT, .shape = DOCUMENT_MAP, .omitempty = true             \
    }
#define INT(name_)                                                                                 \
    {                                                                                              \
        .name = name_, .kind = DOCUMENT_INT, .omitempty = true                                     \
    }
#define BOOL(name_)                                                                                \
    {                                                                                              \
        .name = name_, .kind = DOCUMENT_BOOL, .omitempty = true                                    \
    }
#define BOOL_ALWAYS(name_)                                                                         \
    {                                                                                              \
        .name = name_, .kind = DOCUMENT_BOOL                                                       \
    }
#define POINTER(name_, of_)                                                                        \
    {                                                                                              \
        .name = name_, .kind = DOCUMENT_POINTER, .omitempty = true, .of = of_                      \
    }
#define STRUCTS(name_, of_)                                                                        \
    {                                                                                              \
        .name = name_, .kind = DOCUMENT_STRUCT, .shape = DOCUMENT_LIST, .omitempty = true,         \
        .of = of_                                                                                  \
    }
#define RAW(name_)                                                                                 \
    {                                                                                              \
        .name = name_, .kind = DOCUMENT_RAW, .omitempty = true                                     \
    }
#define INT_ALWAYS(name_)                                                                          \
    {                                                                                              \
        .name = name_, .kind = DOCUMENT_INT                                                        \
    }
#define DURATION(name_)                                                                            \
    {                                                                                              \
        .name = name_, .kind = DOCUMENT_DURATION, .omitempty = true                                \
    }
#define STRUCT_MAP(name_, of_)                                                                     \
    {                                                                                              \
        .name = name_, .kind = DOCUMENT_STRUCT, .shape = DOCUMENT_MAP, .omitempty = true,          \
        .of = of_                                                                                  \
    }
