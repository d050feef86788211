# CIFAR-10 and CIFAR-100: the archive of the binary version. The set's prepare script says which, then runs
# prepare_cifar.
#
#   title     for messages
#   prefix    of the data bases: PREFIX_train_lmdb, PREFIX_test_lmdb
#   archive   the archive's name; `bytes` and `md5` are its own
#   members   what is needed of it, all in one folder
#   flags     of convert-cifar
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
url=https://www.cs.toronto.edu/~kriz

cifar_usage() {
  cat <<TEXT
usage: prepare [--from PATH]${label:+ [--label fine|coarse|both]} [--no_checksum] [OUTPUT]

Makes ${prefix}_train_lmdb, ${prefix}_test_lmdb and mean.binaryproto, the mean of the training images, in OUTPUT
(default: the folder of this script). PATH is $archive, or a folder that holds it, or the
folder that it unpacks to; without it the archive is downloaded from $url.
What is there already is kept.
${label:+
  --label         what records are labelled with: the class (fine, the default), its group, or both
}
  --no_checksum   take an archive that is not $title's own, but has its form

CREMA_TOOLS names the folder of the tools, if they are not in build/tools or on the PATH.
TEXT
}

# Fails unless the archive is the one it should be. A download that was cut short is told by its size.
check_cifar() {
  $checksum || return 0
  local size sum
  size=$(stat -Lc %s "$1")
  [ "$size" -ge "$bytes" ] ||
    fail "$1 is cut short: it has $size bytes, $title's $archive has $bytes; get it again"
  sum=$(md5sum <"$1")
  [ "${sum%% *}" = "$md5" ] || fail "$1 is not $title's $archive (its MD5 is ${sum%% *}, not $md5)"
}

# Sets `binary` to a folder with the members, unpacked to the work folder if need be.
unpack_cifar() {
  local path=$from first=${members%% *}
  if [ -z "$path" ]; then
    path=$output/downloads/$archive
    [ -f "$path" ] || download "$url/$archive" "$path"
  elif [ -d "$path" ]; then
    if [ -f "$path/$first" ]; then
      binary=$path
      return
    fi
    [ -f "$path/$archive" ] || fail "$path holds neither $archive nor $first"
    path=$path/$archive
  fi
  [ -f "$path" ] || fail "$path does not exist"
  check_cifar "$path"
  tar -xzf "$path" -C "$work" --no-same-owner || fail "cannot unpack $path: it is damaged, or the disk is full"
  local found
  found=$(find "$work" -name "$first" -type f -print -quit)
  [ -n "$found" ] || fail "$path holds no $first; the binary version is needed ($archive)"
  binary=$(dirname "$found")
}

prepare_cifar() {
  from=
  output=
  checksum=true
  while [ $# -gt 0 ]; do
    case $1 in
      -h | --help) cifar_usage; exit 0 ;;
      --from) [ $# -ge 2 ] || wrong_usage "--from needs a path"; from=$2; shift ;;
      --from=*) from=${1#--from=} ;;
      --label) [ -n "$label" ] && [ $# -ge 2 ] || wrong_usage "unknown flag $1"; label=$2; shift ;;
      --label=*) [ -n "$label" ] || wrong_usage "unknown flag $1"; label=${1#--label=} ;;
      --no_checksum) checksum=false ;;
      -*) wrong_usage "unknown flag $1" ;;
      *) [ -z "$output" ] || wrong_usage "one output folder is enough: $1"; output=$1 ;;
    esac
    shift
  done
  output=${output:-$(cd "$(dirname "$0")" && pwd)}
  local convert mean part
  convert=$(tool convert-cifar)
  mean=$(tool compute-image-mean)
  mkdir -p "$output" || fail "cannot make the folder $output"
  if [ ! -e "$output/${prefix}_train_lmdb" ] || [ ! -e "$output/${prefix}_test_lmdb" ]; then
    make_work_folder "$output"
    unpack_cifar
    "$convert" $flags ${label:+--label "$label"} "$binary" "$work"
  fi
  for part in train test; do
    exists "$output/${prefix}_${part}_lmdb" || mv -T "$work/${prefix}_${part}_lmdb" "$output/${prefix}_${part}_lmdb"
  done
  exists "$output/mean.binaryproto" || "$mean" "$output/${prefix}_train_lmdb" "$output/mean.binaryproto"
}
