// SPDX-License-Identifier: BSD-2-Clause
// The formats of results.
#include "render/query/query_output.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "core/error.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

namespace {

class ListedRows : public QueryRows {
 public:
  explicit ListedRows(std::vector<std::vector<QueryValue>> rows) : rows_(std::move(rows)) {}
  bool next() override { return next_++ < rows_.size(); }
  QueryValue value(size_t column) override { return rows_[next_ - 1][column]; }

 private:
  std::vector<std::vector<QueryValue>> rows_;
  size_t next_ = 0;
};

StackId push_numbered(Profile& into, int64_t stack) {
  if (stack != 7) return {};
  return into.push(into.push({}, "server", FrameKind::process), "do_fault", FrameKind::kernel);
}

std::string written_as(std::string_view format, std::vector<std::string> columns,
                       std::vector<std::vector<QueryValue>> rows) {
  QueryResult result{std::move(columns), std::make_unique<ListedRows>(std::move(rows))};
  std::ostringstream out;
  query_output_for(format, "").write(out, result, {.push_stack = push_numbered});
  return out.str();
}

const std::vector<std::vector<QueryValue>> some_rows{
    {int64_t{1}, "one", 0.5}, {int64_t{-1000}, "a \"b\", c", 2.0}, {{}, "", {}}};

std::string refusal_of_folded(std::vector<std::string> columns, std::vector<QueryValue> row) {
  try {
    written_as("folded", std::move(columns), {std::move(row)});
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("a table is aligned, numbers to the right") {
  CHECK(written_as("table", {"id", "name", "share"}, some_rows) ==
        "   id  name      share\n"
        "-----  --------  -----\n"
        "    1  one         0.5\n"
        "-1000  a \"b\", c    2.0\n"
        " NULL             NULL\n");
  CHECK(written_as("table", {"name"}, {}) == "name\n----\n");
}

TEST_CASE("a table cuts the beginning of long texts, and shows no control characters") {
  const std::string text =
      written_as("table", {"a", "b"},
                 {{std::string(100, 'x') + "end", "\x1b[31m\n"}, {"ü", std::string(90, 'y')}});
  CHECK(text.find("\n…" + std::string(56, 'x') + "end  ") != text.npos);
  CHECK(text.find('\x1b') == text.npos);
  CHECK(text.find("\nü" + std::string(59, ' ') + "  " + std::string(90, 'y') + "\n") != text.npos);
}

TEST_CASE("rows behind the first thousand are all written") {
  std::vector<std::vector<QueryValue>> rows;
  for (int64_t i = 0; i < 5000; ++i) rows.push_back({i * 1000});
  const std::string text = written_as("table", {"n"}, rows);
  CHECK(std::count(text.begin(), text.end(), '\n') == 5002);
  CHECK(text.ends_with("\n4999000\n"));
}

TEST_CASE("CSV by RFC 4180") {
  CHECK(written_as("csv", {"id", "na,me", "share"}, some_rows) ==
        "id,\"na,me\",share\r\n1,one,0.5\r\n-1000,\"a \"\"b\"\", c\",2.0\r\n,\"\",\r\n");
}

TEST_CASE("JSON keeps each digit, and has each column") {
  const std::string text = written_as(
      "json", {"n", "n", "t", "r"},
      {{int64_t{1} << 53U, (int64_t{1} << 53U) - 1, "\x1b\"\xff", 0.25},
       {INT64_MIN, -(int64_t{1} << 53U) + 1, {}, std::numeric_limits<double>::infinity()}});
  const nlohmann::json parsed = nlohmann::json::parse(text);
  REQUIRE(parsed.size() == 2);
  CHECK(parsed[0]["n"] == "9007199254740992");
  CHECK(parsed[0]["n-2"] == 9007199254740991);
  CHECK(parsed[0]["t"] == "\x1b\"\xEF\xBF\xBD");
  CHECK(parsed[0]["r"] == 0.25);
  CHECK(parsed[1]["n"] == "-9223372036854775808");
  CHECK(parsed[1]["n-2"] == -9007199254740991);
  CHECK(parsed[1]["t"].is_null());
  CHECK(parsed[1]["r"].is_null());
  CHECK(nlohmann::json::parse(written_as("json", {"n"}, {})).empty());
}

TEST_CASE("folded text has a stack and a figure") {
  CHECK(written_as("folded", {"stack", "sum(bytes)"},
                   {{int64_t{7}, int64_t{3}}, {"a;b", 4.0}, {"a;b", int64_t{1}}, {{}, {}}}) ==
        "# memflame folded unit=bytes value=sum(bytes) total=8\n# memflame roots=\"process\"\na;b "
        "5\nserver;do_fault_[k] 3\n");
  CHECK(written_as("folded", {"count(size)", "stack"}, {{int64_t{3}, "a\n;b;;c"}})
            .starts_with("# memflame folded unit=count"));
  CHECK(written_as("folded", {"n", "stack"}, {{int64_t{3}, "# a;b"}}).ends_with("\n_ a;b 3\n"));
}

TEST_CASE("folded text refuses what has no stack or no whole figure") {
  CHECK(refusal_of_folded({"a", "b"}, {{}, {}}).starts_with("--format folded takes two columns"));
  CHECK(refusal_of_folded({"stack", "a", "b"}, {{}, {}, {}})
            .starts_with("--format folded takes two columns"));
  CHECK(refusal_of_folded({"stack", "a"}, {int64_t{8}, int64_t{1}}) ==
        "--format folded: the recording has no stack 8");
  CHECK(refusal_of_folded({"stack", "a"}, {"x", 0.5})
            .starts_with("--format folded: 'a' is not a whole"));
  CHECK(refusal_of_folded({"stack", "a"}, {"x", "y"}) == "--format folded: 'a' is not a number");
  CHECK(refusal_of_folded({"stack", "a"}, {0.5, int64_t{1}}) ==
        "--format folded: a stack is a number or a text");
}

TEST_CASE("the suffix chooses the format") {
  CHECK(query_output_for("", "").name == "table");
  CHECK(query_output_for("", "a.csv").name == "csv");
  CHECK(query_output_for("", "a.folded").name == "folded");
  CHECK(query_output_for("json", "a.csv").name == "json");
  CHECK_THROWS_AS(query_output_for("", "a.svg"), Error);
}
