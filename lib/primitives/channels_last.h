// What layouts.cpp and the engines know of channels-last layouts; not for other folders.
#pragma once

#include <cstdint>
#include <string>

#include "tensor/layout.h"

namespace crema {

/// A blob rows x channels x positions (N x C x spatial, or num_output x K with K = C x spatial)
/// stored as rows x positions x channels.
class ChannelsLastDescription final : public Layout::Description {
 public:
  enum class Role { kBlob, kWeights };

  ChannelsLastDescription(Role role, std::int64_t rows, std::int64_t channels,
                          std::int64_t positions)
      : role_(role), rows_(rows), channels_(channels), positions_(positions) {}

  std::string name() const override {
    return role_ == Role::kBlob ? "channels-last" : "channels-last weights";
  }
  std::int64_t elements() const override { return rows_ * channels_ * positions_; }
  bool equals(const Layout::Description& other) const override {
    const auto& that = static_cast<const ChannelsLastDescription&>(other);
    return role_ == that.role_ && rows_ == that.rows_ && channels_ == that.channels_ &&
           positions_ == that.positions_;
  }

  Role role() const { return role_; }
  std::int64_t rows() const { return rows_; }
  std::int64_t channels() const { return channels_; }
  std::int64_t positions() const { return positions_; }

 private:
  Role role_;
  std::int64_t rows_, channels_, positions_;
};

}  // namespace crema
