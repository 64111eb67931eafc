// SPDX-License-Identifier: BSD-2-Clause
// Shortens names of Java, Go and Rust, and combines all kinds.
#include <algorithm>

#include "collapse/symbolize/demangle.h"
#include "collapse/tidy/name_scan.h"
#include "collapse/tidy/names.h"

namespace memflame {
namespace {

bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hash_digit(char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); }

// "java/util/HashMap$Node": folders and a class, which begins with a capital.
bool is_class_path(std::string_view path, bool folder_needed) {
  const size_t slash = path.rfind('/');
  if (slash == std::string_view::npos && folder_needed) return false;
  const std::string_view name = path.substr(slash + 1);
  if (name.empty() || is_digit(path.front()) || path.front() == '/') return false;
  if (folder_needed && !is_upper(name.front()) && name.front() != '$' && name.front() != '_')
    return false;
  return std::all_of(path.begin(), path.end(),
                     [](char c) { return is_identifier(c) || c == '/' || c == '-'; });
}

// "com/x/Y" and ".m", both without what the JVM puts around them; nothing if it is not Java.
struct JavaName {
  std::string_view path, method;
};

JavaName java_name(std::string_view name) {
  const size_t end = name.find_first_of(";:.(");
  if (end == std::string_view::npos || end == 0) return {};
  const bool descriptor = name[0] == 'L' && (name[end] == ';' || name.substr(end, 3) == ":::");
  std::string_view rest = name.substr(end);
  if (rest.starts_with(";::") || rest.starts_with(":::")) rest.remove_prefix(1);
  if (rest == ";" && descriptor) rest = {};
  if (rest.starts_with("::"))
    rest.remove_prefix(2);
  else if (rest.starts_with('.'))
    rest.remove_prefix(1);
  else if (!rest.empty())
    return {};
  const std::string_view path = name.substr(0, end);
  if (descriptor && is_class_path(path.substr(1), false)) return {path.substr(1), rest};
  return is_class_path(path, true) ? JavaName{path, rest} : JavaName{};
}

// "com.example.Y.m" -> "c.e.Y.m". It needs two packages and a class to be taken for Java.
std::string short_packages(std::string_view name) {
  std::string out;
  size_t packages = 0;
  std::string_view rest = name;
  while (true) {
    const size_t dot = rest.find('.');
    if (dot == std::string_view::npos || dot == 0) return std::string(name);
    if (is_upper(rest.front())) break;
    const std::string_view package = rest.substr(0, dot);
    if (!is_lower(package.front()) || !std::all_of(package.begin(), package.end(), is_identifier))
      return std::string(name);
    out += package.front();
    out += '.';
    ++packages;
    rest.remove_prefix(dot + 1);
    if (rest.empty()) return std::string(name);
  }
  return packages < 2 ? std::string(name) : out.append(rest);
}

// "v2", the last folder of a module's path, means nothing by itself.
bool is_version(std::string_view package) {
  return package.size() > 1 && package[0] == 'v' &&
         std::all_of(package.begin() + 1, package.end(), is_digit);
}

// "::h" and 16 digits, by which rustc tells equal names apart.
size_t hash_at(std::string_view name) {
  constexpr size_t digits = 16, size = digits + 3;
  const std::string_view plain = name.substr(0, name.find(".llvm."));
  if (plain.size() <= size) return std::string_view::npos;
  const std::string_view tail = plain.substr(plain.size() - size);
  if (!tail.starts_with("::h") || !std::all_of(tail.begin() + 3, tail.end(), is_hash_digit))
    return std::string_view::npos;
  return plain.size() - size;
}

}  // namespace

std::string shorten_java(std::string_view name, bool packages) {
  std::string out(name);
  const JavaName java = java_name(name);
  if (!java.path.empty()) {
    out = java.path;
    std::replace(out.begin(), out.end(), '/', '.');
    if (!java.method.empty()) out.append(".").append(java.method);
  }
  return packages ? short_packages(out) : out;
}

std::string shorten_go(std::string_view name) {
  const std::string_view path = name.substr(0, name.find_first_of("[(<"));
  const size_t slash = path.rfind('/');
  if (slash == std::string_view::npos || path.front() == '/' ||
      path.find_first_of(" :;") != std::string_view::npos)
    return std::string(name);
  const size_t dot = path.find('.', slash);
  if (dot == std::string_view::npos) return std::string(name);
  if (is_upper(path[slash + 1]) && path.rfind('.', slash) == std::string_view::npos)
    return std::string(name);  // a class of Java
  size_t begin = slash + 1;
  if (is_version(path.substr(begin, dot - begin))) begin = path.rfind('/', slash - 1) + 1;
  return std::string(name.substr(begin));
}

std::string shorten_rust(std::string_view name) {
  name = name.substr(0, hash_at(name));
  std::string out;
  size_t at = 0;
  // "core[1b2c3d4e5f60718]::f": the number of a crate.
  for (size_t open = name.find('['); open != std::string_view::npos;
       open = name.find('[', open + 1)) {
    size_t close = open + 1;
    while (close < name.size() && close - open <= 16 && is_hash_digit(name[close])) ++close;
    if (close - open < 9 || !name.substr(close).starts_with("]::") || open == 0 ||
        !is_identifier(name[open - 1]))
      continue;
    out += name.substr(at, open - at);
    at = close + 1;
  }
  return out.append(name.substr(at));
}

std::string shorten(std::string_view name, const Shortening& what) {
  std::string out(name);
  if (name.starts_with('[')) return out;  // code without a name: "[libx.so+0x12]"
  if (what.rust) out = shorten_rust(out);
  if (what.java || what.packages) out = shorten_java(out, what.packages);
  if (what.go) out = shorten_go(out);
  if (what.arguments) out = shorten_arguments(out);
  if (what.templates) out = shorten_templates(out);
  if (what.namespaces) out = shorten_namespaces(out);
  return out;
}

bool is_of_cpp_library(std::string_view name) {
  if (name.find("std::") == std::string_view::npos &&
      name.find("__gnu_cxx::") == std::string_view::npos)
    return false;
  const std::string bare = shorten(name, {.templates = true, .arguments = true});
  return bare.starts_with("std::") || bare.starts_with("__gnu_cxx::");
}

std::string demangle_decorated(std::string_view name) {
  const size_t underscores = name.find_first_not_of('_');
  if (underscores == 0 || underscores == std::string_view::npos || underscores > 4 ||
      (name[underscores] != 'Z' && name[underscores] != 'R'))
    return std::string(name);
  std::string_view base = name.substr(underscores - 1);
  const size_t tail = std::min(base.find('@'), base.find("+0x"));
  base = base.substr(0, tail);
  std::string out = demangle(base);
  if (out == base) return std::string(name);
  if (tail != std::string_view::npos) out += name.substr(underscores - 1 + tail);
  return out;
}

}  // namespace memflame
