// @ts-check
/*
 * The two texts and their marks. Every string goes in as a text node or an attribute, never as markup.
 * The proxy counts offsets in code points, as Python does; strings here count UTF-16 units.
 */

/**
 * @typedef {{start: number, end: number, replacement: string, kind: string, original: string}} Replacement
 * @typedef {Replacement & {from: number, to: number}} Piece  places in both texts, in UTF-16 units; from, to: original
 */

const BLOCK = 4000; // characters after which the result goes on in a new block: only blocks in sight are laid out
const LONG = 20_000; // characters from which the marks in the original wait for the answer while a person types
const STYLES = ["word", "vault", "article"];
// Control, format and direction characters leave with the text and cannot be seen: the page shows their code.
const UNSEEN =
  /([\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff])\1*/g;

/** @param {string} id @returns {any} */
const byId = (id) => document.getElementById(id);
const [text, original, result, caption] = ["text", "original", "result", "caption"].map(byId);

let current = 0; // the mark that the tab key stops at
/** @type {Range[]} */ let ranges = [];
/** @type {Piece[]} */ let pieces = [];

/** Both texts with their marks. @param {string} released @param {Replacement[]} replacements */
export function showTexts(released, replacements) {
  pieces = places(released, replacements);
  current = 0;
  renderResult(released);
  renderOriginal();
  point(null);
  result.tabIndex = pieces.length ? -1 : 0; // it scrolls, so the keyboard must reach it
}

/** An empty result, and no marks. */
export function clearTexts() {
  showTexts("", []);
  result.tabIndex = -1;
}

/** Text between replacements is the same in both texts. @param {string} released @param {Replacement[]} replacements */
function places(released, replacements) {
  const at = counter(released);
  let [to, end] = [0, 0];
  return replacements.map((r) => {
    const start = at(r.start);
    const from = to + start - end;
    [to, end] = [from + r.original.length, at(r.end)];
    return { ...r, start, end, from, to };
  });
}

/** Code points to UTF-16 units, for ascending offsets. @param {string} string */
function counter(string) {
  let [points, units] = [0, 0];
  return (/** @type {number} */ offset) => {
    for (; points < offset; points += 1) units += (string.codePointAt(units) ?? 0) > 0xffff ? 2 : 1;
    return units;
  };
}

/** @param {string} kind */
const style = (kind) => (kind === "word" || kind === "article" ? kind : "vault");

/** @param {Piece} piece */
function why({ kind }) {
  if (kind === "word") return "drawn anew";
  if (kind === "article") return "made to fit";
  return kind === "number" ? "a random number" : `${kind.toLowerCase().replaceAll("_", " ")}, kept on this machine`;
}

/* ---- the result ---- */

/** @param {string} released */
function renderResult(released) {
  const all = new DocumentFragment();
  const last = { start: released.length, end: released.length };
  let [block, size, at] = [newBlock(all), 0, 0];
  for (const [i, piece] of [...pieces, last].entries()) {
    const between = released.slice(at, piece.start);
    const cut = size + between.length > BLOCK ? between.lastIndexOf("\n") + 1 : 0;
    addText(block, between.slice(0, cut));
    if (cut) [block, size] = [newBlock(all), 0];
    addText(block, between.slice(cut));
    if (i < pieces.length) block.append(markFor(pieces[i], i));
    size += piece.end - at;
    at = piece.end;
  }
  result.replaceChildren(all);
}

/** @param {DocumentFragment} all */
function newBlock(all) {
  const block = document.createElement("span");
  block.className = "block";
  all.append(block);
  return block;
}

/** @param {Piece} piece @param {number} i */
function markFor(piece, i) {
  const mark = document.createElement("mark");
  mark.className = style(piece.kind);
  mark.title = `In place of “${piece.original}”: ${why(piece)}`;
  mark.setAttribute("role", "button"); // it shows its original
  mark.tabIndex = i ? -1 : 0; // one stop for the tab key; arrows go on from there
  mark.dataset.i = String(i);
  addText(mark, piece.replacement);
  return mark;
}

/** @param {HTMLElement} parent @param {string} string */
function addText(parent, string) {
  let at = 0;
  for (const { 0: run, 1: one, index } of string.matchAll(UNSEEN)) {
    parent.append(string.slice(at, index), unseen(run, one));
    at = index + run.length;
  }
  if (at < string.length) parent.append(string.slice(at));
}

/** @param {string} run @param {string} one */
function unseen(run, one) {
  const span = document.createElement("span");
  const code = one.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0");
  span.className = "control";
  span.dataset.code = `U+${code}${run.length > 1 ? ` × ${run.length}` : ""}`;
  span.append(run);
  return span;
}

/* ---- the original: a sheet under the textarea, one text node with ranges that move with it ---- */

function renderOriginal() {
  mirror();
  ranges = pieces.map(({ from, to }) => {
    const range = new Range();
    range.setStart(original.firstChild, from);
    range.setEnd(original.firstChild, to);
    return range;
  });
  for (const name of STYLES) paint(name, ranges.filter((_, i) => style(pieces[i].kind) === name));
}

/** Browsers without custom highlights show no marks in the original. @param {string} name @param {Range[]} where */
function paint(name, where) {
  if ("highlights" in CSS) CSS.highlights.set(name, new Highlight(...where));
}

/** While a person types, marks stay on their words; in long texts they hide until the answer comes. */
export function typed() {
  original.hidden = text.value.length > LONG;
  if (!original.hidden) mirror();
}

/** Bring the sheet to the textarea's text by one change, so that ranges move with their words. */
function mirror() {
  original.hidden = false;
  if (!original.firstChild) original.append(document.createTextNode(""));
  const node = /** @type {Text} */ (original.firstChild);
  const [old, now] = [node.data, text.value + "\n"]; // without it a last, empty line has no height
  const most = Math.min(old.length, now.length);
  const before = longest(most, (n) => old.slice(0, n) === now.slice(0, n));
  const after = longest(most - before, (n) => old.slice(old.length - n) === now.slice(now.length - n));
  node.replaceData(before, old.length - before - after, now.slice(before, now.length - after));
  scroll();
}

/** The most, up to `most`, for which `equal` holds, as it does for all below: 18 comparisons of slices for 200,000
 * characters, where a loop over them takes a second. @param {number} most @param {(n: number) => boolean} equal */
function longest(most, equal) {
  let [low, high] = [0, most];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (equal(middle)) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** Keep the sheet under the textarea. */
const scroll = () => (original.scrollTop = text.scrollTop);

/* ---- from a mark to its original ---- */

/** Say and show what a mark stands for. @param {EventTarget | null} target */
function point(target) {
  const mark = target instanceof Element ? target.closest("mark") : null;
  const i = Number(mark?.dataset.i ?? -1);
  paint("active", ranges.slice(i, i + 1));
  if (mark) caption.replaceChildren(own(pieces[i].original), " → ", own(pieces[i].replacement), ` (${why(pieces[i])})`);
  else caption.replaceChildren(pieces.length ? "Point at a marked word to see what it replaces." : "");
}

/** @param {string} string */
function own(string) {
  const element = document.createElement("bdi");
  addText(element, string);
  return element;
}

/** Scroll the original of a mark into sight. @param {EventTarget | null} target */
function reveal(target) {
  const mark = target instanceof Element ? target.closest("mark") : null;
  const word = ranges[Number(mark?.dataset.i ?? -1)]?.getBoundingClientRect();
  const sheet = text.getBoundingClientRect();
  if (!word || (word.top >= sheet.top && word.bottom <= sheet.bottom)) return;
  text.scrollTop += word.top - sheet.top - sheet.height / 3;
}

/** @param {KeyboardEvent} event */
function walk(event) {
  const marks = result.querySelectorAll("mark");
  const [next, before] = [Math.min(current + 1, marks.length - 1), Math.max(current - 1, 0)];
  const steps = { ArrowRight: next, ArrowDown: next, ArrowLeft: before, ArrowUp: before, Home: 0, End: marks.length - 1 };
  const step = steps[/** @type {keyof typeof steps} */ (event.key)] ?? (event.key === " " ? current : undefined);
  if (event.ctrlKey || event.metaKey || event.altKey || !marks.length || step === undefined) return;
  event.preventDefault();
  marks[step].focus();
}

/** @param {FocusEvent} event */
function settle({ target }) {
  const mark = target instanceof Element ? target.closest("mark") : null;
  if (!mark) return;
  for (const other of result.querySelectorAll('mark[tabindex="0"]')) other.tabIndex = -1;
  mark.tabIndex = 0;
  current = Number(mark.dataset.i);
  point(mark);
  reveal(mark);
}

/** Listen to pointer and keyboard. */
export function wireTexts() {
  text.addEventListener("scroll", scroll);
  text.addEventListener("input", typed);
  result.addEventListener("mouseover", (/** @type {MouseEvent} */ event) => point(event.target));
  result.addEventListener("mouseleave", () => point(document.activeElement));
  result.addEventListener("click", (/** @type {MouseEvent} */ event) => reveal(event.target));
  result.addEventListener("focusin", settle);
  result.addEventListener("focusout", () => point(null));
  result.addEventListener("keydown", walk);
}
