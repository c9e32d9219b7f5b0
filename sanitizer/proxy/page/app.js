// @ts-check
/*
 * Shows what would leave this machine, and copies it once it is charged. Talks to the proxy that served it and to
 * nothing else, and stores nothing.
 */
import { clearFacts, EXPLAINED, meaning, shortly, showFacts } from "./facts.js";
import { clearTexts, showTexts, typed, wireTexts } from "./texts.js";

/**
 * @typedef {import("./facts.js").Answer} Answer
 * @typedef {{text: string, policy: string, mechanism: string, epsilon: number}} Inputs
 */

const WAIT_MS = 150;
const LONGEST_WAIT_MS = 2000;
const EXAMPLE =
  "My father Peter has hepatitis and lives in Leeds. I want to write to his clinic " +
  "(reception@clinic.example, +44 20 7946 0958): he cannot come on 14 March and would like an appointment in the " +
  "week after. His patient number is 48213.";

/** Refusals that a person can act on, in plain words. @type {Record<string, string>} */
const KNOWN = {
  budget_exceeded: "The budget is used up: this text costs more than is left.",
  policy: "The policy refuses this text.",
};

/** @param {string} id @returns {any} */
const byId = (id) => document.getElementById(id);
const [text, result, epsilon, copyButton, failure, empty] =
  ["text", "result", "epsilon", "copy", "failure", "empty"].map(byId);
const conversation = "page-" + Array.from(crypto.getRandomValues(new Uint32Array(4)), (n) => n.toString(36)).join("");

/** What is shown and for which inputs; null while it does not answer the present ones.
 * @type {?{asked: Inputs, answer: Answer}} */
let shown = null;
let [sequence, timer, lastMs] = [0, 0, 0];
let [copying, everCopied] = [false, false];
let aborter = new AbortController();

/* ---- asking the proxy ---- */

/** A refusal, as a sentence for the person. */
class Refused extends Error {}

/** @param {string} path @param {RequestInit} [options] @returns {Promise<any>} */
async function ask(path, options) {
  const headers = { "content-type": "application/json", "sanitizer-conversation": conversation };
  let response, body;
  try {
    response = await fetch(path, { ...options, headers, cache: "no-store" });
    body = await response.json();
  } catch {
    throw new Refused("The sanitizer does not answer. Is “sanitizer serve” still running?");
  }
  if (response.ok) return body;
  const { message = "the sanitizer refused this text", code } = body?.error ?? {};
  throw new Refused(KNOWN[code] ?? sentence(String(message)));
}

/** @param {string} message */
const sentence = (message) => message.charAt(0).toUpperCase() + message.slice(1).replace(/\.?$/, ".");

/** @param {string} path @param {Inputs} asked @param {AbortSignal} [signal] @returns {Promise<Answer>} */
const post = (path, asked, signal) => ask(path, { method: "POST", body: JSON.stringify(asked), signal });

/** @returns {Inputs} */
function inputs() {
  return { text: text.value, policy: chosen("policy"), mechanism: chosen("mechanism"), epsilon: Number(epsilon.value) };
}

/** @param {string} name @returns {string} */
const chosen = (name) => document.querySelector(`input[name=${name}]:checked`)?.getAttribute("value") ?? "";

/** Ask once the person pauses; an answer that is still on its way is not wanted any more. */
function changed() {
  clearTimeout(timer);
  aborter.abort();
  sequence += 1;
  shown = null;
  copyButton.disabled = true;
  byId("clear").hidden = !text.value;
  if (!chosen("policy")) return; // the settings have not come yet
  if (!text.value.trim()) return showNothing();
  empty.hidden = true;
  result.setAttribute("aria-busy", "true");
  // Long texts take long: ask less often.
  timer = setTimeout(preview, Math.min(Math.max(lastMs / 4, WAIT_MS), LONGEST_WAIT_MS));
}

async function preview() {
  const [mine, asked, began] = [sequence, inputs(), performance.now()];
  aborter = new AbortController();
  try {
    const answer = await post("/page/preview", asked, aborter.signal);
    lastMs = performance.now() - began;
    if (mine !== sequence) return;
    show(asked, answer, false);
    say(everCopied ? "This version has not left the machine." : "Nothing has left this machine yet.");
  } catch (error) {
    if (mine === sequence) showFailure(error);
  }
}

/* ---- copying ---- */

/** Charge, then copy what the proxy answered, and only that. */
async function copy() {
  if (!shown || copying) return;
  const [mine, { asked, answer: before }] = [sequence, shown];
  copying = true;
  try {
    const answer = await post("/page/copy", asked);
    const done = await toClipboard(answer.text);
    everCopied ||= done;
    if (mine === sequence) show(asked, answer, true);
    say(copied(answer, done, answer.text !== before.text), !done);
  } catch (error) {
    say(`${reason(error)} Nothing was copied.`, true);
  } finally {
    copying = false;
  }
}

/** @param {Answer} answer @param {boolean} done @param {boolean} anew @returns {string} */
function copied({ record }, done, anew) {
  const cost = record.charged ? `charged ${shortly(record.charged)} epsilon` : "nothing charged";
  if (!done) return `The browser did not allow copying (${cost}). Copy again: it is not charged twice.`;
  return `Copied, ${cost}.${anew ? " It was drawn anew, as now shown." : ""}`;
}

/** @param {string} plain @returns {Promise<boolean>} */
async function toClipboard(plain) {
  try {
    await navigator.clipboard.writeText(plain);
    return true;
  } catch {
    return copyByEvent(plain); // a page over plain http from another machine has no navigator.clipboard
  }
}

/** @param {string} plain */
function copyByEvent(plain) {
  const put = (/** @type {ClipboardEvent} */ event) => {
    event.clipboardData?.setData("text/plain", plain);
    event.preventDefault();
    event.stopImmediatePropagation();
  };
  document.addEventListener("copy", put, true);
  const done = document.execCommand("copy");
  document.removeEventListener("copy", put, true);
  return done;
}

/** Copying a selection that touches the result is copying the result: it must be charged. @param {Event} event */
function takeOver(event) {
  const selection = getSelection();
  if (!selection || selection.isCollapsed || !selection.containsNode(result, true)) return;
  event.preventDefault();
  copy();
}

/* ---- what is on the screen ---- */

/** @param {Inputs} asked @param {Answer} answer @param {boolean} isCopied */
function show(asked, answer, isCopied) {
  shown = { asked, answer };
  failure.hidden = true;
  copyButton.disabled = false;
  result.setAttribute("aria-busy", "false");
  showTexts(answer.text, answer.replacements);
  showFacts(answer, isCopied);
}

function showNothing() {
  lastMs = 0;
  clearTexts();
  clearFacts();
  failure.hidden = true;
  empty.hidden = false;
  result.setAttribute("aria-busy", "false");
  say("");
}

/** @param {unknown} error */
function showFailure(error) {
  clearTexts();
  clearFacts();
  shown = null;
  copyButton.disabled = true;
  empty.hidden = true;
  failure.hidden = false;
  byId("failure-text").textContent = reason(error);
  result.setAttribute("aria-busy", "false");
  say("");
}

/** @param {unknown} error */
const reason = (error) => (error instanceof Refused ? error.message : "Something in this page went wrong.");

/** @param {string} words @param {boolean} [bad] */
function say(words, bad = false) {
  byId("status").textContent = words;
  byId("status").className = bad ? "bad" : "";
}

/* ---- settings ---- */

/** @param {HTMLElement} parent @param {string} name @param {string[]} values @param {string} preset */
function choices(parent, name, values, preset) {
  for (const value of values) {
    const [label, input, title, about] = ["label", "input", "span", "small"].map((tag) => document.createElement(tag));
    Object.assign(input, { type: "radio", name, value, checked: value === preset });
    [title.textContent, about.textContent] = EXPLAINED[value] ?? [value, ""];
    label.className = "choice";
    label.append(input, title, about);
    parent.append(label);
  }
}

function retune() {
  byId("epsilon-value").textContent = shortly(Number(epsilon.value));
  byId("epsilon-meaning").textContent = meaning(Number(epsilon.value));
  byId("strength").disabled = ["identifiers", "deidentify"].includes(chosen("policy"));
  changed();
}

async function start() {
  try {
    const settings = await ask("/page/settings");
    choices(byId("policies"), "policy", settings.policies, settings.policy);
    choices(byId("mechanisms"), "mechanism", settings.mechanisms, settings.mechanism);
    const { epsilon: value, epsilon_min: min, epsilon_max: max } = settings;
    Object.assign(epsilon, { min, max, step: Number.isInteger(2 * value) ? 0.5 : "any", value });
    retune();
  } catch (error) {
    showFailure(error);
  }
}

/** @param {Event} event */
function again(event) {
  event.preventDefault();
  text.focus(); // the button goes
  if (chosen("policy")) changed();
  else start();
}

/** @param {string} words */
function replaceText(words) {
  text.value = words;
  text.focus();
  typed();
  changed();
}

function wire() {
  text.addEventListener("input", changed);
  byId("settings").addEventListener("input", retune);
  byId("example").addEventListener("click", () => replaceText(EXAMPLE));
  byId("clear").addEventListener("click", () => replaceText(""));
  failure.addEventListener("submit", again);
  copyButton.addEventListener("click", copy);
  document.addEventListener("copy", takeOver);
  result.addEventListener("dragstart", (/** @type {Event} */ event) => event.preventDefault());
}

wireTexts();
wire();
start();
