// Does a function keep nothing on the stack at this instruction, so that the word on top of the
// stack is its return address? The unwind tables (.eh_frame) know: there the frame begins at rsp
// + 8.
#pragma once

#include <cstdint>
#include <memory>

namespace memflame {

// Reads one file's unwind tables. `file_offset` is where the instruction lies in the file.
class Frameless {
 public:
  explicit Frameless(int fd);
  Frameless(Frameless&&) noexcept;
  Frameless& operator=(Frameless&&) noexcept;
  ~Frameless();

  bool return_address_on_top(uint64_t file_offset) const;

 private:
  struct Tables;
  std::unique_ptr<Tables> tables_;
};

}  // namespace memflame
