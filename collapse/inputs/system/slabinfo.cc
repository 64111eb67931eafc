// SPDX-License-Identifier: BSD-2-Clause
// /proc/slabinfo: the kernel's caches of objects, a line each.
//
//   slabinfo - version: 2.1
//   # name            <active_objs> <num_objs> <objsize> <objperslab> <pagesperslab> : …
//   bio-312      12     12    320   12    1 : tunables    0    0    0 : slabdata      1      1 0
#include <array>

#include "collapse/inputs/text_reader.h"
#include "collapse/text/byte_set.h"
#include "core/units.h"

namespace memflame {
namespace {

constexpr std::string_view slabinfo_head = "slabinfo - version: ";

int64_t product_of(int64_t a, int64_t b) {
  int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result)) throw Error("a product leaves the range of 64 bits");
  return result;
}

// The next word of a line is a number that is not negative.
bool take_slab_count(std::string_view& line, int64_t& number) {
  line = trimmed(line);
  const auto found = integer(take_until(line, " "));
  if (!found || *found < 0) return false;
  number = *found;
  return true;
}

class SlabinfoReader : TextReader {
 public:
  using TextReader::TextReader;

  Profile run() {
    profile.meta.title = "slabinfo";
    profile.types = {{"slabs", Unit::bytes},
                     {"active", Unit::bytes},
                     {"active_objects", Unit::count},
                     {"objects", Unit::count}};
    each_line([&](std::string_view line) { take(line); });
    if (!whole) cut_off("its last line may be cut off");
    return finish("cache like 'dentry 12 12 192 21 1 : tunables 0 0 0 : slabdata 1 1 0'");
  }

 private:
  void take(std::string_view line) {
    if (line.empty() || line.starts_with('#') || line.starts_with(slabinfo_head)) return;
    const std::string_view name = line.substr(0, first_in(line, blank_bytes));
    std::string_view counts = line.substr(name.size());
    int64_t active = 0, objects = 0, size = 0, per_slab = 0, pages = 0;
    const size_t slabs_at = line.find(": slabdata ");
    if (slabs_at == std::string_view::npos || !take_slab_count(counts, active) ||
        !take_slab_count(counts, objects) || !take_slab_count(counts, size) ||
        !take_slab_count(counts, per_slab) || !take_slab_count(counts, pages))
      return bad("not a cache");
    std::string_view slabdata = line.substr(slabs_at + 11);
    int64_t active_slabs = 0, slabs = 0;
    if (!take_slab_count(slabdata, active_slabs) || !take_slab_count(slabdata, slabs))
      return bad("not a cache");
    const std::array<int64_t, 4> row{product_of(product_of(slabs, pages), page_bytes),
                                     product_of(active, size), active, objects};
    profile.add(profile.push({}, name, FrameKind::kernel), row);
  }
};

}  // namespace

bool is_slabinfo(std::string_view head) { return head.starts_with(slabinfo_head); }

Profile read_slabinfo(Source& source, const ReadOptions& options) {
  return SlabinfoReader(source, options).run();
}

}  // namespace memflame
