// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/symbolize/demangle.h"

#include <csetjmp>
#include <cstddef>

#include "collapse/symbolize/rust_v0.h"
#include "collapse/symbolize/utf8.h"

// The demangler behind abi::__cxa_demangle, in the static part of libstdc++ (libsupc++). It hands
// the text out in pieces. __cxa_demangle itself collects the whole before it returns, and 200 bytes
// that refer back to themselves a few times make it allocate hundreds of megabytes.
// NOLINTNEXTLINE(clang-diagnostic-reserved-identifier): the name is theirs
extern "C" int __gcclibcxx_demangle_callback(const char* mangled,
                                             void (*callback)(const char*, size_t, void*),
                                             void* opaque);

namespace memflame {
namespace {

constexpr size_t max_name = 65536;  // in either form

struct Output {
  std::jmp_buf too_long;
  size_t size = 0;
  char text[max_name];
};

void append(const char* piece, size_t size, void* opaque) {
  Output& output = *static_cast<Output*>(opaque);
  // The demangler keeps only its own stack, so leaving it this way leaks nothing.
  if (size > max_name - output.size) std::longjmp(output.too_long, 1);
  for (size_t i = 0; i < size; ++i) output.text[output.size++] = piece[i];
}

// Only plain data may live in this frame, as longjmp returns to it.
bool demangle_into(const char* mangled, Output& output) {
  output.size = 0;
  if (setjmp(output.too_long) != 0) return false;
  return __gcclibcxx_demangle_callback(mangled, append, &output) == 0;
}

bool is_hex_number(std::string_view text) {
  return text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// LLVM appends ".llvm.1234" to names that it makes visible.
std::string_view without_llvm_suffix(std::string_view name) {
  return name.substr(0, name.find(".llvm."));
}

// Legacy Rust names are C++ names whose last part is a hash of 16 hex digits.
bool is_legacy_rust(std::string_view name) {
  constexpr size_t hash = 16;
  name = without_llvm_suffix(name);
  return name.size() > hash + 4 && name.ends_with('E') &&
         name.substr(name.size() - hash - 4, 3) == "17h" &&
         is_hex_number(name.substr(name.size() - hash - 1, hash));
}

struct Escape {
  std::string_view code, text;
};
constexpr Escape escapes[] = {{"SP", "@"}, {"BP", "*"}, {"RF", "&"}, {"LT", "<"},
                              {"GT", ">"}, {"LP", "("}, {"RP", ")"}, {"C", ","}};

bool append_escape(std::string& text, std::string_view code) {
  for (const Escape& escape : escapes)
    if (escape.code == code) {
      text += escape.text;
      return true;
    }
  if (!code.starts_with('u') || code.size() < 2 || code.size() > 7 ||
      !is_hex_number(code.substr(1)))
    return false;
  const unsigned long code_point = std::stoul(std::string(code.substr(1)), nullptr, 16);
  if (code_point < 0x20 || !is_code_point(code_point)) return false;
  append_utf8(text, static_cast<uint32_t>(code_point));
  return true;
}

// "_$LT$T$u20$as$u20$Trait$GT$::f::h0123…" -> "<T as Trait>::f"
std::string plain_rust(std::string_view name) {
  name.remove_suffix(std::string_view("::h0123456789abcdef").size());
  std::string text;
  while (!name.empty()) {
    if (name.starts_with("_$") && (text.empty() || text.ends_with(':'))) name.remove_prefix(1);
    if (name.starts_with("..")) {
      text += "::";
      name.remove_prefix(2);
      continue;
    }
    const size_t end = name[0] == '$' ? name.find('$', 1) : std::string_view::npos;
    if (end != std::string_view::npos && append_escape(text, name.substr(1, end - 1))) {
      name.remove_prefix(end + 1);
      continue;
    }
    text += name[0];
    name.remove_prefix(1);
  }
  return text;
}

}  // namespace

std::string demangle(std::string_view name) {
  if (name.size() > max_name) return std::string(name);
  if (name.starts_with("_R")) return demangle_rust_v0(name, max_name).value_or(std::string(name));
  if (!name.starts_with("_Z")) return std::string(name);

  const bool rust = is_legacy_rust(name);
  const std::string mangled(rust ? without_llvm_suffix(name) : name);
  static thread_local Output output;
  if (!demangle_into(mangled.c_str(), output)) return std::string(name);
  const std::string_view text(output.text, output.size);
  return rust ? plain_rust(text) : std::string(text);
}

}  // namespace memflame
