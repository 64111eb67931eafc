// SPDX-License-Identifier: BSD-2-Clause
#include "probes/loading/kernel_types.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <doctest/doctest.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "probes/system/packed_object.h"
#include "probes/system/procfs.h"
#include "tests/support/skipped.h"

extern "C" {
extern const std::byte memflame_pids_object[];
extern const std::byte memflame_pids_object_end[];
extern const std::byte memflame_go_kill_object[];
extern const std::byte memflame_go_kill_object_end[];
}

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

using Types = std::unique_ptr<btf, void (*)(btf*)>;
using Object = std::unique_ptr<bpf_object, void (*)(bpf_object*)>;

std::string kernel() { return read_file("/sys/kernel/btf/vmlinux"); }

Types read(const std::string& file) {
  return {btf__new(file.data(), static_cast<uint32_t>(file.size())), btf__free};
}

const btf_type* named(const btf* types, const char* name) {
  const int id = btf__find_by_name_kind(types, name, BTF_KIND_STRUCT);
  return id > 0 ? btf__type_by_id(types, static_cast<uint32_t>(id)) : nullptr;
}

// Offsets of the members with a name, and what they hold without pointers.
std::vector<std::string> members(const btf* types, const btf_type* type) {
  std::vector<std::string> all;
  for (uint16_t i = 0; i < btf_vlen(type); ++i) {
    const btf_member& member = btf_members(type)[i];
    all.push_back(std::string(btf__name_by_offset(types, member.name_off)) + " " +
                  std::to_string(btf_member_bit_offset(type, i)) + " " +
                  std::to_string(btf__resolve_size(types, member.type)));
  }
  return all;
}

// What the kernel got of all programs, except the numbers of maps.
std::vector<uint64_t> loaded(std::span<const std::byte> packed, bool all_types) {
  KernelTypes types;
  const Object object(open_packed(packed, all_types ? nullptr : types.path()), bpf_object__close);
  REQUIRE(object);
  types.fill(object.get());
  types.ready();
  if (bpf_object__load(object.get()) != 0) return {};
  std::vector<uint64_t> code;
  bpf_program* each = nullptr;
  bpf_object__for_each_program(each, object.get()) {
    const bpf_insn* insns = bpf_program__insns(each);
    for (size_t i = 0; i < bpf_program__insn_cnt(each); ++i) {
      const bool is_map = insns[i].code == (BPF_LD | BPF_IMM | BPF_DW);
      code.push_back(
          insns[i].code | static_cast<uint64_t>(static_cast<uint16_t>(insns[i].off)) << 8U |
          (is_map ? 0 : static_cast<uint64_t>(static_cast<uint32_t>(insns[i].imm)) << 32U));
      if (is_map) ++i;
    }
  }
  return code;
}

}  // namespace

TEST_CASE("types keep what they contain") {
  const std::string all = kernel();
  const std::string some = types_named(all, {"task_struct", "inode"});
  REQUIRE_FALSE(some.empty());
  CHECK(some.size() < all.size() / 10);
  const Types before = read(all), after = read(some);
  REQUIRE(after);
  for (const char* name : {"task_struct", "inode"}) {
    CAPTURE(name);
    REQUIRE(named(after.get(), name) != nullptr);
    CHECK(members(after.get(), named(after.get(), name)) ==
          members(before.get(), named(before.get(), name)));
  }
  CHECK(named(after.get(), "socket") == nullptr);
}

TEST_CASE("a kernel's type has a name with or without its flavour") {
  CHECK(essential_name("mm_struct___percpu") == "mm_struct");
  CHECK(essential_name("mm_struct") == "mm_struct");
}

TEST_CASE("what is not BTF has no types") {
  const std::string all = kernel();
  CHECK(types_named("", {"inode"}).empty());
  CHECK(types_named(std::string(4096, 'x'), {"inode"}).empty());
  for (size_t size = 1; size < all.size(); size = size * 3 + 1)
    CHECK(types_named(std::string_view(all).substr(0, size), {"inode"}).empty());
}

TEST_CASE("programs are the same with these types as with all") {
  libbpf_set_print(nullptr);
  for (const std::span<const std::byte> packed :
       {std::span{memflame_pids_object, memflame_pids_object_end},
        std::span{memflame_go_kill_object, memflame_go_kill_object_end}}) {
    const std::vector<uint64_t> code = loaded(packed, true);
    if (code.empty()) return skip("no right to load BPF programs");
    CHECK(code.size() > 20);
    CHECK(loaded(packed, false) == code);
  }
}
