// SPDX-License-Identifier: BSD-2-Clause
#include "probes/run/waste.h"

#include <algorithm>
#include <array>

#include "core/error.h"
#include "core/units.h"
#include "probes/processes/spaces.h"
#include "probes/run/run_figures.h"
#include "probes/stacks/rows.h"
#include "probes/waste/touched_pages.h"

namespace memflame {
namespace {

constexpr uint64_t time_limit_ns = 10'000'000'000;
constexpr size_t most_named = 5;  // ranges

// Whole pages of a block.
struct Pages {
  uint64_t from = 0, to = 0;
  explicit Pages(const WasteBlock& block) {
    const uint64_t end =
        block.address + std::min(block.size, UINT64_MAX - waste_page - block.address);
    from = (block.address + waste_page - 1) / waste_page * waste_page;
    to = std::max(end / waste_page * waste_page, from);
  }
  uint64_t bytes() const { return to - from; }
};

std::string with_share(int64_t part, int64_t whole) {
  return iec_bytes(part) + " (" + percent(static_cast<double>(part), static_cast<double>(whole)) +
         ")";
}

std::string in_words(const PinnedRange& range, pid_t pid) {
  const auto bytes = static_cast<int64_t>(range.bytes);
  return "pinned: " + range.name + " of process " + std::to_string(pid) + " has " +
         iec_bytes(bytes) + ", of which " + with_share(static_cast<int64_t>(range.live), bytes) +
         " is live; " + with_commas(static_cast<int64_t>(range.blocks)) +
         (range.blocks == 1 ? " block" : " blocks") + " with " +
         iec_bytes(static_cast<int64_t>(range.block_bytes)) + " may keep it from shrinking";
}

}  // namespace

Waste& Waste::operator+=(const Waste& other) {
  untouched += other.untouched;
  whole_pages += other.whole_pages;
  slack += other.slack;
  pinning += other.pinning;
  return *this;
}

ProcessWaste waste_of(pid_t pid, std::vector<WasteBlock> blocks, bool all_known,
                      const PageFaults* faults) {
  ProcessWaste result{.pid = pid, .pins_known = all_known};
  std::erase_if(blocks, [](const WasteBlock& block) { return block.address > INT64_MAX; });
  std::sort(blocks.begin(), blocks.end(),
            [](const WasteBlock& a, const WasteBlock& b) { return a.address < b.address; });
  for (const WasteBlock& block : blocks) result.live += static_cast<int64_t>(block.size);
  const std::optional<std::vector<MapsLine>> maps = read_maps(pid);
  if (!maps || maps->empty()) {
    result.why_not = "it has ended, or its mappings cannot be read";
    return result;
  }
  Pins pins = all_known ? pins_of(*maps, blocks) : Pins{.is_pin = std::vector<bool>(blocks.size())};
  const std::vector<BlockSlack> slack = slack_of(pid, blocks);
  result.slack_known = slack.size() == blocks.size();
  TouchedPages touched(pid, monotonic_ns() + time_limit_ns);
  for (size_t i = 0; i < blocks.size(); ++i) {
    const WasteBlock& block = blocks[i];
    Waste& waste = result.stacks[block.stack];
    if (result.slack_known) {
      waste.slack += static_cast<int64_t>(slack[i].value_or(0));
      result.unread_slack += slack[i] ? 0 : 1;
    }
    if (pins.is_pin[i]) waste.pinning += static_cast<int64_t>(block.size);
    const Pages pages(block);
    if (pages.bytes() == 0) continue;
    const std::optional<uint64_t> count = touched.count(pages.from, pages.to);
    if (!count) {
      result.unread_pages += static_cast<int64_t>(pages.bytes());
      continue;
    }
    waste.whole_pages += static_cast<int64_t>(pages.bytes());
    waste.untouched += static_cast<int64_t>(pages.bytes() - *count * waste_page);
  }
  result.pinned = std::move(pins.ranges);
  if (faults != nullptr) result.touches = first_touches(touched, *maps, blocks, *faults);
  return result;
}

std::vector<std::string> in_words(std::span<const ProcessWaste> processes) {
  std::vector<std::string> words;
  Waste all;
  int64_t live = 0, unread_pages = 0;
  std::vector<std::pair<const PinnedRange*, pid_t>> pinned;
  for (const ProcessWaste& process : processes) {
    const std::string name = "process " + std::to_string(process.pid);
    if (!process.why_not.empty()) {
      words.push_back("waste: nothing is known of " + name + ": " + process.why_not);
      continue;
    }
    live += process.live;
    unread_pages += process.unread_pages;
    for (const auto& [stack, waste] : process.stacks) all += waste;
    for (const PinnedRange& range : process.pinned) pinned.emplace_back(&range, process.pid);
    if (process.unread_pages != 0)
      words.push_back("untouched: not known of " + iec_bytes(process.unread_pages) + " of " + name +
                      ": memflame may not read its page map, or had no time");
    if (process.unread_slack != 0)
      words.push_back("slack: not known of " + with_commas(process.unread_slack) + " blocks of " +
                      name + ", which were gone, or not from glibc's malloc");
    if (!process.slack_known)
      words.push_back("slack: not known of " + name + ", whose allocator is not glibc's");
    if (!process.pins_known)
      words.push_back("pinning: not known of " + name +
                      ", as it has blocks that were not counted; memflame must start the program");
  }
  if (live == 0) return words;
  std::vector<const FirstTouches*> touches;
  for (const ProcessWaste& process : processes)
    if (process.touches) touches.push_back(&*process.touches);
  if (!touches.empty()) words.push_back(in_words(touches));
  const int64_t without_pages = live - all.whole_pages - unread_pages;
  words.push_back("untouched: " + with_share(all.untouched, live) +
                  " of the live bytes are in pages that were never touched; of " +
                  with_share(without_pages, live) +
                  ", which are in no whole page, it cannot be told");
  words.push_back("slack: the allocator gave " + with_share(all.slack, live) +
                  " more than was asked for");
  std::stable_sort(pinned.begin(), pinned.end(),
                   [](const auto& a, const auto& b) { return a.first->bytes > b.first->bytes; });
  for (size_t i = 0; i < std::min(pinned.size(), most_named); ++i)
    words.push_back(in_words(*pinned[i].first, pinned[i].second));
  if (pinned.size() > most_named)
    words.push_back("pinned: " + with_commas(static_cast<int64_t>(pinned.size() - most_named)) +
                    " smaller heaps and mappings more");
  return words;
}

std::vector<ProcessWaste> waste_of_run(
    RunFigures& figures, std::span<const std::pair<SpaceId, pid_t>> living,
    const std::function<bool(SpaceId, pid_t)>& knows_all_blocks) {
  std::map<SpaceId, std::vector<WasteBlock>> blocks;
  for (const auto& [space, pid] : living) blocks[space];
  figures.for_each_block([&blocks](const bpf::block_key& key, const bpf::block& block) {
    const auto found = blocks.find(SpaceId{key.space});
    if (found != blocks.end())
      found->second.push_back({key.address, block.size, block.hash, block.time_ns});
  });
  // After the blocks: a block that came meanwhile is not among them, but its pages may be.
  std::vector<SpaceId> spaces;
  for (const auto& [space, pid] : living) spaces.push_back(space);
  const auto faults = figures.page_faults(spaces);
  std::vector<ProcessWaste> processes;
  for (const auto& [space, pid] : living) {
    processes.push_back(waste_of(pid, std::move(blocks[space]), knows_all_blocks(space, pid),
                                 faults ? &faults->at(space) : nullptr));
    processes.back().space = space;
  }
  return processes;
}

namespace {

// A picture must not seem to say that there is none of what is not known.
void require_known(std::span<const ProcessWaste> processes, const std::string& shown) {
  const auto nobody = [&](const auto& knows) {
    return std::none_of(processes.begin(), processes.end(), [&](const ProcessWaste& process) {
      return process.why_not.empty() && knows(process);
    });
  };
  if (nobody([](const ProcessWaste&) { return true; }))
    throw Error(
        "when counting ended there was no process whose memory could be looked at for "
        "untouched pages, slack and pins; end counting while it runs (-d SECONDS), or let "
        "the kernel hold a command at its end (--collect kernel)");
  if (shown == "slack" && nobody([](const ProcessWaste& process) { return process.slack_known; }))
    throw Error(
        "--value slack: no process has blocks from glibc's malloc, and what other "
        "allocators add is not known; --size usable counts what they say");
  if (shown == "pinning" && nobody([](const ProcessWaste& process) { return process.pins_known; }))
    throw Error(
        "--value pinning: some blocks were not counted, so it is not known what the heaps "
        "hold");
}

// What is live in the recording and was not looked at.
std::string others_in_words(const Recording& recording, std::span<const ProcessWaste> processes) {
  constexpr size_t live_column = 0;
  int64_t others = 0;
  for (const Aggregate& sum : recording.sums) others += sum.values[live_column];
  for (const ProcessWaste& process : processes)
    if (process.why_not.empty()) others -= process.live;
  if (others <= 0) return "";
  return "waste: not known of " + iec_bytes(others) +
         " more live bytes: their processes had ended, or the blocks are not in the live table";
}

}  // namespace

void add_waste(std::span<const ProcessWaste> processes, RecordingRows& rows) {
  const std::vector<ValueType>& types = rows.recording().types;
  const auto first =
      std::search(types.begin(), types.end(), waste_types().begin(), waste_types().end());
  const auto column = static_cast<size_t>(first - types.begin());
  if (first == types.end()) throw Error("the recording has no columns for what blocks waste");
  require_known(processes, types[rows.recording().shown].name);
  for (const ProcessWaste& process : processes) {
    if (process.touches)
      add_touches(*process.touches, process.space, column + waste_types().size(), rows);
    for (const auto& [stack, waste] : process.stacks) {
      std::vector<int64_t> values(types.size());
      const std::array row{waste.untouched, waste.whole_pages, waste.slack, waste.pinning};
      std::copy(row.begin(), row.end(), values.begin() + static_cast<std::ptrdiff_t>(column));
      rows.add(stack, "", values, 0);
    }
  }
  std::vector<std::string>& notes = rows.recording().meta.notes;
  for (std::string& words : in_words(processes)) notes.push_back(std::move(words));
  if (std::string words = others_in_words(rows.recording(), processes); !words.empty())
    notes.push_back(std::move(words));
}

std::span<const ValueType> waste_types() {
  static const std::array types{ValueType{"untouched", Unit::bytes},
                                ValueType{"in-whole-pages", Unit::bytes},
                                ValueType{"slack", Unit::bytes}, ValueType{"pinning", Unit::bytes}};
  return types;
}

bool shows_waste(std::string_view value) {
  return shows_first_touch(value) ||
         std::any_of(waste_types().begin(), waste_types().end(),
                     [&](const ValueType& type) { return type.name == value; });
}

}  // namespace memflame
