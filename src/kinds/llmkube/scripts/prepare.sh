# Makes the root of the cache writable for the download, on volumes to which the kubelet does not
# apply fsGroup (NFS, CephFS). Only the root: files below it belong to their writers. The operator
# adds owner= and mode= in front.
set -eu
chown "$owner" /models
chmod "$mode" /models
