# What the prepare scripts share. They source it and are run by bash.
set -euo pipefail

fail() { echo "prepare: $*" >&2; exit 1; }
wrong_usage() { echo "prepare: $* (--help tells more)" >&2; exit 2; }

data_folder=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

# Path of one of Crema's tools: in the folder CREMA_TOOLS, or in build/tools, or installed.
tool() {
  local candidate
  for candidate in "${CREMA_TOOLS:+$CREMA_TOOLS/$1}" "$data_folder/../build/tools/$1" "crema-$1"; do
    if [ -n "$candidate" ] && command -v "$candidate" >/dev/null; then
      echo "$candidate"
      return
    fi
  done
  fail "no $1 found: build it first (scripts/build), or set CREMA_TOOLS to the folder that it is in"
}

# exists PATH: whether there is something, which is then left as it is.
exists() {
  [ -e "$1" ] || return 1
  echo "$1: exists"
}

# download URL FILE: a file of that name is whole.
download() {
  command -v curl >/dev/null || fail "curl, which would download $1, is not there; give the files with --from"
  mkdir -p "$(dirname "$2")"
  curl --fail --location --retry 3 --continue-at - --progress-bar -o "$2.part" "$1" || fail "cannot download $1"
  mv "$2.part" "$2"
}

# A folder for what is of no use later, gone at the end; what a killed run left goes first.
make_work_folder() {
  rm -rf "$1"/.prepare-*
  work=$(mktemp -d "$1/.prepare-XXXXXX") || fail "cannot make a folder in $1"
  trap 'rm -rf "$work"' EXIT
}
