// SPDX-License-Identifier: BSD-2-Clause
// Texts: figures, shortened names, tooltips, copied text.
import assert from "node:assert/strict";
import test from "node:test";
import { figuresOf, foldedText, labelOf, nameOf, stackText } from "../../render/viewer/figures.mjs";
import { brief, commas, human, iec, inPages, percent, plain } from "../../render/viewer/format.mjs";
import { cells, shorten, shorterNames } from "../../render/viewer/label.mjs";
import { layOut } from "../../render/viewer/layout.mjs";
import { at, lookOf, treeOf } from "./trees.mjs";

// The examples of tests/core/units_test.cc and render/picture/caption.h.
test("figures as core/units.h writes them", () => {
  assert.deepEqual([0, 999, 1000, -123456, -(2n ** 63n)].map(commas),
    ["0", "999", "1,000", "-123,456", "-9,223,372,036,854,775,808"]);
  assert.deepEqual([0, 1023, 1024, 1024 ** 2 - 1, 124675686, -2048, 2n ** 63n - 1n].map(iec),
    ["0 B", "1023 B", "1.0 KiB", "1.0 MiB", "118.9 MiB", "-2.0 KiB", "8.0 EiB"]);
  assert.deepEqual([percent(1, 4), percent(1, 0), percent(0n, 0n), percent(1n, 3n)], ["25.0 %", "-", "-", "33.3 %"]);
});

test("figures for people, and exact", () => {
  const of = (unit, decimals) => ({ unit, decimals });
  for (const [n, type, short, long] of [
    [812, of("bytes"), "812 B", "812 B"],
    [1610612736, of("bytes"), "1.5 GiB", "1.5 GiB (1,610,612,736 B)"],
    [2n ** 60n + 1n, of("bytes"), "1.0 EiB", "1.0 EiB (1,152,921,504,606,846,977 B)"],
    [-2048, of("bytes"), "-2.0 KiB", "-2.0 KiB (-2,048 B)"],
    [409650, of("bytes", 2), "4.0 KiB", "4.0 KiB (4,096.5 B)"],
    [3, of("pages"), "3 pages", "3 pages (12.0 KiB, 12,288 B)"],
    [1, of("pages"), "1 page", "1 page (4.0 KiB, 4,096 B)"],
    [2n ** 63n - 1n, of("pages"), "9,223,372,036,854,775,807 pages", "9,223,372,036,854,775,807 pages"],
    [1204, of("count"), "1,204", "1,204"],
    [1250, of("count", 2), "12.5", "12.5"], [-5, of("count", 2), "-0.05", "-0.05"], [123400, of("count", 2), "1,234", "1,234"],
    [12, of("nanoseconds"), "12 ns", "12 ns"],
    [1250000000, of("nanoseconds"), "1.250 s", "1.250 s (1,250,000,000 ns)"],
    [999999, of("nanoseconds"), "999.999 µs", "999.999 µs (999,999 ns)"],
  ]) {
    assert.equal(brief(n, type), short);
    assert.equal(human(n, type), long);
  }
  assert.deepEqual([plain(1250, 2), plain(1200, 2), plain(-7n, 0)], ["12.5", "12", "-7"]);
  assert.deepEqual([inPages(4096), inPages(4097), inPages(2n ** 40n)],
    ["1 page of 4 KiB", "2 pages of 4 KiB", "268,435,456 pages of 4 KiB"]);
});

test("names of C++ lose what says least, and keep what is the name", () => {
  for (const [name, ...forms] of [
    ["json::Parser::parse_object(std::string_view, json::Arena&)", "json::Parser::parse_object()",
     "…::Parser::parse_object()", "…::parse_object()"],
    ["std::map<int, std::vector<char>>::operator[](int const&)", "std::map<int, std::vector<char>>::operator[]()",
     "std::map<…>::operator[]()", "…::map<…>::operator[]()", "…::operator[]()"],
    ["Ptr<T>::operator->()", "Ptr<…>::operator->()", "…::operator->()"],
    ["a::operator<(a const&, a const&)", "a::operator<()", "…::operator<()"],
    ["operator<=>(x, y)", "operator<=>()"],
    ["F::operator()(int) const", "F::operator()() const", "…::operator()() const"],
    ["F::operator std::string() const", "…::operator std::string() const"],
    ["(anonymous namespace)::run(int)", "(anonymous namespace)::run()", "…::run()"],
    ["operator new(unsigned long)", "operator new()"],
    ["<alloc::vec::Vec<T> as core::ops::Drop>::drop", "<…>::drop", "…::drop"],
    ["github.com/prometheus/prometheus/tsdb.(*memSeries).append", "…/tsdb.(*memSeries).append", "…(*memSeries).append", "…append"],
    ["main.(*Server).run.func1", "…(*Server).run.func1", "…run.func1"],
    ["net/http.serve", "…/http.serve", "…serve"],
    ["main.main.func23"], ["a/b"], ["x.y/z"], ["/usr/lib/x.y"],
    ["f(std::string, int", ],
    ["main"], ["(+37 frames, 2.1 MiB)"], ["(no name)"], ["[lost: ring buffer full]"], ["unbalanced(((", ], ["a < b"],
  ]) assert.deepEqual(shorterNames(name), forms, name);
});

test("a label fits, is whole where it can be, and nothing where it says nothing", () => {
  assert.equal(shorten("main", 4), "main");
  assert.equal(shorten("main", 3), "ma…");
  assert.equal(shorten("main", 2), "");
  assert.deepEqual(["right", "middle", "left"].map((side) => shorten("abcdefghij", 6, side)), ["abcde…", "abc…ij", "…fghij"]);
  assert.equal(shorten("ns::f(std::string, int)", 12), "ns::f()");
  assert.equal(shorten("(+37 frames, 2.1 MiB)", 10), "(+37 fram…");
  // What tells two functions of one name apart stays as long as there is room, and is never left out unseen.
  assert.deepEqual([28, 27, 20, 17, 16, 15, 12].map((fits) => shorten("QWidgetPrivate::setVisible(bool)", fits)),
    ["QWidgetPrivate::setVisible()", "QWidgetPriva…::setVisible()", "QWidg…::setVisible()", "QW…::setVisible()", "…::setVisible()",
     "…::setVisible()", "…::setVisib…"]);
  assert.equal(shorten("gui::model::TreeModel::create(int)", 16), "TreeM…::create()");
  assert.equal(shorten("std::atomic<unsigned long>::store()", 18), "atomic…::store()");
  for (let fits = 0; fits < 40; ++fits)
    for (const side of ["right", "middle", "left"])
      for (const name of ["漢字の名前漢字の名前", "🔥🔥🔥 flames é́́", "std::vector<int>::push_back(int&&)", "👨‍👩‍👧‍👦👨‍👩‍👧‍👦 family"])
        assert.ok(cells(shorten(name, fits, side)) <= fits, `${name} in ${fits}`);
});

test("letters that are seen as one are never cut apart", () => {
  const family = "👨‍👩‍👧‍👦", accents = "é́́";
  assert.equal(cells(family), 2);
  assert.equal(cells("漢字"), 4);
  assert.equal(shorten(`${family}${family}${family}`, 5), `${family}${family}…`);
  assert.equal(shorten(`${accents}bcdef`, 3), `${accents}b…`);
});

test("tooltips: exact figures, shares of all, of the zoom and of the parent, self", () => {
  const tree = treeOf("main;parse;grow 6000 3\nmain;parse 2000 1\nother 2000 1", {
    types: [{ name: "live", unit: "bytes" }, { name: "blocks", unit: "count" }] });
  const look = lookOf(tree), main = at(look, "main");
  assert.deepEqual(figuresOf({ view: at(look, "main;parse") }, main), [
    "7.8 KiB (8,000 B), 2 pages of 4 KiB", "80.0 % of all, 100.0 % of zoom, 100.0 % of parent",
    "self 2.0 KiB (2,000 B), 20.0 % of all", "blocks 4"]);
  const focused = lookOf(tree, { focus: "parse" });
  assert.equal(figuresOf({ view: at(focused, "grow") }, focused.root)[1], "60.0 % of all, 75.0 % of parse");
});

test("a difference says before, after, and what became of it", () => {
  const tree = treeOf("grown 100 300\nnew 0 7\ngone 50 0\nsame 5 5", {
    types: [{ name: "before", unit: "bytes" }, { name: "after", unit: "bytes" }], shown: 1, difference: { before: 0, after: 1 } });
  const look = lookOf(tree), of = (name) => ({ view: at(look, name) });
  const change = (name) => figuresOf(of(name), look.root).find((line) => line.startsWith("before"));
  assert.equal(change("grown"), "before 100 B, after 300 B: +200 B, +200.0 %");
  assert.equal(change("new"), "before 0 B, after 7 B: +7 B, new");
  assert.equal(change("gone"), "before 50 B, after 0 B: -50 B, -100.0 %, gone");
  assert.deepEqual(["grown", "new", "gone", "same"].map((name) => labelOf(of(name))), ["+ grown", "★ new", "✕ gone", "same"]);
  assert.equal(nameOf(of("new")), "new");
});

test("net figures say which way they go", () => {
  const look = lookOf(treeOf("takes 3000\ngives -1000\nnothing;a 5\nnothing;b -5", {
    types: [{ name: "live", unit: "bytes" }], net: true }));
  assert.deepEqual(["takes", "gives", "nothing"].map((name) => labelOf({ view: at(look, name) })), ["+ takes", "− gives", "nothing"]);
});

test("sampled figures have their error", () => {
  const tree = treeOf("a 1048576 4096", {
    types: [{ name: "live", unit: "bytes", variance: 1, varianceUnit: 1048576 }, { name: "v", unit: "variance" }] });
  const look = lookOf(tree);
  assert.ok(figuresOf({ view: at(look, "a") }, look.root).includes("live 1.0 MiB (1,048,576 B) (± 64.0 KiB)"));
});

test("where the error of an estimate comes from is a measure of its own: squares add up", () => {
  const tree = treeOf("main;a 100 9\nmain;b 100 16\nsure 500 0", {
    types: [{ name: "live", unit: "bytes", variance: 1, varianceUnit: 1 }, { name: "v", unit: "variance" }] });
  const look = lookOf(tree, { value: "live-error" });
  assert.equal(look.measure.label, "error of live (width: its square)");
  assert.equal(at(look, "main").total, 25);
  const figures = (path) => figuresOf({ view: at(look, path) }, look.root);
  assert.deepEqual(figures("main").slice(0, 2), ["± 5 B", "100.0 % of all"]);
  assert.deepEqual(figures("main;b").slice(0, 2), ["± 4 B", "64.0 % of all, 64.0 % of parent"]);
  assert.ok(figures("main;b").includes("live 100 B (± 4 B)"));
});

test("copied: the stack, and all below as folded text, callers first too", () => {
  const tree = treeOf("main;a;b:x 5\nmain;a;c 2\nmain;a 1\nmain;(+3) 9"), look = lookOf(tree);
  assert.equal(stackText(at(look, "main;a;c")), "main\na\nc\n2 B\n");
  assert.equal(foldedText(at(look, "main;a")), "main;a 1\nmain;a;b:x 5\nmain;a;c 2\n");
  assert.match(foldedText(look.root), /^main;\(\+3 frames, 9 B\) 9$/m);
  const above = lookOf(tree, { flow: "callers" });
  assert.equal(foldedText(at(above, "c")), "main;a;c 2\n");
  assert.equal(stackText(at(above, "c;a")), "a\nc\n2 B\n");
});

test("what shares a box has a name that says how much", () => {
  const rows = layOut(lookOf(treeOf("m;wide 10000\nm;a;x 1\nm;b 2")).root, 0.05);
  assert.equal(nameOf(rows[2].find((box) => !box.view)), "(+3 frames, 3 B)");
});
