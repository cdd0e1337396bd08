# Makes the root of the cache writable for the download, on volumes to which the kubelet does not
# apply fsGroup (NFS, CephFS). Only the root: what lies below belongs to whoever wrote it. The
# operator puts owner= and mode= in front.
set -eu
chown "$owner" /models
chmod "$mode" /models
