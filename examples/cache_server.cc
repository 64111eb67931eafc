// SPDX-License-Identifier: BSD-2-Clause
// A simulated server with a large cache and a small leak. A picture of its memory shows the cache;
// only time tells that the cache comes back and the leak does not.
//
//   cache_server [SECONDS [REQUESTS_PER_SECOND]]      (default: 60, 2000)
//
//   PageCache      keeps the 20,000 pages that were used last, some 24 MiB: full after some 12 s
//   Journal        notes each request and deletes the note, except the 2 % that fail: the leak
//   load_routes    keeps a table from the start: neither grows nor comes back
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <list>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

namespace server {

using Clock = std::chrono::steady_clock;

constexpr size_t cached_pages = 20'000;
constexpr uint64_t known_pages = 200'000;
constexpr uint64_t threads = 4;

struct Page {
  uint64_t number;
  std::string text;
};

// Drops the page that was not used for the longest time.
class PageCache {
 public:
  [[gnu::noinline]] size_t get(uint64_t number) {
    const std::lock_guard lock(mutex_);
    const auto found = places_.find(number);
    if (found != places_.end()) {
      pages_.splice(pages_.begin(), pages_, found->second);
      return found->second->text.size();
    }
    load(number);
    if (pages_.size() > cached_pages) drop();
    return pages_.front().text.size();
  }

 private:
  [[gnu::noinline]] void load(uint64_t number) {
    pages_.push_front({number, std::string(800 + number % 400, 'p')});
    places_[number] = pages_.begin();
  }
  [[gnu::noinline]] void drop() {
    places_.erase(pages_.back().number);
    pages_.pop_back();
  }

  std::mutex mutex_;
  std::list<Page> pages_;
  std::unordered_map<uint64_t, std::list<Page>::iterator> places_;
};

struct Note {
  uint64_t request;
  char text[472];
};

class Journal {
 public:
  [[gnu::noinline]] Note* begin(uint64_t request) { return new Note{request, {}}; }
  // The leak: who wrote the early return did not think of the note.
  [[gnu::noinline]] void end(Note* note, bool failed) {
    if (failed) return;
    delete note;
  }
};

[[gnu::noinline]] std::vector<std::unique_ptr<std::string>> load_routes() {
  std::vector<std::unique_ptr<std::string>> routes;
  for (size_t i = 0; i < 2000; ++i)
    routes.push_back(std::make_unique<std::string>("/route/" + std::string(64 + i % 64, 'r')));
  return routes;
}

class Server {
 public:
  void run(uint64_t seconds, uint64_t rate) {
    const std::vector<std::unique_ptr<std::string>> routes = load_routes();
    const Clock::time_point end = Clock::now() + std::chrono::seconds(seconds);
    std::vector<std::thread> workers;
    for (uint64_t i = 0; i < threads; ++i)
      workers.emplace_back([this, i, end, rate] { work(i, end, rate); });
    for (std::thread& worker : workers) worker.join();
  }

 private:
  // Takes up what it could not do in time, so that the rate is right on a busy machine, too.
  void work(uint64_t seed, Clock::time_point end, uint64_t rate) {
    std::mt19937_64 random(seed);
    const Clock::time_point start = Clock::now();
    uint64_t done = 0;
    while (Clock::now() < end) {
      const std::chrono::duration<double> since = Clock::now() - start;
      const auto due = static_cast<uint64_t>(since.count() * static_cast<double>(rate)) / threads;
      for (; done < due; ++done) handle(random());
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }

  [[gnu::noinline]] void handle(uint64_t random) {
    Note* note = journal_.begin(requests_++);
    const std::string answer(cache_.get(random % known_pages) / 8, 'a');
    journal_.end(note, (random >> 32) % 50 == 0 && answer.size() > 1);
  }

  PageCache cache_;
  Journal journal_;
  std::atomic<uint64_t> requests_ = 0;
};

}  // namespace server

int main(int argc, char** argv) {
  const uint64_t seconds = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 60;
  const uint64_t rate = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 2000;
  server::Server().run(seconds, rate);
}
