// SPDX-License-Identifier: BSD-2-Clause
// Inlined functions as FlameGraph's collapser gets them: from addr2line and nm of binutils.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace memflame {

class PerfInline {
 public:
  explicit PerfInline(bool context) : context_(context) {}

  // The functions at an address of a file from the outermost on, with `context` as "f:file.cc:12";
  // none if unknown. `symbol` is "main+0x2d".
  const std::vector<std::string>& at(const std::string& address, const std::string& symbol,
                                     const std::string& module);

 private:
  std::vector<std::string> look_up(const std::string& address, const std::string& symbol,
                                   const std::string& module);
  // The address of a symbol's place in the file itself; "" if nm does not have the symbol.
  std::string file_address(const std::string& symbol, const std::string& module);

  const bool context_;
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> known_;
  std::map<std::string, std::string> symbols_;  // nm's output for a file
};

}  // namespace memflame
