// SPDX-License-Identifier: BSD-2-Clause
// Plays an agent's thread for tests: writes records into a ring as one would.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "probes/inside/exchange/exchange.h"

namespace memflame::inside {

class RingWriter {
 public:
  RingWriter(Exchange& exchange, uint32_t index, uint32_t process)
      : exchange_(exchange), index_(index) {
    RingHead& head = exchange.head(index);
    head.process = process;
    written_ = head.head;
    publish(head.state, uint32_t{state_owned});
    std::atomic_ref(exchange.taken(index / 64)) |= uint64_t{1} << index % 64;
  }

  // `frames`: outermost first. As many as the last stack has in common are kept.
  void alloc(uint64_t pointer, uint64_t time, uint64_t size, const std::vector<uint64_t>& frames,
             Function function = fn_malloc, uint32_t stop = 0) {
    with_stack(kind_alloc, pointer, time, size, frames, function, stop);
  }
  void free_at(uint64_t pointer, uint64_t time, const std::vector<uint64_t>& frames,
               Function function = fn_free) {
    with_stack(kind_free_at, pointer, time, 0, frames, function, 0);
  }
  void with_stack(Kind kind, uint64_t pointer, uint64_t time, uint64_t size,
                  const std::vector<uint64_t>& frames, Function function, uint32_t stop) {
    uint32_t kept = 0;
    while (kept < frames.size() && kept < last_.size() && frames[kept] == last_[kept]) ++kept;
    std::vector<uint64_t> words{
        word0(pointer, kind, kept), time,
        word2(size, static_cast<uint32_t>(frames.size()) - kept, stop, function)};
    for (size_t i = frames.size(); i-- > kept;) words.push_back(frames[i]);
    write(words);
    last_ = frames;
  }
  void free(uint64_t pointer, uint64_t time) { write({word0(pointer, kind_free), time}); }
  void leave(uint64_t pointer, uint64_t time) { write({word0(pointer, kind_leave), time}); }
  void restore(uint64_t pointer, uint64_t time) { write({word0(pointer, kind_restore), time}); }
  void gap(uint64_t lost, uint64_t time) {
    write({word0(lost, kind_gap), time});
    last_.clear();
  }
  void mean(uint64_t bytes, uint64_t time) { write({word0(bytes, kind_mean), time}); }
  // A function of Python with ASCII names, which fit in a word.
  void code(uint64_t address, uint64_t time, const char* name, const char* file,
            uint32_t first_line = 1) {
    constexpr uint32_t ascii = 1 << 2 | 1 << 5 | 1 << 6;  // kind 1, compact, ASCII
    const Code told{.first_line = first_line,
                    .name_bytes = static_cast<uint32_t>(std::strlen(name)),
                    .file_bytes = static_cast<uint32_t>(std::strlen(file)),
                    .name_form = ascii,
                    .file_form = ascii};
    std::vector<uint64_t> words{word0(address, kind_code), time, code_word2(told),
                                code_word3(told),          0,    0};
    std::memcpy(&words[4], name, told.name_bytes);
    std::memcpy(&words[5], file, told.file_bytes);
    write(words);
  }
  void end() { publish(exchange_.head(index_).state, uint32_t{state_ended}); }

  // Any words, and a head that may be wrong.
  void write(const std::vector<uint64_t>& words) {
    const uint64_t rest = bytes_of_ring(index_) - written_ % bytes_of_ring(index_);
    if (rest < words.size() * 8) {
      at(written_) = word0(0, kind_pad);
      written_ += rest;
    }
    for (size_t i = 0; i < words.size(); ++i) at(written_ + i * 8) = words[i];
    written_ += words.size() * 8;
    publish(exchange_.head(index_).head, written_);
  }
  void set_head(uint64_t bytes) { publish(exchange_.head(index_).head, bytes); }
  uint64_t written() const { return written_; }
  bool has_room(uint64_t bytes) const {
    return written_ + 2 * bytes - taken_once(exchange_.head(index_).tail) <= bytes_of_ring(index_);
  }

 private:
  uint64_t& at(uint64_t offset) {
    return const_cast<uint64_t*>(exchange_.ring(index_))[offset % bytes_of_ring(index_) / 8];
  }

  Exchange& exchange_;
  uint32_t index_;
  uint64_t written_ = 0;
  std::vector<uint64_t> last_;
};

}  // namespace memflame::inside
