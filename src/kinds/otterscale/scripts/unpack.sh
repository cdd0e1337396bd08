# Unpacks the model of an OCI reference into the volume that the engine serves from. $plain: --plain-http or nothing.
set -eu
mkdir -p "$KITOPS_HOME"
exec kit unpack "$OCI_MODEL_IMAGE" $plain --overwrite --dir "$MODEL_MOUNT_PATH"
