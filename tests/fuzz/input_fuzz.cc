// libFuzzer for one reader of inputs.def (INPUT_ID): any bytes are read or refused, what is read
// adds up, and goes through folded text without losing a byte of its sum.
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <sstream>

#include "collapse/input.h"
#include "core/error.h"
#include "core/units.h"
#include "render/output.h"

namespace memflame {
namespace {

// INPUT_ID is a macro: it has to be replaced before it is joined.
#define JOIN(a, b) a##b
#define JOINED(a, b) JOIN(a, b)

void require(bool condition, const char* what) {
  if (condition) return;
  std::cerr << "input_fuzz: " << what << "\n";
  std::abort();
}

// The first byte chooses the options, so that all of them are tried.
ReadOptions options_of(uint8_t bits) {
  ReadOptions options;
  options.symbols = false;  // no input may have files opened
  options.pid = (bits & 1U) != 0;
  options.tid = (bits & 2U) != 0;
  options.addresses = (bits & 4U) != 0;
  options.offsets = (bits & 8U) != 0;
  options.lines = (bits & 16U) != 0;
  options.compat = (bits & 32U) != 0;
  options.net = (bits & 64U) != 0;
  if ((bits & 128U) != 0)
    options.snapshot = {.kind = Snapshot::Kind::difference, .first = 1, .second = 2};
  return options;
}

// The total of the shown column; figures may need fewer decimals than those they are the sum of.
std::string shown_total(const Profile& profile) {
  int64_t total = profile.total(profile.shown);
  uint8_t decimals = profile.types[profile.shown].decimals;
  for (; decimals > 0 && total % 10 == 0; --decimals) total /= 10;
  return plain(total, decimals);
}

void check(const Profile& profile) {
  for (size_t i = 0; i < profile.types.size(); ++i) {
    try {
      require(profile.inclusive(i)[0] == profile.total(i), "the sums of callees do not add up");
    } catch (const Error&) {  // a sum that leaves 64 bits
    }
  }
  std::ostringstream out;
  std::string total;
  try {
    total = shown_total(profile);
    write_folded(out, profile, {.one_value = true});
  } catch (const Error&) {
    return;
  }
  Source again = Source::of_memory(out.str());
  require(shown_total(read_folded(again, {})) == total, "the sum has changed in folded text");
}

}  // namespace
}  // namespace memflame

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace memflame;  // NOLINT(google-build-using-namespace)
  if (size == 0) return 0;
  const std::string bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  try {
    Source source = Source::of_memory(bytes);
    static_cast<void>(JOINED(is_, INPUT_ID)(source.head()));
    check(JOINED(read_, INPUT_ID)(source, options_of(data[0])));
  } catch (const Error&) {
    return 0;
  }
  return 0;
}
