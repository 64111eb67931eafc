// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/text/blocks.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <string>

#include "core/error.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

std::vector<std::string> blocks_of(Source source, size_t size, unsigned threads, BlockCut cut) {
  Blocks blocks(source, cut, size);
  std::mutex mutex;
  std::map<size_t, std::string> found;
  for_each_block(blocks, threads, [&](unsigned, const InputBlock& block) {
    const std::lock_guard lock(mutex);
    CHECK(found.emplace(block.index, block.text).second);
    return true;
  });
  std::vector<std::string> list;
  for (const auto& [index, block] : found) {
    CHECK(index == list.size());
    list.push_back(block);
  }
  return list;
}

// The contents of the blocks, in order.
std::vector<std::string> blocks_of(const std::string& text, size_t size, unsigned threads = 1,
                                   BlockCut cut = whole_lines) {
  return blocks_of(Source::of_memory(text, "text"), size, threads, cut);
}

struct File {
  explicit File(const std::string& text) {
    static int count = 0;
    path = std::filesystem::temp_directory_path() /
           ("memflame-blocks-" + std::to_string(::getpid()) + "-" + std::to_string(++count));
    std::ofstream(path, std::ios::binary) << text;
  }
  ~File() { std::filesystem::remove(path); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  std::string path;
};

// Paragraphs of lines, some longer than many blocks.
std::string random_text(unsigned seed) {
  std::mt19937 random(seed);
  std::string text;
  while (text.size() < 600'000) {
    const size_t most = random() % 50 == 0 ? 100'000 : 80;
    text += std::string(1 + random() % most, static_cast<char>('a' + random() % 26)) + "\n";
    if (random() % 8 == 0) text += "\n";
  }
  if (seed % 2 != 0) text += "no line feed";
  return text;
}

}  // namespace

TEST_CASE("blocks end behind a line feed, the last where the text does") {
  CHECK(blocks_of("", 8).empty());
  CHECK(blocks_of("a", 8) == std::vector<std::string>{"a"});
  CHECK(blocks_of("ab\ncd\nef\ngh", 7) == std::vector<std::string>{"ab\ncd\n", "ef\ngh"});
  CHECK(blocks_of("ab\ncd\n", 6) == std::vector<std::string>{"ab\ncd\n"});
  const std::string longer(50, 'x');
  CHECK(blocks_of("a\n" + longer + "\nb\n", 4) ==
        std::vector<std::string>{"a\n", longer + "\nb\n"});
}

TEST_CASE("paragraphs end with an empty line, with or without carriage returns") {
  CHECK(blocks_of("a\nb\n\nc\nd\n\ne\n", 8, 1, whole_paragraphs) ==
        std::vector<std::string>{"a\nb\n\n", "c\nd\n\ne\n"});
  CHECK(blocks_of("a\r\n\r\nc\r\nd\r\n", 8, 1, whole_paragraphs) ==
        std::vector<std::string>{"a\r\n\r\n", "c\r\nd\r\n"});
  CHECK(whole_paragraphs("\n") == 0);
}

TEST_CASE("several threads see every byte once") {
  std::string text;
  for (int i = 0; i < 100000; ++i) text += "line " + std::to_string(i) + "\n";
  const std::vector<std::string> blocks = blocks_of(text, 4096, 3);
  CHECK(blocks.size() > 100);
  std::string joined;
  for (const std::string& block : blocks) joined += block;
  CHECK(joined == text);
}

TEST_CASE("threads that read a file side by side see each record once, and whole") {
  for (unsigned seed = 0; seed < 20; ++seed) {
    const std::string mark = seed % 4 == 0 ? "\xef\xbb\xbf" : "";
    const std::string text = random_text(seed);
    const File file(mark + text);
    for (const BlockCut cut : {whole_lines, whole_paragraphs})
      for (const size_t size : {size_t{1000}, size_t{1} << 16U}) {
        const std::vector<std::string> blocks = blocks_of(Source::open(file.path), size, 3, cut);
        CHECK(blocks.size() == (text.size() + size - 1) / size);
        std::string joined;
        bool whole = true;
        for (const std::string& block : blocks) {
          if (!block.empty() && &block != &blocks.back())
            whole = whole && cut(block) == block.size();
          joined += block;
        }
        CHECK(whole);
        CHECK(joined == text);
      }
  }
}

TEST_CASE("a file that becomes shorter while threads read it is an error") {
  const File file(random_text(0));
  Source source = Source::open(file.path);
  Blocks blocks(source, whole_lines, 4096);
  std::atomic<size_t> seen = 0;
  CHECK_THROWS_WITH_AS(for_each_block(blocks, 2,
                                      [&](unsigned, const InputBlock& block) {
                                        ++seen;
                                        if (block.index == 3)
                                          std::filesystem::resize_file(file.path, 100'000);
                                        return true;
                                      }),
                       (file.path + ": the file became shorter while it was read").c_str(), Error);
  CHECK(seen > 3);
}

TEST_CASE("what stops one thread stops all") {
  Source source = Source::of_memory(std::string(1 << 16, '\n'));
  Blocks blocks(source, whole_lines, 16);
  std::atomic<int> calls = 0;
  const auto failing = [&](unsigned, const InputBlock& block) -> bool {
    ++calls;
    if (block.index == 5) throw Error("no");
    return true;
  };
  CHECK_THROWS_AS(for_each_block(blocks, 2, failing), Error);
  Source again = Source::of_memory(std::string(1 << 16, '\n'));
  Blocks few(again, whole_lines, 16);
  calls = 0;
  for_each_block(few, 1, [&](unsigned, const InputBlock& block) {
    ++calls;
    return block.index < 5;
  });
  CHECK(calls == 6);
}

TEST_CASE("behind what could not be cut there is no block, for no thread") {
  Source source = Source::of_memory("a;a;a;a;a;a;", "text");
  Blocks blocks(
      source, [](std::string_view) -> size_t { throw Error("too long"); }, 8);
  BlockBuffer buffer;
  InputBlock block;
  CHECK_THROWS_AS(blocks.next(buffer, block), Error);
  CHECK(!blocks.next(buffer, block));
}

TEST_CASE("of several failures that of the earliest block is told, whoever met it") {
  // The second block fails after the first has begun, on any thread, and before the first fails.
  for (int i = 0; i < 20; ++i) {
    Source source = Source::of_memory("a\nb\n");
    Blocks blocks(source, whole_lines, 2);
    std::atomic<bool> second_fails = false;
    const auto failing = [&](unsigned, const InputBlock& block) -> bool {
      if (block.index == 0) second_fails.wait(false);
      second_fails = true;
      second_fails.notify_all();
      throw Error("block " + std::to_string(block.index));
    };
    CHECK_THROWS_WITH(for_each_block(blocks, 2, failing), "block 0");
  }
}
