// @ts-check
/* What a result gives away, guarantees and costs, in words; and the settings' explanations. */
import { isDrawn, said as nameOf } from "./texts.js";

/**
 * @typedef {import("./texts.js").Replacement} Replacement
 * @typedef {import("./texts.js").Piece} Piece
 * @typedef {{text: string, replacements: Replacement[], record: Record<string, any>,
 *   budget: {spent: number, left: number | null},
 *   warnings: {start: number, end: number}[],
 *   hints: string[], left: {start: number, end: number, kind: string}[],
 *   needed: {start: number, end: number, kind: string}[], notes: string[],
 *   risk: {ceiling: number, expected: number | null, blind: number | null, note: string,
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

export const WAY_OUT = "“Balanced” costs nothing; or start the proxy with a larger --budget.";

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

/** @param {Answer} answer @param {Piece[]} pieces @param {boolean} copied whether its cost has been charged by now */
export function showFacts(answer, pieces, copied) {
  const { record, budget, risk } = answer;
  byId("facts").hidden = false;
  byId("told").replaceChildren(...told(answer, pieces, copied).map((words) => cell("li", words)));
  showVerdict(record);
  rows(byId("figures"), [
    ...epsilons(record),
    [copied ? "Charged" : "Copying costs", record.charged ? `${shortly(record.charged)} epsilon` : "nothing"],
    ["Budget", `${shortly(budget.spent)} epsilon spent${budget.left === null ? "; no limit is set" : `, ${shortly(budget.left)} left`}`],
    ["Words read or guessed", known(risk.words)],
  ]);
  byId("risk-note").textContent = risk.note;
  rows(byId("terms"), terms(record));
}

/** No figures. */
export function clearFacts() {
  byId("facts").hidden = true;
}

/** What a reader of it can learn; each sentence is a figure of the record.
 * @param {Answer} answer @param {Piece[]} pieces @param {boolean} copied */
function told({ record, budget: { left }, risk: { expected, blind, words } }, pieces, copied) {
  const of = (/** @type {Piece} */ { kind, original }) => kind + original.toLowerCase();
  const things = [...new Map(pieces.filter(({ kind }) => kind !== "article").map((piece) => [of(piece), piece])).values()];
  const [drawn, others] = [things.filter(isDrawn), things.filter((piece) => !isDrawn(piece))];
  const [one, other] = [drawn[0], others[0]?.replacement];
  const said = things.length ? [] : ["Nothing in it was recognized as private."];
  if (other) said.push(`In place of ${amount(others.length, "thing")} a reader sees ${other}${others.length > 1 ? " and the like" : ""}` +
    `${other.startsWith("<") ? ": what kind of thing it is, where the same one comes again, and nothing else about it" : ""}.`);
  if (one) {
    const what = one.kind === "word" ? amount(drawn.length, "word") : drawn.length > 1 ? `${drawn.length} facts` : `the ${nameOf(one)}`;
    const example = copied || one.left || one.kind === "word" ? "" : " when it leaves (here you see an example)";
    const easiest = drawn.length > 1 && one.kind !== "word" ? " of the easiest" : "";
    const guess = expected === null ? "How often a guess is right is not known." :
      `The best guess${easiest} is right ${often(expected)}${blind ? `; without the text, ${often(blind)}` : ""}.`;
    said.push(`In place of ${what} a reader sees ${drawn.length > 1 ? "others" : "another one"}, drawn by chance${example}. ${guess}`);
  }
  if (record.detector === "none" && record.mechanism === "none") said.push(NO_PRIVACY);
  if (words.shown) said.push(`${words.shown} of ${amount(words.total, "word")} leave as you wrote them. They may give away what is hidden, or be private without being recognized: no figure here covers that.`);
  if (record.charged && left !== null) said.push(`${copied ? "It took" : "Sending takes"} ${shortly(record.charged)} of your budget for draws; ${shortly(left)} are left${copied ? "" : " now"}.`);
  return said;
}

/** How often, in words. @param {number} p */
function often(p) {
  if (p < 0.01) return "less than 1 time in 100";
  return p < 0.3 ? `about 1 time in ${Math.round(1 / p)}` : `about ${Math.min(9, Math.round(10 * p))} times in 10`;
}

/** One figure over all words of the text, under every setting. @param {Answer["risk"]["words"]} words */
function known({ total, shown, expected, low, high }) {
  if (!total) return "none";
  const [from, to] = [shown + low, shown + high].map((n) => Math.min(1, n / total));
  if (expected === null) return `up to ${percent(to)}: no bound is known for what was drawn`;
  const most = percent((shown + expected) / total);
  return from === to ? most : `${most} (in 95 of 100 draws ${percent(from)} to ${percent(to)})`;
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
    meant.textContent = record.n_drawn ? `${BY_CLASS} Epsilon ${drawn}. ${meaning(record.epsilon_per_unit)}` : BY_CLASS;
    return;
  }
  const strength = `Epsilon ${shortly(record.epsilon_per_unit)} for each private word`;
  meant.textContent = certified ? `${strength}, by proof.` : perturbed ? `${strength} is a setting only: ${record.reason}.` : "";
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

/** @param {number} n @param {string} name */
const amount = (n, name) => `${decimals.format(n)} ${name}${n === 1 ? "" : "s"}`;

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

/** @param {HTMLElement} list @param {[string, string][]} pairs */
function rows(list, pairs) {
  list.replaceChildren(...pairs.flatMap(([name, value]) => [cell("dt", name), cell("dd", value)]));
}

/** @param {string} tag @param {string} content */
function cell(tag, content) {
  const element = document.createElement(tag);
  element.append(content);
  return element;
}
