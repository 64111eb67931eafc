// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/inputs/perf/perf_script_inline.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>

#include "core/error.h"

namespace memflame {
namespace {

// The output of a program. Throws Error if the program does not exist.
std::string output_of(std::vector<std::string> command) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0)
    throw Error(std::string("no pipe: ") + std::strerror(errno));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (std::string& word : command) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t child = 0;
  const int failed =
      posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string output;
  if (failed == 0) {
    std::array<char, 4096> part{};
    for (ssize_t got = 0; (got = read(ends[0], part.data(), part.size())) > 0;)
      output.append(part.data(), static_cast<size_t>(got));
    waitpid(child, nullptr, 0);
  }
  close(ends[0]);
  if (failed != 0)
    throw Error("--inline needs " + command[0] + " of binutils: " + std::strerror(failed),
                ExitCode::requirement);
  return output;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

}  // namespace

const std::vector<std::string>& PerfInline::at(const std::string& address,
                                               const std::string& symbol,
                                               const std::string& module) {
  const std::pair<std::string, std::string> key(address, module);
  const auto known = known_.find(key);
  if (known != known_.end()) return known->second;
  return known_[key] = look_up(address, symbol, module);
}

std::vector<std::string> PerfInline::look_up(const std::string& address, const std::string& symbol,
                                             const std::string& module) {
  if (access(module.c_str(), R_OK) != 0) return {};
  std::string text = output_of({"addr2line", "-a", address, "-e", module, "-i", "-f", "-s", "-C"});
  text.erase(0, text.find('\n') + 1);  // addr2line repeats the address
  if (text.find("??\n??:0") != std::string::npos) {
    const std::string other = file_address(symbol, module);
    if (!other.empty()) return at(other, "", module);
  }
  std::vector<std::string> functions;
  const std::vector<std::string> lines = lines_of(text);
  for (size_t i = 0; i + 1 < lines.size(); i += 2) {
    const std::string& place = lines[i + 1];
    functions.insert(
        functions.begin(),
        context_ ? lines[i] + ":" + place.substr(0, place.find(" (discriminator ")) : lines[i]);
  }
  const bool unknown = functions.size() == 1 && (functions[0] == "??" || functions[0] == "??:??:0");
  return unknown ? std::vector<std::string>{} : functions;
}

std::string PerfInline::file_address(const std::string& symbol, const std::string& module) {
  const size_t plus = symbol.rfind("+0x");
  uint64_t offset = 0, base = 0;
  if (plus == std::string::npos) return {};
  std::from_chars(symbol.data() + plus + 3, symbol.data() + symbol.size(), offset, 16);
  const auto [names, is_new] = symbols_.try_emplace(module);
  if (is_new) names->second = "\n" + output_of({"nm", "--", module});
  const std::string& text = names->second;
  // "0000000000001139 T main"
  const std::string wanted = " " + symbol.substr(0, plus) + "\n";
  for (size_t at = text.find(wanted); at != std::string::npos; at = text.find(wanted, at + 1)) {
    const size_t begin = text.rfind('\n', at) + 1;
    const auto [end, error] = std::from_chars(&text[begin], &text[at], base, 16);
    if (error != std::errc{} || end + 2 != &text[at]) continue;
    std::array<char, 16> digits{};
    char* const last =
        std::to_chars(digits.data(), digits.data() + digits.size(), base + offset, 16).ptr;
    return "0x" + std::string(digits.data(), static_cast<size_t>(last - digits.data()));
  }
  return {};
}

}  // namespace memflame
