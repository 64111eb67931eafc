// SPDX-License-Identifier: BSD-2-Clause
#include "cli/option_rows.h"

#include <doctest/doctest.h>

#include <array>
#include <set>

#include "core/error.h"
#include "probes/probe.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

namespace po = boost::program_options;

constexpr std::array colours{OptionWord{"red", "warm"}, OptionWord{"green"}, OptionWord{"blue"}};
enum class Colour : uint8_t { red, green, blue };

struct Settings {
  bool loud = false;
  uint32_t every = 0, live = 7;
  uint64_t sample = 0;
  double overhead = 0;
  std::string object;
  std::vector<std::string> specs;
  Colour colour = Colour::red;

  std::vector<OptionRow> rows() {
    return {{"loud", "", "", option::Switch{&loud}},
            {"every", "N", "", option::Number{&every, 1, 5000}},
            {"live", "N", "", option::Number{&live, 1}},
            {"sample", "BYTES", "", option::Bytes{&sample, 1, 1 << 30}},
            {"overhead", "PERCENT", "", option::Percent{&overhead}},
            {"obj", "FILE", "", option::Text{&object}},
            {"alloc", "SPEC", "", option::Texts{&specs}},
            {"colour", "WHICH", "", option::choice(colours, colour)}};
  }
};

Settings read(const std::vector<std::string>& words) {
  Settings settings;
  po::options_description options;
  add_rows(options, settings.rows(), OptionGroup::measure);
  po::variables_map values;
  po::store(po::command_line_parser(words).options(options).run(), values);
  read_rows(values, settings.rows());
  return settings;
}

std::string refusal(const std::vector<std::string>& words) {
  try {
    read(words);
  } catch (const Error& error) {
    CHECK(error.exit_code == ExitCode::usage);
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a row sets its field when the option is given, and only then") {
  const Settings none = read({});
  CHECK_FALSE(none.loud);
  CHECK(none.live == 7);
  CHECK(none.colour == Colour::red);
  const Settings all =
      read({"--loud", "--every", "5000", "--live", "4294967295", "--sample", "2K", "--overhead",
            "0.5", "--obj", "libc*", "--alloc", "a", "--alloc", "b", "--colour", "blue"});
  CHECK(all.loud);
  CHECK(all.every == 5000);
  CHECK(all.live == UINT32_MAX);
  CHECK(all.sample == 2048);
  CHECK(all.overhead == 0.5);
  CHECK(all.object == "libc*");
  CHECK(all.specs == std::vector<std::string>{"a", "b"});
  CHECK(all.colour == Colour::blue);
}

TEST_CASE("a value outside of a row's range is refused, with the range") {
  CHECK(refusal({"--every", "0"}) == "--every must be 1 to 5,000, not 0");
  CHECK(refusal({"--every", "5001"}) == "--every must be 1 to 5,000, not 5,001");
  CHECK(refusal({"--live", "0"}) == "--live must be at least 1, not 0");
  CHECK(refusal({"--sample", "0"}) == "--sample must be 1 B to 1.0 GiB, not 0");
  CHECK(refusal({"--sample", "2G"}) == "--sample must be 1 B to 1.0 GiB, not 2G");
  CHECK(refusal({"--overhead", "0"}) == "--overhead takes a positive number of percent");
  CHECK(refusal({"--colour", "gold"}) == "--colour takes red, green or blue, not 'gold'");
}

TEST_CASE("words are listed once") {
  CHECK(words_with_notes(colours) == "red (warm), green or blue");
  CHECK(words_without_notes(colours) == "red, green or blue");
}

TEST_CASE("every probe has rows that can be parsed, each name once") {
  for (const Probe* probe : probes()) {
    CAPTURE(probe->name);
    ProbeOptions options = default_options(*probe);
    std::set<std::string> names;
    for (const OptionRow& row : option_rows(*probe, options)) {
      CAPTURE(row.name);
      CHECK(names.insert(row.name).second);
      CHECK_FALSE(row.help.empty());
      CHECK(row.value_name.empty() == std::holds_alternative<option::Switch>(row.value));
    }
    CHECK_NOTHROW(settle_options(options));
  }
}

TEST_CASE("options: bytes with units") {
  CHECK(parse_bytes("--sample", "4096") == 4096);
  CHECK(parse_bytes("--sample", "0") == 0);
  CHECK(parse_bytes("--sample", "10B") == 10);
  CHECK(parse_bytes("--sample", "512K") == 512 << 10);
  CHECK(parse_bytes("--sample", "512k") == 512 << 10);
  CHECK(parse_bytes("--sample", "512KB") == 512 << 10);
  CHECK(parse_bytes("--sample", "1.5M") == 3 << 19);
  CHECK(parse_bytes("--sample", "2GiB") == 2ULL << 30);
  CHECK(parse_bytes("--sample", "8388607T") == 8388607ULL << 40);
}

TEST_CASE("options: text that is not a number of bytes is refused, with the option's name") {
  for (const char* text : {"", "x", "K", "-1", "1X", "1KX", "1Ki", "1 K", "1e99", "nan", "inf",
                           "0x10", "8388608T", "1BB"}) {
    CAPTURE(text);
    CHECK_THROWS_WITH_AS(parse_bytes("--sample", text), doctest::Contains("--sample"), Error);
  }
}
