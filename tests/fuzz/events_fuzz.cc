// SPDX-License-Identifier: BSD-2-Clause
// libFuzzer for the events of a recording. An input is chunks without heads: a letter for the kind,
// two bytes for the size, the content. They get the heads that fit, behind the tables that events
// refer to. What is read is folded into blocks, in parts and from each checkpoint on.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>

#include "collapse/events/block_fold.h"
#include "collapse/events/event_codec.h"
#include "collapse/history/event_file.h"
#include "collapse/history/reader.h"
#include "core/error.h"
#include "tests/fuzz/made_recording.h"

namespace memflame {
namespace {

void require_that(bool condition, const char* what) {
  if (condition) return;
  std::cerr << "events_fuzz: " << what << "\n";
  std::abort();
}

// Folds, and writes what it is told anew.
class Folding : public EventSink {
 public:
  explicit Folding(const History& history)
      : fold_(history, [this](const Block& block, const Chain& chain) { take(block, chain); }),
        limits_{.threads = history.threads.size(),
                .stacks = history.recording.stacks.size(),
                .spaces = history.recording.spaces.size()} {}

  void events(std::span<const Event> events) override {
    const std::string content = encoder_.events(events);
    ByteReader in(content);
    const auto again = decoder_.events(in, limits_);
    require_that(std::equal(again.begin(), again.end(), events.begin(), events.end()),
                 "events have changed by writing and reading");
    allocations_ +=
        static_cast<uint64_t>(std::count_if(events.begin(), events.end(), [](const Event& event) {
          return event.kind == EventKind::allocation || event.kind == EventKind::move;
        }));
    fold_.events(events);
  }
  void gap(const EventGap& gap) override { fold_.gap(gap); }
  void checkpoint(const CheckpointPart& part) override {
    allocations_ += part.blocks.size();
    fold_.checkpoint(part);
  }
  void finish(uint64_t end_ns) {
    fold_.finish(end_ns);
    require_that(fold_.open_blocks() == 0, "blocks are left");
    require_that(fold_.counts().blocks == blocks_, "blocks are lost");
    require_that(blocks_ <= allocations_, "blocks from nowhere");
  }

 private:
  void take(const Block& block, const Chain& chain) {
    ++blocks_;
    require_that(block.end_ns >= block.allocated_ns, "a block ends before it begins");
    require_that(block.leaked() || block.freed_ns == block.end_ns, "a block has two ends");
    require_that(block.position <= chain.length, "a block is not in its chain");
    require_that(!block.transient || block.freeing_thread == block.thread, "transient by another");
  }

  BlockFold fold_;
  EventLimits limits_;
  EventEncoder encoder_{{.nanoseconds = true}};
  EventDecoder decoder_;
  uint64_t blocks_ = 0, allocations_ = 0;
};

}  // namespace
}  // namespace memflame

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace memflame;  // NOLINT(google-build-using-namespace)
  try {
    const std::string bytes = with_events({reinterpret_cast<const char*>(data), size});
    Source source = Source::of_memory(bytes);
    RecordingState state;
    const History history = read_history(source, state);
    const EventFile file([&] { return Source::of_memory(bytes); }, history, state);
    const auto read = [&](uint64_t from_ns) {
      Folding folding(history);
      folding.finish(file.read(folding, from_ns).time_ns);
    };
    read(0);
    for (const uint64_t time_ns : file.checkpoints()) read(time_ns);
  } catch (const Error&) {
    return 0;
  }
  return 0;
}
