#pragma once

/* Tells the service manager how we are, where one has asked (systemd's NOTIFY_SOCKET); else nothing
 * happens. "READY=1" once everything is served, "STOPPING=1" when the end has begun. */

void notify(const char *state);
