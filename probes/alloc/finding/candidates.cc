// SPDX-License-Identifier: BSD-2-Clause
#include "probes/alloc/finding/candidates.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_set>

#include "probes/alloc/finding/allocator_names.h"
#include "probes/alloc/finding/debug_symbols.h"
#include "probes/alloc/finding/elf_functions.h"

namespace memflame {
namespace {

struct Names {
  std::vector<NamedFunction> functions;
  std::vector<std::string_view> texts;  // of the functions, then marks, then own functions

  explicit Names(const std::string& prefix) : functions(allocator_functions(prefix)) {
    for (const NamedFunction& function : functions) texts.emplace_back(function.name);
    for (const AllocatorMark& mark : allocator_marks()) texts.emplace_back(mark.name);
    for (const std::string_view name : own_functions()) texts.push_back(name);
  }
  bool is_function(const ElfFunction& found) const { return found.wanted < functions.size(); }
  bool is_own(const ElfFunction& found) const {
    return found.wanted >= texts.size() - own_functions().size();
  }
  const NamedFunction& function(const ElfFunction& found) const { return functions[found.wanted]; }
};

bool is_cxx(const std::string& name) { return name.starts_with("_Z"); }

enum Kinds : unsigned { gives = 1, takes = 2, both = 3 };

// The kinds of functions of each group. Operators count separately: a file may have only these.
struct Present {
  std::map<uint32_t, unsigned> kinds;
  unsigned cxx = 0;

  bool complete(uint32_t group) const {
    const auto found = kinds.find(group);
    return found != kinds.end() && found->second == both;
  }
  bool any_complete() const {
    return std::any_of(kinds.begin(), kinds.end(),
                       [](const auto& each) { return each.second == both; });
  }
};

Present present_in(const std::vector<ElfFunction>& found, const Names& names) {
  Present present;
  for (const ElfFunction& each : found) {
    if (!names.is_function(each)) continue;
    const NamedFunction& named = names.function(each);
    const unsigned kind = named.function.shape.action == bpf::action_allocate ? gives : takes;
    (is_cxx(named.name) ? present.cxx : present.kinds[named.group]) |= kind;
  }
  return present;
}

// The file's symbols. If they show no allocator, those that were stripped from the file.
std::vector<ElfFunction> read_symbols(int fd, const ImageBytes& image, const ElfImage& elf,
                                      const FindOptions& options, const Names& names,
                                      std::string& where) {
  const WantedNames wanted(names.texts);
  std::vector<ElfFunction> found = functions_in(image, elf, elf, wanted);
  const Present present = present_in(found, names);
  if (present.any_complete() || present.cxx == both) return found;
  const DebugSymbols debug = find_debug_symbols(fd, image, elf, options.root, options.path);
  if (debug.where.empty()) return found;
  const ImageBytes debug_image = debug.image();
  const std::optional<ElfImage> debug_elf = ElfImage::open(debug_image);
  if (!debug_elf) return found;
  where = debug.where;
  return functions_in(debug_image, *debug_elf, elf, wanted);
}

std::string file_allocator(const std::vector<ElfFunction>& found, const Names& names,
                           const std::string& path) {
  std::set<std::string_view> present;
  for (const ElfFunction& each : found) present.insert(names.texts[each.wanted]);
  for (const AllocatorMark& mark : allocator_marks())
    if (present.contains(mark.name)) return std::string(mark.allocator);
  const std::string name = path.substr(path.rfind('/') + 1);
  return name.empty() ? "allocator" : name;
}

uint32_t index_of(std::vector<std::string>& allocators, const std::string& name) {
  const auto at = std::find(allocators.begin(), allocators.end(), name);
  const auto index = static_cast<uint32_t>(at - allocators.begin());
  if (at == allocators.end()) allocators.push_back(name);
  return index;
}

// If an address has several names, its role must be right for all of them.
void add_name(BlockFunction& candidate, const NamedFunction& named) {
  const AllocatorFunction& function = named.function;
  candidate.throws |= function.throws;
  candidate.aligned |= function.aligned;
  candidate.cxx |= is_cxx(named.name);
  if (candidate.shape.family != function.shape.family) candidate.shape.family = 0;
}

void merge(std::vector<ElfFunction> found, const Names& names, const Present& present,
           const std::string& file, BlockFunctions& result) {
  std::stable_sort(found.begin(), found.end(),
                   [](const ElfFunction& a, const ElfFunction& b) { return a.wanted < b.wanted; });
  std::map<uint64_t, size_t> by_address;
  for (const ElfFunction& each : found) {
    if (!names.is_function(each)) continue;
    const NamedFunction& named = names.function(each);
    if (!present.complete(named.group) && !is_cxx(named.name)) continue;
    const auto [at, added] = by_address.try_emplace(each.address, result.functions.size());
    if (added) {
      BlockFunction made{
          .name = named.name, .address = each.address, .shape = named.function.shape};
      const std::string own(allocator_of_group(named.group));
      made.shape.allocator = index_of(result.allocators, own.empty() ? file : own) & 0xffff;
      result.functions.push_back(std::move(made));
    }
    BlockFunction& candidate = result.functions[at->second];
    candidate.size = std::max(candidate.size, each.size);
    add_name(candidate, named);
  }
}

}  // namespace

BlockFunctions find_candidates(int fd, const ImageBytes& image, const ElfImage& elf,
                               const FindOptions& options) {
  BlockFunctions result;
  const Names names(options.symbols_prefix);
  const std::vector<ElfFunction> found = read_symbols(fd, image, elf, options, names, result.where);
  const Present present = present_in(found, names);
  result.operators_only = !present.any_complete();
  if (result.operators_only && present.cxx != both) return {};
  merge(found, names, present, file_allocator(found, names, options.path), result);
  for (const ElfFunction& each : found)
    if (names.is_own(each)) result.own_code.push_back({each.address, each.address + each.size});
  return result;
}

bool is_allocator_name(std::string_view name) {
  static const std::vector<NamedFunction> functions = allocator_functions("");
  static const std::unordered_set<std::string_view> known = [] {
    std::unordered_set<std::string_view> made;
    for (const NamedFunction& each : functions) made.insert(each.name);
    return made;
  }();
  return known.contains(name);
}

}  // namespace memflame
