#include "probes/unwind/startup_code.h"

#include <string.h>

#include <algorithm>
#include <optional>

#include "probes/unwind/instructions.h"

namespace memflame::unwind {
namespace {

constexpr uint64_t align = 16;  // of each function; libgcc builds this file with -O2 always
// Of one function: the largest seen have 27 instructions and 106 bytes.
constexpr size_t max_size = 256, max_instructions = 64;
// From deregister_tm_clones to __do_global_dtors_aux: 96 to 160 bytes.
constexpr uint64_t max_before = 256;

// cmpb $0,x(%rip): how __do_global_dtors_aux begins.
constexpr unsigned char test_of_flag[] = {0x80, 0x3d};

// Where things are on the stack. Slots count as those of rows do: n is at CFA - 8 * n.
struct State {
  uint16_t words = 1;        // CFA = rsp + 8 * words
  uint8_t rbp = 0, rbx = 0;  // slots; 0: unchanged
  uint16_t framed = 0;       // rbp is what rsp was when there were so many words; 0: it is not
  bool operator==(const State&) const = default;
};

struct Point {
  size_t at = 0;
  State state;
};

struct Function {
  size_t size = 0;
  std::vector<row> rows;
  bool has_flag = false;  // it has cmpb $0,x and then movb $1,x of the same x
};

// An instruction that only computes: in registers other than rsp and rbp, and in memory at fixed
// addresses.
bool computes(Instructions& in) {
  Instructions next = in;
  const bool wide = next.pass({0x48});
  const int code = next.peek();
  if (!next.skip(1)) return false;
  if (code >= 0xb8 && code <= 0xbf) {  // mov $x,%reg
    if (wide || code == 0xbc || code == 0xbd || !next.skip(4)) return false;
    in = next;
    return true;
  }
  size_t operand = 0;
  bool two = false;  // registers, rather than one and a number
  switch (code) {
    case 0x05:
    case 0x2d:
    case 0x3d:  // add, sub, cmp $x,%rax
      if (!next.skip(4)) return false;
      in = next;
      return true;
    case 0x01:
    case 0x03:
    case 0x29:
    case 0x2b:
    case 0x31:
    case 0x33:
    case 0x39:
    case 0x3b:
    case 0x85:
    case 0x89:
    case 0x8b:
    case 0x8d:  // add, sub, xor, cmp, test, mov, lea
      two = true;
      break;
    case 0x80:
    case 0x83:
    case 0xc0:
    case 0xc1:
    case 0xc6:  // arithmetic, shifts, mov: $x of 8 bits
      operand = 1;
      break;
    case 0x81:
    case 0xc7:
      operand = 4;
      break;
    case 0xd1:  // shifts by 1
      break;
    default:
      return false;
  }
  const int modrm = next.peek();
  if (!next.skip(1)) return false;
  const int mod = modrm >> 6, reg = modrm >> 3 & 7, rm = modrm & 7;
  const auto is_frame = [](int number) { return number == 4 || number == 5; };  // rsp, rbp
  if (two ? is_frame(reg) : (code == 0xc6 || code == 0xc7) && reg != 0) return false;
  if (mod == 3 ? is_frame(rm) : mod != 0) return false;
  if (mod == 0 && rm == 4 && !next.pass({0x25})) return false;  // x, without registers
  if (mod == 0 && rm != 4 && rm != 5) return false;             // x(%rip) is the other
  if (!next.skip((mod == 0 ? 4 : 0) + operand)) return false;
  in = next;
  return true;
}

bool calls(Instructions& in) {
  return in.pass({0xe8}, 4) || in.pass({0x67, 0xe8}, 4) ||  // call x
         in.pass({0xff, 0x15}, 4) ||                        // call *x(%rip)
         in.pass({0xff, 0xd0}) ||                           // call *%rax
         in.pass({0xff, 0x14, 0xc5}, 4) ||                  // call *x(,%rax,8)
         in.pass({0xff, 0x14, 0xc2});                       // call *(%rdx,%rax,8)
}

// A jump that is taken at times. `target`: where to.
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

// The last instruction of a way.
bool leaves(Instructions& in) {
  return in.pass({0xc3}) || in.pass({0xf3, 0xc3}) || in.pass({0xf2, 0xc3}) ||  // ret
         in.pass({0xff, 0xe0}) || in.pass({0x3e, 0xff, 0xe0}) ||               // jmp *%rax
         in.pass({0xf2, 0xff, 0xe0}) || in.jump() ||                           //
         in.pass({0xe9}, 4) || in.pass({0xeb}, 1) || in.pass({0xf2, 0xe9}, 4);
}

// An instruction that moves rsp or rbp. False: it is none, or not one that may come here.
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

// Follows each way from the first byte.
class Reader {
 public:
  explicit Reader(Bytes code) : in_(code.first(std::min(code.size(), max_size))) {}

  std::optional<Function> read() {
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
  // Ways that meet here must agree; none may lead into the middle of an instruction.
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
    return in_.nop() || pass_flag() || calls(in_) || computes(in_);
  }

  bool jump(Point to) {
    if (to.at >= max_size) return false;  // before the first byte as well
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

  Function result() const {
    Function found{in_.at(), {}, has_flag_};
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

// Code at its address.
class Code {
 public:
  Code(Bytes bytes, uint64_t address) : bytes_(bytes), address_(address) {}

  std::optional<KnownCode> function(uint64_t start, bool& has_flag) const {
    std::optional<Function> found = Reader(from(start)).read();
    if (!found) return std::nullopt;
    has_flag = found->has_flag;
    return KnownCode{start, start + found->size, std::move(found->rows)};
  }
  std::optional<KnownCode> function(uint64_t start) const {
    bool has_flag = false;
    return function(start, has_flag);
  }
  // Where the function behind this one begins; 0 when there is more than padding between them.
  uint64_t behind(const KnownCode& function) const {
    const uint64_t next = (function.end + align - 1) & ~(align - 1), gap = next - function.end;
    const Bytes rest = from(function.end);
    return rest.size() > gap && is_padding(rest.first(gap)) ? next : 0;
  }

 private:
  Bytes from(uint64_t start) const { return bytes_.subspan(start - address_); }

  Bytes bytes_;
  uint64_t address_;
};

// The two functions that end where another begins, which lies at `end`.
std::vector<KnownCode> two_before(const Code& code, uint64_t begin, uint64_t end) {
  const uint64_t farthest =
      end - begin < max_before ? (begin + align - 1) & ~(align - 1) : end - max_before;
  for (uint64_t start = farthest; start < end; start += align) {
    std::optional<KnownCode> first = code.function(start);
    const uint64_t next = first ? code.behind(*first) : 0;
    if (next == 0 || next >= end) continue;
    std::optional<KnownCode> second = code.function(next);
    if (second && code.behind(*second) == end) return {std::move(*first), std::move(*second)};
  }
  return {};
}

}  // namespace

std::vector<KnownCode> startup_code(Bytes bytes, uint64_t address) {
  const Code code(bytes, address);
  uint64_t tried = 0;
  for (Bytes rest = bytes; !rest.empty();) {
    const void* hit = ::memmem(rest.data(), rest.size(), test_of_flag, sizeof(test_of_flag));
    if (hit == nullptr) break;
    rest = rest.subspan(static_cast<size_t>(static_cast<const std::byte*>(hit) - rest.data()));
    const uint64_t start = (address + (bytes.size() - rest.size())) & ~(align - 1);
    rest = rest.subspan(sizeof(test_of_flag));
    if (start < address || start == tried) continue;
    tried = start;
    bool has_flag = false;
    std::optional<KnownCode> destructors = code.function(start, has_flag);
    if (!destructors || !has_flag) continue;
    std::vector<KnownCode> found = two_before(code, address, start);
    const uint64_t next = code.behind(*destructors);
    found.push_back(std::move(*destructors));
    if (std::optional<KnownCode> last = next == 0 ? std::nullopt : code.function(next))
      found.push_back(std::move(*last));
    return found;
  }
  return {};
}

}  // namespace memflame::unwind
