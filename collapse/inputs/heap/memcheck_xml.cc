// SPDX-License-Identifier: BSD-2-Clause
#include "collapse/inputs/heap/memcheck_xml.h"

#include <algorithm>
#include <pugixml.hpp>

#include "collapse/inputs/heap/memcheck_leaks.h"
#include "collapse/inputs/heap/valgrind_label.h"
#include "collapse/inputs/text_frame.h"
#include "collapse/text/issues.h"
#include "core/error.h"
#include "core/units.h"

namespace memflame {
namespace {

class MemcheckXmlReader {
 public:
  MemcheckXmlReader(Source& source, const ReadOptions& options)
      : source_(source), options_(options), checks_(profile_, options) {}

  Profile run() {
    std::string text = source_.all();
    // A process that is killed writes no end.
    const bool whole = trimmed_end(text).ends_with("</valgrindoutput>");
    // The last leak may lack frames then.
    const size_t end = text.rfind("</error>");
    lacks_end_ =
        !whole && text.find("<error>", end == std::string::npos ? 0 : end) != std::string::npos;
    pugi::xml_document document;
    const pugi::xml_parse_result result = document.load_buffer_inplace(text.data(), text.size());
    if (!result && whole)
      source_.fail(std::string("not valid XML: ") + result.description() + " at byte " +
                   std::to_string(result.offset));
    if (!whole) cut_off();
    profile_.meta.title = profile_.meta.command = "memcheck";
    for (const pugi::xml_node& output : document.children("valgrindoutput")) take(output);
    const std::string why = checks_.finish();
    if (!why.empty()) source_.fail(why + (issues_.any() ? "; " + issues_.texts().front() : ""));
    if (errors_ != 0)
      profile_.meta.notes.push_back("errors that are not leaks are left out: " +
                                    with_commas(errors_));
    issues_.finish(profile_);
    return std::move(profile_);
  }

 private:
  static std::string_view trimmed_end(std::string_view text) {
    return text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
  }

  void cut_off() {
    constexpr const char* what = "the input ends in the middle of the XML";
    if (options_.refuse_truncated) source_.fail(what);
    profile_.meta.notes.push_back(std::string(what) + "; leaks may be missing");
  }

  void take(const pugi::xml_node& output) {
    const std::string_view pid = output.child("pid").child_value();
    const pugi::xml_node program = output.child("args").child("argv").child("exe");
    if (program) profile_.meta.command = "memcheck " + std::string(program.child_value());
    const StackId root = push_process(profile_, "", pid, "", options_);
    for (const pugi::xml_node& error : output.children("error")) {
      const std::string_view kind = error.child("kind").child_value();
      const bool is_leak = std::any_of(leak_kinds.begin(), leak_kinds.end(),
                                       [&](const LeakKind& each) { return each.xml == kind; });
      if (lacks_end_ && !error.next_sibling()) continue;
      if (is_leak)
        take_leak(pid, root, error);
      else
        ++errors_;
    }
  }

  void take_leak(std::string_view pid, StackId root, const pugi::xml_node& error) {
    const pugi::xml_node what = error.child("xwhat");
    const std::string_view text = what.child("text").child_value();
    const std::optional<LossRecord> record = record_of(text);
    if (!record) return issues_.add("not a loss record", 0, text);
    if (integer(what.child("leakedbytes").child_value()) != record->with_indirect ||
        integer(what.child("leakedblocks").child_value()) != record->blocks)
      return issues_.add("a loss record whose figures contradict each other", 0, text);
    frames_.clear();
    for (const pugi::xml_node& frame : error.child("stack").children("frame"))
      frames_.push_back(frame_of(frame));
    std::reverse(frames_.begin(), frames_.end());
    const StackId stack = frames_.empty() ? profile_.push(root, "[no stack]", FrameKind::note)
                                          : push_frames(profile_, frames_, root);
    checks_.add(pid, *record, stack);
  }

  std::optional<LossRecord> record_of(std::string_view text) const {
    try {
      return parse_loss_record(text);
    } catch (const Error& error) {
      source_.fail(error.what());
    }
  }

  ValgrindFrame frame_of(const pugi::xml_node& frame) {
    const std::string_view file = frame.child("file").child_value();
    const std::string folder = frame.child("dir").child_value();
    const std::string path = folder.empty() || file.starts_with('/')
                                 ? std::string(file)
                                 : folder + "/" + std::string(file);
    ValgrindLabel label{.address = frame.child("ip").child_value(),
                        .function = frame.child("fn").child_value(),
                        .module = frame.child("obj").child_value(),
                        .file = path,
                        .line = frame.child("line").text().as_uint()};
    if (!label.address.starts_with("0x")) label.address = {};
    return valgrind_frame(profile_, label, options_);
  }

  Source& source_;
  const ReadOptions& options_;
  Profile profile_;
  Issues issues_;
  LeakChecks checks_;
  std::vector<ValgrindFrame> frames_;
  int64_t errors_ = 0;
  bool lacks_end_ = false;  // the last error
};

}  // namespace

bool is_memcheck_xml(std::string_view head) {
  return head.starts_with("<?xml") && head.find("<valgrindoutput>") != std::string_view::npos &&
         head.find("<protocoltool>memcheck</protocoltool>") != std::string_view::npos;
}

Profile read_memcheck_xml(Source& source, const ReadOptions& options) {
  return MemcheckXmlReader(source, options).run();
}

}  // namespace memflame
