// SPDX-License-Identifier: BSD-2-Clause
#include "probes/unwind/linker_code.h"

#include <algorithm>
#include <optional>

#include "probes/unwind/instructions.h"

namespace memflame::unwind {
namespace {

constexpr uint64_t max_list = 1024;       // bytes; real ones have 9 to 40
constexpr uint64_t max_table = 16 << 20;  // bytes; a million functions
constexpr uint64_t large_entry = 16, small_entry = 8;

// An instruction between the beginning and the end of .init or .fini. These make calls, one of them
// to __gmon_start__ if that exists, and none of them moves rsp.
bool part_of_list(Instructions& in) {
  return in.pass({0xe8}, 4) ||              // call x
         in.pass({0x67, 0xe8}, 4) ||        // what linkers make of call *x(%rip)
         in.pass({0xff, 0x15}, 4) ||        // call *x(%rip)
         in.pass({0x48, 0x8b, 0x05}, 4) ||  // mov x(%rip),%rax
         in.pass({0x48, 0x8d, 0x05}, 4) ||  // lea x(%rip),%rax: what linkers make of it
         in.pass({0x48, 0xc7, 0xc0}, 4) ||  // mov $x,%rax
         in.pass({0x48, 0x85, 0xc0}) ||     // test %rax,%rax
         in.pass({0x74, 0x02}) ||           // je, over the next
         in.pass({0xff, 0xd0}) ||           // call *%rax
         in.pass({0x90}) || in.pass({0x66, 0x90});
}

struct Entry {
  uint64_t size = 0;
  uint16_t pushed = 0;  // from this byte on a word has been pushed; 0: never
};

// jmp *x(%rip); push $n; jmp x, or a part of it. Bytes behind the last jump are not executed.
std::optional<Entry> table_entry(Bytes code) {
  Instructions in(code.first(std::min<uint64_t>(code.size(), large_entry)));
  const bool landing = in.landing(), jumps = in.jump();
  if (in.pass({0x68}, 4)) {
    const auto pushed = static_cast<uint16_t>(in.at());
    if (!in.pass({0xe9}, 4) && !in.pass({0xf2, 0xe9}, 4)) return std::nullopt;
    return Entry{large_entry, pushed};
  }
  if (!jumps) return std::nullopt;
  return Entry{landing ? large_entry : small_entry, 0};
}

row rsp_row(size_t pc, uint16_t words) { return {static_cast<uint32_t>(pc), words, row_rsp, 0}; }

}  // namespace

KnownCode list_of_calls(Bytes code, uint64_t address) {
  Instructions in(code);
  in.landing();
  // sub $8,%rsp in glibc, push %rax in musl
  if (!in.pass({0x48, 0x83, 0xec, 0x08}) && !in.pass({0x50})) return {};
  const size_t framed = in.at();
  while (part_of_list(in)) continue;
  if (!in.pass({0x48, 0x83, 0xc4, 0x08}) && !in.pass({0x58})) return {};  // add, or pop
  const size_t unframed = in.at();
  if (!in.pass({0xc3})) return {};  // ret
  return {address, address + in.at(), {rsp_row(0, 1), rsp_row(framed, 2), rsp_row(unframed, 1)}};
}

KnownCode linkage_table(Bytes code, uint64_t address) {
  KnownCode known{address, address + code.size(), {}};
  uint64_t at = 0;
  Instructions first(code);
  if (first.pass({0xff, 0x35}, 4)) {  // push x(%rip), on the word that the entry pushed
    known.rows = {rsp_row(0, 2), rsp_row(first.at(), 3)};
    if (!first.jump() || code.size() < large_entry) return {};
    at = large_entry;
  }
  const std::optional<Entry> model = table_entry(code.subspan(at));
  if (!model) return {};
  // row_plt counts from multiples of 16.
  if (model->pushed != 0 && address % large_entry != 0) return {};
  const auto pc = static_cast<uint32_t>(at);
  known.rows.push_back(model->pushed == 0 ? rsp_row(pc, 1) : row{pc, model->pushed, row_plt, 0});
  while (at < code.size()) {
    const std::optional<Entry> entry = table_entry(code.subspan(at));
    if (!entry || entry->pushed != model->pushed || entry->size > code.size() - at) return {};
    at += entry->size;
  }
  return known;
}

std::vector<KnownCode> linker_code(const ImageBytes& image, const ElfImage& elf) {
  std::vector<KnownCode> found;
  const auto add = [&](KnownCode known) {
    if (!known.rows.empty()) found.push_back(std::move(known));
  };
  const std::pair<const char*, int64_t> lists[] = {{".init", DT_INIT}, {".fini", DT_FINI}};
  for (const auto& [name, tag] : lists) {
    if (const Elf64_Shdr* s = elf.section(name)) {
      const ImageRange code = code_at(image, elf, s->sh_addr, std::min(s->sh_size, max_list));
      KnownCode known = list_of_calls(code.bytes, s->sh_addr);
      if (known.end - known.start == s->sh_size) add(std::move(known));
    } else if (const auto address = dynamic_entry(image, elf, tag)) {
      add(list_of_calls(code_at(image, elf, *address, max_list).bytes, *address));
    }
  }
  for (const char* name : {".plt", ".plt.got", ".plt.sec", ".iplt"}) {
    const Elf64_Shdr* s = elf.section(name);
    if (s == nullptr || s->sh_size > max_table) continue;
    const ImageRange code = code_at(image, elf, s->sh_addr, s->sh_size);
    if (code.bytes.size() == s->sh_size) add(linkage_table(code.bytes, s->sh_addr));
  }
  std::sort(found.begin(), found.end(),
            [](const KnownCode& a, const KnownCode& b) { return a.start < b.start; });
  std::vector<KnownCode> apart;
  for (KnownCode& known : found)
    if (apart.empty() || known.start >= apart.back().end) apart.push_back(std::move(known));
  return apart;
}

}  // namespace memflame::unwind
