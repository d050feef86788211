# MNIST and its successors: four IDX files each. The set's prepare script says what it is called and where it is,
# then runs prepare_idx.
#
#   title     for messages
#   prefix    of the data bases: PREFIX_train_lmdb, PREFIX_test_lmdb
#   package   a folder where the files may be installed, or nothing
#   url       the folder that they are downloaded from
#   sha256    of the unpacked files: packages differ in what gzip adds, the data are the same
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

idx_usage() {
  cat <<TEXT
usage: prepare [--from FOLDER] [--pairs] [--no_checksum] [OUTPUT]

Makes ${prefix}_train_lmdb and ${prefix}_test_lmdb in OUTPUT (default: the folder of this script).
The four files (train-images-idx3-ubyte and so on, packed by gzip or not) are taken from FOLDER, else
${package:+from $package, else }downloaded from
$url. What is there already is kept.

  --pairs         also make ${prefix}_train_pairs_lmdb and ${prefix}_test_pairs_lmdb, as models/siamese wants them
  --no_checksum   take files that are not $title's own, but have its form

CREMA_TOOLS names the folder of the tools, if they are not in build/tools or on the PATH.
TEXT
}

# Path of a file (packed or not), downloaded if need be.
locate_idx() {
  local name=$1 folder path
  for folder in ${from:+"$from"} $([ -n "$from" ] || echo "$package" "$output/downloads"); do
    for path in "$folder/$name.gz" "$folder/$name"; do
      if [ -f "$path" ]; then
        echo "$path"
        return
      fi
    done
  done
  [ -z "$from" ] || fail "$from holds neither $name.gz nor $name"
  download "$url/$name.gz" "$output/downloads/$name.gz" >&2
  echo "$output/downloads/$name.gz"
}

# Fails unless a file is the one it should be.
check_idx() {
  local name=$1 path=$2 sum
  if [[ $path == *.gz ]]; then
    sum=$(gzip -dc "$path" | sha256sum) || fail "cannot unpack $path"
  else
    sum=$(sha256sum <"$path")
  fi
  sum=${sum%% *}
  $checksum || return 0
  [ "$sum" = "${sha256[$name]}" ] ||
    fail "$path is not $title's $name (SHA-256 of the contents: $sum); remove it and try again"
}

# make_idx NAME IMAGES LABELS [FLAGS OF convert-idx]
make_idx() {
  local db=$output/$1 images labels
  if exists "$db"; then return; fi
  images=$(locate_idx "$2")
  labels=$(locate_idx "$3")
  check_idx "$2" "$images"
  check_idx "$3" "$labels"
  "$program" "${@:4}" "$images" "$labels" "$db"
}

prepare_idx() {
  from=
  output=
  checksum=true
  pairs=false
  while [ $# -gt 0 ]; do
    case $1 in
      -h | --help) idx_usage; exit 0 ;;
      --from) [ $# -ge 2 ] || wrong_usage "--from needs a folder"; from=$2; shift ;;
      --from=*) from=${1#--from=} ;;
      --pairs) pairs=true ;;
      --no_checksum) checksum=false ;;
      -*) wrong_usage "unknown flag $1" ;;
      *) [ -z "$output" ] || wrong_usage "one output folder is enough: $1"; output=$1 ;;
    esac
    shift
  done
  [ -z "$from" ] || [ -d "$from" ] || fail "$from is not a folder"
  output=${output:-$(cd "$(dirname "$0")" && pwd)}
  program=$(tool convert-idx)
  mkdir -p "$output" || fail "cannot make the folder $output"
  local kind name
  for kind in train t10k; do
    name=${kind/t10k/test}
    make_idx "${prefix}_${name}_lmdb" "$kind-images-idx3-ubyte" "$kind-labels-idx1-ubyte"
    if $pairs; then
      make_idx "${prefix}_${name}_pairs_lmdb" "$kind-images-idx3-ubyte" "$kind-labels-idx1-ubyte" --pairs
    fi
  done
}
