// SPDX-License-Identifier: BSD-2-Clause
// The process that serves pages; page_server.h starts it.
#pragma once

#include <cstdint>
#include <string>

namespace memflame {

// What it sends through its socket: the port that it listens on; 0: it cannot, and what follows
// says why. Later a `page_asked` whenever a client asks for the page or its state.
inline constexpr char page_asked = 'a';

// What it takes: this head, then the state, then the page. They replace those before.
struct PageHead {
  uint64_t state_bytes = 0, page_bytes = 0;
};
inline constexpr uint64_t most_page_bytes = uint64_t{64} << 20U;

// Serves on 127.0.0.1, from the first page on, until the other end of the socket is closed; port 0
// is any. Call it in a forked child that has one thread. It gives up all rights before it takes its
// first connection.
[[noreturn]] void serve_pages(int socket, uint16_t port, const std::string& token);

}  // namespace memflame
