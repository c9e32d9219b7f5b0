// @ts-check
/*
 * The two texts and their marks. Every string goes in as a text node or an attribute, never as markup.
 * The proxy counts offsets in code points, as Python does; strings here count UTF-16 units.
 */

/**
 * @typedef {{start: number, end: number, replacement: string, kind: string, original: string, drawn?: boolean,
 *   left?: boolean, found?: string}} Replacement  left: this stand-in has left in the conversation; found: by what
 * @typedef {Replacement & {from: number, to: number}} Piece  places in both texts, in UTF-16 units; from, to: original
 */

const BLOCK = 4000; // characters after which the result goes on in a new block: only blocks in sight are laid out
const LONG = 20_000; // characters from which the marks in the original wait for the answer while a person types
const STYLES = ["word", "vault", "article"];
/** Classes of things, as a person says them. @type {Record<string, string>} */
const SAID = {
  MONEY: "amount", TERM: "unknown word", PERSON: "name", ORGANIZATION: "organization",
  CONDITION: "illness", BELIEF: "belief", ORIGIN: "origin", MEDICAL: "medical number", ID: "number of a case or customer",
  SSN: "social security number", IBAN: "IBAN", URL: "web address", IP: "IP address", EMAIL: "e-mail address",
};
// Control, format and direction characters leave with the text and cannot be seen: the page shows their code.
const UNSEEN =
  /([\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff])\1*/g;

/** @param {string} id @returns {any} */
const byId = (id) => document.getElementById(id);
const [text, original, result, caption] = ["text", "original", "result", "caption"].map(byId);

let current = 0; // the mark that the tab key stops at
/** What opens for a mark. @type {(piece: Piece, mark: HTMLElement) => void} */
let open = () => {};
/** The sheet that a person scrolls; the other one follows. @type {?HTMLElement} */
let leader = null;
/** @type {Range[]} */ let ranges = [];
/** @type {Piece[]} */ let pieces = [];

/** Both texts with their marks; the pieces are returned.
 * @param {string} released @param {Replacement[]} replacements @param {{start: number, end: number}[]} [facts] */
export function showTexts(released, replacements, facts = []) {
  pieces = places(released, replacements);
  current = 0;
  renderResult(released);
  renderOriginal();
  point(null);
  if (document.activeElement === text) follow(text, result);
  result.tabIndex = pieces.length ? -1 : 0; // it scrolls, so the keyboard must reach it
  paint("fact", stretches(facts).map(({ from, to }) => rangeOf(from, to)));
  return pieces;
}

/** Stretches of the original, in UTF-16 units. @param {{start: number, end: number}[]} facts */
export function stretches(facts) {
  const at = counter(text.value);
  return facts.map(({ start, end }) => ({ from: at(start), to: at(end) }));
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

/** @param {Piece} piece */
export const isDrawn = ({ kind, drawn }) => drawn ?? kind === "word";

/** @param {Piece} piece */
export function style(piece) {
  if (piece.kind === "article") return "article";
  return isDrawn(piece) ? "word" : "vault";
}

/** What a piece is. @param {Piece} piece */
export const said = ({ kind }) => SAID[kind] ?? kind.toLowerCase().replaceAll("_", " ");

/** What was done with it. @param {Piece} piece */
export function how(piece) {
  if (piece.kind === "article") return "made to fit";
  if (piece.kind === "number") return "a random number";
  if (!isDrawn(piece)) return "kept on this machine";
  return piece.kind === "word" ? "drawn anew" : "another one was drawn";
}

/** @param {Piece} piece */
const why = (piece) => (piece.kind === "word" || piece.kind === "number" ? how(piece) : `${said(piece)}, ${how(piece)}`);

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
  byId("result-paper").classList.toggle("long", released.length > LONG);
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
  mark.className = style(piece);
  mark.title = `In place of “${piece.original}”: ${why(piece)}`;
  mark.setAttribute("role", "button");
  mark.setAttribute("aria-haspopup", "dialog");
  mark.setAttribute("aria-label", `${piece.replacement}, in place of ${piece.original}: ${why(piece)}`);
  mark.tabIndex = i ? -1 : 0; // one stop for the tab key; arrows go on from there
  mark.dataset.i = String(i);
  addText(mark, piece.replacement);
  return mark;
}

/** @param {HTMLElement} parent @param {string} string */
export function addText(parent, string) {
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
  ranges = pieces.map(({ from, to }) => rangeOf(from, to));
  for (const name of STYLES) paint(name, ranges.filter((_, i) => style(pieces[i]) === name));
}

/** @param {number} from @param {number} to */
function rangeOf(from, to) {
  const range = new Range();
  range.setStart(original.firstChild, from);
  range.setEnd(original.firstChild, to);
  return range;
}

/** Browsers without custom highlights show no marks in the original. @param {string} name @param {Range[]} where */
function paint(name, where) {
  if ("highlights" in CSS) CSS.highlights.set(name, new Highlight(...where));
}

/** While a person types, marks stay on their words; in long texts they hide until the answer comes. */
export function typed() {
  const long = text.value.length > LONG;
  original.classList.toggle("stale", long);
  byId("paper").classList.toggle("long", long);
  if (!long) mirror();
}

/** Bring the sheet to the textarea's text by one change, so that ranges move with their words. */
function mirror() {
  original.classList.remove("stale");
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

/** Keep the sheet under the textarea, and the result beside it. */
function scroll() {
  original.scrollTop = text.scrollTop;
  if (leader === text) follow(text, result);
}

/** @param {HTMLElement} one @param {HTMLElement} other */
function follow(one, other) {
  const share = one.scrollTop / Math.max(1, one.scrollHeight - one.clientHeight);
  other.scrollTop = share * (other.scrollHeight - other.clientHeight);
}

/* ---- from a mark to its original ---- */

/** Say and show what a mark stands for. @param {EventTarget | null} target */
function point(target) {
  const mark = target instanceof Element ? target.closest("mark") : null;
  const i = Number(mark?.dataset.i ?? -1);
  paint("active", ranges.slice(i, i + 1));
  if (mark) caption.replaceChildren(own(pieces[i].original), " → ", own(pieces[i].replacement), ` (${why(pieces[i])})`);
  else caption.replaceChildren(pieces.length ? "Point at a marked word to see what it replaces; choose it to keep it or to hide it for good." : "");
}

/** @param {string} string */
export function own(string) {
  const element = document.createElement("bdi");
  addText(element, string);
  return element;
}

/** Scroll the original of a mark into sight. @param {EventTarget | null} target */
function reveal(target) {
  const mark = target instanceof Element ? target.closest("mark") : null;
  const word = ranges[Number(mark?.dataset.i ?? -1)]?.getBoundingClientRect();
  if (word) show(text, word);
}

/** Scroll a sheet, and nothing around it, to a word. @param {HTMLElement} sheet @param {DOMRect} word */
function show(sheet, word) {
  const seen = sheet.getBoundingClientRect();
  if (word.top < seen.top || word.bottom > seen.bottom) sheet.scrollTop += word.top - seen.top - seen.height / 3;
}

/** @param {KeyboardEvent} event */
function walk(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const marks = result.querySelectorAll("mark");
  const [next, before] = [Math.min(current + 1, marks.length - 1), Math.max(current - 1, 0)];
  const steps = { ArrowRight: next, ArrowDown: next, ArrowLeft: before, ArrowUp: before, Home: 0, End: marks.length - 1 };
  if (event.key === "Enter" || event.key === " ") {
    event.preventDefault();
    return choose(event.target);
  }
  const step = steps[/** @type {keyof typeof steps} */ (event.key)];
  if (!marks.length || step === undefined) return;
  event.preventDefault();
  marks[step].focus();
}

/** @param {EventTarget | null} target */
function choose(target) {
  const mark = target instanceof Element ? target.closest("mark") : null;
  if (mark) open(pieces[Number(mark.dataset.i)], mark);
}

/** Point at one change, as the list of changes does. @param {number} i */
export function pointAt(i) {
  const mark = result.querySelector(`mark[data-i="${i}"]`);
  point(mark);
  leader = null;
  if (mark) show(result, mark.getBoundingClientRect());
  reveal(mark);
}

/** @param {FocusEvent} event */
function settle({ target }) {
  const mark = target instanceof Element ? target.closest("mark") : null;
  if (!mark) return;
  for (const other of result.querySelectorAll('mark[tabindex="0"]')) other.tabIndex = -1;
  mark.tabIndex = 0;
  current = Number(mark.dataset.i);
  leader = null;
  point(mark);
  reveal(mark);
}

/** Listen to pointer and keyboard. @param {typeof open} opened what opens for a mark */
export function wireTexts(opened) {
  open = opened;
  for (const sheet of [text, result])
    for (const name of ["wheel", "touchmove", "pointerdown"])
      sheet.addEventListener(name, () => (leader = sheet), { passive: true });
  text.addEventListener("keydown", () => (leader = text));
  text.addEventListener("scroll", scroll);
  result.addEventListener("scroll", () => leader === result && follow(result, text));
  text.addEventListener("input", typed);
  result.addEventListener("mouseover", (/** @type {MouseEvent} */ event) => point(event.target));
  result.addEventListener("mouseleave", () => point(document.activeElement));
  result.addEventListener("click", (/** @type {MouseEvent} */ event) => choose(event.target));
  result.addEventListener("focusin", settle);
  result.addEventListener("focusout", () => point(null));
  result.addEventListener("keydown", walk);
}
