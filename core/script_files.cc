// SPDX-License-Identifier: BSD-2-Clause
#include "core/script_files.h"

#include <algorithm>
#include <array>

namespace memflame {
namespace {

bool is_version(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || c == '.'; });
}

// What follows the last folder of this name; "" if there is none.
std::string_view behind_folder(std::string_view path, std::string_view folder) {
  const size_t at = path.rfind(folder);
  return at == std::string_view::npos ? std::string_view() : path.substr(at + folder.size());
}

// "requests/api.py" -> "requests", "six.py" -> "six".
std::string_view python_package(std::string_view rest) {
  const std::string_view name = rest.substr(0, rest.find('/'));
  return name.size() == rest.size() ? name.substr(0, name.find('.')) : name;
}

// "rack-2.2.6/lib/rack.rb" -> "rack".
std::string_view ruby_gem(std::string_view rest) {
  const std::string_view name = rest.substr(0, rest.find('/'));
  const size_t dash = name.rfind('-');
  return dash != std::string_view::npos && is_version(name.substr(dash + 1)) ? name.substr(0, dash)
                                                                             : name;
}

// "symfony/http-kernel/Kernel.php" -> "symfony/http-kernel", "autoload.php" -> "composer".
std::string_view composer_package(std::string_view rest) {
  const size_t slash = rest.find('/');
  if (slash == std::string_view::npos || rest.starts_with("composer/")) return "composer";
  return rest.substr(0, rest.find('/', slash + 1));
}

// "express/lib/router.js" -> "express", "@scope/name/index.js" -> "@scope/name".
std::string_view node_package(std::string_view rest) {
  size_t end = rest.find('/');
  if (rest.starts_with('@') && end != std::string_view::npos) end = rest.find('/', end + 1);
  return rest.substr(0, end);
}

}  // namespace

bool is_script(const Profile& profile, const Frame& frame) {
  if (frame.kind != FrameKind::user || !frame.module) return false;
  if (frame.module == frame.file) return true;
  const std::string_view path = profile.strings[frame.module];
  constexpr std::array<std::string_view, 7> endings{".py",  ".pyc", ".js", ".mjs",
                                                    ".cjs", ".rb",  ".php"};
  return path.starts_with("node:") || path.starts_with("<internal:") ||
         path.starts_with("<frozen ") ||
         std::any_of(endings.begin(), endings.end(),
                     [&](std::string_view ending) { return path.ends_with(ending); });
}

std::string_view script_package(std::string_view path) {
  if (path.starts_with("node:")) return "node";
  if (path.starts_with("<frozen ")) return "python";
  for (const std::string_view folder : {"/site-packages/", "/dist-packages/"})
    if (const std::string_view rest = behind_folder(path, folder); !rest.empty())
      return python_package(rest);
  if (const std::string_view rest = behind_folder(path, "/node_modules/"); !rest.empty())
    return node_package(rest);
  // "…/gems/rack-2.2.6/lib/rack.rb", "…/lib/ruby/3.1.0/json.rb",
  // "/usr/lib/ruby/vendor_ruby/rack.rb".
  if (path.starts_with("<internal:")) return "ruby";
  if (const std::string_view rest = behind_folder(path, "/gems/");
      !rest.empty() && path.ends_with(".rb"))
    return ruby_gem(rest);
  if (const std::string_view rest = behind_folder(path, "/vendor/");
      !rest.empty() && path.find(".php") != std::string_view::npos)
    return composer_package(rest);
  if (const std::string_view rest = behind_folder(path, "/vendor_ruby/"); !rest.empty())
    return python_package(rest);
  if (const std::string_view rest = behind_folder(path, "/lib/ruby/"); !rest.empty()) return "ruby";
  if (const std::string_view rest = behind_folder(path, "/lib/python"); !rest.empty())
    if (is_version(rest.substr(0, rest.find('/')))) return "python";
  return {};
}

bool is_interpreter(std::string_view path) {
  std::string_view file = path.substr(path.rfind('/') + 1);
  if (file == "node" || file.starts_with("libnode.so")) return true;
  if (file == "libjvm.so") return true;
  if (file.starts_with("lib")) file.remove_prefix(3);
  if (file.starts_with("ruby")) {
    file.remove_prefix(std::string_view("ruby").size());
    if (file.starts_with('-')) file.remove_prefix(1);
    return is_version(file.substr(0, file.find(".so")));
  }
  for (const std::string_view name : {"php-fpm", "php-cgi", "php", "python"})
    if (file.starts_with(name)) {
      file.remove_prefix(name.size());
      return is_version(file.substr(0, file.find(".so")));
    }
  return false;
}

}  // namespace memflame
