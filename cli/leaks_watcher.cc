#include "cli/leaks_watcher.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <iostream>

#include "cli/drawing_options.h"
#include "cli/output_file.h"
#include "collapse/fold.h"
#include "collapse/symbolize/symbolize.h"
#include "core/error.h"
#include "probes/alloc/rate.h"
#include "probes/session.h"

namespace memflame {
namespace {

// Names of so many stacks are kept from report to report.
constexpr size_t most_names = 1 << 16;

std::string clock_text() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  ::localtime_r(&now, &local);
  std::array<char, 16> text{};
  std::strftime(text.data(), text.size(), "%H:%M:%S", &local);
  return text.data();
}

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// "main  server.cc:42 [server]"
std::string frame_text(const Profile& profile, const Frame& frame) {
  std::string text(profile.strings[frame.function]);
  if (frame.kind == FrameKind::inlined) text += " (inlined)";
  if (frame.file)
    text += "  " + base_name(std::string(profile.strings[frame.file])) + ":" +
            std::to_string(frame.line);
  if (frame.module && frame.kind != FrameKind::unknown)
    text += " [" + base_name(std::string(profile.strings[frame.module])) + "]";
  return text;
}

std::vector<std::string> frames_of(const Profile& profile) {
  std::vector<std::string> texts;
  for (const StackId stack : profile.touched())
    for (const FrameId id : profile.path(stack))
      if (const Frame& frame = profile.frames[id]; frame.kind != FrameKind::process)
        texts.push_back(frame_text(profile, frame));
  std::reverse(texts.begin(), texts.end());
  return texts;
}

std::string process_of(const Recording& recording, SpaceId id) {
  if (!id || id.index >= recording.spaces.size()) return "";
  const Space& space = recording.spaces[id.index];
  return (space.cgroup.empty() ? "" : space.cgroup + ", ") + space.comm + " (" +
         std::to_string(space.pid) + ")";
}

std::string sampling_of(const ProbeOptions& options) {
  if (!is_sampled(options)) return "";
  const std::string words = sampling_in_words(options);
  return words.empty() ? "at the rate that --max-overhead allows" : words;
}

}  // namespace

LeaksWatcher::LeaksWatcher(const LeaksOptions& options, const Request& request)
    : options_(options), request_(request), next_(options.interval) {}

void LeaksWatcher::begin(Session&) {
  start_ns_ = monotonic_ns();
  if (request_.format == nullptr || options_.trace)
    lines_ = open_lines(request_.format == nullptr ? request_.output : "", request_.readers);
}

bool LeaksWatcher::look(Session& session, double seconds) {
  if (options_.trace) flush();
  if (seconds < next_) return true;
  const bool is_last = reports_ + 1 == options_.count;
  report(session, seconds, is_last);
  while (next_ <= seconds) next_ += options_.interval;
  return !is_last;
}

// Beside those of the interval, which go on as before.
void LeaksWatcher::asked(Session& session, double seconds) {
  if (request_.format != nullptr && (request_.output.empty() || request_.output == "-")) {
    std::cerr << "memflame: SIGUSR1: standard output gets the last picture only; add -o FILE\n";
    return;
  }
  report(session, seconds, false);
  --reports_;
}

void LeaksWatcher::end(Session& session, double seconds) {
  if (options_.count == 0 || reports_ < options_.count) report(session, seconds, true);
}

void LeaksWatcher::report(Session& session, double seconds, bool is_last) {
  ++reports_;
  snapshot_ =
      take_snapshot(session, {.older_ns = options_.older_ns, .blocks = options_.show_blocks});
  if (request_.format == nullptr) {
    print(session, seconds, old_stacks(options_.top));
  } else if (!is_last && !request_.output.empty() && request_.output != "-") {
    write_picture(session, seconds, old_stacks(SIZE_MAX));
  }
}

// The largest ones, in order.
std::vector<const LiveStack*> LeaksWatcher::old_stacks(size_t most) const {
  std::vector<const LiveStack*> stacks;
  for (const LiveStack& stack : snapshot_.stacks)
    if (stack.old.bytes != 0 || stack.old.blocks != 0) stacks.push_back(&stack);
  const auto end = stacks.begin() + static_cast<std::ptrdiff_t>(std::min(most, stacks.size()));
  std::partial_sort(stacks.begin(), end, stacks.end(),
                    [by_count = options_.by_count](const LiveStack* a, const LiveStack* b) {
                      const auto rank = [&](const LiveStack* stack) {
                        const auto& [bytes, blocks, v, w] = stack->old;
                        return by_count ? std::tuple(-blocks, -bytes, stack->key)
                                        : std::tuple(-bytes, -blocks, stack->key);
                      };
                      return rank(a) < rank(b);
                    });
  stacks.erase(end, stacks.end());
  return stacks;
}

void LeaksWatcher::print(Session& session, double seconds,
                         const std::vector<const LiveStack*>& stacks) {
  name(session, stacks);
  Report report{.clock = clock_text(),
                .seconds = seconds,
                .live = snapshot_.live,
                .live_before = live_before_,
                .older_ns = options_.older_ns,
                .old = snapshot_.old,
                .stacks = 0,
                .top = {},
                .by_count = options_.by_count,
                .sampling = sampling_of(session.options()),
                .losses = session.losses(),
                .unseen_frees = session.counters().unseen_frees};
  for (const LiveStack* stack : stacks) report.top.push_back(describe(session, *stack));
  before_.clear();
  for (const LiveStack& stack : snapshot_.stacks) {
    if (stack.old.bytes == 0 && stack.old.blocks == 0) continue;
    before_[stack.key] = stack.old;
    ++report.stacks;
  }
  live_before_ = snapshot_.live;
  *lines_ << report_text(report, options_.exact);
  flush();
}

ReportedStack LeaksWatcher::describe(Session& session, const LiveStack& stack) const {
  ReportedStack reported{.amount = stack.old,
                         .before = {},
                         .process = {},
                         .frames = {},
                         .blocks = stack.blocks,
                         .blocks_left_out = 0};
  if (live_before_) {
    const auto before = before_.find(stack.key);
    reported.before = before == before_.end() ? Amount{} : before->second;
  }
  if (const auto names = names_.find(stack.key); names != names_.end()) {
    reported.process = names->second.process;
    reported.frames = names->second.frames;
  }
  if (!reported.process.empty() && session.spaces().has_ended(stack.stack.space))
    reported.process += ", which has ended";
  std::sort(reported.blocks.begin(), reported.blocks.end(),
            [](const LiveBlock& a, const LiveBlock& b) {
              return std::tuple(b.age_ns, a.address) < std::tuple(a.age_ns, b.address);
            });
  if (reported.blocks.size() > options_.blocks_per_stack) {
    reported.blocks_left_out = reported.blocks.size() - options_.blocks_per_stack;
    reported.blocks.resize(options_.blocks_per_stack);
  }
  return reported;
}

// Only what is printed gets names, and only once. Nobody takes records from the ring meanwhile, so
// debug servers are not asked.
void LeaksWatcher::name(Session& session, const std::vector<const LiveStack*>& stacks) {
  if (names_.size() > most_names) names_.clear();
  std::vector<const LiveStack*> unknown;
  for (const LiveStack* stack : stacks)
    if (!names_.contains(stack->key)) unknown.push_back(stack);
  if (unknown.empty()) return;
  Recording recording = recording_of(session, unknown, options_.by_count);
  symbolize(recording, {.debug_servers = false});
  const std::vector<Aggregate> sums = std::move(recording.sums);
  for (size_t i = 0; i < unknown.size(); ++i) {
    recording.sums = {sums[i]};
    const Profile profile = fold(recording, {.pid = false, .lines = true});
    names_[unknown[i]->key] = {process_of(recording, unknown[i]->stack.space), frames_of(profile)};
  }
}

// The picture of the last report is made by those who have the whole recording.
void LeaksWatcher::write_picture(Session& session, double seconds,
                                 const std::vector<const LiveStack*>& stacks) const {
  Recording recording = recording_of(session, stacks, options_.by_count);
  recording.meta.seconds = seconds;
  recording.meta.sampling = sampling_of(session.options());
  const Profile profile =
      prepared(profile_of(recording, request_, false), request_.transform, request_.render);
  write_output(
      request_.output,
      [&](std::ostream& out) { request_.format->write(out, profile, request_.render); },
      request_.readers);
}

bool LeaksWatcher::wants_results(Recording& recording) {
  const bool sampled = !recording.types.empty() && recording.types[0].variance != no_column;
  show_live(recording, old_stacks(SIZE_MAX), options_.by_count, sampled);
  return request_.format != nullptr || !request_.summary.empty() || request_.verbose ||
         request_.probe.check;
}

void LeaksWatcher::print_call(const bpf::call_record& call, const std::string& function) {
  *lines_ << call_text(call, function, start_ns_);
}

void LeaksWatcher::flush() {
  lines_->flush();
  if (*lines_) return;
  const bool is_file =
      request_.format == nullptr && !request_.output.empty() && request_.output != "-";
  throw Error((is_file ? request_.output : std::string("standard output")) +
              " could not be written");
}

}  // namespace memflame
