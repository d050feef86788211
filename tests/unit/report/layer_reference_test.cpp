#include "report/layer_reference.h"

#include <gmock/gmock.h>

namespace crema {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(LayerPageTest, ExplainsTheMessagesWithinALayers) {
  const std::string page = layer_page(layer_type("InnerProduct"));
  EXPECT_THAT(page, HasSubstr("\ninner_product_param\n"));
  // Its field `type` refers to what is said here.
  EXPECT_THAT(page,
              HasSubstr("\nFillerParameter: How a parameter gets its first values: constant"));
}

TEST(LayerPageTest, SaysHowManyBottomsAndTops) {
  EXPECT_THAT(layer_page(layer_type("Data")), HasSubstr("Bottoms: 0. Tops: at least 1."));
  EXPECT_THAT(layer_page(layer_type("ReLU")), HasSubstr("Bottoms: 1. Tops: 1."));
}

TEST(LayersMarkdownTest, DoesNotCallNamesUnique) {
  EXPECT_THAT(layers_markdown(), Not(HasSubstr("unique in a net")));
}

}  // namespace
}  // namespace crema
