// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/symbolize/rust_v0.h"

#include "collapse/symbolize/rust_v0_reader.h"
#include "collapse/symbolize/utf8.h"

namespace memflame {
namespace {

using rust_v0::BadName;
using rust_v0::basic_type;

// Follows the grammar of RFC 2603, one function per rule; each consumes its part and appends its
// meaning.
class Demangler : private rust_v0::Reader {
 public:
  Demangler(std::string_view name, size_t max_size) : Reader(name), max_size_(max_size) {}

  std::string run() {
    path(false);
    if (!at_end()) unseen_path();  // the crate that instantiated a generic function
    if (!at_end()) throw BadName();
    return std::move(out_);
  }

 private:
  void put(std::string_view text) {
    if (text.size() > max_size_ - out_.size()) throw BadName();
    out_ += text;
  }

  // Parts can refer back to earlier parts, so a short name can be deep, and long once spelled out.
  // Depth, length and the number of steps are bounded.
  struct Level {
    explicit Level(Demangler& d) : depth(d.depth_) {
      if (++depth > 200 || ++d.steps_ > 1 << 20) throw BadName();
    }
    ~Level() { --depth; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;
    int& depth;
  };

  template <class Rule>
  void back_reference(size_t here, Rule rule) {
    const uint64_t target = base62();
    if (target >= here) throw BadName();
    const size_t resume = position();
    move_to(target);
    rule();
    move_to(resume);
  }

  void unseen_path() {
    const size_t shown = out_.size();
    path(false);
    out_.resize(shown);
  }

  void path(bool in_type) {
    const Level level(*this);
    const size_t here = position();
    switch (const char kind = take()) {
      case 'C':
        disambiguator();
        put(identifier());
        break;
      case 'M':
      case 'X':
        disambiguator();
        unseen_path();  // the place of the impl
        [[fallthrough]];
      case 'Y':
        put("<");
        type();
        if (kind != 'M') {
          put(" as ");
          path(true);
        }
        put(">");
        break;
      case 'N':
        nested(in_type);
        break;
      case 'I':
        path(in_type);
        put(in_type ? "<" : "::<");
        list([this] { generic_argument(); });
        put(">");
        break;
      case 'B':
        back_reference(here, [&] { path(in_type); });
        break;
      default:
        throw BadName();
    }
  }

  void nested(bool in_type) {
    const char space = take();
    path(in_type);
    const uint64_t number = disambiguator();
    const std::string name = identifier();
    if (space >= 'A' && space <= 'Z') {
      put("::{");
      put(space == 'C' ? "closure" : space == 'S' ? "shim" : std::string(1, space));
      if (!name.empty()) put(":" + name);
      put("#" + std::to_string(number) + "}");
    } else if (space < 'a' || space > 'z') {
      throw BadName();
    } else if (!name.empty()) {
      put("::" + name);
    }
  }

  // The items before "E", separated by commas; returns how many there were.
  template <class Rule>
  size_t list(Rule rule) {
    size_t count = 0;
    for (; !took('E'); ++count) {
      if (count != 0) put(", ");
      rule();
    }
    return count;
  }

  void generic_argument() {
    if (took('L'))
      lifetime(base62());
    else if (took('K'))
      constant();
    else
      type();
  }

  void lifetime(uint64_t index) {
    if (index == 0) return put("'_");
    if (index > bound_) throw BadName();
    const uint64_t depth = bound_ - index;
    put("'");
    put(depth < 26 ? std::string(1, static_cast<char>('a' + depth)) : "_" + std::to_string(depth));
  }

  // "for<'a, 'b> "; the caller resets bound_.
  void binder() {
    if (!took('G')) return;
    const uint64_t count = base62() + 1;
    if (count > 1024) throw BadName();
    put("for<");
    for (uint64_t i = 0; i < count; ++i) {
      if (i != 0) put(", ");
      ++bound_;
      lifetime(1);
    }
    put("> ");
  }

  void type() {
    const Level level(*this);
    const size_t here = position();
    const char kind = take();
    if (const std::string_view basic = basic_type(kind); !basic.empty()) return put(basic);
    switch (kind) {
      case 'A':
      case 'S':
        put("[");
        type();
        if (kind == 'A') {
          put("; ");
          constant();
        }
        return put("]");
      case 'T': {
        put("(");
        const size_t count = list([this] { type(); });
        return put(count == 1 ? ",)" : ")");
      }
      case 'R':
      case 'Q':
        put("&");
        if (took('L'))
          if (const uint64_t index = base62(); index != 0) {
            lifetime(index);
            put(" ");
          }
        if (kind == 'Q') put("mut ");
        return type();
      case 'P':
      case 'O':
        put(kind == 'P' ? "*const " : "*mut ");
        return type();
      case 'F':
        return function_type();
      case 'D':
        return dyn_type();
      case 'B':
        return back_reference(here, [this] { type(); });
      default:
        move_to(here);
        return path(true);
    }
  }

  void function_type() {
    const uint64_t outer = bound_;
    binder();
    if (took('U')) put("unsafe ");
    if (took('K')) {
      std::string abi = took('C') ? "C" : identifier();
      for (char& c : abi)
        if (c == '_') c = '-';
      put("extern \"" + abi + "\" ");
    }
    put("fn(");
    list([this] { type(); });
    put(")");
    if (!took('u')) {
      put(" -> ");
      type();
    }
    bound_ = outer;
  }

  void dyn_type() {
    const uint64_t outer = bound_;
    put("dyn ");
    binder();
    for (bool first = true; !took('E'); first = false) {
      if (!first) put(" + ");
      dyn_trait();
    }
    bound_ = outer;
    if (!took('L')) throw BadName();
    if (const uint64_t index = base62(); index != 0) {
      put(" + ");
      lifetime(index);
    }
  }

  // The bindings of associated types stand in the same brackets as the generic arguments.
  void dyn_trait() {
    path(true);
    if (peek() != 'p') return;
    bool open = out_.ends_with('>');
    if (open) out_.pop_back();
    while (took('p')) {
      put(open ? ", " : "<");
      open = true;
      put(identifier() + " = ");
      type();
    }
    put(">");
  }

  void constant() {
    const Level level(*this);
    const size_t here = position();
    const char kind = take();
    if (kind == 'p') return put("_");
    if (kind == 'B') return back_reference(here, [this] { constant(); });
    const std::string_view basic = basic_type(kind);
    if (basic.empty()) throw BadName();
    const bool negative = took('n');
    const std::string_view digits = hex_digits();
    if (digits.size() > 16) return put("0x" + std::string(digits));
    const uint64_t value = digits.empty() ? 0 : std::stoull(std::string(digits), nullptr, 16);
    if (kind == 'b') return put(value == 0 ? "false" : "true");
    if (kind == 'c') {
      std::string text;
      if (value < 0x20 || value > 0x10ffff) return put("'\\u{" + std::string(digits) + "}'");
      append_utf8(text, static_cast<uint32_t>(value));
      return put("'" + text + "'");
    }
    put((negative ? "-" : "") + std::to_string(value));
  }

  size_t max_size_;
  std::string out_;
  uint64_t bound_ = 0;  // lifetimes that binders around here have named
  int depth_ = 0;
  int steps_ = 0;
};

}  // namespace

std::optional<std::string> demangle_rust_v0(std::string_view name, size_t max_size) {
  name.remove_prefix(2);
  try {
    return Demangler(name, max_size).run();
  } catch (const BadName&) {
    return std::nullopt;
  }
}

}  // namespace memflame
