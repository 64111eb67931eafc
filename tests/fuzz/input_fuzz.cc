// SPDX-License-Identifier: BSD-2-Clause
// libFuzzer for the readers of inputs.def: any bytes are read or refused, sums are right, and
// folded text keeps them to the byte. The program's name chooses the reader: perf-script_fuzz.
#include <algorithm>
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

const Input* reader = nullptr;

void require(bool condition, const char* what) {
  if (condition) return;
  std::cerr << "input_fuzz: " << what << "\n";
  std::abort();
}

// The last bytes of an input choose options and outputs. They come last so that seeds keep their
// beginning.
struct Choices {
  static constexpr size_t bytes = 3;
  uint8_t reading = 0, more = 0, writing = 0;

  bool read(unsigned bit) const { return (reading >> bit & 1U) != 0; }
  bool also(unsigned bit) const { return (more >> bit & 1U) != 0; }
};

ReadOptions options_of(const Choices& choices) {
  ReadOptions options;
  options.symbols = false;  // no input may have files opened
  options.pid = choices.read(0);
  options.tid = choices.read(1);
  options.addresses = choices.read(2);
  options.offsets = choices.read(3);
  options.lines = choices.read(4);
  options.compat = choices.read(5);
  options.net = choices.read(6);
  if (choices.read(7))
    options.snapshot = {.kind = WhichSnapshot::Kind::difference, .first = 1, .second = 2};
  options.mark_kernel = choices.also(0);
  options.mark_jit = choices.also(1);
  // Not mark_inlined: it starts programs that open the files named by the input.
  options.comm = !choices.also(4);
  options.refuse_truncated = choices.also(5);
  if (choices.also(6)) options.weight = "bytes_req";
  if (choices.also(7)) {
    options.columns = 2;
    options.snapshot = {.kind = WhichSnapshot::Kind::number, .first = 1};
  }
  return options;
}

// Takes any profile, even if the format cannot hold all of it.
void write(const Profile& profile, uint8_t choice) {
  if (choice == 0) return;
  const Output& output = outputs()[choice % outputs().size()];
  // A process of its own draws these, from the SVG: the fuzzer would not see it, only wait for it.
  if (output.name == "png" || output.name == "pdf") return;
  std::ostringstream out;
  try {
    output.write(out, profile, {.all_values = true});
  } catch (const Error&) {
    return;
  }
}

// The total of the shown column; a sum may need fewer decimals than its parts.
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
  try {
    Source again = Source::of_memory(out.str());
    require(shown_total(read_folded(again, {})) == total, "the sum has changed in folded text");
  } catch (const Error& error) {
    require(false, error.what());
  }
}

}  // namespace
}  // namespace memflame

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** argv) {
  using namespace memflame;  // NOLINT(google-build-using-namespace)
  std::string_view name = (*argv)[0];
  name.remove_prefix(name.rfind('/') + 1);
  name.remove_suffix(std::min(name.size(), std::string_view("_fuzz").size()));
  const auto same = [&](const Input& input) { return input.name == name; };
  const auto found = std::find_if(inputs().begin(), inputs().end(), same);
  require(found != inputs().end(), "the program has not the name of a reader");
  reader = &*found;
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace memflame;  // NOLINT(google-build-using-namespace)
  if (size < Choices::bytes) return 0;
  const uint8_t* const last = data + size - Choices::bytes;
  const Choices choices{last[0], last[1], last[2]};
  try {
    Source source = Source::of_memory({reinterpret_cast<const char*>(data), size - Choices::bytes});
    static_cast<void>(reader->matches(source.head()));
    const Profile profile = reader->read(source, options_of(choices));
    check(profile);
    write(profile, choices.writing);
  } catch (const Error&) {
    return 0;
  }
  return 0;
}
