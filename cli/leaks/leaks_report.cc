// SPDX-License-Identifier: BSD-2-Clause
#include "cli/leaks/leaks_report.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "core/hex.h"
#include "core/units.h"
#include "render/text/clean_text.h"

namespace memflame {
namespace {

std::string fixed(double value, int digits) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.*f", digits, value);
  return text.data();
}

std::string age_text(uint64_t age_ns) {
  const double seconds = static_cast<double>(age_ns) / 1e9;
  return seconds < 1 ? fixed(seconds * 1e3, 0) + " ms" : fixed(seconds, 1) + " s";
}

std::string reach_text(Reach reach) {
  return reach == Reach::lost        ? ", lost"
         : reach == Reach::indirect  ? ", lost (indirect)"
         : reach == Reach::reachable ? ", reachable"
                                     : "";
}

class Writer {
 public:
  explicit Writer(bool exact) : exact_(exact) {}

  std::string bytes(int64_t value) const {
    return exact_ ? with_commas(value) + " B" : iec_bytes(value);
  }

  // "4.5 MiB ± 12.0 KiB in 1,234 ± 10 blocks"
  std::string amount(const Amount& amount, const char* word = "in") const {
    std::string text = bytes(amount.bytes);
    if (amount.bytes_variance > 0)
      text += " ± " + bytes(rounded_up(std::sqrt(amount.bytes_variance)));
    text += " " + std::string(word) + " " + with_commas(amount.blocks);
    if (amount.blocks_variance > 0)
      text += " ± " + with_commas(rounded_up(std::sqrt(amount.blocks_variance)));
    return text + (amount.blocks == 1 ? " block" : " blocks");
  }

  // " (+512.0 KiB, +12 blocks since the last)"
  std::string change(const Amount& now, const std::optional<Amount>& before) const {
    if (!before) return "";
    const int64_t more = now.bytes - before->bytes;
    const int64_t blocks = now.blocks - before->blocks;
    if (more == 0 && blocks == 0) return " (unchanged since the last)";
    return std::string(" (") + plus(more) + bytes(more) + ", " + plus(blocks) +
           with_commas(blocks) + (std::abs(blocks) == 1 ? " block" : " blocks") +
           " since the last)";
  }

  std::string head(const LeaksReport& report) const {
    std::string text = "[" + report.clock + "] " + fixed(report.seconds, 1) +
                       " s: " + amount(report.live, "live in") +
                       change(report.live, report.live_before);
    if (report.older_ns != 0)
      text += "; older than " + age_text(report.older_ns) +
              (report.has_ended ? " or of ended processes: " : ": ") + amount(report.old);
    text += " on " + with_commas(static_cast<int64_t>(report.stacks)) +
            (report.stacks == 1 ? " stack" : " stacks");
    if (report.top.size() < report.stacks)
      text += ", the top " + std::to_string(report.top.size()) + " by " + std::string(report.order);
    return text + "\n";
  }

  std::string losses(const LeaksReport& report) const {
    std::string text = "  lost " + with_commas(static_cast<int64_t>(report.losses.lost_events()));
    const char* between = ": ";
    const auto item = [&](std::string_view label, uint64_t events, int64_t bytes_lost) {
      if (events == 0) return;
      text += between + std::string(label) + " " + with_commas(static_cast<int64_t>(events));
      if (bytes_lost != 0) text += " (" + bytes(bytes_lost) + ")";
      between = ", ";
    };
    for (const LossKind kind : {LossKind::missing, LossKind::cut, LossKind::news}) {
      for (size_t i = 0; i < loss_info.size(); ++i) {
        const LossCount& count = report.losses[static_cast<Loss>(i)];
        const LossInfo& cause = loss_info[i];
        if (cause.kind == kind)
          item(
              (kind == LossKind::cut ? "blocks with a cut stack, " : "") + std::string(cause.label),
              count.events, count.bytes);
      }
      between = "; ";
    }
    item("blocks freed unseen, found when allocated again", report.unseen_frees, 0);
    return text + "\n";
  }

  std::string stack(const ReportedStack& stack) const {
    std::string text = "\n  " + amount(stack.amount) + change(stack.amount, stack.before);
    if (!stack.process.empty()) text += ", " + clean_text(stack.process);
    text += "\n";
    if (!stack.verdict.empty()) text += "    " + stack.verdict + "\n";
    if (stack.reach)
      for (const std::string& line : in_words(*stack.reach, exact_))
        text += "    " + clean_text(line) + "\n";
    for (const std::string& frame : stack.frames) text += "      " + clean_text(frame) + "\n";
    for (const SnapshotBlock& block : stack.blocks)
      text += "    " + hex(block.address) + "  " + with_commas(static_cast<int64_t>(block.size)) +
              " B, " + age_text(block.age_ns) + " old" + reach_text(block.reach) + "\n";
    if (stack.blocks_left_out != 0)
      text += "    and " + with_commas(static_cast<int64_t>(stack.blocks_left_out)) +
              (stack.blocks_left_out == 1 ? " more block\n" : " more blocks\n");
    return text;
  }

  std::string reach(const ReportedReach& reach) const {
    std::string text;
    for (const ScanFacts& scan : reach.scanned) text += "  " + clean_text(in_words(scan)) + "\n";
    for (const std::string& line : in_words(reach.sums, exact_))
      text += "  " + clean_text(line) + "\n";
    return text;
  }

  // The sum over stacks that are not printed.
  std::string rest(const LeaksReport& report) const {
    if (report.top.size() >= report.stacks) return "";
    Amount left = report.old;
    for (const ReportedStack& stack : report.top) {
      left.bytes -= stack.amount.bytes;
      left.blocks -= stack.amount.blocks;
      left.bytes_variance -= stack.amount.bytes_variance;
      left.blocks_variance -= stack.amount.blocks_variance;
    }
    const size_t stacks = report.stacks - report.top.size();
    return "\n  and " + with_commas(static_cast<int64_t>(stacks)) +
           (stacks == 1 ? " more stack: " : " more stacks: ") + amount(left) + "\n";
  }

 private:
  static const char* plus(int64_t value) { return value >= 0 ? "+" : ""; }

  bool exact_;
};

}  // namespace

std::string report_text(const LeaksReport& report, bool exact) {
  const Writer writer(exact);
  std::string text = writer.head(report);
  if (!report.verdicts.empty()) text += "  " + report.verdicts + "\n";
  if (!report.sampling.empty())
    text += "  estimated from samples (" + report.sampling + "); ± is one standard error\n";
  for (const std::string& note : report.notes) text += "  " + clean_text(note) + "\n";
  if (report.reach) text += writer.reach(*report.reach);
  text += writer.losses(report);
  for (const ReportedStack& stack : report.top) text += writer.stack(stack);
  return text + writer.rest(report) + "\n";
}

std::string in_words(const ScanFacts& scan) {
  const std::string process = "process " + std::to_string(scan.pid);
  if (!scan.why_not.empty()) return "not scanned: " + process + ": " + scan.why_not;
  std::string text = "scanned " + process + ": stopped for " + fixed(scan.stopped_s * 1e3, 0) +
                     " ms, " + iec_bytes(static_cast<int64_t>(scan.bytes_read)) + " read";
  if (scan.bytes_unread != 0)
    text += ", " + iec_bytes(static_cast<int64_t>(scan.bytes_unread)) + " could not be read";
  if (!scan.is_exact)
    text += "; not every block was known, so what is reachable is so only probably";
  return text;
}

std::string call_text(const bpf::call_record& call, const std::string& function,
                      uint64_t start_ns) {
  const uint64_t since = call.time - std::min(call.time, start_ns);
  const std::string name = clean_text({call.comm, ::strnlen(call.comm, sizeof(call.comm))});
  std::string text = fixed(static_cast<double>(since) / 1e9, 6) + " " + std::to_string(call.tgid) +
                     "/" + std::to_string(call.tid) + " " + name + "  " + clean_text(function) +
                     "(";
  if (call.frees != 0)
    return text + hex(call.address) + ")" +
           (call.size != 0 ? " " + std::to_string(call.size) : "") + "\n";
  if (call.old != 0 || function.find("realloc") != std::string::npos) text += hex(call.old) + ", ";
  return text + std::to_string(call.size) + ") = " + (call.address != 0 ? hex(call.address) : "0") +
         "\n";
}

}  // namespace memflame
