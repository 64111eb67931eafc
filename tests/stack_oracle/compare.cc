// SPDX-License-Identifier: BSD-2-Clause
#include "tests/stack_oracle/compare.h"

#include <algorithm>
#include <iomanip>
#include <sstream>

#include "probes/bpf/shared.h"

namespace memflame::oracle {
namespace {

// Longer walks of the other unwinder are not followed.
constexpr size_t frames_beyond = 2000;

std::string stop_name(uint32_t stop) {
  switch (stop) {
    case bpf::stop_end:
      return "complete";
    case bpf::stop_no_frame_pointer:
      return "no_frame_pointer";
    case bpf::stop_too_deep:
      return "too_deep";
    case bpf::stop_unreadable:
      return "unreadable";
    case bpf::stop_no_mapping:
      return "no_mapping";
    case bpf::stop_no_table:
      return "no_table";
    case bpf::stop_bad_row:
      return "bad_row";
    case bpf::stop_backwards:
      return "backwards";
    case bpf::stop_copy_ended:
      return "copy_ended";
    default:
      return "stop " + std::to_string(stop);
  }
}

std::string code_name(Code code) {
  switch (code) {
    case Code::unwind_information:
      return "code with unwind information";
    case Code::gap:
      return "a gap in a file's unwind information";
    case Code::no_file:
      return "generated code";
    case Code::vdso:
      return "the vdso";
    case Code::trampoline:
      return "the return-probe trampoline";
  }
  return "";
}

Verdict named(std::string name, size_t frames) { return {std::move(name), true, frames}; }
Verdict unexplained(std::string name, size_t frames) {
  return {"UNEXPLAINED: " + std::move(name), false, frames};
}

// Where libdwfl knows nothing, the kernel's walk cannot be checked.
bool libdwfl_is_blind(Code code) { return code == Code::gap || code == Code::no_file; }

Verdict same_frames(const DumpedStack& stack, const Walk& walk, Code code) {
  const size_t frames = stack.pcs.size();
  const std::string over = walk.trampolines == 0 ? "" : ", over return-probe trampolines";
  const bool complete = stack.stop == bpf::stop_end;
  if (walk.end == WalkEnd::copy_ended)
    return named("equal up to the end of the copy" + over, frames);
  if (walk.end == WalkEnd::outermost)
    return complete
               ? named("equal" + over, frames)
               : unexplained("marked " + stop_name(stack.stop) + " at the outermost frame", frames);
  if (!complete) return named("equal, both stop: marked " + stop_name(stack.stop), frames);
  if (libdwfl_is_blind(code))
    return named("equal, libdwfl cannot tell whether it ends in " + code_name(code), frames);
  return unexplained("complete where libdwfl fails (" + walk.error + ")", frames);
}

// A walk that reaches the outermost frame is trusted, because a wrong step would not lead there.
Verdict goes_on(const DumpedStack& stack, const Walk& walk, Code code) {
  const size_t frames = walk.pcs.size();
  if (walk.end == WalkEnd::copy_ended)
    return named(walk.trampolines == 0
                     ? "equal up to the end of the copy"
                     : "equal up to the end of the copy, over return-probe trampolines",
                 frames);
  if (libdwfl_is_blind(code) && stack.stop == bpf::stop_end)
    return named("complete, libdwfl ends in " + code_name(code), frames);
  if (walk.end == WalkEnd::outermost)
    return unexplained("goes on beyond the outermost frame", frames);
  return unexplained("libdwfl fails (" + walk.error + ") in " + code_name(code), frames);
}

// In a gap libdwfl follows rbp, and leaves out the direct caller if no frame was set up. Our walk
// is right if it has one frame more, agrees in the rest, and reaches the outermost frame.
bool leaves_out_one(const DumpedStack& stack, const Walk& walk, size_t equal) {
  return stack.stop == bpf::stop_end && stack.pcs.size() == walk.pcs.size() + 1 &&
         std::equal(walk.pcs.begin() + static_cast<ptrdiff_t>(equal), walk.pcs.end(),
                    stack.pcs.begin() + static_cast<ptrdiff_t>(equal) + 1);
}

}  // namespace

Verdict compare(const DumpedStack& stack, Process& process) {
  if (!process.has_mappings())
    return named("not checked: the process is gone, its mappings too", 0);
  const Walk walk = process.walk(stack, stack.pcs.size() + frames_beyond);
  const auto [ours, theirs] =
      std::mismatch(stack.pcs.begin(), stack.pcs.end(), walk.pcs.begin(), walk.pcs.end());
  const auto equal = static_cast<size_t>(ours - stack.pcs.begin());
  if (walk.pcs.empty()) return unexplained("libdwfl fails at once (" + walk.error + ")", 0);
  if (equal == 0) return unexplained("another first frame", 0);
  const Code code = process.code_at(stack.pcs[equal - 1] - (equal == 1 ? 0 : 1));
  if (ours == stack.pcs.end() && theirs == walk.pcs.end()) return same_frames(stack, walk, code);
  if (theirs == walk.pcs.end()) return goes_on(stack, walk, code);
  if (ours == stack.pcs.end() && stack.stop != bpf::stop_end)
    return named("equal, marked " + stop_name(stack.stop) + " where libdwfl goes on", equal);
  if (ours == stack.pcs.end()) return unexplained("complete where libdwfl goes on", equal);
  if (libdwfl_is_blind(code) && leaves_out_one(stack, walk, equal))
    return named("complete, libdwfl leaves out the caller of " + code_name(code), equal);
  return unexplained("another caller of " + code_name(code), equal);
}

std::string side_by_side(const DumpedStack& stack, Process& process) {
  const Walk walk = process.walk(stack, stack.pcs.size() + 3);
  std::ostringstream text;
  text << "  pid " << stack.pid << (stack.at_entry ? ", at a function's entry" : "") << std::hex
       << ", rsp 0x" << stack.rsp() << ", rbp 0x" << stack.registers[reg_rbp] << std::dec << ", "
       << stack.memory.size() << " bytes, marked " << stop_name(stack.stop) << '\n';
  const size_t most = std::max(stack.pcs.size(), walk.pcs.size());
  size_t equal = 0;
  const auto pc = [](const std::vector<uint64_t>& pcs, size_t i) {
    return i < pcs.size() ? pcs[i] : 0;
  };
  while (equal < most && pc(stack.pcs, equal) == pc(walk.pcs, equal)) ++equal;
  // Only the equal frames just before the difference matter.
  for (size_t i = equal > 4 ? equal - 4 : 0; i < std::min(most, equal + 6); ++i) {
    const std::string ours = i < stack.pcs.size() ? process.place(stack.pcs[i]) : "-";
    const std::string theirs = i < walk.pcs.size() ? process.place(walk.pcs[i]) : "-";
    text << "  " << std::setw(4) << i << (ours == theirs ? "   " : " ! ") << std::left
         << std::setw(48) << ours << theirs << std::right << '\n';
  }
  if (!walk.error.empty()) text << "       libdwfl: " << walk.error << '\n';
  return text.str();
}

}  // namespace memflame::oracle
