// SPDX-License-Identifier: BSD-2-Clause
#include "probes/unwind/startup_code.h"

#include <string.h>

#include <algorithm>
#include <optional>

#include "probes/unwind/instructions.h"
#include "probes/unwind/known_function.h"

namespace memflame::unwind {
namespace {

constexpr uint64_t code_align = 16;  // of each function; libgcc always builds this file with -O2
// From deregister_tm_clones to __do_global_dtors_aux: 96 to 160 bytes.
constexpr uint64_t max_before = 256;

// cmpb $0,x(%rip): how __do_global_dtors_aux begins.
constexpr unsigned char test_of_flag[] = {0x80, 0x3d};

// Code at its address.
class Code {
 public:
  Code(Bytes bytes, uint64_t address) : bytes_(bytes), address_(address) {}

  std::optional<KnownCode> function(uint64_t start, bool& has_flag) const {
    std::optional<KnownFunction> found = known_function(from(start));
    if (!found) return std::nullopt;
    has_flag = found->has_flag;
    return KnownCode{start, start + found->size, std::move(found->rows)};
  }
  std::optional<KnownCode> function(uint64_t start) const {
    bool has_flag = false;
    return function(start, has_flag);
  }
  // Where the function behind this one begins; 0 when there is more than padding between them.
  uint64_t behind(const KnownCode& function) const {
    const uint64_t next = (function.end + code_align - 1) & ~(code_align - 1),
                   gap = next - function.end;
    const Bytes rest = from(function.end);
    return rest.size() > gap && is_padding(rest.first(gap)) ? next : 0;
  }

 private:
  Bytes from(uint64_t start) const { return bytes_.subspan(start - address_); }

  Bytes bytes_;
  uint64_t address_;
};

// The two functions right before the one that begins at `end`; empty if they are not there.
std::vector<KnownCode> two_before(const Code& code, uint64_t begin, uint64_t end) {
  const uint64_t farthest =
      end - begin < max_before ? (begin + code_align - 1) & ~(code_align - 1) : end - max_before;
  for (uint64_t start = farthest; start < end; start += code_align) {
    std::optional<KnownCode> first = code.function(start);
    const uint64_t next = first ? code.behind(*first) : 0;
    if (next == 0 || next >= end) continue;
    std::optional<KnownCode> second = code.function(next);
    if (second && code.behind(*second) == end) return {std::move(*first), std::move(*second)};
  }
  return {};
}

}  // namespace

std::vector<KnownCode> startup_code(Bytes bytes, uint64_t address) {
  const Code code(bytes, address);
  uint64_t tried = 0;
  for (Bytes rest = bytes; !rest.empty();) {
    const void* hit = ::memmem(rest.data(), rest.size(), test_of_flag, sizeof(test_of_flag));
    if (hit == nullptr) break;
    rest = rest.subspan(static_cast<size_t>(static_cast<const std::byte*>(hit) - rest.data()));
    const uint64_t start = (address + (bytes.size() - rest.size())) & ~(code_align - 1);
    rest = rest.subspan(sizeof(test_of_flag));
    if (start < address || start == tried) continue;
    tried = start;
    bool has_flag = false;
    std::optional<KnownCode> destructors = code.function(start, has_flag);
    if (!destructors || !has_flag) continue;
    std::vector<KnownCode> found = two_before(code, address, start);
    const uint64_t next = code.behind(*destructors);
    found.push_back(std::move(*destructors));
    if (std::optional<KnownCode> last = next == 0 ? std::nullopt : code.function(next))
      found.push_back(std::move(*last));
    return found;
  }
  return {};
}

}  // namespace memflame::unwind
