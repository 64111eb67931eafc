// SPDX-License-Identifier: BSD-2-Clause
#include "render/picture/short_name.h"

#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "render/text/cells.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

Elide side_of(std::string_view word) {
  for (const RenderWord<Elide>& known : elide_words)
    if (known.name == word) return known.value;
  throw std::invalid_argument(std::string(word));
}

double cell_width(std::string_view letter) { return static_cast<double>(cells(letter)); }

}  // namespace

// The same examples are checked by tests/viewer/short_names.test.mjs.
TEST_CASE("names are shortened as in the viewer") {
  std::ifstream file(TEST_DATA "/short_names.json");
  const nlohmann::json examples = nlohmann::json::parse(file);
  REQUIRE(examples.size() > 300);
  for (const auto& row : examples) {
    const std::string name = row[0], side = row[2], wanted = row[3];
    const double fits = row[1];
    const std::string got = short_name(name, fits, cell_width, side_of(side));
    CHECK_MESSAGE(got == wanted, name << " in " << fits << " cells, " << side);
  }
}

TEST_CASE("a class is never left out without a mark") {
  CHECK(short_name("QWidgetPrivate::setVisible(bool)", 20, cell_width, Elide::right) ==
        "QWidg…::setVisible()");
  CHECK(short_name("QWidgetPrivate::setVisible(bool)", 15, cell_width, Elide::right) ==
        "…::setVisible()");
}

// Its time limit is the runner's: the work must not grow with the square of the length.
TEST_CASE("hostile names are shortened") {
  for (const std::string_view text : {"<", "(", "::", "operator", "a::", "é", "a/", "a."}) {
    std::string name;
    while (name.size() < 100000) name += text;
    CHECK(short_name(name, 50, cell_width, Elide::right).size() < 200);
    CHECK(short_name("x" + name + "::f()", 50, cell_width, Elide::middle).size() < 200);
  }
}
