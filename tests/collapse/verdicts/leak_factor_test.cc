// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/verdicts/leak_factor.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "tests/support/skipped.h"

using namespace memflame;

namespace {

constexpr GrowthClass constant = GrowthClass::constant, logarithmic = GrowthClass::logarithmic,
                      linear = GrowthClass::linear, exponential = GrowthClass::exponential;

// a x² + x + c in n slices, in millions.
std::vector<int64_t> parabola(double a, int n) {
  std::vector<int64_t> slices;
  for (int i = 0; i < n; ++i) {
    const double x = static_cast<double>(i) / n;
    slices.push_back(static_cast<int64_t>(1e9 * (a * x * x + x)));
  }
  return slices;
}

}  // namespace

TEST_CASE("few slices and negative bytes have no class") {
  CHECK(leak_factor({}).growth == GrowthClass::none);
  CHECK(leak_factor(std::vector<int64_t>{1, 2}).growth == GrowthClass::none);
  CHECK(leak_factor(std::vector<int64_t>{1, -2, 3}).growth == GrowthClass::none);
}

TEST_CASE("the bend of the parabola gives the class") {
  CHECK(leak_factor(std::vector<int64_t>{7, 7, 7, 7}).growth == constant);
  CHECK(leak_factor(std::vector<int64_t>{900, 700, 500, 300}).growth == constant);
  CHECK(leak_factor(parabola(0, 20)).growth == linear);
  CHECK(leak_factor(parabola(1, 20)).growth == exponential);
  CHECK(leak_factor(parabola(-0.4, 20)).growth == logarithmic);
  CHECK(class_of(-0.21, 2) == logarithmic);
  CHECK(class_of(-0.19, 2) == linear);
  CHECK(class_of(0.19, 2) == linear);
  CHECK(class_of(0.21, 2) == exponential);
  CHECK(class_of(0.21, 1) == constant);
}

TEST_CASE("the rise is that from the first slice to one after the last") {
  const std::vector<int64_t> slices{100, 200, 300, 400, 500};
  const LeakFactor factor = leak_factor(slices);
  CHECK(factor.a == doctest::Approx(0));
  CHECK(factor.b == doctest::Approx(1.25));
  CHECK(factor.c == doctest::Approx(0));
  CHECK(factor.leak == 500);
}

TEST_CASE("bytes at the limits of 64 bits have a class") {
  const std::vector<int64_t> slices{0, INT64_MAX, 0, INT64_MAX, INT64_MAX};
  CHECK(leak_factor(slices).growth != GrowthClass::none);
}

TEST_CASE("noise has no class, and few births do not bend a line") {
  std::vector<int64_t> slices;
  slices.reserve(60);
  for (int i = 0; i < 60; ++i) slices.push_back(100000 + (i * 7919) % 1000 + i);
  const LeakFactor noisy = leak_factor(slices);
  CHECK(noisy.growth != constant);
  CHECK(class_above_noise(noisy, 60, 1e6, 0) == constant);
  const LeakFactor bent = leak_factor(parabola(-0.4, 20));
  CHECK(class_above_noise(bent, 20, 1e6, 0) == logarithmic);
  CHECK(class_above_noise(bent, 20, 20, 0) == linear);
  CHECK(class_above_noise(bent, 20, 1e6, 1e12) == constant);
}

TEST_CASE("the results agree with those that edleak recorded") {
  const std::filesystem::path path =
      std::filesystem::path(CORPORA) / "edleak" / "edleak_leaker.json";
  if (!std::filesystem::exists(path)) {
    skip("no " + path.string());
    return;
  }
  std::ifstream file(path);
  const nlohmann::json data = nlohmann::json::parse(file);
  std::map<int, std::vector<int64_t>> series;
  for (const auto& slice : data["slice"])
    for (const auto& entry : slice)
      series[entry["alc"].get<int>()].push_back(entry["mem"].get<int64_t>());
  const std::map<int, std::pair<GrowthClass, int64_t>> expected{
      {11, {exponential, 55}}, {12, {linear, 34040}}, {13, {linear, 670}}, {14, {logarithmic, 44}},
      {15, {linear, 67355}},   {16, {linear, 6951}},  {17, {linear, 344}}, {34, {linear, 37714}}};
  for (const auto& [id, slices] : series) {
    const int allocer = id;
    CAPTURE(allocer);
    const LeakFactor factor = leak_factor(slices);
    const auto known = expected.find(allocer);
    if (known == expected.end()) {
      CHECK((factor.growth == constant || factor.growth == GrowthClass::none));
      continue;
    }
    CHECK(factor.growth == known->second.first);
    CHECK(factor.leak == known->second.second);
  }
}
