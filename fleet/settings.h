// SPDX-License-Identifier: BSD-2-Clause
// What a configuration file says, as values that know their lines: so that each error names the
// line, what is wrong there, and what would be right. The file is JSON with comments (// and /*
// */).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace memflame {

// A value of the file: a text, a number, true or false, a list, or named values. Copies share it.
class Setting {
 public:
  // Throws Error: "NAME:12: what is wrong".
  static Setting read(std::string_view text, const std::string& name);

  // Throws an Error that begins with this value's place: "watch.json:12: rules[0].window: ".
  [[noreturn]] void fail(const std::string& what) const;

  // As what it is meant to be. Throw Error if it is something else.
  const std::string& text() const;
  double number() const;
  double number(double least, double most) const;  // and refuse others
  bool flag() const;
  uint64_t bytes() const;  // 1024, "128M", "1G", as options take them
  double seconds() const;  // 60, "60s", "5m", "1h30m", "7d"
  std::vector<Setting> list() const;
  std::vector<std::string> texts() const;  // a list of texts, or one text
  bool is_text() const;
  // Named values in the order of the file.
  std::vector<std::pair<std::string, Setting>> members() const;

  // A named value; none if there is none.
  std::optional<Setting> find(std::string_view name) const;
  // Throws Error if it is missing.
  Setting get(std::string_view name) const;
  // Throws Error if there is a name that is not one of these, with the nearest of them.
  void allow(std::initializer_list<std::string_view> names) const;
  // One of these texts. Throws Error that lists them.
  const std::string& one_of(std::initializer_list<std::string_view> words) const;

  struct Node;  // of settings.cc

 private:
  explicit Setting(std::shared_ptr<const Node> node) : node_(std::move(node)) {}
  std::shared_ptr<const Node> node_;
};

}  // namespace memflame
