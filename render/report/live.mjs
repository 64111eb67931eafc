// SPDX-License-Identifier: BSD-2-Clause
// A page that memflame serves while a run goes on: asks for its state, and takes the data of the newer page when
// there is one.
import { element } from "../viewer/page.mjs";

const askEvery = 1000, mostFailures = 5;

export class Live {
  // host: for the line. live: {version, ended}. isBusy(): the reader is in the middle of something. take(page):
  // shows the data of a newer page, an element; returns its `live`.
  constructor(host, live, { isBusy, take }) {
    Object.assign(this, { live, isBusy, take, paused: false, failures: 0 });
    this.word = element("b", { role: "status" });
    this.about = element("span");
    this.button = element("button", { type: "button" });
    this.button.addEventListener("click", () => {
      this.paused = !this.paused;
      this.tell();
    });
    this.line = element("p", { className: "mf-live" }, this.word, this.about, this.button);
    host.prepend(this.line);
    this.tell();
    this.askLater();
  }

  get isOver() { return this.live.ended || this.failures >= mostFailures; }

  askLater() {
    if (!this.isOver) setTimeout(() => this.ask().finally(() => this.askLater()), askEvery);
  }

  async ask() {
    if (this.paused || document.hidden || this.isBusy()) return;
    try {
      const state = await (await this.fetched("state")).json();
      if (state.version > this.live.version) await this.renew();
      else this.live.ended = state.ended;
      this.failures = 0;
    } catch (error) {
      ++this.failures;
      this.problem = error.message;
    }
    this.tell();
  }

  async renew() {
    const text = await (await this.fetched("./")).text();
    const page = new DOMParser().parseFromString(text, "text/html").querySelector(".memflame");
    if (page && !this.paused && !this.isBusy()) this.live = await this.take(page);
  }

  async fetched(name) {
    const answer = await fetch(name, { cache: "no-store", credentials: "omit" });
    if (!answer.ok) throw new Error(`the server says ${answer.status}`);
    return answer;
  }

  tell() {
    const { live, failures, paused } = this, lost = failures >= mostFailures;
    const [word, about] = live.ended ? ["The run has ended.", "These are its last figures."]
      : lost ? ["memflame gives no newer figures.", `These are the last ones (${this.problem}).`]
        : paused ? ["Paused.", "The run goes on."] : ["Live.", "The page renews itself."];
    if (this.word.textContent !== word) this.word.textContent = word;
    this.about.textContent = about;
    this.button.hidden = this.isOver;
    this.button.textContent = paused ? "Go on" : "Pause";
    this.line.classList.toggle("mf-over-now", this.isOver || paused);
  }
}
