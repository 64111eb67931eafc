// SPDX-License-Identifier: BSD-2-Clause
// Functions whose names are awkward in folded text, XML, JSON and regular expressions. Each
// allocates an amount of its own.
#include <cstdlib>
#include <functional>

namespace {

void* volatile sink = nullptr;

template <class Key, class Compare>
struct Box {
  Key key;
  [[gnu::noinline]] bool operator<(const Box& other) const {
    sink = malloc(1001);
    return Compare{}(key, other.key);
  }
  template <class Function>
  [[gnu::noinline]] Box& operator<<(Function function) {
    function();
    return *this;
  }
};

[[gnu::noinline]] void hidden(const char* /*text*/) { sink = malloc(1003); }

struct Literal {
  [[gnu::noinline]] explicit operator bool() const {
    sink = malloc(1004);
    return true;
  }
};

}  // namespace

// A symbol may be any bytes; this one has what folded text and XML use as marks.
extern "C" void hostile_symbol() asm("\"amp&<tag>;semi colon's]]> 12\"");
[[gnu::noinline]] void hostile_symbol() { sink = malloc(1005); }

int main() {
  Box<int, std::less<>> box{1};
  const bool less = box < Box<int, std::less<>>{2};
  box << [] { sink = malloc(1002); };
  hidden("");
  const bool literal = static_cast<bool>(Literal{});
  hostile_symbol();
  return less && literal ? 0 : 1;
}
