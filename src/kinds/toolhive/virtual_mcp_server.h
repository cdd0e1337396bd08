#pragma once

#include "engine/kind.h"

extern const struct kind toolhive_virtual_server_kind;
