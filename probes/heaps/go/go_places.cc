// SPDX-License-Identifier: BSD-2-Clause
#include "probes/heaps/go/go_places.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "core/elf/symbols.h"
#include "probes/unwind/x86_decoder.h"

namespace memflame {
namespace {

constexpr uint64_t longest_code = 8192;  // of the functions looked at; they have some 800 bytes
constexpr size_t most_load_candidates = 16;

// What code reads from fixed addresses, in the order of the code.
struct Loads {
  std::vector<uint64_t> words, halves;  // of 64 and 32 bits
};

void add_once(std::vector<uint64_t>& list, uint64_t address) {
  if (list.size() < most_load_candidates && std::ranges::find(list, address) == list.end())
    list.push_back(address);
}

Loads loads_of(Bytes code, uint64_t address) {
  Loads found;
  ZydisDecodedInstruction instruction;
  ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
  while (!code.empty() && ZYAN_SUCCESS(ZydisDecoderDecodeFull(
                              &x86_decoder(), code.data(), code.size(), &instruction, operands))) {
    for (size_t i = 0; i < instruction.operand_count; ++i) {
      const ZydisDecodedOperand& operand = operands[i];
      uint64_t target = 0;
      if (operand.type == ZYDIS_OPERAND_TYPE_MEMORY && operand.mem.type == ZYDIS_MEMOP_TYPE_MEM &&
          operand.mem.base == ZYDIS_REGISTER_RIP &&
          (operand.actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0 &&
          ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(&instruction, &operand, address, &target))) {
        if (operand.size == 64) add_once(found.words, target);
        if (operand.size == 32) add_once(found.halves, target);
      }
    }
    address += instruction.length;
    code = code.subspan(instruction.length);
  }
  return found;
}

class NamedFunctions {
 public:
  NamedFunctions(const ImageBytes& image, const ElfImage& elf) : image_(image), elf_(elf) {}

  void add(std::string_view name, uint64_t start, uint64_t end) {
    if (name == "runtime.MemProfile" || name == "runtime.memProfileInternal" ||
        name == "runtime.nextSample" || name == "runtime.profilealloc" ||
        name == "runtime.skipPleaseUseCallersFrames")
      found_.insert_or_assign(std::string(name), std::pair{start, end});
  }

  bool has(const char* name) const { return found_.contains(name); }
  std::pair<uint64_t, uint64_t> range(const char* name) const {
    const auto found = found_.find(name);
    return found == found_.end() ? std::pair<uint64_t, uint64_t>{} : found->second;
  }
  Loads loads(const char* name) const {
    const auto [start, end] = range(name);
    const ImageRange code = code_at(image_, elf_, start, std::min(end - start, longest_code));
    return loads_of(code.bytes, start);
  }

 private:
  const ImageBytes& image_;
  const ElfImage& elf_;
  std::map<std::string, std::pair<uint64_t, uint64_t>, std::less<>> found_;
};

void read_symbols(const ImageBytes& image, const ElfImage& elf, GoPlaces& places) {
  for_each_symbol(image, elf, [&](const SymbolSection& table, const Elf64_Sym& symbol) {
    const std::string_view name = table.name(symbol);
    if (name == "runtime.mbuckets") add_once(places.buckets, symbol.st_value);
    if (name == "runtime.mProfCycle") add_once(places.cycle, symbol.st_value);
    if (name == "runtime.MemProfileRate") {
      add_once(places.rate, symbol.st_value);
      places.knows_rate = true;
    }
  });
}

void read_code(const NamedFunctions& functions, GoPlaces& places) {
  // Since Go 1.23, the first of them calls the second.
  for (const char* name : {"runtime.MemProfile", "runtime.memProfileInternal"}) {
    const Loads loads = functions.loads(name);
    for (const uint64_t address : loads.words) add_once(places.buckets, address);
    for (const uint64_t address : loads.halves) add_once(places.cycle, address);
  }
  // The first is inlined into the second by some versions.
  for (const char* name : {"runtime.nextSample", "runtime.profilealloc"})
    for (const uint64_t address : functions.loads(name).words) add_once(places.rate, address);
}

}  // namespace

GoPlaces find_go_places(const ImageBytes& image, const ElfImage& elf, const GoFunctions& all) {
  NamedFunctions functions(image, elf);
  for (const GoFunctions::Function& each : all.functions())
    functions.add(all.name(each), each.start, each.end);
  GoPlaces places;
  places.version = go_version(image, elf);
  places.has_profile =
      functions.has("runtime.MemProfile") || functions.has("runtime.memProfileInternal");
  std::tie(places.marker_start, places.marker_end) =
      functions.range("runtime.skipPleaseUseCallersFrames");
  read_symbols(image, elf, places);
  read_code(functions, places);
  return places;
}

}  // namespace memflame
