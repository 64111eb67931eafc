// SPDX-License-Identifier: BSD-2-Clause
#include "probes/alloc/custom/custom_sites.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>

#include "core/elf/image.h"
#include "core/hex.h"
#include "probes/alloc/finding/file_code.h"
#include "probes/alloc/finding/function_symbols.h"
#include "probes/alloc/finding/go_code.h"
#include "probes/alloc/finding/inlined.h"

namespace memflame {
namespace {

constexpr size_t max_hits = 1024;  // per declaration and file
constexpr std::string_view several_functions = "is the name of several functions in the file";

std::string_view base_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// Users name a library as programs are linked with it. The mapped file's name has more of the
// version: libapr-1.so is libapr-1.so.0.7.2.
bool same_but_version(std::string_view name, std::string_view mapped) {
  if (!mapped.starts_with(name)) return false;
  const std::string_view rest = mapped.substr(name.size());
  return rest.empty() ||
         (rest[0] == '.' && rest.find_first_not_of("0123456789.") == std::string_view::npos);
}

bool same_file(const std::string& path, int fd) {
  struct stat named {
  }, open{};
  return ::stat(path.c_str(), &named) == 0 && ::fstat(fd, &open) == 0 &&
         named.st_dev == open.st_dev && named.st_ino == open.st_ino;
}

bool means_name(const CustomFunction& declared, std::string_view name) {
  return is_glob(declared.function) ? glob_matches(declared.function, name)
                                    : declared.function == name;
}

void add_hit(CustomFile& file, const CustomFunction& declared, const FunctionSymbol& symbol) {
  const bool known = std::ranges::any_of(file.hits, [&](const CustomHit& hit) {
    return hit.declared == &declared && hit.name == symbol.name && hit.offset == symbol.offset;
  });
  const auto of_this = std::ranges::count(file.hits, &declared, &CustomHit::declared);
  if (known || of_this >= static_cast<ptrdiff_t>(max_hits)) return;
  file.hits.push_back({&declared, std::string(symbol.name), symbol.address, symbol.offset,
                       symbol.size, std::string(symbol.problem), 0});
}

void add_address(CustomFile& file, const CustomFunction& declared, int fd) {
  const uint64_t offset = *declared.offset;
  const std::optional<uint64_t> address = code_address(fd, offset);
  CustomHit hit{&declared, hex_offset(offset), address.value_or(0), offset, 0, {}, 0};
  if (!address) hit.problem = "is not in the file's code";
  file.hits.push_back(std::move(hit));
}

// A name that several functions of the file share is ambiguous; a glob may match several.
void mark_ambiguous(CustomFile& file) {
  for (CustomHit& hit : file.hits) {
    if (!hit.problem.empty() || is_glob(hit.declared->function)) continue;
    const bool another = std::ranges::any_of(file.hits, [&](const CustomHit& other) {
      return other.declared == hit.declared && other.offset != hit.offset &&
             (other.problem.empty() || other.problem == several_functions);
    });
    if (another) hit.problem = several_functions;
  }
}

bool same_shape(const bpf::call_shape& a, const bpf::call_shape& b) {
  return std::memcmp(&a, &b, sizeof(a)) == 0;
}

// One address has one meaning. Two names that declare the same meaning are fine.
void mark_conflicts(CustomFile& file) {
  for (size_t i = 0; i < file.hits.size(); ++i)
    for (size_t j = 0; j < i; ++j) {
      CustomHit& hit = file.hits[i];
      const CustomHit& earlier = file.hits[j];
      if (!hit.problem.empty() || !earlier.problem.empty() || hit.offset != earlier.offset ||
          same_shape(hit.declared->shape, earlier.declared->shape))
        continue;
      hit.problem = "is the same code as " + earlier.name + ", which is declared differently ('" +
                    earlier.declared->text + "')";
    }
}

uint8_t needed_arguments(const bpf::call_shape& shape) {
  uint64_t bits = 0;
  for (const uint64_t argument : {uint64_t{shape.size}, uint64_t{shape.count},
                                  uint64_t{shape.block}, uint64_t{shape.out}, uint64_t{shape.pool}})
    bits |= (uint64_t{1} << argument) >> 1;
  return static_cast<uint8_t>(bits);
}

// The `ret`s of a function that may throw. All of its exits must be known, else it has a problem.
std::vector<uint64_t> returns_of(FileCode& code, CustomHit& hit) {
  std::vector<uint64_t> returns;
  const Body body = code.body(hit.address, hit.size, {});
  std::string gap = body.gap;
  for (const Instruction& i : body.code) {
    if (i.kind == Instruction::ret) returns.push_back(i.address);
    const Destination to = code.destination(i);
    if (i.kind == Instruction::call || to.kind == Destination::none) continue;
    if (to.kind == Destination::other_file) gap = "it ends in " + std::string(to.name);
    if (to.kind == Destination::computed) gap = "it has a jump to a computed address";
  }
  if (gap.empty() && returns.empty()) gap = "it has none";
  if (!gap.empty()) {
    hit.problem = "may throw, and where it returns cannot be found: " + gap;
    returns.clear();
  }
  return returns;
}

struct Places {
  const ImageBytes& image;
  const ElfImage& elf;
  std::vector<AllocatorSite> sites;

  // The first site at an address is kept.
  void add(uint64_t address, bpf::call_shape shape, std::string text) {
    const Elf64_Phdr* segment = elf.loaded(address);
    if (segment == nullptr) return;
    const uint64_t offset = address - segment->p_vaddr + segment->p_offset;
    if (offset >= image.size()) return;
    if (std::ranges::none_of(sites, [&](const AllocatorSite& s) { return s.offset == offset; }))
      sites.push_back({offset, shape, std::move(text), {}, true});
  }
};

// Go functions are probed at their entry only; see go_code.h.
void add_go_site(FileCode& code, CustomHit& hit, Places& places) {
  bpf::call_shape shape = hit.declared->shape;
  if (shape.action == bpf::action_allocate) {
    hit.problem =
        "is Go code, and a probe on its return ends the program (\"unexpected return pc\"): "
        "--free can name functions of Go, --alloc cannot. What Go allocates is in its own profile "
        "(memflame collapse heap.pb.gz); 'memflame fault' shows what it keeps resident";
    return;
  }
  const std::optional<uint64_t> entry = go_entry(code, hit.address, hit.size);
  if (!entry) {
    hit.problem = "is Go code, and where its arguments can be read is not found";
    return;
  }
  shape.action = bpf::action_free_go;
  const uint64_t delta = *entry - hit.address;
  places.add(*entry, shape, hit.name + (delta == 0 ? "" : "+" + std::to_string(delta)));
}

void add_sites(FileCode& code, CustomHit& hit, Places& places) {
  const bpf::call_shape shape = hit.declared->shape;
  const Site site = code.site(hit.address, hit.size, needed_arguments(shape));
  if (site.cost == ProbeCost::refused) {
    hit.problem =
        "begins with instructions on which the kernel refuses a probe, or overwrites data of the "
        "function";
    return;
  }
  if (shape.own_end != 0) {
    bpf::call_shape end = shape;
    end.action = bpf::action_end;
    end.own_end = 0;  // it is a `ret`, not a jump to an unknown place (allocators.h)
    for (const uint64_t address : returns_of(code, hit))
      places.add(address, end, hit.name + "+end@" + hex_offset(address).substr(1));
    if (!hit.problem.empty()) return;
  }
  places.add(hit.address + site.delta, at_site(shape, site),
             hit.name + (site.delta == 0 ? "" : "+" + std::to_string(site.delta)));
}

// The order to attach sites: the free of every block that is seen, and the end of every call that
// is seen, are seen, too.
int rank_of_action(const AllocatorSite& site) {
  switch (site.shape.action) {
    case bpf::action_free:
    case bpf::action_free_go:
      return 0;
    case bpf::action_end:
      return 1;
    default:
      return 2;
  }
}

// More loads than this mean inlined copies. CPython itself reads each of its pointers in up to four
// other places, to replace or to return it.
constexpr size_t most_copies = 8;

void mark_inlined(CustomFile& file, FileCode& code, const ImageBytes& image, const ElfImage& elf) {
  std::vector<CustomHit*> hits;
  std::vector<FunctionExtent> functions;
  for (CustomHit& hit : file.hits) {
    if (!hit.problem.empty() || hit.declared->shape.action != bpf::action_allocate) continue;
    hits.push_back(&hit);
    functions.push_back({hit.address, hit.size});
  }
  if (hits.empty()) return;
  const std::vector<size_t> copies = count_copies(code, image, elf, functions);
  for (size_t i = 0; i < hits.size(); ++i) {
    if (copies[i] <= most_copies) continue;
    hits[i]->copies = copies[i];
    hits[i]->problem = "was inlined by the compiler in " + std::to_string(copies[i]) +
                       " other places of the file, which no probe sees";
  }
}

void make_sites(CustomFile& file, int fd, const FindOptions& options) {
  const ImageBytes image(fd);
  const std::optional<ElfImage> elf = ElfImage::open(image);
  if (!elf) return;
  FileCode code(image, *elf, options.long_nops);
  GoCode go(image, *elf);
  Places places{image, *elf, {}};
  mark_inlined(file, code, image, *elf);
  for (CustomHit& hit : file.hits) {
    if (hit.problem.empty())
      (go.contains(hit.address) ? add_go_site : add_sites)(code, hit, places);
    if (!hit.problem.empty())
      file.probes.notes.push_back("'" + hit.declared->text + "': " + hit.name + " " + hit.problem);
  }
  std::ranges::stable_sort(places.sites, {}, rank_of_action);
  file.probes.sites = std::move(places.sites);
  if (!file.probes.sites.empty()) file.probes.allocators.emplace_back(base_name(file.path));
}

bool by_name(const CustomFunction& declared) { return !declared.offset; }

void look_for(const std::vector<const CustomFunction*>& wanted, int fd, CustomFile& file) {
  for (const CustomFunction* declared : wanted)
    if (!by_name(*declared)) add_address(file, *declared, fd);
  if (std::ranges::none_of(wanted, [](const CustomFunction* each) { return by_name(*each); }))
    return;
  for_each_function(fd, [&](const FunctionSymbol& symbol) {
    for (const CustomFunction* declared : wanted)
      if (by_name(*declared) && means_name(*declared, symbol.name))
        add_hit(file, *declared, symbol);
  });
}

}  // namespace

std::string hex_offset(uint64_t offset) { return "+" + hex(offset); }

bool means_file(const std::string& pattern, int fd, const std::string& path) {
  if (pattern.empty() || pattern == "*") return true;
  const bool whole_path = pattern.find('/') != std::string::npos;
  if (is_glob(pattern)) return glob_matches(pattern, whole_path ? path : base_name(path));
  if (!whole_path) return same_but_version(pattern, base_name(path));
  return pattern == path || same_file(pattern, fd);
}

CustomFile find_custom(const CustomFunctions& custom, int fd, const FindOptions& options) {
  CustomFile file;
  file.path = options.path;
  struct stat status {};
  if (::fstat(fd, &status) == 0) {
    file.device = status.st_dev;
    file.inode = status.st_ino;
  }
  std::vector<const CustomFunction*> wanted;
  const auto collect = [&](const std::vector<CustomFunction>& functions) {
    for (const CustomFunction& declared : functions)
      if (means_file(declared.file, fd, options.path)) wanted.push_back(&declared);
  };
  collect(custom.functions);
  for (const Preset& preset : custom.presets) collect(preset.functions);
  if (wanted.empty()) return file;
  look_for(wanted, fd, file);
  mark_ambiguous(file);
  mark_conflicts(file);
  make_sites(file, fd, options);
  return file;
}

}  // namespace memflame
