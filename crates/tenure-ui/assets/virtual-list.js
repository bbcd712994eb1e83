// A list of any length that draws only visible rows. All rows have the same height; `draw(row, index)` fills a row that may have shown
// another index before.

import { h } from "./dom.js";

const MARGIN = 12;

export class VirtualList extends HTMLElement {
  constructor() {
    super();
    this.count = 0;
    this.rowHeight = 22;
    this.rows = [];
    this.space = h("div", { class: "space", role: "presentation" });
    this.draw = () => {};
  }

  connectedCallback() {
    this.append(this.space);
    this.onScroll = () => this.schedule();
    this.addEventListener("scroll", this.onScroll, { passive: true });
    this.observer = new ResizeObserver(() => this.schedule());
    this.observer.observe(this);
  }

  disconnectedCallback() {
    this.removeEventListener("scroll", this.onScroll);
    this.observer.disconnect();
  }

  /** Shows a number of rows; all of them are redrawn. */
  update(count) {
    this.count = count;
    this.space.style.height = `${count * this.rowHeight}px`;
    for (const row of this.rows) row.index = -1;
    this.render();
  }

  schedule() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = undefined;
      this.render();
    });
  }

  render() {
    const first = Math.max(0, Math.floor(this.scrollTop / this.rowHeight) - MARGIN);
    const last = Math.min(this.count, Math.ceil((this.scrollTop + this.clientHeight) / this.rowHeight) + MARGIN);
    const wanted = Math.max(0, last - first);
    while (this.rows.length < wanted) {
      const row = this.create();
      row.index = -1;
      this.rows.push(row);
      this.space.append(row);
    }
    while (this.rows.length > wanted) this.rows.pop().remove();
    // A row keeps its index while it is visible, so that it keeps the focus.
    const length = this.rows.length;
    for (let index = first; index < last; index += 1) {
      const row = this.rows[index % length];
      if (row.index === index) continue;
      row.index = index;
      row.style.transform = `translateY(${index * this.rowHeight}px)`;
      this.draw(row, index);
    }
  }

  create() {
    const row = h("div", { class: "row" });
    row.style.height = `${this.rowHeight}px`;
    return row;
  }

  /** Returns the row of an index, if it is drawn. */
  rowAt(index) {
    return this.rows.find((row) => row.index === index);
  }

  /** Scrolls so that an index is visible. */
  reveal(index) {
    const top = index * this.rowHeight;
    if (top < this.scrollTop) this.scrollTop = top - this.rowHeight;
    else if (top + this.rowHeight > this.scrollTop + this.clientHeight) this.scrollTop = top - this.clientHeight + 2 * this.rowHeight;
    this.render();
  }
}

customElements.define("virtual-list", VirtualList);
