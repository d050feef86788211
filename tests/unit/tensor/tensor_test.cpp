#include "tensor/tensor.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace crema {
namespace {

/// A layout that pads to a multiple of `to` floats.
class Padded final : public Layout::Description {
 public:
  Padded(std::int64_t count, std::int64_t to) : elements_((count + to - 1) / to * to) {}
  std::string name() const override { return "padded"; }
  std::int64_t elements() const override { return elements_; }
  bool equals(const Layout::Description& other) const override {
    return elements_ == static_cast<const Padded&>(other).elements_;
  }

 private:
  std::int64_t elements_;
};

class Other final : public Layout::Description {
 public:
  std::string name() const override { return "other"; }
  std::int64_t elements() const override { return 8; }
  bool equals(const Layout::Description&) const override { return true; }
};

Layout padded(std::int64_t count, std::int64_t to) {
  return Layout(std::make_shared<Padded>(count, to));
}

TEST(LayoutTest, PlainIsTheDefault) {
  const Layout plain;
  EXPECT_TRUE(plain.is_plain());
  EXPECT_EQ(plain.name(), "plain");
  EXPECT_EQ(plain.elements(Shape{2, 3}), 6);
  EXPECT_EQ(plain, Layout());
}

TEST(LayoutTest, EqualityIsByTypeAndContent) {
  EXPECT_EQ(padded(6, 8), padded(7, 8));
  EXPECT_FALSE(padded(6, 8) == padded(9, 8));
  EXPECT_FALSE(padded(6, 8) == Layout());
  EXPECT_FALSE(Layout() == padded(6, 8));
  EXPECT_FALSE(padded(6, 8) == Layout(std::make_shared<Other>()));
  EXPECT_FALSE(Layout(std::make_shared<Other>()) == padded(6, 8));
}

TEST(LayoutTest, AsGivesTheMakersOwnType) {
  const Layout layout = padded(6, 8);
  EXPECT_NE(layout.as<Padded>(), nullptr);
  EXPECT_EQ(layout.as<Other>(), nullptr);
  EXPECT_EQ(Layout().as<Padded>(), nullptr);
  EXPECT_EQ(layout.elements(Shape{6}), 8);
}

TEST(BufferTest, OwnsMemoryOnce) {
  const auto device = make_cpu_device(1);
  {
    Buffer a(*device, 64);
    Buffer b(std::move(a));
    EXPECT_EQ(a.data(), nullptr);
    EXPECT_EQ(a.bytes(), 0u);
    EXPECT_EQ(b.bytes(), 64u);
    EXPECT_EQ(device->bytes_allocated(), 64u);
    a = Buffer(*device, 128);
    EXPECT_EQ(device->bytes_allocated(), 192u);
    a = Buffer();
    EXPECT_EQ(device->bytes_allocated(), 64u);
    EXPECT_EQ(b.floats(4), b.floats() + 1);
  }
  EXPECT_EQ(device->bytes_allocated(), 0u);
}

TEST(BufferTest, NoBytesNeedNoMemory) {
  const auto device = make_cpu_device(1);
  const Buffer empty(*device, 0);
  EXPECT_EQ(empty.data(), nullptr);
  EXPECT_EQ(device->peak_bytes_allocated(), 0u);
}

TEST(TensorTest, CopiesItsPaddingToo) {
  const auto device = make_cpu_device(1);
  const Buffer from(*device, 64), to(*device, 64);
  const Tensor a(*device, Shape{6}, padded(6, 8), from.floats());
  const Tensor b(*device, Shape{6}, padded(6, 8), to.floats());
  EXPECT_EQ(a.elements(), 8);
  EXPECT_EQ(a.bytes(), 32u);
  const float values[8] = {1, 2, 3, 4, 5, 6, 0, 0};
  a.copy_from_host(values);
  a.copy_to(b);
  float back[8] = {};
  b.copy_to_host(back);
  EXPECT_EQ(std::vector<float>(back, back + 8), std::vector<float>(values, values + 8));
  EXPECT_EQ(device->copies().within, 32u);
  b.fill_zero();
  EXPECT_EQ(b.read()[0], 0);
}

TEST(TensorTest, CopyingToItselfIsNoCopy) {
  const auto device = make_cpu_device(1);
  const Buffer buffer(*device, 64);
  const Tensor a(*device, Shape{4}, Layout(), buffer.floats());
  a.copy_to(a);
  EXPECT_EQ(device->copies().within, 0u);
}

TEST(TensorTest, CopiesNeedTheSameLayoutAndDevice) {
  const auto device = make_cpu_device(1), other = make_cpu_device(1);
  const Buffer from(*device, 64), to(*device, 64), far(*other, 64);
  const Tensor a(*device, Shape{8}, padded(8, 8), from.floats());
  EXPECT_THROW(a.copy_to(Tensor(*device, Shape{8}, Layout(), to.floats())), Error);
  EXPECT_THROW(a.copy_to(Tensor(*other, Shape{8}, padded(8, 8), far.floats())), Error);
}

TEST(TensorTest, TheDefaultIsNoTensor) {
  EXPECT_FALSE(Tensor());
  const auto device = make_cpu_device(1);
  const Buffer buffer(*device, 64);
  EXPECT_TRUE(Tensor(*device, Shape(), Layout(), buffer.floats()));
}

}  // namespace
}  // namespace crema
