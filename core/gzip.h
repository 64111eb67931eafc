// SPDX-License-Identifier: BSD-2-Clause
// Bytes compressed as gzip on their way to a stream. Equal bytes give an equal result: the header
// holds neither a time nor a name.
#pragma once

#include <memory>
#include <ostream>
#include <string>
#include <string_view>

namespace memflame {

// All bytes as one member, packed in pieces by that many threads. The result does not depend on
// their number. Beyond the first 4 MiB it packs less tightly: the last few percent take most of the
// time.
std::string gzip_packed(std::string_view bytes, unsigned threads);
// Packed fast: what is sent is read once.
std::string gzip_body(std::string_view bytes);

class Gzip {
 public:
  explicit Gzip(std::ostream& out);
  ~Gzip();
  Gzip(const Gzip&) = delete;
  Gzip& operator=(const Gzip&) = delete;

  void write(std::string_view bytes);
  void finish();  // after the last write()

 private:
  struct State;
  void pack(int flush);

  std::ostream& out_;
  std::unique_ptr<State> state_;
};

}  // namespace memflame
