# Brings a model into a pod.
#
# A pod gets only the sections that it needs: the operator removes comments, indentation, and the
# lines between `#+ NAME` and `#-` unless NAME is enabled (storage_program.c). Values from users are
# environment variables, never text of this program:
#   MODEL_SOURCE             URL, or org/repo; with MODEL_FILES the prefix of their names
#   MODEL_PATH               the only file to fetch, or
#   MODEL_FILES, CACHE_DIR   names, one per line, and the directory for the files
#   S3_BUCKET, S3_KEY or S3_PREFIX, AWS_*, HF_TOKEN
# Only the digest is added in front, as a line, after its format was checked: sha256=…
#
# A file gets its final name only when it is complete and matches the digest, if there is one. The
# last lines of a failure name its cause: they become the container's termination message.
set -eu
umask 002
export LC_ALL=C
say() { printf '%s\n' "$*"; }
die() { printf 'ERROR: %s\n' "$*" >&2; exit 1; }
credentials() { :; }

#+ encode
# Percent-encodes a text, except for slashes.
encode() {
  rest=$1 out=
  while [ -n "$rest" ]; do
    tail=${rest#?} char=${rest%"${rest#?}"}
    case $char in
      [A-Za-z0-9/._~-]) out=$out$char ;;
      *) out=$out$(printf '%%%02X' $(($(printf %d "'$char") & 255))) ;;
    esac
    rest=$tail
  done
  printf '%s' "$out"
}
#-

# ---- location: url NAME, where NAME is one of MODEL_FILES or empty ----

#+ host
url() { say /host-model/model.gguf; }
#-
#+ http
url() { say "$MODEL_SOURCE"; }
#-
#+ blob
# A blob page of the hub shows a file; resolve returns the file itself.
url() { say "${MODEL_SOURCE%%/blob/*}/resolve/${MODEL_SOURCE#*/blob/}"; }
#-
#+ base
url() { say "${MODEL_SOURCE%/}/$(encode "$1")"; }
#-
#+ repo
# org/repo/file@revision
url() {
  path=${MODEL_SOURCE#*://} revision=main
  case $path in *@*) revision=${path#*@} path=${path%%@*} ;; esac
  case $path in
    */*/?*) ;;
    *) die "$MODEL_SOURCE names a repository, not a file: list spec.files in the Model," \
        "or set skipModelInit on a service whose runtime fetches repositories itself" ;;
  esac
  org=${path%%/*} path=${path#*/}
  say "https://huggingface.co/$org/${path%%/*}/resolve/$revision/$(encode "${path#*/}")"
}
#-
#+ s3
url() {
  endpoint=${AWS_ENDPOINT_URL:-https://s3.${AWS_REGION:-us-east-1}.amazonaws.com}
  prefix=${S3_PREFIX:-} prefix=${prefix%/}
  say "${endpoint%/}/$(encode "$S3_BUCKET/${S3_KEY:-${prefix:+$prefix/}$1}")"
}
#-

# ---- credentials: a curl configuration, so that no process list shows secrets ----

#+ quoted
quoted() { printf '%s' "$1" | tr -d '\r\n' | sed 's/[\\"]/\\&/g'; }
#-
#+ s3
credentials() {
  [ -n "${AWS_ACCESS_KEY_ID:-}" ] || return 0
  say "aws-sigv4 = \"aws:amz:$(quoted "${AWS_REGION:-us-east-1}"):s3\""
  say "user = \"$(quoted "$AWS_ACCESS_KEY_ID"):$(quoted "${AWS_SECRET_ACCESS_KEY:-}")\""
  [ -z "${AWS_SESSION_TOKEN:-}" ] ||
    say "header = \"x-amz-security-token: $(quoted "$AWS_SESSION_TOKEN")\""
}
#-
#+ token
credentials() {
  case $1 in https://huggingface.co/* | https://www.huggingface.co/*)
    [ -z "${HF_TOKEN:-}" ] || say "header = \"Authorization: Bearer $(quoted "$HF_TOKEN")\"" ;;
  esac
}
#-

# ---- fetching ----

#+ remote
# A URL without user, password and query, which may be secret.
public() {
  plain=${1%%[?#]*}
  case $plain in *://*@*) plain=${plain%%://*}://${plain#*@} ;; esac
  printf '%s' "$plain"
}

# curl URL ARGUMENT..., with a timeout for everything.
request() {
  from=$1; shift
  credentials "$from" | curl -K - --globoff --fail --location --max-redirs 10 --silent \
    --show-error --proto =http,https --connect-timeout 30 --speed-limit 1024 --speed-time 60 \
    "$@" --url "$from"
}

# One attempt to fetch a URL into a file. Resumes the last one if the server still has the same
# file, by its ETag. Sets http to the status.
attempt() {
  to=$2 code=0
  # A first attempt that was killed: its data belongs to the file with its ETag.
  [ -s "$to.etag" ] || mv -f "$to.new" "$to.etag" 2>/dev/null || :
  etag=$(cat "$to.etag" 2>/dev/null || :)
  rm -f "$to.new"
  [ -n "$etag" ] || rm -f "$to"
  set -- "$1"
  [ ! -s "$to" ] || set -- "$@" --continue-at - --header "If-Range: $etag"
  http=$(request "$@" --output "$to" --etag-save "$to.new" --write-out '%{http_code}') || code=$?
  case $http in 200 | 206) cp "$to.new" "$to.etag" 2>/dev/null || : ;; esac
  rm -f "$to.new"
  return $code
}

# Fetches a URL into a file, and retries if that can help.
fetch() {
  for pause in 1 4 9 16 0; do
    code=0
    attempt "$1" "$2" || code=$?
    case $code/$http in
      0/*) rm -f "$2.etag"; return 0 ;;
      33/* | 36/* | 22/416) rm -f "$2" "$2.etag" ;;  # it cannot go on from there
      22/408 | 22/429 | 22/5*) ;;                    # the server fails for now
      [567]/* | 18/* | 28/* | 35/* | 5[256]/* | 92/*) ;;  # the way to it does
      *) break ;;
    esac
    [ $pause != 0 ] || break
    say "Trying again (curl exit code $code, HTTP status $http)"
    sleep $pause
  done
  case $code in
    22) printf 'ERROR: HTTP %s from %s\n' "$http" "$(public "$1")" >&2 ;;
    23) printf 'ERROR: cannot write %s: %s\n' "$2" "$(df -Pk "${2%/*}" | awk 'NR == 2 {
          print $4 < 1024 ? "No space left on device" : $4 " KiB are free" }')" >&2 ;;
    *) printf 'ERROR: %s: curl exit code %s\n' "$(public "$1")" "$code" >&2 ;;
  esac
  return 1
}
#-
#+ host
public() { printf %s "$MODEL_SOURCE"; }
fetch() { cp "$1" "$2"; }
#-

#+ size
size_of() { wc -c <"$1" | tr -d ' '; }
#-
#+ onchange-remote
size_at() {
  request "$1" --head --output - 2>/dev/null | tr -d '\r' |
    awk 'tolower($1) == "content-length:" { size = $2 } END { print size }'
}
#-
#+ onchange-host
size_at() { size_of "$1"; }
#-

#+ sha256-remote
# The source's headers that identify its file.
signs() {
  request "$1" --head --output - 2>/dev/null | tr -d '\r' | awk '
    /^HTTP/ { found = "" }
    tolower($1) ~ /^(etag|last-modified|content-length):$/ { found = found " " $0 }
    END { print found }'
}
#-
#+ sha256-host
signs() { ls -lnL "$1"; }
#-

#+ sha256
# Whether a file has the digest. It is read at each start: any pod that writes to the volume could
# forge a note that it was right, and the server is about to read the file anyway.
right() {
  [ -n "$sha256" ] || return 0
  sum=$(sha256sum <"$1") sum=${sum%% *}
  [ "$sum" = "$sha256" ]
}
# A file with another digest is kept, with a note of its digest and of the source's headers: while
# these stay the same, fetching it again would return the same bytes.
keep() { mv -f "$part" "$kept" && say "$sum $(signs "$1")" >"$kept.note" || rm -f "$part" "$kept"; }
wrong() { die "spec.sha256 of the Model is $sha256, but the file has $1: correct one of the two"; }
# Whether the kept file has become the right one.
reconsider() {
  [ -n "$sha256" ] && [ -f "$kept" ] || return 1
  note=$(cat "$kept.note" 2>/dev/null || :)
  if [ "${note%% *}" = "$sha256" ]; then
    rm -f "$kept.note"
    mv -f "$kept" "$part"
    return 0
  fi
  now=$(signs "$1") || now=
  [ -z "$now" ] || [ "${note#* }" != "$now" ] || wrong "${note%% *}"
  rm -f "$kept" "$kept.note"
  return 1
}
#-

# Whether an existing file may stay: there=yes, or old if it should be replaced if possible.
look() {
  there=
  [ ! -f "$2" ] || there=yes
  #+ sha256
  if [ -n "$there" ] && [ -n "$sha256" ]; then
    right "$2" || { there=; say "$2 has another SHA-256"; }
  fi
  #-
  #+ onchange
  # A file with the right digest cannot be outdated.
  if [ -n "$there" ] && [ -z "${sha256:-}" ]; then
    size=$(size_at "$1") || size=
    [ "${size:-0}" != 0 ] && [ "$size" = "$(size_of "$2")" ] || there=old
  fi
  #-
}

# Sets part to the temporary file of a download. Several pods may fill a cache at the same time: one
# fetches, the others wait, and the next one resumes an incomplete download. If the volume or the
# image does not support locks, each pod has its own temporary file.
own() {
  lock=${1%/*}/.${1##*/}.lock part=$1.${HOSTNAME:-$(hostname)}.tmp
  command -v flock >/dev/null 2>&1 && (: >>"$lock") 2>/dev/null || return 0
  exec 9>>"$lock"
  flock -n 9 2>/dev/null || { say "Waiting for another pod that fetches it"; flock 9 || return 0; }
  part=$1.tmp
}

# Fetches the file of a URL to its final name.
stage() {
  mkdir -p "${2%/*}"
  find "${2%/*}" -name '*.tmp' -type f -mmin +10080 -exec rm -f {} + 2>/dev/null || :
  look "$1" "$2"
  [ "$there" = yes ] || { own "$2"; look "$1" "$2"; }
  [ "$there" != yes ] || { say "$2 is there"; return 0; }
  #+ sha256
  kept=${2%/*}/.${2##*/}.wrong
  if reconsider "$1" && right "$part"; then
    mv -f "$part" "$2"
    say "$2 is there"
    return 0
  fi
  #-
  say "Fetching $(public "$1")"
  if ! fetch "$1" "$part"; then
    [ "$there" = old ] || exit 1
    say "Keeping the copy that is there"
    return 0
  fi
  #+ sha256
  right "$part" || { keep "$1"; wrong "$sum"; }
  #-
  mv -f "$part" "$2"
  say "$2 is ready"
}

#+ ca
# The image's certificates and those of --ca-cert-configmap.
bundle=$(mktemp)
for file in "${CURL_CA_BUNDLE:-}" /etc/ssl/certs/ca-certificates.crt /cacert.pem; do
  [ ! -f "$file" ] || { cat "$file"; break; }
done >"$bundle"
for file in /custom-certs/*; do
  [ ! -f "$file" ] || { printf '\n'; cat "$file"; } >>"$bundle"
done
export CURL_CA_BUNDLE="$bundle"
#-
#+ one
from=$(url '')
stage "$from" "$MODEL_PATH"
#-
#+ files
while IFS= read -r name; do
  from=$(url "$name")
  stage "$from" "$CACHE_DIR/$name"
  #+ sha256
  sha256= # it was the first file's
  #-
done <<LIST
$MODEL_FILES
LIST
#-
