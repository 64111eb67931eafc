// SPDX-License-Identifier: BSD-2-Clause
// Who may see the page of a run that goes on. Every program of this machine reaches 127.0.0.1, and
// so does every web page in a browser of it, so an address has a secret token, and names of other
// hosts that lead here are refused.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace memflame {

// 128 random bits as 32 hexadecimal digits. Throws Error.
std::string new_token();

// What a client asks for. All of it may be anything.
struct PageQuestion {
  std::string_view method;
  std::string_view host;    // the Host header; empty if there is none
  std::string_view target;  // "/TOKEN/", with everything that follows "?"
};

enum class PageAnswer : uint8_t { page, state, wrong_host, not_found, wrong_method };

// Without the exact token nothing is told, not even which methods there are. How long the
// comparison takes does not depend on how much of the token is right.
PageAnswer answer_to(const PageQuestion& question, std::string_view token, uint16_t port);

}  // namespace memflame
