#pragma once

#include "engine/kind.h"

extern const struct kind toolhive_server_kind;
extern const struct kind toolhive_remote_proxy_kind;
