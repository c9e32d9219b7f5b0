// @ts-check
/* What a result guarantees and costs, in words; and the settings' explanations. */

/**
 * @typedef {import("./texts.js").Replacement} Replacement
 * @typedef {{text: string, replacements: Replacement[], record: Record<string, any>,
 *   budget: {spent: number, left: number | null},
 *   warnings: {start: number, end: number}[],
 *   hints: string[], left: {start: number, end: number, kind: string}[],
 *   risk: {ceiling: number, expected: number | null, note: string,
 *     words: {total: number, shown: number, expected: number | null, low: number, high: number}}}} Answer
 */

/** @type {Record<string, string[]>} */
export const EXPLAINED = {
  strict: ["Strict", "Only 179 small words such as “the” and “with” stay as they are."],
  balanced: ["Balanced", "Who is always hidden; how much and sensitive facts are hidden unless your question needs them."],
  guarded: ["Guarded", "As Balanced, and nothing is left because it is needed; some facts are drawn, and the answer may calculate with what is hidden."],
  deidentify: ["Names and numbers", "Names of people, firms, places and products, dates, and amounts unless needed, stay here; the rest stays readable."],
  code: ["Code", "For code and logs: keys, hosts, names that are sure to be some, and what stands in rows of data."],
  words: ["Word by word", "3,000 frequent words stay; each other word is drawn by itself."],
  identifiers: ["Identifiers only", "Only e-mail addresses, card numbers and the like. No differential privacy."],
  cape: ["Cape", "Words that fit the sentence."],
  dyntext: ["DynText", "Words close in meaning."],
};
const NO_PRIVACY =
  "Only what is recognized as an identifier is replaced. Every other word leaves as it is, names included.";

const BY_CLASS =
  "What stands in for a hidden thing does not depend on it. What was not found to be private leaves as it is.";

export const WAY_OUT =
  "“Balanced” costs nothing, nor does a placeholder in place of a drawn word; or start the proxy with a larger --budget.";

const decimals = new Intl.NumberFormat("en", { maximumFractionDigits: 2 });
const wholes = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });
const percents = new Intl.NumberFormat("en", { style: "percent", maximumFractionDigits: 0 });

/** @param {string} id @returns {any} */
const byId = (id) => document.getElementById(id);

/** A number for the eye; null is infinite, as in the record. @param {number | null} value */
export const shortly = (value) => (value === null ? "no bound" : decimals.format(value));

/** @param {number} epsilon */
export function meaning(epsilon) {
  const factor = wholes.format(Math.exp(epsilon));
  return `The odds between any two candidates for what is drawn change by at most a factor of ${factor}.`;
}

/** The strength of the noise. @param {number} epsilon */
export function inWords(epsilon) {
  if (epsilon <= 3) return "strong";
  return epsilon <= 6 ? "medium" : "light";
}

/** @param {Answer} answer @param {boolean} copied whether its cost has been charged by now */
export function showFacts({ record, budget, risk }, copied) {
  byId("no-facts").hidden = true;
  byId("record").hidden = false;
  showVerdict(record);
  rows(byId("figures"), [
    ...epsilons(record),
    ["Replaced", counts(record)],
    ["Unchanged", amount(risk.words.shown, "word")],
    [copied ? "Charged" : "Copying costs", record.charged ? `${shortly(record.charged)} epsilon` : "nothing"],
    ["Budget", budgetLine(budget, copied ? 0 : record.charged)],
    ["Words read or guessed", known(risk.words)],
  ]);
  byId("risk-note").textContent = riskNote(risk);
  rows(byId("terms"), terms(record));
}

/** No figures. */
export function clearFacts() {
  byId("no-facts").hidden = false;
  byId("record").hidden = true;
}

/** One figure over all words of the text, under every setting. @param {Answer["risk"]["words"]} words */
function known({ total, shown, expected, low, high }) {
  if (!total) return "none";
  const [from, to] = [shown + low, shown + high].map((n) => Math.min(1, n / total));
  if (expected === null) return `up to ${percent(to)}: no bound is known for what was drawn`;
  const most = percent((shown + expected) / total);
  return from === to ? most : `${most} (${percent(from)} to ${percent(to)})`;
}

/** @param {Answer["risk"]} risk */
function riskNote({ words: { total, shown, expected }, note }) {
  const guessed = !expected ? "" : ` Of the others, ${shortly(expected)} ${expected === 1 ? "is" : "are"} expected to be guessed`;
  return `${shown} of ${amount(total, "word")} leave as they are.${guessed}${guessed && "; the range holds for 95 of 100 draws."} ${note}`;
}

/** What has left in this conversation, the last first. @param {Record<string, any>[]} left */
export function showLeft(left) {
  byId("none-left").hidden = left.length > 0;
  byId("export").hidden = !left.length;
  byId("left").replaceChildren(...left.map(leftItem).reverse());
}

/** @param {Record<string, any>} one */
function leftItem({ at, text, record }) {
  const [item, details, summary, words] = ["li", "details", "summary", "p"].map((tag) => document.createElement(tag));
  const cost = record.charged ? `, ${shortly(record.charged)} epsilon` : "";
  summary.textContent = `${new Date(at * 1000).toLocaleTimeString("en")}: ${amount(text.length, "character")}${cost}`;
  words.textContent = text;
  details.append(summary, words);
  item.append(details);
  return item;
}

/** @param {Record<string, any>} record */
function showVerdict(record) {
  const [verdict, meant] = [byId("verdict"), byId("verdict-meaning")];
  const perturbed = record.mechanism !== "none";
  const certified = perturbed && record.certified;
  verdict.className = certified ? "good" : "bad";
  verdict.textContent = certified ? "Certified." : perturbed ? "Not certified." : "No differential privacy.";
  if (record.detector !== "none") {
    verdict.className = record.certified ? "good" : "bad";
    verdict.textContent = record.certified ? "Hidden by class." : "Hidden, not certified.";
    const drawn = `${shortly(record.epsilon_per_unit)} for each drawn thing, once; ${shortly(record.conversation_epsilon)} in this conversation`;
    meant.textContent = record.n_drawn ? `${BY_CLASS} Epsilon ${drawn}.` : BY_CLASS;
    return;
  }
  const strength = `Epsilon ${shortly(record.epsilon_per_unit)} for each private word`;
  meant.textContent = certified ? `${strength}, by proof.` : perturbed ? `${strength} is a setting only: ${record.reason}.` : NO_PRIVACY;
}

/** @param {Record<string, any>} record @returns {[string, string][]} */
function epsilons(record) {
  if (record.mechanism === "none") return [];
  const repeated = `${shortly(record.epsilon_per_word)} (it stands ${record.max_repeats} times)`;
  const delta = record.delta ? ` at delta ${record.delta}` : "";
  return [
    ...(record.max_repeats > 1 ? [/** @type {[string, string]} */ (["Most repeated word", repeated])] : []),
    ["Epsilon of the whole text", shortly(record.epsilon_total) + delta],
  ];
}

/** @param {Record<string, any>} record */
function counts(record) {
  const things = record.detector !== "none";
  const found = things
    ? [[record.n_things, record.n_drawn ? `thing${record.n_things === 1 ? "" : "s"} (${record.n_drawn} drawn)` : "thing"]]
    : [[record.n_units, "word"], [record.n_numbers, "number"], [record.n_identifiers, "identifier"]];
  return found.filter(([n]) => n).map(([n, name]) => (name.endsWith(")") ? `${n} ${name}` : amount(n, name))).join(", ") || "nothing";
}

/** @param {number} n @param {string} name */
const amount = (n, name) => `${decimals.format(n)} ${name}${n === 1 ? "" : "s"}`;

/** @param {Answer["budget"]} budget @param {number} cost */
function budgetLine({ spent, left }, cost) {
  if (left === null) return `${shortly(spent)} epsilon spent; no limit is set`;
  const line = document.createElement("span");
  const short = cost > left ? ". This text costs more than is left." : "";
  line.className = short && "bad";
  line.append(`${shortly(spent)} epsilon spent, ${shortly(left)} left${short}`, gauge(spent, left, cost));
  return line;
}

/** What is spent, and the next cost behind it. @param {number} spent @param {number} left @param {number} cost */
function gauge(spent, left, cost) {
  const [bar, used, next] = ["div", "i", "i"].map((tag) => document.createElement(tag));
  const limit = spent + left || 1;
  const after = (spent + cost) / limit;
  bar.className = `gauge ${after > 1 ? "red" : after > 0.75 ? "amber" : ""}`;
  for (const [name, value] of Object.entries({ role: "meter", "aria-label": "Budget spent", "aria-valuemin": 0, "aria-valuemax": limit, "aria-valuenow": spent }))
    bar.setAttribute(name, String(value));
  used.style.width = `${(100 * spent) / limit}%`;
  next.style.width = `${Math.min(100 - (100 * spent) / limit, (100 * cost) / limit)}%`;
  bar.append(used, next);
  return bar;
}

/** Never rounded to certainty or to nothing. @param {number} p */
function percent(p) {
  if (p < 0.01) return "below 1%";
  return p > 0.99 && p < 1 ? "above 99%" : percents.format(p);
}

/** @param {Record<string, any>} record @returns {[string, string][]} */
function terms(record) {
  /** @type {[string, string | undefined][]} */
  const all = [
    ["Protected", record.unit],
    ["Compared", record.neighboring_relation],
    ["Public", record.public],
    ["Not protected", record.not_protected],
    ["Mechanism", `${record.mechanism}, ${record.variant}`],
    ["Policy", record.policy],
    ["The model read", record.context],
    ["Model (SHA-256)", record.model_sha256],
  ];
  return /** @type {[string, string][]} */ (all.filter(([, value]) => value));
}

/** @param {HTMLElement} list @param {[string, string | Node][]} pairs */
function rows(list, pairs) {
  list.replaceChildren(...pairs.flatMap(([name, value]) => [cell("dt", name), cell("dd", value)]));
}

/** @param {string} tag @param {string | Node} content */
function cell(tag, content) {
  const element = document.createElement(tag);
  element.append(content);
  return element;
}
