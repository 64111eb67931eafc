// SPDX-License-Identifier: BSD-2-Clause
#include "probes/alloc/finding/allocators.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <set>

#include "core/unique_fd.h"
#include "probes/alloc/finding/code.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

struct Found {
  UniqueFd file;
  AllocatorProbes probes;

  explicit Found(const std::string& path, FindOptions options = {}) {
    file = UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    REQUIRE_MESSAGE(bool{file}, path);
    options.path = path;
    probes = find_allocator(file.get(), options);
    check_contract();
  }

  // The only site of an action in the function; nullptr if there is none.
  const AllocatorSite* site(bpf::call_action action, const std::string& function) const {
    const AllocatorSite* found = nullptr;
    for (const AllocatorSite& each : probes.sites) {
      if (each.shape.action != action || each.text.substr(0, each.text.find('+')) != function)
        continue;
      CHECK(found == nullptr);
      found = &each;
    }
    return found;
  }
  std::string text(bpf::call_action action, const std::string& function) const {
    const AllocatorSite* found = site(action, function);
    return found == nullptr ? "" : found->text;
  }
  std::string allocation(const std::string& function) const {
    return text(bpf::action_allocate, function);
  }
  std::string free(const std::string& function) const { return text(bpf::action_free, function); }
  std::string mark(const std::string& function) const { return text(bpf::action_mark, function); }
  size_t ends(const std::string& function, bool unseen = false) const {
    const std::string start = function + (unseen ? "+exit@" : "+end@");
    return static_cast<size_t>(
        std::count_if(probes.sites.begin(), probes.sites.end(), [&](const AllocatorSite& each) {
          return each.shape.action == bpf::action_end && each.text.starts_with(start);
        }));
  }
  bool notes(const std::string& text) const {
    return std::any_of(probes.notes.begin(), probes.notes.end(), [&](const std::string& note) {
      return note.find(text) != std::string::npos;
    });
  }
  Instruction code(const AllocatorSite& site) const {
    std::array<std::byte, 16> bytes{};
    REQUIRE(::pread(file.get(), bytes.data(), bytes.size(), static_cast<off_t>(site.offset)) > 0);
    const std::optional<Instruction> instruction = decode(bytes, 0x1000);
    REQUIRE(instruction.has_value());
    return *instruction;
  }

  // What allocators.h promises for every file.
  void check_contract() const {
    constexpr std::array<int, 6> order{0, 3, 1, 2, 0, 0};  // by enum call_action
    std::set<uint64_t> offsets;
    int last = 0;
    for (const AllocatorSite& each : probes.sites) {
      CAPTURE(each.text);
      CHECK(offsets.insert(each.offset).second);
      CHECK(order.at(each.shape.action) >= last);
      last = order.at(each.shape.action);
      CHECK(each.shape.allocator < probes.allocators.size());
      const Instruction at = code(each);
      CHECK(at.cost != ProbeCost::refused);
      if (each.shape.action != bpf::action_end) continue;
      CHECK(at.kind == (each.shape.own_end ? Instruction::jump : Instruction::ret));
    }
  }
  bool cheap(bpf::call_action action, const std::string& function) const {
    const AllocatorSite* found = site(action, function);
    REQUIRE_MESSAGE(found != nullptr, function);
    return code(*found).cost == ProbeCost::emulated;
  }
};

std::string built(const std::string& name) { return std::string(ALLOCATORS) + "/" + name; }

// A library of Debian's, where this machine has it.
std::string installed(const std::string& name) {
  for (const std::string directory : {"/usr/lib/x86_64-linux-gnu/", "/usr/lib64/", "/usr/lib/"})
    if (::access((directory + name).c_str(), R_OK) == 0) return directory + name;
  FAIL(name << " is not installed (scripts/setup test)");
  return {};
}

bool throws(const std::string& name) {
  return name.starts_with("_Zn") && name.find("nothrow") == std::string::npos;
}

}  // namespace

TEST_CASE("each shape of a function") {
  for (const std::string name : {"shapes.so", "linked.so"}) {
    CAPTURE(name);
    const Found found(built(name));
    CHECK(found.allocation("malloc") == "malloc");
    CHECK(found.free("free") == "free+3");
    CHECK(found.allocation("calloc") == "calloc+3");    // its size is in the unwind data
    CHECK(found.allocation("realloc") == "realloc");    // the cold part jumps to realloc+3
    CHECK(found.allocation("memalign") == "memalign");  // aligned_alloc is the same
    CHECK(found.allocation("aligned_alloc").empty());
    CHECK(found.allocation("posix_memalign").empty());
    CHECK(found.notes("posix_memalign only calls another"));
    CHECK(found.allocation("valloc") == "valloc+4");  // not all of its ways go through another
    CHECK(found.allocation("_Znam").empty());
    CHECK(found.free("_ZdlPv").empty());
    CHECK(found.free("_ZdlPvm") == "_ZdlPvm+3");
    CHECK(found.site(bpf::action_free, "_ZdlPvm")->shape.forwards == 1);
    CHECK(found.site(bpf::action_free, "free")->shape.forwards == 0);
    CHECK(found.probes.allocators == std::vector<std::string>{name});
  }
}

TEST_CASE("functions that may throw have an end at each return, and no return probe") {
  const Found found(built("shapes.so"));
  CHECK(found.site(bpf::action_allocate, "_Znwm")->shape.own_end == 1);
  CHECK(found.ends("_Znwm") == 3);  // one of its own, two where it jumps to
  CHECK(found.site(bpf::action_allocate, "malloc")->shape.own_end == 0);
  CHECK(found.ends("malloc") == 0);
  // nothrow, but it ends in a function that may throw.
  CHECK(found.site(bpf::action_allocate, "_ZnamRKSt9nothrow_t")->shape.own_end == 1);
  CHECK(found.ends("_ZnamRKSt9nothrow_t") == 1);
  // A return, and a jump that cannot be followed.
  CHECK(found.ends("_ZnamSt11align_val_t") == 1);
  CHECK(found.ends("_ZnamSt11align_val_t", true) == 1);
  CHECK(found.allocation("_ZnwmSt11align_val_t").empty());
  CHECK(found.notes("_ZnwmSt11align_val_t is not probed: it has no return"));
}

TEST_CASE("without unwind data an exit that leads to unnamed code cannot be found") {
  const Found found(built("no_frames.so"));
  CHECK(found.allocation("_Znwm").empty());
  CHECK(found.ends("_Znwm") == 0);
  CHECK(found.notes("_Znwm is not probed: its jump at 0x"));
  CHECK(found.notes("_Znam is not probed"));
  CHECK(found.free("free") == "free+3");
  CHECK(found.allocation("calloc") == "calloc");    // no size is known
  CHECK(found.allocation("realloc") == "realloc");  // what its cold part does is not known
}

TEST_CASE("operators made of another file's malloc are marked at most") {
  CHECK(Found(built("forwarding.so")).probes.sites.empty());
  const Found marked(built("forwarding.so"), {.check = true});
  REQUIRE(marked.probes.sites.size() == 2);
  CHECK_FALSE(marked.probes.allocates());
  const bpf::call_shape made = marked.site(bpf::action_mark, "_Znwm")->shape;
  CHECK(made.family == bpf::family_new);
  CHECK(made.block == 0);
  CHECK(marked.site(bpf::action_mark, "_ZdlPv")->shape.block == 1);
}

TEST_CASE("operators of their own are an allocator") {
  const Found found(built("operators.so"));
  CHECK(found.probes.allocates());
  CHECK(found.allocation("_Znwm") == "_Znwm+3");
  CHECK(found.free("_ZdlPv") == "_ZdlPv+3");
}

TEST_CASE("operators that are skipped are marked when asked for") {
  const Found found(built("shapes.so"), {.check = true});
  CHECK(found.mark("_Znam") == "_Znam");
  CHECK(found.mark("_ZdlPv") == "_ZdlPv");
  CHECK(found.mark("_Znwm").empty());
  CHECK(found.mark("posix_memalign").empty());
}

TEST_CASE("a prefix is an allocator when both of its kinds are there") {
  CHECK(Found(built("bundled.so")).probes.sites.empty());  // je_free alone
  const Found found(built("bundled.so"), {.symbols_prefix = "toy_"});
  CHECK(found.probes.sites.size() == 2);
  CHECK_FALSE(found.allocation("toy_malloc").empty());
  CHECK_FALSE(found.free("toy_free").empty());
}

TEST_CASE("the libc of this machine") {
  const Found found(installed("libc.so.6"));
  CHECK(found.probes.allocators == std::vector<std::string>{"glibc"});
  for (const std::string name :
       {"malloc", "calloc", "realloc", "memalign", "posix_memalign", "valloc", "pvalloc"})
    CHECK_MESSAGE(found.cheap(bpf::action_allocate, name), name);
  CHECK(found.cheap(bpf::action_free, "free"));
  CHECK_FALSE(found.allocation("reallocarray").empty());
  const bpf::call_shape out = found.site(bpf::action_allocate, "posix_memalign")->shape;
  CHECK(out.out == 1);
  CHECK(out.size == 3);
}

TEST_CASE("jemalloc, tcmalloc and mimalloc of Debian") {
  struct Library {
    std::string file, allocator;
    bool own_new_family;
  };
  for (const Library& library : {Library{"libjemalloc.so.2", "jemalloc", true},
                                 Library{"libtcmalloc.so.4", "tcmalloc", false},
                                 Library{"libmimalloc.so", "mimalloc", false}}) {
    CAPTURE(library.file);
    const Found found(installed(library.file));
    CHECK(found.probes.allocators == std::vector<std::string>{library.allocator});
    CHECK(found.cheap(bpf::action_free, "free"));
    // From 2.2 on mimalloc's operator new only leads to another function of its own.
    const std::string maker = found.allocation("_Znwm").empty() ? "mi_heap_alloc_new" : "_Znwm";
    REQUIRE_FALSE(found.allocation(maker).empty());
    const bpf::call_shape made = found.site(bpf::action_allocate, maker)->shape;
    CHECK(made.family == (library.own_new_family ? bpf::family_new : 0));
    CHECK(found.ends(maker) >= 2);
    for (const AllocatorSite& site : found.probes.sites)
      if (site.shape.action == bpf::action_allocate && throws(site.text))
        CHECK_MESSAGE(site.shape.own_end == 1, site.text);
    for (const std::string name : {"malloc", "calloc", "realloc"})
      CHECK_FALSE_MESSAGE(found.allocation(name).empty(), name);
    CHECK_FALSE(found.notes("is not probed"));
  }
}

TEST_CASE("TBB's allocator has names of its own, libstdc++ has none") {
  const Found tbb(installed("libtbbmalloc.so.2"));
  CHECK(tbb.probes.allocators == std::vector<std::string>{"tbbmalloc"});
  CHECK_FALSE(tbb.allocation("scalable_malloc").empty());
  CHECK_FALSE(tbb.free("scalable_free").empty());
  CHECK(Found(installed("libstdc++.so.6")).probes.sites.empty());
}

TEST_CASE("what is not an ELF file has no allocator") {
  CHECK(find_allocator(-1, {}).sites.empty());
  CHECK(Found("/proc/self/maps").probes.sites.empty());
}
