// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/blocks.h"

#include <algorithm>
#include <cstring>
#include <thread>

namespace memflame {

size_t whole_lines(std::string_view text) { return text.rfind('\n') + 1; }

size_t whole_paragraphs(std::string_view text) {
  for (size_t end = text.rfind('\n'); end != std::string_view::npos && end > 0;
       end = text.rfind('\n', end - 1)) {
    if (text[end - 1] == '\n') return end + 1;
    if (end > 1 && text[end - 1] == '\r' && text[end - 2] == '\n') return end + 1;
  }
  return 0;
}

bool Blocks::next(BlockBuffer& buffer, InputBlock& block) {
  const std::lock_guard lock(mutex_);
  if (ended_) return false;
  ended_ = true;  // whatever is thrown here, no other thread continues
  // What is read lands where a cache line begins, from where a page begins: see InCacheLines.
  constexpr size_t line = 64, page = 4096;
  const size_t begin = (line - rest_.size() % line) % line;
  size_t room = std::max(size_, 2 * rest_.size());
  size_t filled = rest_.size();
  if (buffer.size() < line + room) buffer.resize(line + room);
  std::copy(rest_.begin(), rest_.end(), buffer.begin() + static_cast<ptrdiff_t>(begin));
  size_t end = 0;
  bool last = false;
  while (true) {
    const size_t asked = room - filled > page ? (room - filled) / page * page : room - filled;
    const size_t got = source_.read(buffer.data() + begin + filled, asked);
    filled += got;
    last = got < asked;
    end = last ? filled : cut_({buffer.data() + begin, filled});
    if (end != 0 || last) break;
    if (filled >= max_size) source_.fail("a line or record is longer than 2 GiB");
    room = 2 * filled;
    buffer.resize(line + room);
  }
  const auto text = buffer.begin() + static_cast<ptrdiff_t>(begin);
  rest_.assign(text + static_cast<ptrdiff_t>(end), text + static_cast<ptrdiff_t>(filled));
  block = {index_, {buffer.data() + begin, end}};
  index_ += end != 0 ? 1 : 0;
  ended_ = last;
  return end != 0;
}

void Blocks::stop() {
  const std::lock_guard lock(mutex_);
  ended_ = true;
}

void for_each_block(Blocks& blocks, unsigned threads,
                    const std::function<bool(unsigned worker, const InputBlock& block)>& work) {
  constexpr size_t behind_all = SIZE_MAX;  // the place of errors while reading
  struct Failure {
    size_t block = behind_all;
    std::exception_ptr exception{};
  };
  std::vector<Failure> failures(threads);
  const auto run = [&](unsigned worker) {
    Failure& failure = failures[worker];
    try {
      BlockBuffer buffer;
      for (InputBlock block; blocks.next(buffer, block); failure.block = behind_all) {
        failure.block = block.index;
        if (!work(worker, block)) blocks.stop();
      }
    } catch (...) {
      failure.exception = std::current_exception();
      blocks.stop();
    }
  };
  {
    std::vector<std::jthread> others;
    for (unsigned worker = 1; worker < threads; ++worker) others.emplace_back(run, worker);
    run(0);
  }
  std::erase_if(failures, [](const Failure& failure) { return !failure.exception; });
  const auto first =
      std::min_element(failures.begin(), failures.end(),
                       [](const Failure& a, const Failure& b) { return a.block < b.block; });
  if (first != failures.end()) std::rethrow_exception(first->exception);
}

}  // namespace memflame
