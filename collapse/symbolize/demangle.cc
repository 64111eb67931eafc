// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/symbolize/demangle.h"

// Keeps libiberty.h from declaring basename() in another way than <string.h> does.
#define HAVE_DECL_BASENAME 1
#include <libiberty/demangle.h>

#include <algorithm>
#include <charconv>
#include <csetjmp>
#include <cstddef>
#include <cstring>
#include <optional>

#include "core/utf8.h"

namespace memflame {
namespace {

constexpr size_t max_name = 65536;  // in either form

// libiberty hands the text out in pieces, so that it can be stopped: 200 bytes that refer back to
// themselves a few times stand for hundreds of megabytes.
struct Output {
  std::jmp_buf too_long;
  bool full;
  size_t size;
  char text[max_name];
};

// libiberty prints a decoded identifier from memory that it frees right after. So it is not stopped
// at the piece that is too long, but at the next one, where it has nothing to free.
void append(const char* piece, size_t size, void* opaque) {
  Output& output = *static_cast<Output*>(opaque);
  if (output.full) std::longjmp(output.too_long, 1);
  output.full = size > max_name - output.size;
  if (output.full || size == 0) return;  // an empty piece may be null
  std::memcpy(output.text + output.size, piece, size);
  output.size += size;
}

using Demangler = int(const char*, int, demangle_callbackref, void*);

// Only plain data may live in this frame, as longjmp returns to it. libiberty limits its recursion.
bool demangle_into(Output& output, Demangler* demangler, const char* mangled, int options) {
  output.full = false;
  output.size = 0;
  if (setjmp(output.too_long) != 0) return false;
  return demangler(mangled, options, append, &output) != 0 && !output.full;
}

std::optional<std::string> demangled_by(Demangler* demangler, const std::string& name,
                                        int options) {
  static thread_local Output output;
  if (!demangle_into(output, demangler, name.c_str(), options)) return std::nullopt;
  return std::string(output.text, output.size);
}

// "gr$uf6$$udf$e" -> "größe": letters in Rust's legacy names that libiberty leaves as they are.
std::string with_letters(const std::string& name) {
  std::string text;
  for (size_t at = 0; at < name.size();) {
    const size_t end = name.compare(at, 2, "$u") == 0 ? name.find('$', at + 1) : std::string::npos;
    uint32_t code = 0;
    if (end != std::string::npos) {
      const char* const last = name.data() + end;
      const auto [stop, error] = std::from_chars(name.data() + at + 2, last, code, 16);
      if (error != std::errc() || stop != last) code = 0;
    }
    if (code < 0x80 || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) {
      text += name[at++];
    } else {
      append_utf8(text, code);
      at = end + 1;
    }
  }
  return text;
}

// libiberty, up to that of 2025, prints constants of more than 64 bits without their first digit,
// and with the "_" that ends them in the mangled name.
std::string with_all_digits(std::string text, std::string_view mangled) {
  for (size_t at = 0; at < mangled.size();) {
    const size_t end = std::min(mangled.find_first_not_of("0123456789abcdef", at), mangled.size());
    const std::string digits(mangled.substr(at, end - at));
    at = end + 1;
    if (digits.size() <= 16 || end == mangled.size() || mangled[end] != '_') continue;
    const std::string wrong = "0x" + digits.substr(1) + "_";
    for (size_t found = 0; (found = text.find(wrong, found)) != std::string::npos;)
      text.replace(found, wrong.size(), "0x" + digits);
  }
  return text;
}

}  // namespace

std::string demangle(std::string_view name) {
  std::string mangled(name);
  const bool may_be_cxx = name.starts_with("_Z");
  if (name.size() > max_name || (!may_be_cxx && !name.starts_with("_R"))) return mangled;
  // Legacy Rust names look like C++, with a hash at the end.
  if (const auto rust = demangled_by(rust_demangle_callback, mangled, 0))
    return may_be_cxx ? with_letters(*rust) : with_all_digits(*rust, name);
  if (may_be_cxx)
    if (auto cxx = demangled_by(cplus_demangle_v3_callback, mangled, DMGL_PARAMS | DMGL_ANSI))
      return std::move(*cxx);
  return mangled;
}

}  // namespace memflame
