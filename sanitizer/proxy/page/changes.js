// @ts-check
/* The list of changes, what can be done with one of them, and the person's own rules. */
import { how, isDrawn, own, pointAt, said, style } from "./texts.js";

/**
 * @typedef {import("./texts.js").Piece} Piece
 * @typedef {{keep: string[], hide: string[]}} Rules  phrases that leave as they are, and that always go to the vault
 */

const SHOWN = 300; // things listed at most
export const MAX_PHRASE = 300; // characters of a phrase that the proxy takes

/** @param {string} id @returns {any} */
const byId = (id) => document.getElementById(id);
const menu = byId("menu");

/** @type {Rules} */ let rules = { keep: [], hide: [] };
let changed = () => {};
/** Tells the memory of this machine of a correction; null where there is none. */
/** @type {((phrase: string, treatment: string) => void) | null} */ let remember = null;
/** @returns {Rules} */
export const ruled = () => rules;

/** @param {Rules} all */
export function setRules(all) {
  rules = all;
  showRules();
}

/** @param {typeof remember} keep */
export function rememberWith(keep) {
  remember = keep;
}

/** @param {keyof Rules} which @param {string} phrase @param {boolean} forGood in every text to come */
export function addRule(which, phrase, forGood = false) {
  forget(phrase);
  rules[which].push(phrase);
  if (forGood) remember?.(phrase, which);
  showRules();
  changed();
}

/** @param {string} phrase */
function forget(phrase) {
  const others = (/** @type {string} */ one) => one.toLowerCase() !== phrase.toLowerCase();
  rules = { keep: rules.keep.filter(others), hide: rules.hide.filter(others) };
}

/* ---- the list ---- */

/** One entry for each thing. @param {Piece[]} pieces */
export function showChanges(pieces) {
  /** @type {Map<string, number[]>} */ const things = new Map();
  pieces.forEach(({ kind, original }, i) => {
    if (kind === "article") return;
    const key = `${kind} ${original}`;
    things.set(key, [...(things.get(key) ?? []), i]);
  });
  const entries = [...things.values()];
  byId("changes").replaceChildren(...entries.slice(0, SHOWN).map((at) => entry(pieces, at)));
  byId("summary").textContent = entries.length ? `${entries.length} hidden` : "";
  byId("no-changes").hidden = entries.length > 0;
}

/** @param {Piece[]} pieces @param {number[]} at */
function entry(pieces, at) {
  const piece = pieces[at[0]];
  const item = document.createElement("li");
  const button = document.createElement("button");
  const [words, about, count] = ["span", "small", "small"].map((tag) => document.createElement(tag));
  const mark = document.createElement("mark");
  mark.className = style(piece);
  mark.append(piece.replacement);
  words.append(own(piece.original), " → ", mark);
  about.textContent = `${said(piece)}, ${how(piece)}`;
  if (piece.kind === "word" || piece.kind === "number") about.textContent = how(piece);
  count.textContent = at.length > 1 ? `${at.length} times` : "";
  button.type = "button";
  button.className = "change";
  button.setAttribute("aria-haspopup", "dialog");
  button.append(words, about, count);
  button.addEventListener("mouseenter", () => pointAt(at[0]));
  button.addEventListener("click", () => openMenu(piece, button));
  item.append(button);
  return item;
}

function showRules() {
  const all = [...rules.keep.map((phrase) => [phrase, "leaves as it is"]), ...rules.hide.map((phrase) => [phrase, "is hidden"])];
  byId("rules-box").hidden = !all.length;
  byId("rules").replaceChildren(...all.map(([phrase, what]) => {
    const [item, words, button] = ["li", "span", "button"].map((tag) => document.createElement(tag));
    words.append(own(phrase), ` ${what}`);
    button.className = "quiet tiny";
    button.textContent = "Undo";
    button.setAttribute("aria-label", `Undo: ${phrase} ${what}`);
    button.addEventListener("click", () => {
      forget(phrase);
      remember?.(phrase, "forget");
      showRules();
      changed();
    });
    item.append(words, button);
    return item;
  }));
}

/* ---- what can be done with one ---- */

/** @param {Piece} piece @param {HTMLElement} anchor */
export function openMenu(piece, anchor) {
  const drawn = isDrawn(piece);
  byId("menu-title").replaceChildren(own(piece.original), " → ", own(piece.replacement));
  byId("menu-why").textContent = [...new Set([said(piece), how(piece), ...(piece.found ? [`found by ${piece.found}`] : [])])].join(", ") + ".";
  const keeps = piece.left
    ? `In this conversation. A reader then knows what ${piece.replacement} stood for.`
    : "In this conversation, as you wrote it, wherever it stands.";
  const other = drawn
    ? "A placeholder: nothing is drawn for it, and nothing of it can be guessed."
    : "A placeholder that does not show what kind of thing it is.";
  byId("menu-actions").replaceChildren(
    ...(piece.kind === "article" || piece.kind === "number" || piece.original.length > MAX_PHRASE ? [] : [
      action(`Let this ${said(piece)} leave`, keeps, () => addRule("keep", piece.original)),
      ...(remember ? [
        action("Never hide it again", "In every text to come, on this machine and for all who share its corrections.", () => addRule("keep", piece.original, true)),
        action("Always hide it", "In every text to come, whatever stands around it.", () => addRule("hide", piece.original, true)),
      ] : []),
      ...(piece.left || piece.kind === "TERM" ? [] : [action("Another stand-in", other, () => addRule("hide", piece.original))]),
    ]),
  );
  byId("menu-note").textContent = note(piece, drawn);
  const at = anchor.getBoundingClientRect();
  menu.showPopover();
  const [width, height] = [menu.offsetWidth, menu.offsetHeight];
  const below = at.bottom + height + 12 < innerHeight;
  menu.style.left = `${Math.max(8, Math.min(at.left, innerWidth - width - 16))}px`;
  menu.style.top = `${Math.max(8, below ? at.bottom + 6 : at.top - height - 6)}px`;
  menu.querySelector("button")?.focus();
}

/** Why there is no other stand-in. @param {Piece} piece @param {boolean} drawn */
function note({ kind, left }, drawn) {
  if (kind === "article") return "“a” or “an” follows the word behind it.";
  const memory = remember ? "" : " To hide or show it in every text to come, start the proxy with SANITIZER_CORRECTIONS.";
  if (left) return `It has left like this, and keeps this stand-in in this conversation.${memory}`;
  return (drawn ? "It is drawn when it leaves, once: a second draw would reveal more about it." : "") + memory;
}

/** @param {string} name @param {string} cost @param {() => void} act */
function action(name, cost, act) {
  const [button, about] = ["button", "small"].map((tag) => document.createElement(tag));
  about.textContent = cost;
  button.append(name, about);
  button.addEventListener("click", () => {
    menu.hidePopover();
    act();
  });
  return button;
}

/** @param {() => void} act called when a rule changes */
export function wireChanges(act) {
  changed = act;
}
