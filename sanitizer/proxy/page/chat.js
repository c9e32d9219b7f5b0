// @ts-check
/* The turns of the conversation: what was written, what left of it, and the answer with the originals put back. */
import { asking, noted, read } from "./answer.js";

/**
 * @typedef {import("./answer.js").Restored & {wrote: string, sent: string, note: string, answer: string}} Turn
 * @typedef {{copy: (plain: string) => Promise<boolean>, edit: (turn: number, wrote: string) => void,
 *   release: (turn: number, of: Turn, chosen: string[]) => void}} Acts
 */

/** @param {string} id @returns {any} */
const byId = (id) => document.getElementById(id);

/** @param {Turn[]} turns @param {Acts} acts @param {boolean} [isNew] the last one has just been answered */
export function showTurns(turns, acts, isNew = false) {
  byId("chat").hidden = !turns.length;
  byId("turns").replaceChildren(...turns.map((turn, i) => itemOf(turn, i, i === turns.length - 1, acts)));
  if (isNew) byId("turns").lastElementChild?.querySelector(".model")?.scrollIntoView({ block: "nearest" });
}

/** @param {Turn} turn @param {number} i @param {boolean} isLast @param {Acts} acts */
function itemOf(turn, i, isLast, acts) {
  const { wrote, sent, note, parts, notes, words_stay: wordsStay, needs } = turn;
  const item = made("li", "turn");
  const [you, model, list] = [made("div", "you"), made("div", "model"), made("ul", "notices")];
  const details = document.createElement("details");
  details.append(made("summary", "", "What left this machine"), made("p", "said", sent), ...(note ? [made("p", "said muted", note)] : []),
    copier("Copy what left", note ? `${sent}\n\n${note}` : sent, acts.copy));
  you.append(made("h2", "hidden", "You wrote"), made("p", "said", wrote), details,
    button("Edit and send again", () => acts.edit(i, wrote)));
  const said = made("div", "said");
  said.dir = "auto";
  said.append(...read(parts));
  // Notes are on all that was drawn so far: once is enough.
  if (isLast) list.append(...asking(needs, (chosen) => acts.release(i, turn, chosen)), ...noted(notes, wordsStay));
  model.append(made("h2", "hidden", "The model answered"), said, ...(list.childElementCount ? [list] : []),
    copier("Copy answer", parts.map(({ text, original }) => original ?? text).join(""), acts.copy));
  item.append(you, model);
  return item;
}

/** @param {string} tag @param {string} [style] @param {string} [words] @returns {HTMLElement} */
function made(tag, style = "", words = "") {
  const element = document.createElement(tag);
  element.className = style;
  if (words) element.append(words);
  if (tag === "p") element.dir = "auto";
  return element;
}

/** @param {string} words @param {string} plain @param {Acts["copy"]} copy */
function copier(words, plain, copy) {
  const copied = button(words, async () => {
    copied.textContent = (await copy(plain)) ? "Copied" : "The browser did not allow copying";
  });
  return copied;
}

/** @param {string} words @param {() => void} act */
function button(words, act) {
  const element = Object.assign(document.createElement("button"), { type: "button", className: "quiet", textContent: words });
  element.addEventListener("click", act);
  return element;
}
