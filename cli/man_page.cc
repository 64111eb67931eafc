// SPDX-License-Identifier: BSD-2-Clause
#include "cli/man_page.h"

#include <algorithm>
#include <cctype>
#include <string_view>

#include "cli/runs/version.h"

namespace po = boost::program_options;

namespace memflame {
namespace {

std::string unicode_escape(uint32_t code) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string hex;
  for (; code != 0 || hex.size() < 4; code /= 16) hex.insert(0, 1, digits[code % 16]);
  return "\\[u" + hex + "]";
}

// One character of valid UTF-8, which starts at `at`; moves `at` behind it.
uint32_t next_code(std::string_view text, size_t& at) {
  const auto lead = static_cast<unsigned char>(text[at++]);
  const int more = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : 1;
  uint32_t code = lead & (0x3fU >> more);
  for (int i = 0; i < more && at < text.size(); ++i)
    code = code << 6 | (static_cast<unsigned char>(text[at++]) & 0x3fU);
  return code;
}

// Characters that roff would interpret, or draw differently, are written by name.
std::string roff(std::string_view text) {
  std::string out;
  bool line_begins = true;
  for (size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (static_cast<unsigned char>(c) >= 0x80) {
      out += unicode_escape(next_code(text, at));
      line_begins = false;
      continue;
    }
    ++at;
    switch (c) {
      case '\\':
        out += "\\e";
        break;
      case '-':
        out += "\\-";
        break;
      case '\'':
        out += "\\(aq";
        break;
      case '`':
        out += "\\(ga";
        break;
      case '^':
        out += "\\(ha";
        break;
      case '~':
        out += "\\(ti";
        break;
      case '"':
        out += "\\(dq";
        break;
      case '.':
        out += line_begins ? "\\&." : ".";
        break;
      default:
        out += c;
    }
    line_begins = c == '\n';
  }
  return out;
}

std::string page_name(const CommandPage& page) {
  return page.name.empty() ? "memflame" : "memflame-" + page.name;
}

void write_head(std::ostream& out, const CommandPage& page) {
  std::string upper = page_name(page);
  std::transform(upper.begin(), upper.end(), upper.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  out << ".\\\" Made by 'memflame --man'.\n"
      << ".TH " << roff(upper) << " 1 \"" << version_date() << "\" \"memflame " << version_number()
      << "\" \"User Commands\"\n"
      << ".SH NAME\n"
      << roff(page_name(page)) << " \\- " << roff(page.help) << "\n"
      << ".SH SYNOPSIS\n";
  const std::string command = "memflame" + (page.name.empty() ? "" : " " + page.name);
  for (const std::string& usage : page.usages) {
    const size_t text = std::min(usage.find_first_not_of(' '), usage.size());
    out << (&usage == &page.usages.front() ? "" : ".br\n") << ".B " << roff(command) << "\n"
        << roff(usage.substr(text)) << "\n";
  }
  out << ".SH DESCRIPTION\n" << roff(page.description) << "\n";
}

void write_table(std::ostream& out, const NameTable& table) {
  out << ".SS " << roff(table.title) << "\n";
  for (const NameRow& row : table.rows)
    out << ".TP\n.B " << roff(row.name) << "\n" << roff(row.meaning) << "\n";
}

void write_man_option(std::ostream& out, const OptionFacts& option) {
  out << ".TP\n";
  if (!option.short_name.empty()) out << "\\fB" << roff(option.short_name) << "\\fR, ";
  out << "\\fB" << roff(option.long_name) << "\\fR";
  if (!option.value.empty()) out << " \\fI" << roff(option.value) << "\\fR";
  out << "\n" << roff(option.help) << "\n";
}

void write_options(std::ostream& out, const CommandPage& page) {
  out << ".SH OPTIONS\n";
  for (const po::options_description& group : page.options) {
    const std::string title = title_of(group);
    out << ".SS " << (title.empty() ? "General" : roff(title)) << "\n";
    for (const auto& option : group.options()) write_man_option(out, facts_of(*option));
  }
  for (const NameTable& table : page.formats) write_table(out, table);
}

void write_exit_statuses(std::ostream& out, const CommandPage& page) {
  out << ".SH EXIT STATUS\n";
  for (const ExitStatus& status : exit_statuses())
    if (may_exit(page, status))
      out << ".TP\n.B " << roff(status.codes) << "\n" << roff(status.meaning) << "\n";
}

void write_see_also(std::ostream& out, const CommandPage& page,
                    const std::vector<CommandPage>& all) {
  std::string text;
  for (const CommandPage& other : all)
    if (other.name != page.name)
      text += (text.empty() ? ".BR " : ",\n.BR ") + roff(page_name(other)) + " (1)";
  out << ".SH SEE ALSO\n" << text << "\n";
}

}  // namespace

void write_man_page(std::ostream& out, const CommandPage& page,
                    const std::vector<CommandPage>& all) {
  write_head(out, page);
  for (const NameTable& table : page.tables) write_table(out, table);
  write_options(out, page);
  write_exit_statuses(out, page);
  out << ".SH EXAMPLES\n";
  for (const Example& example : page.examples)
    out << ".TP\n.B " << roff(example.command) << "\n" << roff(example.meaning) << "\n";
  write_see_also(out, page, all);
}

}  // namespace memflame
