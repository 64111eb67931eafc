// SPDX-License-Identifier: BSD-2-Clause
// The stacks of a pprof profile: its locations as frames.
#pragma once

#include <memory>
#include <span>

#include "collapse/inputs/pprof/pprof_message.h"
#include "collapse/inputs/pprof/pprof_unnamed.h"
#include "collapse/inputs/readers.h"
#include "collapse/text/issues.h"

namespace re2 {
class RE2;
}

namespace memflame::pprof {

class Places {
 public:
  // All must live as long as this; `bytes` is the size of the file.
  Places(const Tables& tables, const UnnamedCode& unnamed, const ReadOptions& options,
         Profile& profile, Issues& issues, bool roots_are_processes, size_t bytes);
  ~Places();
  Places(const Places&) = delete;
  Places& operator=(const Places&) = delete;

  // The stack of these locations, leaf first, on top of `root`. Throws Error if the stacks unfold
  // to far more frames than the file has bytes.
  StackId stack(StackId root, std::span<const uint64_t> locations);

  // Counts locations without a name.
  void finish();

 private:
  // A location's frames are frames_[begin, end), outermost first.
  struct Place {
    size_t begin = 0, end = 0;
    bool known = false;
    // What the profile itself asks to leave out: this and its callees, or its callees only.
    bool dropped = false, callees_dropped = false;
  };

  // A function on first use: names may be long, and functions used often.
  struct Named {
    bool known = false, dropped = false;
    FrameKind kind = FrameKind::user;
    StringId name, file;  // no name: unknown
    uint32_t start_line = 0;
  };

  const Place& place(uint64_t location);
  void make(const Location& location, Place& place);
  FrameId frame_of(const Location& location, const Line& line, bool is_inlined);
  FrameId unknown_frame(const Location& location);
  FrameId as_process(FrameId frame);
  size_t kept_lines(const Location& location);
  bool is_dropped(std::string_view name) const;
  std::string_view text(int64_t at);
  StringId interned(int64_t text);
  const Mapping& mapping_of(const Location& location);
  StringId module_of(const Location& location);
  CodeId code_of(const Location& location);
  const Named& function_of(const Line& line);
  std::unique_ptr<re2::RE2> pattern(int64_t text);

  const Tables& tables_;
  const UnnamedCode& unnamed_;
  const ReadOptions& options_;
  Profile& profile_;
  Issues& issues_;
  const bool roots_are_processes_;
  std::unique_ptr<re2::RE2> drop_, keep_;
  std::vector<StringId> strings_;  // by index in Tables::strings, as far as used
  // By index in Tables::locations and functions; one more for missing ones.
  std::vector<Place> places_;
  std::vector<CodeMappingId> code_mappings_;  // by index in Tables::mappings, once used
  std::vector<Named> functions_;
  std::vector<FrameId> frames_;
  uint64_t nameless_ = 0;
  size_t unfolded_ = 0;
  const size_t most_unfolded_;
};

}  // namespace memflame::pprof
