// How data layers read, whatever their source: what the user of the net chooses, not the net.
#pragma once

namespace crema {

struct ReaderOptions {
  /// Leave out records that cannot be read, decoded or transformed, and count them, instead of
  /// failing. Their batch is so many records smaller.
  bool skip_bad_records = false;
};

}  // namespace crema
