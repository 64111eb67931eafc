// SPDX-License-Identifier: BSD-2-Clause
#include "probes/unwind/known_function.h"

#include <algorithm>
#include <initializer_list>

#include "probes/unwind/instructions.h"

namespace memflame::unwind {
namespace {

// The largest of gcc's startup code have 27 instructions and 106 bytes.
constexpr size_t max_size = 256, max_instructions = 64;

// Where things are on the stack. Slots count as those of rows do: n is at CFA - 8 * n.
struct State {
  uint16_t words = 1;        // CFA = rsp + 8 * words
  uint8_t rbp = 0, rbx = 0;  // slots; 0: unchanged
  uint16_t framed = 0;       // CFA = rbp + 8 * framed; 0: rbp is not a frame pointer
  bool operator==(const State&) const = default;
};

struct Point {
  size_t at = 0;
  State state;
};

// An instruction that only computes: in registers other than rsp and rbp, and in memory at fixed
// addresses.
bool computes(Instructions& in) {
  Instructions next = in;
  const bool wide = next.pass({0x48});
  const int code = next.peek();
  if (!next.skip(1)) return false;
  const auto is_one_of = [code](std::initializer_list<int> codes) {
    return std::find(codes.begin(), codes.end(), code) != codes.end();
  };
  const bool loads = !wide && code >= 0xb8 && code <= 0xbf && code != 0xbc && code != 0xbd;
  if (loads || is_one_of({0x05, 0x2d, 0x3d})) {  // mov $x,%reg; add, sub, cmp $x,%rax
    if (!next.skip(4)) return false;
    in = next;
    return true;
  }
  // add, sub, xor, cmp (both ways), test, mov (both ways), lea
  const bool two_registers =
      is_one_of({0x01, 0x03, 0x29, 0x2b, 0x31, 0x33, 0x39, 0x3b, 0x85, 0x89, 0x8b, 0x8d});
  const bool moves = is_one_of({0xc6, 0xc7});  // mov $x
  // Arithmetic with $x of 8 bits, shifts by $x; arithmetic with 32 bits; shifts by 1.
  if (!two_registers && !moves && !is_one_of({0x80, 0x83, 0xc0, 0xc1, 0x81, 0xd1})) return false;
  const size_t operand = is_one_of({0x81, 0xc7}) ? 4 : two_registers || code == 0xd1 ? 0 : 1;
  const int modrm = next.peek();
  if (!next.skip(1)) return false;
  const int mod = modrm >> 6, reg = modrm >> 3 & 7, rm = modrm & 7;
  const auto is_frame = [](int number) { return number == 4 || number == 5; };  // rsp, rbp
  if ((two_registers && is_frame(reg)) || (moves && reg != 0)) return false;
  if (mod == 3 ? is_frame(rm) : mod != 0) return false;
  // In memory: x(%rip), or x without registers.
  if (mod == 0 && rm != 5 && !(rm == 4 && next.pass({0x25}))) return false;
  if (!next.skip((mod == 0 ? 4 : 0) + operand)) return false;
  in = next;
  return true;
}

bool calls(Instructions& in) {
  return in.pass({0xe8}, 4) || in.pass({0x67, 0xe8}, 4) ||  // call x
         in.pass({0xff, 0x15}, 4) ||                        // call *x(%rip)
         in.pass({0xff, 0xd0}) ||                           // call *%rax
         in.pass({0xff, 0xd1}) ||                           // call *%rcx
         in.pass({0xff, 0x14, 0xc5}, 4) ||                  // call *x(,%rax,8)
         in.pass({0xff, 0x14, 0xc2});                       // call *(%rdx,%rax,8)
}

// A conditional jump. `target`: the offset that it leads to.
bool branches(Instructions& in, size_t& target) {
  Instructions next = in;
  next.pass({0xf2});
  const bool far = next.pass({0x0f});
  const int first = far ? 0x80 : 0x70, code = next.peek();
  if (code < first || code > first + 15 || !next.skip(far ? 5 : 2)) return false;
  target = next.at() + static_cast<size_t>(next.number(far ? 4 : 1));
  in = next;
  return true;
}

// The last instruction of a path.
bool leaves(Instructions& in) {
  return in.pass({0xc3}) || in.pass({0xf3, 0xc3}) || in.pass({0xf2, 0xc3}) ||  // ret
         in.pass({0xff, 0xe0}) || in.pass({0x3e, 0xff, 0xe0}) ||               // jmp *%rax
         in.pass({0xf2, 0xff, 0xe0}) || in.jump() ||                           //
         in.pass({0xe9}, 4) || in.pass({0xeb}, 1) || in.pass({0xf2, 0xe9}, 4);
}

// Passes an instruction that moves rsp or rbp. False if it is another one, or is wrong in this
// state.
bool moves(Instructions& in, State& state) {
  if (in.pass({0x55})) {  // push %rbp
    ++state.words;
    if (state.rbp != 0) return false;
    state.rbp = static_cast<uint8_t>(state.words);
  } else if (in.pass({0x48, 0x89, 0xe5})) {  // mov %rsp,%rbp
    if (state.rbp == 0) return false;
    state.framed = state.words;
  } else if (in.pass({0x53})) {  // push %rbx
    ++state.words;
    if (state.rbx != 0) return false;
    state.rbx = static_cast<uint8_t>(state.words);
  } else if (in.pass({0x48, 0x83, 0xec, 8})) {  // sub $8,%rsp
    ++state.words;
  } else if (in.pass({0x48, 0x83, 0xc4, 8})) {  // add $8,%rsp
    if (state.words < 2 || state.words == state.rbp || state.words == state.rbx) return false;
    --state.words;
  } else if (in.pass({0x5b})) {  // pop %rbx
    if (state.rbx == 0 || state.words != state.rbx) return false;
    --state.words;
    state.rbx = 0;
  } else if (in.pass({0xc9}) || in.pass({0x5d})) {  // leave, pop %rbp
    const bool leave = in.number(1) == static_cast<int8_t>(0xc9);
    if (state.rbp == 0 || (leave ? state.framed : state.words) != state.rbp) return false;
    state.words = static_cast<uint16_t>(state.rbp - 1);
    state.rbp = 0;
    state.framed = 0;
    if (state.rbx > state.words) return false;
  } else {
    return false;
  }
  return state.words <= max_instructions;
}

row rule(const Point& p) {
  return {static_cast<uint32_t>(p.at), p.state.words,
          static_cast<row_u8>(row_rsp | p.state.rbx << 4), p.state.rbp};
}

// Follows each path from the first byte.
class CodeReader {
 public:
  explicit CodeReader(Bytes code) : in_(code.first(std::min(code.size(), max_size))) {}

  std::optional<KnownFunction> read() {
    std::optional<State> state = State{};
    in_.landing();
    passed_.push_back({0, *state});
    while (passed_.size() < max_instructions) {
      if (!meet(state)) return std::nullopt;
      if (!state) {
        if (ahead_.empty()) return result();
        if (!in_.padding()) return std::nullopt;
        continue;
      }
      passed_.push_back({in_.at(), *state});
      if (!pass(state)) return std::nullopt;
    }
    return std::nullopt;
  }

 private:
  // Paths that meet here must agree; none may lead into the middle of an instruction.
  bool meet(std::optional<State>& state) {
    for (auto jump = ahead_.begin(); jump != ahead_.end();) {
      if (jump->at < in_.at()) return false;
      if (jump->at > in_.at()) {
        ++jump;
        continue;
      }
      if (state && *state != jump->state) return false;
      state = jump->state;
      jump = ahead_.erase(jump);
    }
    return true;
  }

  bool pass(std::optional<State>& state) {
    size_t target = 0;
    const size_t at = in_.at();
    if (branches(in_, target)) return jump({target, *state});
    if (moves(in_, *state)) return true;
    if (in_.at() != at) return false;
    if (leaves(in_)) {
      const bool clean = state->words == 1;
      state.reset();
      return clean;
    }
    return in_.nop() || pass_flag() || calls(in_) || computes(in_) ||
           in_.pass({0x48, 0x83, 0x3f, 0});  // cmpq $0,(%rdi)
  }

  bool jump(Point to) {
    if (to.at >= max_size) return false;  // unsigned: also if before the first byte
    if (to.at >= in_.at()) {
      ahead_.push_back(to);
      return true;
    }
    return std::any_of(passed_.begin(), passed_.end(),
                       [&](const Point& p) { return p.at == to.at && p.state == to.state; });
  }

  // cmpb $0,x(%rip) or movb $1,x(%rip)
  bool pass_flag() {
    Instructions tests = in_, sets = in_;
    const bool is_test = tests.pass({0x80, 0x3d}, 4) && tests.pass({0});
    if (!is_test && !(sets.pass({0xc6, 0x05}, 4) && sets.pass({1}))) return false;
    in_ = is_test ? tests : sets;
    const int64_t x = static_cast<int64_t>(in_.at()) + in_.number(4, 1);
    if (is_test)
      tested_ = x;
    else
      has_flag_ = has_flag_ || tested_ == x;
    return true;
  }

  KnownFunction result() const {
    KnownFunction found{in_.at(), {}, has_flag_};
    for (const Point& p : passed_) {
      const row next = rule(p);
      if (found.rows.empty() || next.cfa != found.rows.back().cfa ||
          next.kind != found.rows.back().kind || next.rbp != found.rows.back().rbp)
        found.rows.push_back(next);
    }
    return found;
  }

  Instructions in_;
  std::vector<Point> passed_;  // beginnings of instructions
  std::vector<Point> ahead_;   // where jumps lead
  std::optional<int64_t> tested_;
  bool has_flag_ = false;
};

}  // namespace

std::optional<KnownFunction> known_function(Bytes code) { return CodeReader(code).read(); }

}  // namespace memflame::unwind
