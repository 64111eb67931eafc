#include "render/clean_text.h"
#include "render/output.h"
#include "render/stack_rows.h"

namespace memflame {
namespace {

// Streams the document: a profile may be larger than what is left of the memory.
class JsonWriter {
 public:
  JsonWriter(std::ostream& out, const Profile& profile) : out_(out), profile_(profile) {}

  void run(const RenderOptions& options) {
    const CleanStrings clean = clean_strings(profile_);
    replaced_ = clean.replaced;
    const Meta& meta = profile_.meta;
    out_ << R"({"format":"memflame-profile","version":1)";
    field("title", options.title.empty() ? meta.title : options.title);
    field("command", meta.command);
    field("host", meta.host);
    out_ << ",\n\"seconds\":" << number_text(meta.seconds);
    array("value_types", profile_.types, [&](const ValueType& type) {
      out_ << "{\"name\":" << quoted(type.name) << ",\"unit\":" << quoted(name(type.unit)) << "}";
    });
    out_ << ",\n\"shown\":" << profile_.shown;
    write_stacks(clean);
    array("reconciliation", meta.reconciliation, [&](const Reconciliation& row) {
      out_ << "{\"name\":" << quoted(row.name) << ",\"captured\":" << row.captured
           << ",\"os\":" << row.os << "}";
    });
    array("notes", meta.notes, [&](const std::string& note) { out_ << quoted(note); });
    write_losses();  // last, when all texts have been cleaned
    out_ << "}\n";
  }

 private:
  std::string quoted(std::string_view text) {
    std::string out = "\"";
    append_json(out, clean_text(text, replaced_));
    return out + "\"";
  }

  void field(std::string_view key, std::string_view text) {
    out_ << ",\n\"" << key << "\":" << quoted(text);
  }

  template <class Items, class Write>
  void array(std::string_view key, const Items& items, const Write& write) {
    out_ << ",\n\"" << key << "\":[";
    const char* separator = "";
    for (const auto& item : items) {
      out_ << separator;
      separator = ",\n";
      write(item);
    }
    out_ << "]";
  }

  // No name holds a control character, so one can stand between them: paths are then in the order
  // of their frames, and what remains to do is to replace it by quotes and a comma.
  void write_stacks(const CleanStrings& clean) {
    std::vector<std::string> names(profile_.frames.size());
    for (uint32_t i = 1; i < names.size(); ++i)
      append_json(names[i], clean[profile_.frames[FrameId{i}].function]);
    array("stacks", stack_rows(profile_, names, '\n'), [&](const StackRow& row) {
      out_ << "{\"frames\":[\"";
      for (const char c : row.path)
        if (c == '\n')
          out_ << "\",\"";
        else
          out_ << c;
      out_ << "\"],\"values\":[";
      for (size_t i = 0; i < row.values.size(); ++i) out_ << (i == 0 ? "" : ",") << row.values[i];
      out_ << "]}";
    });
  }

  void write_losses() {
    Losses losses = profile_.losses;
    losses.add(Loss::replaced_bytes, replaced_);
    out_ << ",\n\"losses\":{";
    for (size_t i = 0; i < loss_info.size(); ++i) {
      const LossCount& count = losses[static_cast<Loss>(i)];
      out_ << (i == 0 ? "" : ",\n") << quoted(loss_info[i].name) << ":{\"events\":" << count.events
           << ",\"bytes\":" << count.bytes << "}";
    }
    out_ << "}";
  }

  std::ostream& out_;
  const Profile& profile_;
  uint64_t replaced_ = 0;
};

}  // namespace

void write_json(std::ostream& out, const Profile& profile, const RenderOptions& options) {
  JsonWriter(out, profile).run(options);
}

}  // namespace memflame
