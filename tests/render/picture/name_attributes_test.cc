// SPDX-License-Identifier: BSD-2-Clause
#include "render/picture/name_attributes.h"

#include <doctest/doctest.h>

#include "core/error.h"

using namespace memflame;  // NOLINT(google-build-using-namespace): tests only

TEST_CASE("names with what is said of them") {
  const ReadAttributes read = read_name_attributes(
      "# comment\nmain\ttitle=the beginning\thref=https://example.org/a=b\ttarget=_blank\r\n\n"
      "f()\thref=http://x/\n",
      "attr");
  CHECK(read.ignored == 0);
  REQUIRE(read.by_name.size() == 2);
  const NameAttributes& main = read.by_name.find("main")->second;
  CHECK(main.title == "the beginning");
  CHECK(main.href == "https://example.org/a=b");
  CHECK(main.target == "_blank");
  CHECK(read.by_name.find("f()")->second.href == "http://x/");
}

TEST_CASE("nothing that could run is taken") {
  for (const char* evil :
       {"href=javascript:alert(1)", "href=JaVaScRiPt:alert(1)", "href= javascript:alert(1)",
        "href=java\x01script:alert(1)", "href=data:text/html,x", "href=//evil", "href=vbscript:x",
        "href=file:///etc/passwd", "href=https://a b", "href=http://\x01", "onclick=alert(1)",
        "g_extra=onload='alert(1)'", "a_extra=x", "style=fill:url(x)", "target=frame", "id=x",
        "class=x", "HREF=https://x/"}) {
    CAPTURE(evil);
    const ReadAttributes read = read_name_attributes("f\t" + std::string(evil), "attr");
    const NameAttributes& f = read.by_name.find("f")->second;
    CHECK(f.href.empty());
    CHECK(f.target.empty());
    CHECK(f.title.empty());
    CHECK(read.ignored == 1);
  }
}

TEST_CASE("a line that cannot be meant is told with its number") {
  CHECK_THROWS_WITH_AS(read_name_attributes("ok\ttitle=x\nf\tnothing\n", "my file"),
                       "my file: line 2 needs attribute=value behind each TAB", Error);
}
