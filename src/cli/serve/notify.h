#pragma once

/* Notifies the service manager if there is one (systemd's NOTIFY_SOCKET): "READY=1" when everything
 * is served, "STOPPING=1" when shutdown starts. */

void notify(const char *state);
