// SPDX-License-Identifier: BSD-2-Clause
#include "probes/unwind/followed_code.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <unordered_map>

#include "probes/unwind/instructions.h"
#include "probes/unwind/stack_effect.h"
#include "probes/unwind/stack_state.h"

namespace memflame::unwind {
namespace {

// Limits: bytes of code, each of which takes 4 bytes of memory, and instructions, each of which
// takes about 100. musl has 0.4 MB of code with 100,000 instructions. A state changes at most a few
// times, so the limits bound the time too.
constexpr uint64_t max_code = 16 << 20;
constexpr size_t max_nodes = 1 << 20, max_pointers = 1 << 20;
constexpr uint64_t page_size = 4096;
constexpr uint32_t nothing = UINT32_MAX;

// xor %ebp,%ebp; pop %rdi; call *%r9; mov %eax,%edi; xor %eax,%eax; mov $SYS_exit,%al; syscall: the
// child of musl's __clone, where threads begin.
constexpr unsigned char thread_start[] = {0x31, 0xed, 0x5f, 0x41, 0xff, 0xd1, 0x89,
                                          0xc7, 0x31, 0xc0, 0xb0, 60,   0x0f, 0x05};
// mov $SYS_rt_sigreturn,%rax; syscall: it never returns, and table.cc makes its rows.
constexpr unsigned char restorer[] = {0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05};
constexpr unsigned char syscall[] = {0x0f, 0x05};
// mov $SYS_exit,%eax and mov $SYS_exit_group,%eax, before a syscall.
constexpr unsigned char exits[][5] = {{0xb8, 60, 0, 0, 0}, {0xb8, 231, 0, 0, 0}};

template <size_t size>
bool begins_with(Bytes code, const unsigned char (&wanted)[size]) {
  return code.size() >= size && std::memcmp(code.data(), wanted, size) == 0;
}

struct Node {  // an instruction
  uint64_t address = 0;
  StackEffect effect;
  StackState state;  // before it
  bool reached = false, queued = false;
  bool linked = false, passed = false;  // has an edge to the jump's target, to what is behind it
  bool returns = false;                 // a path leads from here to a return
  uint32_t edge = nothing;              // the first of the edges that lead here
  uint32_t callers = nothing;           // the first of the calls that lead here
};

struct Edge {
  uint32_t from = 0, next = nothing;
};

class Follower {
 public:
  explicit Follower(const UndescribedCode& code) : code_(code), pointers_(code.pointers) {
    uint64_t size = 0;
    for (const UndescribedCode::Part& part : code.parts) {
      size += part.bytes.size();
      if (size > max_code) {
        given_up_ = true;
        return;
      }
    }
    for (const UndescribedCode::Part& part : code.parts)
      nodes_of_.emplace_back(part.bytes.size(), nothing);
    starts_ = code.starts;
    std::ranges::sort(starts_);
  }

  FollowedCode result() {
    if (!given_up_) run();
    if (given_up_) return {{}, true};
    FollowedCode found;
    for (size_t i = 0; i < code_.parts.size(); ++i) found.known.push_back(rows_of(i));
    return found;
  }

 private:
  void run() {
    if (code_.entry != 0) {
      StackState first;
      first.outermost = true;
      reach(code_.entry, first);
    }
    for (const uint64_t start : starts_) reach(start, {});
    drain();
    while (!pointers_.empty() && !given_up_) {
      std::vector<uint64_t> next;
      next.swap(pointers_);
      std::ranges::sort(next);
      for (const uint64_t start : next) {
        if (start % function_align == 0 && !is_reached(start)) reach(start, {});
        drain();
      }
    }
  }

  void drain() {
    while (!given_up_ && (!work_.empty() || !returning_.empty())) {
      if (!work_.empty()) {
        const uint32_t at = work_.back();
        work_.pop_back();
        nodes_[at].queued = false;
        step(at);
        continue;
      }
      const uint32_t at = returning_.back();
      returning_.pop_back();
      for (uint32_t e = nodes_[at].edge; e != nothing; e = edges_[e].next)
        mark_returning(edges_[e].from);
      // If this is where a function begins, its calls return: follow the code behind them.
      for (uint32_t e = nodes_[at].callers; e != nothing; e = edges_[e].next) queue(edges_[e].from);
    }
  }

  // The part that an address lies in; the number of parts: none.
  size_t part_of(uint64_t address) const {
    const auto behind =
        std::ranges::upper_bound(code_.parts, address, {}, &UndescribedCode::Part::start);
    if (behind == code_.parts.begin()) return code_.parts.size();
    const auto part = behind - 1;
    if (address - part->start >= part->bytes.size()) return code_.parts.size();
    return static_cast<size_t>(part - code_.parts.begin());
  }

  Bytes bytes_at(uint64_t address) const {
    const UndescribedCode::Part& part = code_.parts[part_of(address)];
    return part.bytes.subspan(address - part.start);
  }

  bool is_reached(uint64_t address) const {
    const size_t part = part_of(address);
    return part < code_.parts.size() &&
           nodes_of_[part][address - code_.parts[part].start] != nothing;
  }

  // The node of an address; nothing where there is no code to follow.
  uint32_t node(uint64_t address) {
    const size_t part = part_of(address);
    if (part == code_.parts.size()) return nothing;
    uint32_t& found = nodes_of_[part][address - code_.parts[part].start];
    if (found != nothing) return found;
    if (nodes_.size() >= max_nodes) {
      given_up_ = true;
      return nothing;
    }
    found = static_cast<uint32_t>(nodes_.size());
    Node made;
    made.address = address;
    const Bytes bytes = bytes_at(address);
    if (!begins_with(bytes, restorer)) made.effect = stack_effect(bytes, address);
    if (made.effect.length == 0) made.effect.flow = StackEffect::stop;
    nodes_.push_back(made);
    return found;
  }

  void add_edge(uint32_t Node::*list, uint32_t to, uint32_t from) {
    edges_.push_back({from, nodes_[to].*list});
    nodes_[to].*list = static_cast<uint32_t>(edges_.size() - 1);
  }

  void queue(uint32_t at) {
    if (nodes_[at].queued) return;
    nodes_[at].queued = true;
    work_.push_back(at);
  }

  void mark_returning(uint32_t at) {
    if (nodes_[at].returns) return;
    nodes_[at].returns = true;
    returning_.push_back(at);
  }

  // A path leads to `address`, with this state.
  void reach(uint64_t address, const StackState& state) {
    const uint32_t at = node(address);
    if (at == nothing) return;
    Node& to = nodes_[at];
    if (!to.reached) {
      to.reached = true;
      to.state = state;
      if (begins_with(bytes_at(address), thread_start)) to.state.outermost = true;
    } else if (to.state == state || !to.state.meet(state)) {
      return;
    }
    queue(at);
  }

  // If the code at `to` returns, so does `from`. `is_known`: the edge exists already.
  void link(uint32_t from, uint64_t to, bool is_known) {
    if (is_known) return;
    const uint32_t at = node(to);
    if (at == nothing) return mark_returning(from);  // described code: it may well return
    add_edge(&Node::edge, at, from);
    if (nodes_[at].returns) mark_returning(from);
  }

  bool is_start(uint64_t address) const { return std::ranges::binary_search(starts_, address); }

  // Whether this system call ends the thread or the program.
  bool exits_at(uint64_t address) const {
    const UndescribedCode::Part& part = code_.parts[part_of(address)];
    const uint64_t offset = address - part.start;
    if (offset < sizeof(exits[0]) || !begins_with(part.bytes.subspan(offset), syscall))
      return false;
    const Bytes before = part.bytes.subspan(offset - sizeof(exits[0]));
    return std::ranges::any_of(exits, [&](const auto& e) { return begins_with(before, e); });
  }

  // Whether a function ends before this address, as far as the bytes there tell.
  bool ends_before(uint64_t address) const {
    const size_t part = part_of(address);
    if (part == code_.parts.size() || is_start(address)) return true;
    Instructions in(bytes_at(address));
    if (!in.nop()) return false;
    while (in.nop()) continue;
    return (address + in.at()) % function_align == 0;
  }

  // Whether the function called here returns. A function that is not followed counts as returning,
  // unless a function ends with the call.
  bool comes_back(uint32_t at) {
    const uint64_t behind = nodes_[at].address + nodes_[at].effect.length;
    const uint64_t target = nodes_[at].effect.target;
    const uint32_t called = target == 0 ? nothing : node(target);
    if (called == nothing) return !ends_before(behind);
    if (!nodes_[at].linked) add_edge(&Node::callers, called, at);
    reach(target, {});
    return nodes_[called].returns && !is_start(behind);
  }

  void note_pointer(uint64_t address) {
    if (address >= code_.text && address < code_.text_end && pointers_.size() < max_pointers)
      pointers_.push_back(address);
  }

  // Whether the next instruction is executed after this one.
  bool goes_on(uint32_t at) {
    const StackEffect::Flow flow = nodes_[at].effect.flow;
    if (flow == StackEffect::call) return comes_back(at);
    return flow == StackEffect::branch ||
           (flow == StackEffect::next && !exits_at(nodes_[at].address));
  }

  void step(uint32_t at) {
    const StackEffect effect = nodes_[at].effect;
    const uint64_t address = nodes_[at].address, behind = address + effect.length;
    StackState state = nodes_[at].state;
    state.apply(effect);
    note_pointer(effect.pointer);
    // Multiples of a page are more often sizes than addresses.
    if (code_.absolute && effect.number % page_size != 0) note_pointer(effect.number);
    const bool jumps = effect.flow == StackEffect::jump || effect.flow == StackEffect::branch;
    if (jumps) {
      link(at, effect.target, nodes_[at].linked);
      reach(effect.target, state);
    }
    // If the height is unknown, this switches to another stack, as longjmp() does, and is not a
    // return.
    if (effect.flow == StackEffect::leave && (state.words || state.framed)) mark_returning(at);
    if (goes_on(at)) {
      link(at, behind, nodes_[at].passed);
      reach(behind, state);
      nodes_[at].passed = true;
    }
    nodes_[at].linked = true;
  }

  KnownCode rows_of(size_t number) const {
    const UndescribedCode::Part& part = code_.parts[number];
    const std::vector<uint32_t>& nodes = nodes_of_[number];
    KnownCode known{part.start, part.start + part.bytes.size(), {}};
    const auto add = [&](size_t at, row rule) {
      rule.pc = static_cast<uint32_t>(at);
      const auto same = [&](const row& r) {
        return r.kind == rule.kind && r.cfa == rule.cfa && r.rbp == rule.rbp;
      };
      if (known.rows.empty() || !same(known.rows.back())) known.rows.push_back(rule);
    };
    for (size_t at = 0; at < part.bytes.size();) {
      const uint32_t found = nodes[at];
      if (found != nothing && nodes_[found].reached && nodes_[found].effect.length != 0) {
        const size_t end = std::min(at + nodes_[found].effect.length, part.bytes.size());
        add(at, nodes_[found].state.rule());
        ++at;
        // Another path may lead into the middle of an instruction.
        while (at < end && (nodes[at] == nothing || !nodes_[nodes[at]].reached)) ++at;
        continue;
      }
      const size_t start = at;
      do ++at;
      while (at < part.bytes.size() && (nodes[at] == nothing || !nodes_[nodes[at]].reached ||
                                        nodes_[nodes[at]].effect.length == 0));
      const bool pads =
          at - start < max_padding && is_padding(part.bytes.subspan(start, at - start));
      add(start, {0, 0, static_cast<row_u8>(pads ? row_padding : row_bad), 0});
    }
    return known;
  }

  const UndescribedCode& code_;
  std::vector<uint64_t> starts_, pointers_;
  std::vector<std::vector<uint32_t>> nodes_of_;  // of each part, by offset
  std::vector<Node> nodes_;
  std::vector<Edge> edges_;
  std::vector<uint32_t> work_, returning_;
  bool given_up_ = false;
};

}  // namespace

FollowedCode follow(const UndescribedCode& code) { return Follower(code).result(); }

}  // namespace memflame::unwind
