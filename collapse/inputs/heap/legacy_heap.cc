// SPDX-License-Identifier: BSD-2-Clause
// Heap profiles as text, of gperftools, tcmalloc and Go (debug=1):
//
//   heap profile: 144: 8498176 [144: 8498176] @ heapz_v2/524288
//    1: 9216 [1: 9216] @ 0xc635c8 0x42ecc3
//   #  0x42ecc2  main.work+0x12  /src/main.go:12        (Go only)
//   MAPPED_LIBRARIES:                                    (or "--- Memory map: ---")
//   00400000-00fcb000 r-xp 00000000 fe:00 1574 /bin/server
#include "collapse/inputs/heap/legacy_heap.h"

#include <utility>

#include "collapse/inputs/addresses.h"
#include "collapse/inputs/readers.h"
#include "collapse/inputs/scan.h"
#include "collapse/text/issues.h"
#include "collapse/text/lines.h"
#include "core/units.h"

namespace memflame {
namespace {

// A frame whose name is in the input.
struct NamedFrame {
  uint64_t address;
  std::string function, file;
  uint32_t line;
};

class LegacyHeapReader {
 public:
  LegacyHeapReader(Source& source, const ReadOptions& options)
      : source_(source), options_(options), lines_(source), stacks_(source) {}

  Profile run() {
    try {
      read_header();
      while (!in_maps_ && lines_.next()) take(lines_.line());
      // The last line may have lost its last addresses, or digits of them.
      cut_ = !in_maps_ && !lines_.ended();
      end_stack();
      while (in_maps_ && lines_.next()) stacks_.map(lines_.line(), lines_.number(), issues_);
    } catch (const Error& error) {
      lines_.fail(error.what());
    }
    if (stacks_.empty() && direct_.touched().empty() && issues_.any())
      source_.fail("no line has the form '1: 4096 [1: 4096] @ 0x1234'; " + issues_.texts().front());
    Profile profile = joined();
    profile.meta.sampling = columns_->sampling();
    if (!rule_.empty()) profile.meta.sampling += " (" + rule_ + ")";
    check_sum(profile);
    issues_.finish(profile);
    return profile;
  }

 private:
  void read_header() {
    if (!lines_.next()) throw Error("it is empty");
    const std::optional<LegacyHeapHeader> header = parse_legacy_header(lines_.line());
    if (!header) throw Error("expected 'heap profile: 1: 4096 [1: 4096] @ heap_v2/524288'");
    const std::optional<LegacyHeapKind> kind = legacy_kind(*header);
    if (!kind) throw Error("profiles of '" + std::string(header->kind) + "' are not known");
    header_ = header->in_use;
    columns_.emplace(kind->rate, header->accumulated(), kind->prefix);
    rule_ = kind->rule;
    direct_.types = stacks_.types = columns_->types();
    direct_.shown = HeapColumns::shown;
  }

  void take(std::string_view line) {
    Scan scan{line};
    scan.blanks();
    if (scan.rest.empty()) return end_stack();
    if (scan.rest[0] == '#') return take_comment(scan.rest);
    if (scan.rest.starts_with("MAPPED_LIBRARIES:") || scan.rest.starts_with("--- Memory map:")) {
      in_maps_ = true;
      return;
    }
    const std::optional<LegacyHeapRow> row = parse_legacy_row(scan.rest);
    if (!row) return bad(line, "not of the form '1: 4096 [1: 4096] @ 0x1234'");
    end_stack();
    if (!take_addresses(row->addresses, addresses_)) return bad(line, "not an address");
    if (__builtin_add_overflow(seen_.objects, row->in_use.objects, &seen_.objects) ||
        __builtin_add_overflow(seen_.bytes, row->in_use.bytes, &seen_.bytes))
      throw Error("the figures of all stacks leave the range of 64 bits");
    pending_ = columns_->values(row->in_use, row->allocated);
  }

  void take_comment(std::string_view line) {
    const std::optional<GoFrame> frame = parse_go_frame(line);
    if (!frame || pending_.empty()) return;
    std::string function(frame->function);
    if (options_.offsets) function += frame->offset;
    frames_.push_back({frame->address, std::move(function), std::string(frame->file), frame->line});
  }

  // Go writes no line for runtime.goexit and for runtime functions at the leaf, so a stack with
  // names lacks these frames.
  void end_stack() {
    if (pending_.empty()) return;
    if (frames_.empty())
      stacks_.add("", addresses_, pending_);
    else
      direct_.add(push_named(), pending_);
    frames_.clear();
    pending_.clear();
  }

  StackId push_named() {
    StackId top;
    for (size_t i = frames_.size(); i-- > 0;) {
      const NamedFrame& frame = frames_[i];
      // Several frames at one address: all but the last are inlined into their callers.
      const bool inlined = i + 1 < frames_.size() && frames_[i + 1].address == frame.address;
      FrameKind kind = inlined ? FrameKind::inlined : FrameKind::user;
      if (frame.function.empty()) kind = FrameKind::unknown;
      std::string_view name = "[unknown]";
      if (!frame.function.empty()) name = frame.function;
      if (options_.lines)
        top = direct_.push(top, name, kind, {}, frame.file, frame.line);
      else
        top = direct_.push(top, name, kind);
    }
    return top;
  }

  // Joins the stacks whose names are in the input with those whose names were looked up.
  Profile joined() {
    if (stacks_.empty()) return std::move(direct_);
    Profile profile = stacks_.take(options_, issues_);
    profile.shown = HeapColumns::shown;
    if (!direct_.touched().empty()) merge(profile, direct_);
    return profile;
  }

  // gperftools writes into a buffer of fixed size and silently leaves out what does not fit.
  void check_sum(Profile& profile) {
    if (seen_.bytes < header_.bytes)
      profile.meta.notes.push_back(
          "stacks are missing: those that are there hold " + with_commas(seen_.bytes) + " of the " +
          with_commas(header_.bytes) + " bytes that the first line states" +
          (columns_->sampled() ? ", before scaling" : ""));
    if (cut_) {
      if (options_.refuse_truncated) source_.fail("its last stack ends in the middle");
      profile.meta.notes.push_back(source_.name() + ": its last stack ends in the middle");
    }
  }

  void bad(std::string_view line, std::string_view why) { issues_.add(why, lines_.number(), line); }

  Source& source_;
  const ReadOptions& options_;
  Lines lines_;
  AddressStacks stacks_;
  Profile direct_;
  Issues issues_;
  std::optional<HeapColumns> columns_;
  std::string rule_;
  HeapCounts header_, seen_;
  std::vector<uint64_t> addresses_;
  std::vector<int64_t> pending_;  // of the last stack, empty once it is added
  std::vector<NamedFrame> frames_;
  bool in_maps_ = false, cut_ = false;
};

}  // namespace

bool is_legacy_heap(std::string_view head) {
  try {
    return parse_legacy_header(head.substr(0, head.find('\n'))).has_value();
  } catch (const Error&) {
    return true;  // numbers beyond 64 bits: read_legacy_heap() reports them
  }
}

Profile read_legacy_heap(Source& source, const ReadOptions& options) {
  return LegacyHeapReader(source, options).run();
}

}  // namespace memflame
