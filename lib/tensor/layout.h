// How the elements of a tensor lie in memory.
//
// A layout is plain (row-major, Caffe's order: what files hold and users see) or something that a
// primitive chose: channels-last activations, packed weights. To everybody else it is opaque: it
// can be compared, named, sized and handed back. Elementwise code runs on any layout over all
// `elements`; elements that only pad a packed layout are zero and must stay zero.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <typeinfo>

#include "tensor/shape.h"

namespace crema {

class Layout {
 public:
  /// What a primitive knows of a layout that it made.
  class Description {
   public:
    virtual ~Description() = default;
    virtual std::string name() const = 0;
    /// Floats that a buffer of this layout has, padding included.
    virtual std::int64_t elements() const = 0;
    /// `other` has the same dynamic type.
    virtual bool equals(const Description& other) const = 0;
  };

  /// Plain.
  Layout() = default;
  explicit Layout(std::shared_ptr<const Description> description)
      : description_(std::move(description)) {}

  bool is_plain() const { return description_ == nullptr; }
  std::string name() const { return is_plain() ? "plain" : description_->name(); }
  std::int64_t elements(const Shape& shape) const {
    return is_plain() ? shape.count() : description_->elements();
  }

  /// The description as the primitive's own type, or null if it is another's.
  template <class T>
  const T* as() const {
    return dynamic_cast<const T*>(description_.get());
  }

  friend bool operator==(const Layout& a, const Layout& b) {
    if (a.description_ == b.description_) return true;
    if (!a.description_ || !b.description_) return false;
    const Description& left = *a.description_;
    const Description& right = *b.description_;
    return typeid(left) == typeid(right) && left.equals(right);
  }

 private:
  std::shared_ptr<const Description> description_;
};

}  // namespace crema
