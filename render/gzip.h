// Bytes packed as gzip on their way to a stream. The same bytes give the same result: the header
// holds neither a time nor a name.
#pragma once

#include <memory>
#include <ostream>
#include <string_view>

namespace memflame {

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
