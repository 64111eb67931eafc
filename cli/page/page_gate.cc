// SPDX-License-Identifier: BSD-2-Clause
#include "cli/page/page_gate.h"

#include <sys/random.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "core/error.h"

namespace memflame {
namespace {

bool is_own_host(std::string_view host, uint16_t port) {
  constexpr uint16_t usual = 80;  // which browsers leave out
  const std::string end = ":" + std::to_string(port);
  for (const std::string name : {"127.0.0.1", "localhost"})
    if (host == name + end || (port == usual && host == name)) return true;
  return false;
}

bool is_same_secret(std::string_view one, std::string_view other) {
  if (one.size() != other.size()) return false;
  unsigned char different = 0;
  for (size_t i = 0; i < one.size(); ++i)
    different = static_cast<unsigned char>(different | (one[i] ^ other[i]));
  return different == 0;
}

}  // namespace

std::string new_token() {
  std::array<unsigned char, 16> bytes{};
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t got = ::getrandom(bytes.data() + done, bytes.size() - done, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) throw Error(std::string("no random numbers: ") + std::strerror(errno));
    done += static_cast<size_t>(got);
  }
  constexpr std::string_view digits = "0123456789abcdef";
  std::string token;
  for (const unsigned char byte : bytes) (token += digits[byte >> 4U]) += digits[byte & 15U];
  return token;
}

PageAnswer answer_to(const PageQuestion& question, std::string_view token, uint16_t port) {
  if (!is_own_host(question.host, port)) return PageAnswer::wrong_host;
  const auto& [method, host, target] = question;
  const bool has_form =
      target.size() >= token.size() + 2 && target[0] == '/' && target[token.size() + 1] == '/';
  if (!has_form || !is_same_secret(target.substr(1, token.size()), token))
    return PageAnswer::not_found;
  if (method != "GET") return PageAnswer::wrong_method;
  const std::string_view rest = target.substr(token.size() + 2);
  if (rest.empty()) return PageAnswer::page;
  return rest == "state" ? PageAnswer::state : PageAnswer::not_found;
}

}  // namespace memflame
