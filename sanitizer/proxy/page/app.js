// @ts-check
/*
 * Shows what would leave this machine, copies it once it is charged, and restores the answer. Talks to the proxy that
 * served it and to nothing else. The browser keeps the conversation's random name, for a reload; the text is kept by the
 * proxy, in memory.
 */
import { showAnswer, wireAnswer } from "./answer.js";
import { addRule, MAX_PHRASE, openMenu, rememberWith, ruled, setRules, showChanges, wireChanges } from "./changes.js";
import { showTurns } from "./chat.js";
import { clearFacts, EXPLAINED, inWords, meaning, shortly, showFacts, showLeft, WAY_OUT } from "./facts.js";
import { describeSending, named, wireSending } from "./send.js";
import { clearTexts, own, showTexts, stretches, typed, wireTexts } from "./texts.js";

/**
 * @typedef {import("./facts.js").Answer} Answer
 * @typedef {{text: string, policy: string, mechanism: string, epsilon: number, keep: string[], hide: string[],
 *   answer: string, model: string}} Inputs
 */

const WAIT_MS = 150;
const LONGEST_WAIT_MS = 2000;
const POLL_MS = 500;
const SLOW_MS = 1500; // longer waits are shown with their progress, those for long texts at once
const LONG_CHARS = 5000;
const MOST_OFFERED = 12; // stretches of one notice that have a button of their own
const CALCULATED = new Set(["MONEY", "NUMBER", "DATE", "DATE_OF_BIRTH"]);
const EXAMPLE =
  "My father Peter has hepatitis and lives in Leeds. Please write to Dr. Elena Marsh for me " +
  "(marsh@northgate.example, +44 20 7946 0958): he cannot come on 14 March and asks for another day. " +
  "His NHS number is 943 476 5919.";

/** Refusals that a person can act on, in plain words. @type {Record<string, string>} */
const KNOWN = {
  budget_exceeded: "The budget is used up: this text costs more than is left.",
};

/** @param {string} id @returns {any} */
const byId = (id) => document.getElementById(id);
const [text, result, epsilon, copyButton, failure, empty] =
  ["text", "result", "epsilon", "copy", "failure", "empty"].map(byId);
const NAMED = "sanitizer-conversation";
let conversation = sessionStorage.getItem(NAMED) ?? begin();
let maxChars = Infinity;

/** What is shown and for which inputs; null while it does not answer the present ones.
 * @type {?{asked: Inputs, answer: Answer}} */
let shown = null;
/** @type {import("./texts.js").Piece[]} */ let pieces = [];
let [sequence, timer, poll, msPerChar] = [0, 0, 0, 0];
let leaving = false;
/** @type {Record<string, any>[]} */ let left = [];
let aborter = new AbortController();
/** The turn that is written anew; null for the next one. @type {?number} */ let editing = null;

/** A new conversation, of a name that nobody guesses. */
function begin() {
  const name = "page-" + Array.from(crypto.getRandomValues(new Uint32Array(4)), (n) => n.toString(36)).join("");
  sessionStorage.setItem(NAMED, name);
  return name;
}

/* ---- asking the proxy ---- */

/** A refusal, as a sentence for the person. */
class Refused extends Error {
  /** @param {string} message @param {string} [code] */
  constructor(message, code = "") {
    super(message);
    this.code = code;
  }
}

/** @param {string} path @param {RequestInit} [options] @returns {Promise<any>} */
async function ask(path, options) {
  const headers = { "content-type": "application/json", "sanitizer-conversation": conversation };
  let response, body;
  try {
    response = await fetch(path, { ...options, headers, cache: "no-store" });
    body = await response.json();
  } catch {
    if (options?.signal?.aborted) throw new Refused("Cancelled. What had left by then is listed at the end of the page.", "cancelled");
    throw new Refused("The sanitizer does not answer. Is “sanitizer serve” still running?");
  }
  if (response.ok) return body;
  const { message = "the sanitizer refused this text", code } = body?.error ?? {};
  throw new Refused(KNOWN[code] ?? sentence(String(message)), code);
}

/** @param {string} message */
const sentence = (message) => message.charAt(0).toUpperCase() + message.slice(1).replace(/\.?$/, ".");

/** @param {string} path @param {Inputs} asked @param {AbortSignal} [signal] @returns {Promise<any>} */
const post = (path, asked, signal) => ask(path, { method: "POST", body: JSON.stringify(asked), signal });

/** @returns {Inputs} */
function inputs() {
  return {
    text: text.value, policy: chosen("policy"), mechanism: chosen("mechanism"), epsilon: Number(epsilon.value),
    ...ruled(), answer: byId("answer").value, model: named(),
  };
}

/** @param {string} name @returns {string} */
const chosen = (name) => document.querySelector(`input[name=${name}]:checked`)?.getAttribute("value") ?? "";

/** Characters as the proxy counts them. @param {string} string */
const length = (string) => (string.length < maxChars ? string.length : Array.from(string).length);

/** Ask once the person pauses; an answer that is still on its way is not wanted any more. */
function changed() {
  stop();
  byId("clear").hidden = !text.value;
  const n = length(text.value);
  byId("count").textContent = `${n.toLocaleString("en")} of ${maxChars.toLocaleString("en")} characters`;
  byId("count").className = n > maxChars ? "bad" : "muted";
  if (!chosen("policy")) return; // the settings have not come yet
  if (!text.value.trim()) return showNothing();
  if (n > maxChars)
    return showFailure(new Refused(`A text on the page may have at most ${maxChars.toLocaleString("en")} characters.`, "size"));
  empty.hidden = true;
  failure.hidden = true;
  result.setAttribute("aria-busy", "true");
  // Long texts take long: ask less often.
  timer = setTimeout(preview, Math.min(Math.max((msPerChar * n) / 4, WAIT_MS), LONGEST_WAIT_MS));
}

/** Nothing is shown that could leave. */
function notReady() {
  shown = null;
  copyButton.disabled = true;
  byId("send-now").disabled = true;
}

/** Nothing is awaited any more, and what is shown does not answer what is written. */
function stop() {
  clearTimeout(timer);
  clearTimeout(poll);
  aborter.abort();
  sequence += 1;
  notReady();
  byId("waiting").hidden = true;
}

async function preview() {
  const [mine, asked, began] = [sequence, inputs(), performance.now()];
  aborter = new AbortController();
  poll = setTimeout(() => showProgress(mine, began), asked.text.length > LONG_CHARS ? WAIT_MS : SLOW_MS);
  try {
    const answer = await post("/page/preview", asked, aborter.signal);
    if (mine !== sequence) return;
    msPerChar = (performance.now() - began) / asked.text.length;
    show(asked, answer, false);
    say(whetherLeft(answer));
  } catch (error) {
    if (mine === sequence) showFailure(error);
  } finally {
    if (mine === sequence) {
      clearTimeout(poll);
      byId("waiting").hidden = true;
    }
  }
}

/** The same text again, after a reload too, is no news to whoever got it. @param {Answer} answer */
function whetherLeft(answer) {
  if (left.some((one) => one.text === answer.text)) return `This text has left. Copying or sending it again: ${cost(answer)}.`;
  return left.length ? "This text has not left this machine." : "Nothing has left this machine yet.";
}

/** How far a long text has come. @param {number} mine @param {number} began */
async function showProgress(mine, began) {
  const { done, total } = await ask("/page/progress").catch(() => ({ done: 0, total: 0 }));
  if (mine !== sequence || !aborter || result.getAttribute("aria-busy") !== "true") return;
  const bar = byId("progress");
  if (total > 1) [bar.max, bar.value] = [total, done];
  else bar.removeAttribute("value");
  byId("waiting-text").textContent = `Reading ${length(text.value).toLocaleString("en")} characters on this machine${remaining(done, total, performance.now() - began)}.`;
  byId("waiting").hidden = false;
  poll = setTimeout(() => showProgress(mine, began), POLL_MS);
}

/** @param {number} done @param {number} total @param {number} ms since it began */
function remaining(done, total, ms) {
  if (done < 2) return "";
  const seconds = Math.ceil((ms / done) * (total - done) / 1000);
  return seconds > 90 ? `, about ${Math.round(seconds / 60)} minutes more` : `, about ${seconds} seconds more`;
}

/** The proxy stops too, between two steps. */
function cancel() {
  stop();
  showFailure(new Refused("Cancelled: nothing has been read to its end, and nothing can be copied."));
  text.focus();
}

/* ---- copying ---- */

/**
 * What step 2 shows leaves, by one way at a time: it is charged first, and only what the proxy answered goes.
 * @param {string} begun @param {string} without what did not happen if it fails
 * @param {(asked: Inputs) => Promise<{answer: Answer, told: string, bad: boolean}>} way
 */
async function leave(begun, without, way) {
  if (!shown || leaving) return;
  const [mine, { asked, answer: before }] = [sequence, shown];
  say(begun);
  leaving = true;
  try {
    const { answer, told, bad } = await way(asked);
    if (mine === sequence) show(asked, answer, true);
    const isOther = mine === sequence && answer.text !== before.text;
    say(`${told}${isOther ? " What is drawn was drawn for good, as now shown." : ""}`, bad);
  } catch (error) {
    say(`${reason(error)} ${error instanceof Refused && error.code === "cancelled" ? "" : without}`, true);
  } finally {
    leaving = false;
  }
  await recall().catch(showFailure);
  if (byId("answer").value) showAnswer();
}

const copy = () => leave("Sanitizing for good…", "Nothing was copied.", async (asked) => {
  const answer = await post("/page/copy", asked);
  const notes = answer.notes.filter(Boolean);
  const done = await toClipboard([answer.text, ...notes].join("\n\n"));
  const told = `The browser did not allow copying (${cost(answer)}). Copy again: it is not charged twice.`;
  return { answer, told: done ? `Copied${notes.length ? " with a note for the model" : ""}, ${cost(answer)}.` : told, bad: !done };
});

/** @param {Answer} answer */
const cost = ({ record }) => (record.charged ? `${shortly(record.charged)} of your budget` : "free");

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
  byId("send-now").disabled = false;
  result.setAttribute("aria-busy", "false");
  const acted = document.activeElement?.closest("#result, #changes, #notices, #rules")?.id;
  pieces = showTexts(answer.text, answer.replacements, answer.warnings);
  showChanges(pieces);
  showFacts(answer, pieces, isCopied);
  showNotices(answer, isCopied);
  // What was chosen by keyboard is gone: go on beside it.
  if (acted && document.activeElement === document.body) (byId(acted).querySelector("mark, button") ?? copyButton).focus({ preventScroll: true });
}

/** Neither a text nor figures. */
function blank() {
  clearTexts();
  clearFacts();
  showChanges([]);
  showNotices(null);
  result.setAttribute("aria-busy", "false");
  say("");
}

function showNothing() {
  blank();
  save();
  failure.hidden = true;
  empty.hidden = false;
}

/** @param {unknown} error */
function showFailure(error) {
  blank();
  byId("way-out").hidden = !(error instanceof Refused && error.code === "policy" && chosen("policy") !== "identifiers");
  notReady();
  empty.hidden = true;
  failure.hidden = false;
  byId("failure-text").textContent = reason(error);
}

/** @param {unknown} error */
const reason = (error) => (error instanceof Refused ? error.message : "Something in this page went wrong.");

/** @param {string} words @param {boolean} [bad] */
function say(words, bad = false) {
  byId("status").textContent = words;
  byId("status").className = bad ? "bad" : "";
}

/* ---- notices: the language, facts in everyday words, rules without effect ---- */

/** @param {?Answer} answer @param {boolean} [isCopied] */
function showNotices(answer, isCopied = false) {
  const items = answer ? [...(isCopied ? [] : budgetNotice(answer)), ...languageNotice(answer), ...leftNotice(answer), ...factNotice(answer), ...hintNotices(answer), ...ruleNotices(answer)] : [];
  byId("notices").replaceChildren(...items);
  byId("notices").hidden = !items.length;
}

/** Said before anybody tries. @param {Answer} answer */
function budgetNotice({ record, budget }) {
  if (budget.left === null || record.charged <= budget.left) return [];
  const words = `This text costs ${shortly(record.charged)} epsilon, and ${shortly(budget.left)} are left: it cannot be copied or sent. ${WAY_OUT}`;
  return [notice([words], ...use("balanced", "Use “Balanced”"))];
}

/** What chooses another policy, where there is one. @param {string} policy @param {string} name @returns {[string, () => void][]} */
function use(policy, name) {
  const choice = /** @type {?HTMLElement} */ (document.querySelector(`input[value=${policy}]:not(:checked)`));
  return choice ? [[name, () => choice.click()]] : [];
}

/** @param {Answer} answer */
function languageNotice({ record }) {
  if (record.detector === "none" || !draws() || !record.language || record.language === "en") return [];
  const name = new Intl.DisplayNames("en", { type: "language" }).of(record.language);
  return [notice([`This text was read as ${name}. Nothing is drawn: all that is hidden gets placeholders.`])];
}

/** @param {Answer} answer */
const factNotice = ({ warnings }) =>
  offer("This may reveal something sensitive in everyday words, and leaves as step 2 shows it:", "hide", wordsAt(warnings));

/** What leaves as it is because the request needs it, said before it is sent. @param {Answer} answer */
const leftNotice = ({ left }) => offer("This leaves as you wrote it, because your question seems to need it:", "hide", wordsAt(left),
  left.some(({ kind }) => CALCULATED.has(kind)) ? use("guarded", "Hide all, and calculate here (“Guarded”)") : []);

/** What is hidden and seems to be needed. @param {Answer} answer */
function hintNotices({ hints, left, needed, notes }) {
  const said = hints.slice(left.length ? 1 : 0);
  const [kinds, places] = [said.join().match(/[A-Z_]+(?= = ")/g) ?? [], stretches(needed)];
  const wanted = pieces.filter(({ kind, from, to }) => kinds.includes(kind) || places.some((one) => one.from < to && from < one.to));
  // What to do about it is said for programs; here a word is chosen.
  const why = said.map((hint) => `${hint[0].toUpperCase()}${hint.split(";")[0].slice(1)}. `).join("") || "Your question seems to need what is hidden. ";
  const computed = notes[1] && (kinds.length ? kinds : wanted.map(({ kind }) => kind)).some((kind) => CALCULATED.has(kind))
    ? "The model is asked to write formulas instead, and they are computed here when it answers: nothing more has to leave. If it cannot, let it see them:" : "You may let it see:";
  if (!wanted.length) return said.length ? [notice([`${why}Choose in the list of changes what may leave.`])] : [];
  return offer(why + computed, "keep", wanted.map(({ original }) => original));
}

/** @param {{start: number, end: number}[]} places */
const wordsAt = (places) => stretches(places).map(({ from, to }) => text.value.slice(from, to).trim());

/** A notice with a button for each of several stretches, and one for all.
 * @param {string} words @param {"keep" | "hide"} way @param {string[]} phrases @param {[string, () => void][]} [others] */
function offer(words, way, phrases, others = []) {
  const fitting = [...new Set(phrases)].filter((phrase) => phrase.length <= MAX_PHRASE);
  const [verb, end] = way === "hide" ? ["Hide ", ""] : ["Let ", " leave"];
  /** @param {(string | Node)[]} name @param {string[]} some @returns {[(string | Node)[], () => void]} */
  const act = (name, some) => [[verb, ...name, end], () => some.forEach((phrase) => addRule(way, phrase))];
  if (!phrases.length) return [];
  return [notice([words], ...fitting.slice(0, MOST_OFFERED).map((phrase) => act(["“", own(phrase), "”"], [phrase])),
    ...(fitting.length > 1 ? [act([`all ${fitting.length}`], fitting)] : []), ...others)];
}

/** @param {Answer} answer */
function ruleNotices({ replacements }) {
  const hidden = new Set(replacements.map(({ original }) => original.toLowerCase()));
  return ruled().keep.filter((phrase) => hidden.has(phrase.toLowerCase())).map((phrase) =>
    notice(["“", own(phrase), "” is still hidden: the policy lists it as private, or it is part of something longer."]));
}

/** @param {(string | Node)[]} words @param {[string | (string | Node)[], () => void][]} acts */
function notice(words, ...acts) {
  const [item, sentence, buttons] = ["li", "span", "div"].map((tag) => document.createElement(tag));
  sentence.append(...words);
  for (const [name, act] of acts) {
    const button = document.createElement("button");
    button.className = "quiet";
    button.append(...[name].flat());
    button.addEventListener("click", act);
    buttons.append(button);
  }
  item.append(sentence, buttons);
  return item;
}

/** What is selected can be hidden for good. */
function selected() {
  const words = text.value.slice(text.selectionStart, text.selectionEnd).trim();
  const button = byId("hide");
  button.hidden = document.activeElement !== text || !/[\p{L}\p{N}]/u.test(words) || words.length > MAX_PHRASE || words.includes("\n");
  button.textContent = `Always hide “${words}”`;
  button.dataset.words = words;
}

/* ---- settings ---- */

/** @param {HTMLElement} parent @param {string} name @param {string[]} values @param {string} preset @param {string} kind */
function choices(parent, name, values, preset, kind) {
  for (const value of values) {
    const [label, input, title, about] = ["label", "input", "span", "small"].map((tag) => document.createElement(tag));
    Object.assign(input, { type: "radio", name, value, checked: value === preset });
    [title.textContent, about.textContent] = EXPLAINED[value] ?? [value, ""];
    label.className = kind;
    label.append(input, title, ...(kind === "choice" ? [about] : []));
    parent.append(label);
  }
}

const draws = () => !["identifiers", "deidentify", "balanced", "code"].includes(chosen("policy"));

function describe() {
  byId("policy-about").textContent = EXPLAINED[chosen("policy")]?.[1] ?? "";
  byId("epsilon-value").textContent = shortly(Number(epsilon.value));
  byId("epsilon-meaning").textContent = meaning(Number(epsilon.value));
  byId("strength-box").hidden = byId("strength").disabled = !draws();
  byId("strength-word").textContent = inWords(Number(epsilon.value));
}

function retune() {
  describe();
  changed();
}

async function start() {
  try {
    const settings = await ask("/page/settings");
    const { wish } = await recall();
    choices(byId("policies").querySelector("div"), "policy", settings.policies, wish?.policy ?? settings.policy, "segment");
    choices(byId("mechanisms"), "mechanism", settings.mechanisms, wish?.mechanism ?? settings.mechanism, "choice");
    const { epsilon_min: min, epsilon_max: max } = settings;
    const value = wish?.epsilon ?? settings.epsilon;
    Object.assign(epsilon, { min, max, step: Number.isInteger(2 * value) ? 0.5 : "any", value });
    maxChars = settings.max_chars;
    describeSending(settings, wish?.model ?? "");
    rememberWith(settings.remembers ? (phrase, treatment) => {
      ask("/page/remember", { method: "POST", body: JSON.stringify({ phrase, treatment }) }).catch(showFailure);
    } : null);
    if (wish) resume(wish);
    retune();
  } catch (error) {
    showFailure(error);
  }
}

/* ---- what survives a reload ---- */

/** @returns {Promise<{wish: ?Inputs, left: Record<string, any>[]}>} */
async function recall() {
  const state = await ask("/page/state");
  left = state.left;
  showLeft(left);
  showTurns(state.turns, acts);
  return state;
}

/** What can be done with a turn. @type {import("./chat.js").Acts} */
const acts = { copy: toClipboard, edit: editTurn, release: releaseFor };

/** @param {number} turn @param {string} wrote */
function editTurn(turn, wrote) {
  replaceText(wrote);
  editing = turn;
  byId("send-status").textContent = "This is sent in place of the turn; what followed it is dropped.";
}

/** What a person lets leave stands at the end of the text that is then sent again.
 * @param {?number} turn @param {{wrote: string, answer: string}} of @param {string[]} chosen */
async function releaseFor(turn, { wrote, answer }, chosen) {
  const { released } = (await post("/page/release", { ...inputs(), text: wrote, answer, chosen }).catch(showFailure)) ?? {};
  if (released && turn !== null) editTurn(turn, wrote);
  else changed();
  byId(turn === null ? "answer-status" : "send-status").textContent =
    released ? "It is at the end of your text now: send it again." : "It stays hidden.";
}

/** @param {Inputs} wish */
function resume({ text: words, answer, keep, hide }) {
  if (!text.value) text.value = words; // typed while the settings came
  typed();
  setRules({ keep, hide });
  byId("elsewhere").open ||= Boolean(answer);
  if (answer) showAnswer(answer);
}

/** Tell the proxy what is written, also while the page is left. */
function save() {
  if (!chosen("policy") || length(text.value) > maxChars) return;
  post("/page/draft", inputs()).catch(() => {}); // the next preview says what is wrong
}

function saveAtEnd() {
  if (!chosen("policy") || length(text.value) > maxChars) return;
  const headers = { "content-type": "application/json", "sanitizer-conversation": conversation };
  const body = JSON.stringify(inputs());
  // Browsers send at most 64 KB while a page goes; of longer texts, the last preview is kept.
  if (body.length < 60_000) fetch("/page/draft", { method: "POST", headers, body, keepalive: true }).catch(() => {});
}

function startAnew() {
  conversation = begin();
  setRules({ keep: [], hide: [] });
  left = [];
  showLeft(left);
  showTurns([], acts);
  showAnswer("");
  replaceText("");
}

/** What left, with its records, for whoever has to account for it. */
function exportLeft() {
  const link = document.createElement("a");
  const made = left.map(({ at, text: words, record }) => ({ at: new Date(at * 1000).toISOString(), text: words, record }));
  link.href = URL.createObjectURL(new Blob([JSON.stringify({ conversation, left: made }, null, 1)], { type: "application/json" }));
  link.download = `${conversation}.json`;
  link.click();
  URL.revokeObjectURL(link.href);
}

/** @param {Event} event */
function again(event) {
  event.preventDefault();
  text.focus(); // the button goes
  if (chosen("policy")) changed();
  else start();
}

/** A file of text takes the place of what is written. @param {DragEvent} event */
async function dropped(event) {
  const [file] = event.dataTransfer?.files ?? [];
  if (!file) return;
  event.preventDefault();
  const words = file.size > 4 * maxChars ? null : new TextDecoder("utf-8", { fatal: true });
  try {
    if (!words) throw new Refused(`A text on the page may have at most ${maxChars.toLocaleString("en")} characters.`, "size");
    replaceText(words.decode(await file.arrayBuffer()));
  } catch (error) {
    showFailure(error instanceof Refused ? error : new Refused("Only files of text can be dropped here; for others: sanitizer sanitize FILE."));
  }
}

/** @param {string} words */
function replaceText(words) {
  text.value = words;
  editing = null;
  text.focus();
  typed();
  changed();
}

function wire() {
  text.addEventListener("input", changed);
  text.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) byId("send").requestSubmit(byId("send-now"));
  });
  text.addEventListener("drop", dropped);
  document.addEventListener("selectionchange", selected);
  byId("hide").addEventListener("pointerdown", (/** @type {Event} */ event) => event.preventDefault()); // keep the selection
  byId("hide").addEventListener("click", () => addRule("hide", byId("hide").dataset.words, true));
  byId("settings").addEventListener("input", retune);
  byId("example").addEventListener("click", () => replaceText(EXAMPLE));
  byId("clear").addEventListener("click", () => replaceText(""));
  byId("new").addEventListener("click", startAnew);
  byId("cancel").addEventListener("click", cancel);
  byId("export").addEventListener("click", exportLeft);
  byId("way-out").addEventListener("click", () => document.querySelector("input[value=identifiers]")?.click());
  failure.addEventListener("submit", again);
  copyButton.addEventListener("click", copy);
  document.addEventListener("copy", takeOver);
  addEventListener("pagehide", saveAtEnd);
  result.addEventListener("dragstart", (/** @type {Event} */ event) => event.preventDefault());
}

wireTexts(openMenu);
wireChanges(changed);
wireSending((/** @type {string} */ path, /** @type {object} */ values, /** @type {AbortSignal} */ signal) =>
  ask(path, { method: "POST", body: JSON.stringify(values), signal }), leave, cost,
  () => (editing === null ? {} : { turn: editing }), (turns) => {
    replaceText("");
    showTurns(turns, acts, true);
  });
wireAnswer(() => post("/page/restore", inputs()), reason, toClipboard, (chosen) => releaseFor(null, { wrote: text.value, answer: byId("answer").value }, chosen));
wire();
start();
