// SPDX-License-Identifier: BSD-2-Clause
#include "probes/unwind/table.h"

#include <string.h>

#include <algorithm>

#include "core/elf/image.h"
#include "probes/unwind/eh_frame.h"
#include "probes/unwind/frame_sections.h"
#include "probes/unwind/go_rows.h"
#include "probes/unwind/instructions.h"
#include "probes/unwind/linker_code.h"
#include "probes/unwind/musl_start.h"
#include "probes/unwind/startup_code.h"
#include "probes/unwind/undescribed_code.h"

namespace memflame::unwind {
namespace {

constexpr uint64_t reach = uint64_t{1} << 32;  // what row::pc can count
constexpr uint64_t table_page = 4096;
constexpr uint64_t entry_size = 64;  // bytes at the entry point that count as the first function
constexpr uint64_t scan_chunk = 1 << 20;
// Bytes of code without FDEs that are searched for a restorer, and restorers marked. musl has
// 0.6 MB of code and one restorer; all code of a browser would take a tenth of a second.
constexpr uint64_t scan_limit = 32 << 20;
constexpr size_t max_restorers = 64;
// Bytes of code without FDEs that are searched for gcc's startup code, which linkers put first.
constexpr uint64_t startup_limit = 1 << 20;

// mov $15,%rax; syscall: rt_sigreturn, where a signal handler returns to.
constexpr unsigned char restorer_code[] = {0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05};

using Extent = CodeGap;

bool same_rule(const row& a, const row& b) {
  return a.kind == b.kind && a.cfa == b.cfa && a.rbp == b.rbp;
}

// Adds a row that lies at or behind the last one.
void push(std::vector<row>& rows, row next) {
  if (!rows.empty() && rows.back().pc == next.pc) rows.pop_back();
  if (rows.empty() || !same_rule(rows.back(), next)) rows.push_back(next);
}

// Executable segments by address, within reach of the first, and without overlaps.
std::vector<Segment> code_segments(const ElfImage& elf) {
  std::vector<Segment> found;
  for (const Elf64_Phdr& s : elf.segments())
    if (s.p_type == PT_LOAD && (s.p_flags & PF_X) && s.p_filesz > 0 &&
        s.p_vaddr + s.p_filesz > s.p_vaddr)
      found.push_back({s.p_offset, s.p_filesz, s.p_vaddr});
  std::sort(found.begin(), found.end(),
            [](const Segment& a, const Segment& b) { return a.vaddr < b.vaddr; });
  std::vector<Segment> segments;
  for (Segment s : found) {
    const uint64_t from = segments.empty() ? s.vaddr : segments.back().vaddr + segments.back().size;
    const uint64_t to = segments.empty() ? UINT64_MAX : segments.front().vaddr + (reach - 1);
    if (s.vaddr < from || s.vaddr >= to) continue;
    s.size = std::min({s.size, reach - 1, to - s.vaddr});
    segments.push_back(s);
  }
  return segments;
}

// Where the kernel starts this file, a program or a dynamic linker; 0 for a library, whose e_entry
// means nothing. A program names an interpreter, or needs no library if it is static; a dynamic
// linker needs no library either.
uint64_t start_address(const ImageBytes& image, const ElfImage& elf) {
  const bool interpreted = std::any_of(elf.segments().begin(), elf.segments().end(),
                                       [](const Elf64_Phdr& s) { return s.p_type == PT_INTERP; });
  return interpreted || !dynamic_entry(image, elf, DT_NEEDED) ? elf.entry() : 0;
}

// Sorted, without overlaps and empty ones.
std::vector<KnownCode> together(std::vector<KnownCode> known, const std::vector<KnownCode>& more) {
  known.insert(known.end(), more.begin(), more.end());
  std::ranges::stable_sort(known, {}, &KnownCode::start);
  uint64_t covered = 0;
  std::erase_if(known, [&](const KnownCode& code) {
    if (code.start < covered || code.end <= code.start) return true;
    covered = code.end;
    return false;
  });
  return known;
}

// Combines the rows of FDEs and of the gaps between them.
class Builder {
 public:
  // `known`: recognised code without FDEs, sorted, without overlaps.
  Builder(const ImageBytes& image, const ElfImage& elf, Table& table, const Frames& frames,
          const std::vector<KnownCode>& known)
      : image_(image),
        elf_(elf),
        table_(table),
        frames_(frames),
        known_(known),
        entry_(start_address(image, elf)) {
    if (const Elf64_Shdr* text = elf.section(".text")) text_ = text->sh_addr;
  }

  void build() {
    std::vector<const Fde*> order;
    order.reserve(frames_.fdes.size());
    for (const Fde& fde : frames_.fdes)
      if (fde.size > 0) order.push_back(&fde);
    const auto before = [](const Fde* a, const Fde* b) { return a->start < b->start; };
    // If two FDEs have the same address, the first counts; it is from .eh_frame, which was read
    // first.
    if (!std::is_sorted(order.begin(), order.end(), before))
      std::stable_sort(order.begin(), order.end(), before);
    size_t next = 0;
    for (const Segment& s : table_.segments) {
      const Extent segment{s.vaddr, s.vaddr + s.size};
      uint64_t covered = segment.start;
      while (next < order.size() && order[next]->start < segment.start) ++next;
      for (; next < order.size() && order[next]->start < segment.end; ++next) {
        const Fde& fde = *order[next];
        if (fde.start < covered) continue;
        // An entry ends where another begins: unwinders look for the last start before an address.
        size_t other = next + 1;
        while (other < order.size() && order[other]->start == fde.start) ++other;
        uint64_t end = segment.end;
        if (other < order.size()) end = std::min(end, order[other]->start);
        end = std::min(end - fde.start, fde.size) + fde.start;
        if (!fde_rows(frames_, fde, scratch_)) {
          ++table_.malformed;
          // The same code may be described in .debug_frame as well.
          if (next + 1 < order.size() && order[next + 1]->start == fde.start) continue;
          // There is a rule here, and it is unknown: a guess by row_fp would be wrong.
          scratch_ = {{0, 0, row_bad, 0}};
        }
        gap({covered, fde.start});
        add(scratch_, {fde.start, end});
        covered = end;
      }
      gap({covered, segment.end});
    }
  }

  // Code that is neither described nor recognised, without padding.
  const std::vector<Extent>& gaps() const { return gaps_; }
  // The code at the entry point, if it is neither described nor recognised.
  Extent first_code() const { return first_code_; }

 private:
  uint32_t pc(uint64_t address) const { return static_cast<uint32_t>(address - table_.base); }

  void add(const std::vector<row>& rows, Extent code) {
    for (row r : rows) {
      if (r.pc >= code.end - code.start) break;
      r.pc += pc(code.start);
      push(table_.rows, r);
    }
  }

  // Code without FDEs.
  void gap(Extent code) {
    auto known = std::ranges::lower_bound(known_, code.start, {}, &KnownCode::start);
    for (; known != known_.end() && known->end <= code.end; ++known) {
      search({code.start, known->start});
      add(known->rows, {known->start, known->end});
      code.start = known->end;
    }
    search(code);
  }

  // Looks for gcc's startup code, from .text on: old linkers put read-only data, which may be
  // large, before it into the same segment.
  void search(Extent code) {
    if (const uint64_t from = std::max(code.start, text_); from < code.end) {
      const uint64_t size = std::min(code.end - from, startup_budget_);
      startup_budget_ -= size;
      const ImageRange range = code_at(image_, elf_, from, size);
      for (const KnownCode& known : startup_code(range.bytes, from)) {
        startup_budget_ = 0;
        unknown({code.start, known.start});
        add(known.rows, {known.start, known.end});
        code.start = known.end;
      }
    }
    unknown(code);
  }

  void unknown(Extent code) {
    if (code.start >= code.end) return;
    if (entry_ != 0 && entry_ >= code.start && entry_ < code.end)
      first_code_ = {entry_, std::min(code.end, entry_ + entry_size)};
    row_kind kind = row_fp;
    if (is_padding(code))
      kind = row_padding;
    else if (code.end - code.start < function_align)
      kind = row_bad;  // the rest of a function, like what comes behind the FDE of glibc's clone
    else
      gaps_.push_back(code);
    push(table_.rows, {pc(code.start), 0, static_cast<row_u8>(kind), 0});
  }

  bool is_padding(Extent code) const {
    const uint64_t size = code.end - code.start;
    if (size >= max_padding) return false;
    // This is true of most gaps; reading each would take half as long as everything else.
    if (size < function_align && code.end % function_align == 0) return true;
    const ImageRange range = code_at(image_, elf_, code.start, size);
    return range.bytes.size() == size && unwind::is_padding(range.bytes);
  }

  const ImageBytes& image_;
  const ElfImage& elf_;
  Table& table_;
  const Frames& frames_;
  const std::vector<KnownCode>& known_;
  const uint64_t entry_;
  uint64_t text_ = 0;  // where .text begins; 0: that is not known
  std::vector<row> scratch_;
  std::vector<Extent> gaps_;
  Extent first_code_;
  uint64_t startup_budget_ = startup_limit;  // 0 once it is found
};

// Adds the addresses of restorers in the code. `budget`: bytes that may still be read.
void find_restorers(const ImageBytes& image, const std::vector<Segment>& segments, Extent code,
                    uint64_t& budget, std::vector<uint64_t>& found) {
  const auto segment = std::find_if(segments.begin(), segments.end(), [&](const Segment& s) {
    return code.start >= s.vaddr && code.start - s.vaddr < s.size;
  });
  if (segment == segments.end()) return;
  for (uint64_t at = code.start; at + sizeof(restorer_code) <= code.end && budget > 0;) {
    const uint64_t size = std::min({scan_chunk, code.end - at, budget});
    budget -= size;
    const ImageRange range = image.range(segment->offset + (at - segment->vaddr), size);
    Bytes rest = range.bytes;
    while (!rest.empty() && found.size() < max_restorers) {
      const void* hit = ::memmem(rest.data(), rest.size(), restorer_code, sizeof(restorer_code));
      if (hit == nullptr) break;
      const auto skipped = static_cast<uint64_t>(static_cast<const std::byte*>(hit) - rest.data());
      found.push_back(at + (range.bytes.size() - rest.size()) + skipped);
      rest = rest.subspan(skipped + sizeof(restorer_code));
    }
    if (size < scan_chunk) return;
    at += size - (sizeof(restorer_code) - 1);  // one may lie across the end
  }
}

// Puts one row over [from, to), counted from the base; with `goes_on`, the row that was there
// continues at `to`.
void overlay(std::vector<row>& rows, uint32_t from, uint32_t to, row_kind kind, bool goes_on) {
  const auto behind = [](uint32_t pc, const row& r) { return pc < r.pc; };
  const auto first = std::upper_bound(rows.begin(), rows.end(), from, behind);
  const auto last = std::upper_bound(rows.begin(), rows.end(), to, behind);
  if (first == rows.begin()) return;  // before the first row
  std::vector<row> changed(rows.begin(), first);
  push(changed, {from, 0, static_cast<row_u8>(kind), 0});
  row after = *(last - 1);
  after.pc = to;
  if (goes_on) push(changed, after);
  for (auto rest = last; rest != rows.end(); ++rest) push(changed, *rest);
  rows = std::move(changed);
}

void mark(Table& table, Extent code, row_kind kind) {
  for (const Segment& s : table.segments) {
    const Extent segment{s.vaddr, s.vaddr + s.size};
    const uint64_t start = std::max(code.start, segment.start);
    const uint64_t end = std::min(code.end, segment.end);
    if (start < end)
      overlay(table.rows, static_cast<uint32_t>(start - table.base),
              static_cast<uint32_t>(end - table.base), kind, end < segment.end);
  }
}

}  // namespace

Table make_table(const ImageBytes& image) {
  Table table;
  const std::optional<ElfImage> elf = ElfImage::open(image);
  if (!elf) return table;
  table.segments = code_segments(*elf);
  if (table.segments.empty()) return table;
  table.base = table.segments.front().vaddr;

  Frames frames;
  const FoundFrames eh_frame = find_frames(image, *elf, false);
  if (!eh_frame.section.bytes.empty()) read_frames(eh_frame.section, frames);
  // Go writes .debug_frame for its own code; .eh_frame then describes only the C parts.
  const FoundFrames debug_frame = find_frames(image, *elf, true);
  const size_t eh_entries = frames.fdes.size();
  if (!debug_frame.section.bytes.empty()) read_frames(debug_frame.section, frames);
  table.entries = static_cast<uint32_t>(frames.fdes.size());

  const GoRows go = go_rows(image, *elf);
  std::vector<KnownCode> known = together(linker_code(image, *elf), go.functions);
  const std::optional<KnownCode> start = musl_start(image, *elf);
  if (start) known = together(std::move(known), {*start});
  std::optional<Builder> builder;
  builder.emplace(image, *elf, table, frames, known).build();
  FollowedCode followed;
  if (start) {
    std::vector<Extent> described;
    for (const Fde& fde : frames.fdes)
      if (fde.start + fde.size > fde.start) described.push_back({fde.start, fde.start + fde.size});
    followed = follow_gaps(image, *elf, builder->gaps(), described, start_address(image, *elf));
  }
  if (!followed.known.empty()) {
    known = together(std::move(known), followed.known);
    table.rows.clear();
    table.malformed = 0;
    builder.emplace(image, *elf, table, frames, known).build();
  }
  table.malformed += frames.malformed + (followed.given_up ? 1 : 0);
  // .eh_frame marks restorers by 'S'. Go's and musl's .debug_frame does not, nor does Go's own
  // table, so code described by these is searched for restorers as well.
  std::vector<Extent> unknown = builder->gaps();
  if (frames.fdes.size() > eh_entries || !go.functions.empty() || !followed.known.empty()) {
    unknown.clear();
    for (const Segment& s : table.segments) unknown.push_back({s.vaddr, s.vaddr + s.size});
  }
  uint64_t budget = scan_limit;
  std::vector<uint64_t> restorers;
  for (const Extent& code : unknown) find_restorers(image, table.segments, code, budget, restorers);
  const Extent first = builder->first_code();
  if (first.start < first.end) mark(table, first, row_end);
  for (const KnownCode& function : go.special)
    mark(table, {function.start, function.end}, static_cast<row_kind>(function.rows.front().kind));
  // One byte early: callers are looked up by their return address - 1.
  for (const uint64_t address : restorers)
    mark(table, {address - 1, address + sizeof(restorer_code)}, row_signal);
  return table;
}

Table make_table(Bytes image) { return make_table(ImageBytes(image)); }

bool base_address(const Table& table, uint64_t start, uint64_t offset, uint64_t& address) {
  // Mappings begin at the page that a segment begins in. Two segments may share a page of the
  // file: the one that begins there is meant, if any.
  const Segment* found = nullptr;
  for (const Segment& s : table.segments) {
    const uint64_t first = s.offset & ~(table_page - 1);
    const bool begins = offset == first;
    if (!begins && (offset < first || offset - first >= s.size + (s.offset - first))) continue;
    if (begins || found == nullptr) found = &s;
    if (begins) break;
  }
  if (found == nullptr) return false;
  address = start - (found->vaddr + (offset - found->offset)) + table.base;
  return true;
}

}  // namespace memflame::unwind
