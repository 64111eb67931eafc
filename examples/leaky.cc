// SPDX-License-Identifier: BSD-2-Clause
// The demo: a simulated small server whose memory grows for four reasons. They look alike from
// outside; a flame graph tells them apart.
//
//   leaky [SECONDS]      (default 5)
//
//   SessionCache   forgets to delete the transcript of a session that logs out: the leak
//   SearchIndex    keeps posting lists, on purpose, until the end: growth that is not a leak
//   ImageBuffer    maps 64 MiB and touches it bit by bit: resident pages without allocations
//   RequestParser  allocates much and frees all of it: traffic that leaves nothing behind
#include <sys/mman.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

namespace server {

using Clock = std::chrono::steady_clock;

struct Request {
  uint64_t session = 0;
  uint64_t sequence = 0;
  std::vector<std::string> headers;
  std::string body;
};

class RequestParser {
 public:
  [[gnu::noinline]] Request parse(uint64_t sequence) {
    Request request;
    request.session = sequence % 400;
    request.sequence = sequence;
    parse_headers(request);
    decode_body(request);
    return request;
  }

 private:
  [[gnu::noinline]] void parse_headers(Request& request) {
    for (uint64_t i = 0; i < 12; ++i)
      request.headers.push_back("X-Header-" + std::to_string(i) + ": " +
                                std::string(40 + i * 7, 'v'));
  }
  [[gnu::noinline]] void decode_body(Request& request) {
    request.body.resize(600 + request.sequence % 1400, 'b');
  }
};

// A C structure of an old protocol library, which is why nobody deletes it.
struct Transcript {
  char* text;
  size_t size;
};

[[gnu::noinline]] Transcript* transcript_create(size_t size) {
  auto* transcript = static_cast<Transcript*>(malloc(sizeof(Transcript)));
  transcript->text = static_cast<char*>(calloc(1, size));
  transcript->size = size;
  return transcript;
}
[[gnu::noinline]] void transcript_destroy(Transcript* transcript) {
  free(transcript->text);
  free(transcript);
}

class SessionCache {
 public:
  [[gnu::noinline]] void record(const Request& request) {
    Transcript*& transcript = sessions_[request.session];
    if (transcript == nullptr) transcript = log_in(request.sequence);
    std::memset(transcript->text, 't', transcript->size);
    if (request.sequence % 3 == 0) log_out(request.session);
  }
  ~SessionCache() {
    for (const auto& [id, transcript] : sessions_) transcript_destroy(transcript);
  }

 private:
  [[gnu::noinline]] static Transcript* log_in(uint64_t sequence) {
    return transcript_create(2000 + sequence % 3000);
  }
  // The leak: the entry that owned the transcript is erased, the transcript is not deleted.
  [[gnu::noinline]] void log_out(uint64_t session) { sessions_.erase(session); }

  std::unordered_map<uint64_t, Transcript*> sessions_;
};

class SearchIndex {
 public:
  [[gnu::noinline]] void add_document(const Request& request) {
    if (request.sequence % 8 == 0) append_postings(request);
  }
  ~SearchIndex() {
    for (char* postings : segments_) free(postings);
  }

 private:
  // Small enough that the C library takes them from the heap (brk), not from mmap.
  [[gnu::noinline]] void append_postings(const Request& request) {
    const size_t size = 8192 + request.sequence % 16384;
    segments_.push_back(static_cast<char*>(malloc(size)));
    std::memset(segments_.back(), 'p', size);
  }
  std::vector<char*> segments_;
};

class ImageBuffer {
 public:
  ImageBuffer() : pixels_(map_pixels()) {}
  ImageBuffer(const ImageBuffer&) = delete;
  ImageBuffer& operator=(const ImageBuffer&) = delete;
  ~ImageBuffer() { munmap(pixels_, size); }

  [[gnu::noinline]] void render_tile(uint64_t sequence) {
    std::memset(pixels_ + sequence * tile % size, 'i', tile);
  }

 private:
  static constexpr size_t size = 64 << 20;
  static constexpr size_t tile = 16 << 10;

  [[gnu::noinline]] static char* map_pixels() {
    void* start = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED) {
      std::perror("leaky: mmap");
      std::exit(1);
    }
    return static_cast<char*>(start);
  }
  char* pixels_;
};

class Server {
 public:
  [[gnu::noinline]] void serve(uint64_t sequence) {
    const Request request = parser_.parse(sequence);
    sessions_.record(request);
    index_.add_document(request);
    image_.render_tile(sequence);
  }

 private:
  RequestParser parser_;
  SessionCache sessions_;
  SearchIndex index_;
  ImageBuffer image_;
};

// About a thousand requests a second, whatever the machine.
[[gnu::noinline]] void run_for(double seconds) {
  const std::chrono::duration<double> duration(seconds);
  Server server;
  uint64_t sequence = 0;
  for (const Clock::time_point begin = Clock::now(); Clock::now() - begin < duration;) {
    for (int i = 0; i < 10; ++i) server.serve(sequence++);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  std::printf("leaky: served %llu requests\n", static_cast<unsigned long long>(sequence));
}

}  // namespace server

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::strtod(argv[1], nullptr) : 5;
  if (!(seconds > 0)) {
    std::fputs("usage: leaky [SECONDS]\n", stderr);
    return 2;
  }
  server::run_for(seconds);
  return 0;
}
