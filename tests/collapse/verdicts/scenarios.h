// SPDX-License-Identifier: BSD-2-Clause
// Programs whose leaks are known: the five behaviours that bytehound's simulation has, and a server
// with a cache.
#pragma once

#include <cstdint>
#include <functional>

#include "tests/collapse/verdicts/simulation.h"

namespace memflame {

enum class Behaviour : uint8_t {
  linear,        // all 1,800 blocks leak
  freed_at_end,  // all 1,710 blocks live until 98 % of the run
  bounded,       // half the run; 864 of 1,838 blocks stay
  mostly_freed,  // 183 of 179,391 blocks stay
  temporary,     // none of 179,391 blocks stays
};

using LookTaker = std::function<void(const Look& look, const Simulation& simulation)>;

// A run of one behaviour on track 1, with a look at each second. Temporary blocks live 0.1 s on
// average, and 0.5 s at most; all of them have gone at the end.
void run(Behaviour behaviour, uint64_t seed, double seconds, double sample_bytes,
         const LookTaker& take);

// The tracks of the server.
struct Server {
  TrackId requests, leak, cache;  // `leak` is `requests` if these share a stack
};

struct ServerOptions {
  double seconds = 60;
  double sample_bytes = 0;
  bool shares_stack = false;
  double hits = 0;  // the part of the requests that find their entry, and use it again
};

// 2,000 requests per second, each with a short-lived block of 1 KiB; 2 % of them leak one. Those
// that miss get an entry in a cache of 20,000, which evicts the one that was used least recently.
Server run_server(uint64_t seed, const ServerOptions& options, const LookTaker& take);

// The tracks of examples/cache_server, which leaks on the stack of its notes.
struct CacheServer {
  TrackId notes, texts, nodes, places;
};

// examples/cache_server: 2,000 requests per second for one of 200,000 pages, and the 20,000 that
// were used last are kept. A page has a text of 801 to 1,200 bytes, a node of a list of 56, and one
// of a table of 24. Pages that are used again live longer, a tenth of them twice as long.
CacheServer run_cache_server(uint64_t seed, double seconds, double sample_bytes,
                             const LookTaker& take);

}  // namespace memflame
