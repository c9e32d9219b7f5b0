// @ts-check
/* An answer of a model, with the originals put back on this machine: in a turn, or pasted. */
import { addText, own } from "./texts.js";

/**
 * @typedef {{parts: {text: string, original: ?string}[], notes: {told: string, wrote: string}[], words_stay: boolean,
 *   needs: {kind: string, placeholder: string, original: string}[], left: number}} Restored
 */

/** @param {string} id @returns {any} */
const byId = (id) => document.getElementById(id);
const [answer, restored] = ["answer", "restored"].map(byId);
let [sequence, timer] = [0, 0];
let plain = "";
/** Tell the proxy what may leave. @type {(chosen: string[]) => void} */
let release = () => {};

/** @param {Restored} found */
function show({ parts, notes, words_stay, needs, left }) {
  plain = parts.map(({ text, original }) => original ?? text).join("");
  restored.replaceChildren(...read(parts));
  const put = parts.filter(({ original }) => original !== null).length;
  byId("answer-status").textContent = left
    ? `${put} ${put === 1 ? "stand-in was" : "stand-ins were"} put back.`
    : "Nothing of this conversation has left yet, so nothing can be put back: copy the text first.";
  // What a pasted answer asks for is let leave where its text was written.
  byId("notes").replaceChildren(...asking(needs, release), ...noted(notes, words_stay));
}

/** What the model asks for: nothing leaves unless a person says so.
 * @param {Restored["needs"]} needs @param {(chosen: string[]) => void} decide */
export function asking(needs, decide) {
  if (!needs.length) return [];
  const item = document.createElement("li");
  const named = needs.map(({ original }) => own(original)).flatMap((each, i) => (i ? [", ", each] : [each]));
  item.append("The model asks to see ", ...named, ". If you let it leave, the API knows it, and whose account it is. ");
  for (const [words, chosen] of /** @type {[string, string[]][]} */ ([
    ["Let it leave", needs.map(({ placeholder }) => placeholder)],
    ["Keep it hidden", []],
  ])) {
    const button = document.createElement("button");
    Object.assign(button, { className: "quiet", type: "button", textContent: words });
    button.addEventListener("click", () => {
      item.remove();
      decide(chosen);
    });
    item.append(button);
  }
  return [item];
}

/** An answer as it is read. @param {Restored["parts"]} parts */
export const read = (parts) => parts.map(({ text, original }) => stretch(text, original));

/** @param {string} text @param {?string} original */
function stretch(text, original) {
  const part = document.createElement(original === null ? "span" : "mark");
  if (original !== null) part.title = `The model wrote “${text}”`;
  addText(part, original ?? text);
  return part;
}

/** One note for every drawn thing alike, whether the answer speaks of it or not.
 * @param {Restored["notes"]} notes @param {boolean} wordsStay */
export function noted(notes, wordsStay) {
  const items = notes.map(({ told, wrote }) => {
    const item = document.createElement("li");
    item.append(own(told), " stood for ", own(wrote), ": advice about ", own(told), " may not hold for ", own(wrote), ".");
    return item;
  });
  if (wordsStay) {
    const item = document.createElement("li");
    item.append("Words that were drawn one by one stay as the model wrote them.");
    items.push(item);
  }
  return items;
}

function clear() {
  plain = "";
  restored.replaceChildren();
  byId("notes").replaceChildren();
  byId("answer-status").textContent = "";
}

/** @param {() => Promise<Restored>} ask @param {(error: unknown) => string} reason */
function changed(ask, reason) {
  clearTimeout(timer);
  const mine = (sequence += 1);
  byId("no-answer").hidden = Boolean(answer.value);
  byId("copy-answer").disabled = true;
  if (!answer.value.trim()) return clear();
  timer = setTimeout(async () => {
    try {
      const found = await ask();
      if (mine !== sequence) return;
      show(found);
      byId("copy-answer").disabled = false;
    } catch (error) {
      if (mine !== sequence) return;
      clear();
      byId("answer-status").textContent = reason(error);
    }
  }, 150);
}

/** What is put back on the screen after a reload, or when more has left. @param {string} [words] */
export function showAnswer(words = answer.value) {
  answer.value = words;
  answer.dispatchEvent(new Event("input"));
}

/** @param {() => Promise<Restored>} ask @param {(error: unknown) => string} reason
 * @param {(plain: string) => Promise<boolean>} toClipboard @param {(chosen: string[]) => void} decide */
export function wireAnswer(ask, reason, toClipboard, decide) {
  release = decide;
  answer.addEventListener("input", () => changed(ask, reason));
  byId("copy-answer").addEventListener("click", async () => {
    const done = await toClipboard(plain);
    byId("answer-status").textContent = done ? "Answer copied: it holds your own words." : "The browser did not allow copying.";
  });
}
