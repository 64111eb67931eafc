// libFuzzer: any bytes are read or refused, and what is read can be written in every format without
// losing a byte of its sum. Run: folded_fuzz -max_len=4096 CORPUS_FOLDER
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <sstream>

#include "collapse/input.h"
#include "core/error.h"
#include "render/output.h"

namespace {

void require(bool condition, const char* what) {
  if (condition) return;
  std::cerr << "folded_fuzz: " << what << "\n";
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace memflame;  // NOLINT(google-build-using-namespace)
  std::istringstream in(std::string(reinterpret_cast<const char*>(data), size));
  Profile profile;
  try {
    profile = read_folded(in);
  } catch (const Error&) {
    return 0;
  }
  for (const Output& output : outputs()) {
    std::ostringstream out;
    try {
      output.write(out, profile, {});
    } catch (const Error&) {
      continue;  // sums of what is drawn may leave 64 bits where the net does not
    }
    if (output.name != "folded") continue;
    std::istringstream again(out.str());
    const Profile back = read_folded(again);
    require(back.total(0) == profile.total(0), "the sum has changed");
    require(back.types[0].unit == profile.types[0].unit, "the unit has changed");
    require(back.losses[Loss::input_line].events == profile.losses[Loss::input_line].events,
            "a line of ours was not understood");
    std::ostringstream same;
    output.write(same, back, {});
    std::istringstream third(same.str());
    std::ostringstream fixed;
    output.write(fixed, read_folded(third), {});
    require(fixed.str() == same.str(), "text of ours is not written as it was read");
  }
  return 0;
}
