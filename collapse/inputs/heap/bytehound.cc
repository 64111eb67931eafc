// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/inputs/heap/bytehound.h"

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "collapse/inputs/heap/bytehound_bytes.h"
#include "collapse/inputs/heap/bytehound_code.h"
#include "collapse/inputs/heap/bytehound_events.h"
#include "collapse/inputs/heap/bytehound_traces.h"
#include "collapse/inputs/heap/heaptrack_history.h"
#include "collapse/symbolize/symbolize.h"
#include "core/error.h"
#include "core/hash.h"
#include "core/units.h"

namespace memflame {
namespace {

constexpr size_t longest_bytehound_path = size_t{1} << 16U,
                 longest_bytehound_command = size_t{1} << 20U;
constexpr size_t longest_bytehound_comm = 15;  // as the kernel keeps it
constexpr uint64_t ns_of_us = 1000;
// Names a block. Blocks have numbers of their own since version 0.6: then a free may be recorded
// before the allocation that another thread made at its address.
struct BytehoundBlock {
  uint64_t thread = 0, number = 0;
  friend bool operator==(const BytehoundBlock&, const BytehoundBlock&) = default;
};
struct BytehoundBlockHash {
  size_t operator()(const BytehoundBlock& block) const noexcept {
    return mix(block.thread, block.number);
  }
};

class BytehoundReader {
 public:
  BytehoundReader(Source& source, std::unique_ptr<HistoryFile> file,
                  const BytehoundOptions& options)
      : options_(options),
        source_(source),
        bytes_(source),
        file_(std::move(file)),
        code_(out_.recording(), HeaptrackHistory::process, source.changed_ns()) {}

  void run() {
    try {
      while (!bytes_.at_end() && take()) {
      }
    } catch (const BytehoundBytes::Ended&) {
      cut_off();
    } catch (const Error& error) {
      source_.fail(error.what());
    }
    if (out_.allocations() == 0) source_.fail("no allocation is in it");
    if (const std::string missing = source_.missing(); !missing.empty()) note(missing);
    describe();
    if (options_.files) symbolize(out_.recording(), {.debug_servers = false, .kallsyms_path = ""});
    out_.finish();
  }

 private:
  struct Allocation {
    uint64_t address = 0, size = 0, backtrace = 0;
    uint32_t thread = 0;
  };

  void note(std::string text) { out_.recording().meta.notes.push_back(std::move(text)); }

  void cut_off() {
    constexpr const char* what = "the input ends in the middle of an event";
    if (options_.refuse_truncated) source_.fail(what);
    note(std::string(what) + "; that event was left out");
  }

  // One event; false if what follows cannot be read.
  bool take() {
    const auto kind = static_cast<BytehoundEvent>(bytes_.u32());
    if (!has_header_ && kind != BytehoundEvent::header) throw Error("it has no header");
    switch (kind) {
      case BytehoundEvent::header:
        return take_header();
      case BytehoundEvent::alloc:
        return allocate({}, false);
      case BytehoundEvent::alloc_with_id:
        return allocate(block(), true);
      case BytehoundEvent::realloc:
        return reallocate({}, false);
      case BytehoundEvent::realloc_with_id:
        return reallocate(block(), true);
      case BytehoundEvent::free:
        return free({}, false);
      case BytehoundEvent::free_with_id:
        return free(block(), true);
      case BytehoundEvent::file:
      case BytehoundEvent::file_64:
        return take_file(kind == BytehoundEvent::file_64);
      case BytehoundEvent::backtrace:
        return take_trace(8);
      case BytehoundEvent::backtrace_32:
        return take_trace(4);
      case BytehoundEvent::partial_backtrace:
        return take_partial_trace(8);
      case BytehoundEvent::partial_backtrace_32:
        return take_partial_trace(4);
      case BytehoundEvent::string:
      case BytehoundEvent::decoded_frame:
      case BytehoundEvent::decoded_backtrace:
      case BytehoundEvent::group_statistics:
        throw Error(
            "bytehound has processed it (postprocess, squeeze): give what its library recorded");
      default:
        return pass_over(kind, bytes_) || end_at(kind);
    }
  }

  bool end_at(BytehoundEvent kind) {
    out_.recording().losses.add(Loss::input_line, 1);
    note("an event of an unknown kind, " + std::to_string(static_cast<uint32_t>(kind)) +
         ", is at byte " + std::to_string(bytes_.position()) + "; what follows it cannot be read");
    return false;
  }

  bool take_header() {
    bytes_.skip(16);  // a random number
    const uint64_t initial = bytes_.u64(), now = bytes_.u64(), wall_s = bytes_.u64(),
                   wall_ns = bytes_.u64();
    const uint32_t pid = bytes_.u32();
    std::string command = bytes_.text(longest_bytehound_command);
    const std::string program = bytes_.text(longest_bytehound_path),
                      architecture = bytes_.text(longest_bytehound_path);
    const uint64_t flags = bytes_.u64();
    bytes_.u8();                   // the size of a pointer
    if (has_header_) return true;  // a client that asks again gets it again
    has_header_ = true;
    if ((flags & 1U) == 0)
      throw Error("it comes from a machine with big-endian numbers, which are not read");
    initial_us_ = initial;
    Meta& meta = out_.recording().meta;
    meta.title = "bytehound";
    std::replace(command.begin(), command.end(), '\0', ' ');
    while (command.ends_with(' ')) command.pop_back();
    meta.command = "bytehound " + command;
    constexpr uint64_t ns_of_s = 1'000'000'000, most_s = INT64_MAX / ns_of_s - 1;
    const uint64_t since_us = now >= initial ? now - initial : 0;
    if (wall_s < most_s && wall_ns < ns_of_s && since_us / 1'000'000 < wall_s)
      meta.began_ns = static_cast<int64_t>(wall_s * ns_of_s + wall_ns - since_us * ns_of_us);
    Space& space = out_.recording().spaces[HeaptrackHistory::process.index];
    space.pid = pid;
    space.comm = program.substr(program.rfind('/') + 1, longest_bytehound_comm);
    out_.write_to(std::move(file_));
    return true;
  }

  BytehoundBlock block() {
    const uint64_t thread = bytes_.u64();
    return {thread, bytes_.u64()};
  }

  // Events come in the order of the file: threads hand theirs over now and then, so some are older
  // than those before them.
  void at_time(uint64_t us) {
    if (us < last_us_) {
      ++late_;
      latest_us_ = std::max(latest_us_, last_us_ - us);
      return;
    }
    last_us_ = us;
    const uint64_t since = us >= initial_us_ ? us - initial_us_ : 0;
    if (since > INT64_MAX / ns_of_us) throw Error("a time leaves the range of 64 bits");
    out_.time(since * ns_of_us);
  }

  Allocation take_allocation() {
    Allocation allocation{.address = bytes_.u64(), .size = 0, .backtrace = 0, .thread = 0};
    allocation.size = bytes_.u64();
    allocation.backtrace = bytes_.u64();
    allocation.thread = bytes_.u32();
    bytes_.skip(16);  // flags, and sizes beside the block
    if (allocation.size > INT64_MAX) throw Error("a block's size leaves the range of 64 bits");
    return allocation;
  }

  // The number of a block that lives. Blocks without a number, or of unknown origin, are told by
  // their address.
  static BytehoundBlock name_of(const BytehoundBlock& id, bool has_id, uint64_t address) {
    constexpr uint64_t none = std::numeric_limits<uint64_t>::max();
    const bool is_known =
        has_id && id != BytehoundBlock{} && id != BytehoundBlock{.thread = none, .number = none};
    return is_known ? id : BytehoundBlock{.thread = 0, .number = address};
  }
  uint64_t key_of(const BytehoundBlock& name) {
    const auto [known, added] = keys_.try_emplace(name, next_key_);
    if (added) ++next_key_;
    return known->second;
  }

  bool allocate(const BytehoundBlock& id, bool has_id) {
    const uint64_t us = bytes_.u64();
    const Allocation made = take_allocation();
    at_time(us);
    out_.allocate(key_of(name_of(id, has_id, made.address)), made.size, track_of(made.backtrace),
                  {.address = made.address, .thread = thread_of(made.thread)});
    return true;
  }

  bool reallocate(const BytehoundBlock& id, bool has_id) {
    const uint64_t us = bytes_.u64(), old_address = bytes_.u64();
    const Allocation made = take_allocation();
    at_time(us);
    const BytehoundBlock old_name = name_of(id, has_id, old_address);
    const BytehoundBlock name = name_of(id, has_id, made.address);
    const uint64_t old_key = key_of(old_name), key = key_of(name);
    out_.move(old_key, key, made.size, track_of(made.backtrace),
              {.address = made.address, .thread = thread_of(made.thread)});
    if (old_key != key) keys_.erase(old_name);
    return true;
  }

  bool free(const BytehoundBlock& id, bool has_id) {
    const uint64_t us = bytes_.u64(), address = bytes_.u64();
    bytes_.skip(8);  // its stack
    const uint32_t thread = bytes_.u32();
    at_time(us);
    const BytehoundBlock name = name_of(id, has_id, address);
    out_.free(key_of(name), thread_of(thread));
    keys_.erase(name);
    return true;
  }

  ThreadId thread_of(uint32_t tid) {
    const auto [known, added] = threads_.try_emplace(tid);
    if (added) known->second = out_.add_thread(tid);
    return known->second;
  }

  bool take_file(bool is_long) {
    bytes_.skip(8);  // a time
    const std::string path = bytes_.text(longest_bytehound_path);
    const uint64_t size = is_long ? bytes_.u64() : bytes_.u32();
    code_.take_file(path, size, bytes_);
    return true;
  }

  // Stacks have the numbers that later events name them by.
  bool take_trace(size_t width) {
    traces_.take(width, bytes_, code_.list());
    return true;
  }
  bool take_partial_trace(size_t width) {
    traces_.take_partial(width, bytes_, code_.list());
    return true;
  }

  uint32_t track_of(uint64_t number) {
    return traces_.track_of(number, [&](const BytehoundTraces::Trace& trace) {
      std::vector<RawStack>& stacks = out_.recording().stacks;
      const RawStackId id{next_index(stacks.size())};
      RawStack& stack = stacks.emplace_back();
      stack.space = HeaptrackHistory::process;
      stack.time_ns = trace.list;
      // The outermost of bytehound's own frames is the allocator's function that was called.
      const auto& addresses = trace.addresses;
      size_t own = 0;
      while (own < addresses.size() && code_.is_of_tool(addresses[own] - 1)) ++own;
      for (size_t i = own == 0 ? 0 : own - 1; i < addresses.size(); ++i)
        stack.pcs.push_back({addresses[i], true});
      if (stack.pcs.empty()) stack.note = "[unknown]";
      return out_.add_track(id);
    });
  }

  void describe() {
    const auto counted = [&](uint64_t count, const std::string& what) {
      if (count != 0) note(with_commas(static_cast<int64_t>(count)) + " " + what);
    };
    note("stacks of frees, and mappings of memory, are not read");
    counted(late_, "events are older than those before them in the file, by up to " +
                       std::to_string(latest_us_) +
                       " us; they are taken to happen at the later time");
    counted(out_.unknown_frees(), "frees and reallocs were of blocks that are not in it");
    counted(out_.reused(),
            "blocks were allocated where another one lived: its free is missing, and "
            "is taken to be then");
    counted(traces_.unknown(), "blocks have a stack that is not in it");
    counted(code_.damaged_lines(), "lines of lists of mappings were not understood");
    counted(code_.files_left_out(),
            "copies of files were left out, for they are larger than 2 GiB "
            "together");
    if (traces_.unknown() != 0) out_.recording().losses.add(Loss::input_line, traces_.unknown());
  }

  const BytehoundOptions options_;
  const Source& source_;
  BytehoundBytes bytes_;
  std::unique_ptr<HistoryFile> file_;
  HeaptrackHistory out_;
  BytehoundCode code_;
  BytehoundTraces traces_;
  std::unordered_map<uint32_t, ThreadId> threads_;
  std::unordered_map<BytehoundBlock, uint64_t, BytehoundBlockHash> keys_;  // of blocks that live
  uint64_t next_key_ = 1;
  bool has_header_ = false;
  uint64_t initial_us_ = 0, last_us_ = 0;
  uint64_t late_ = 0, latest_us_ = 0;
};

}  // namespace

void record_bytehound(Source& source, std::unique_ptr<HistoryFile> file,
                      const BytehoundOptions& options) {
  if (!options.refuse_truncated) source.accept_cut();
  BytehoundReader(source, std::move(file), options).run();
}

}  // namespace memflame
