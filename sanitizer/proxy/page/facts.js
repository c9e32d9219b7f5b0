// @ts-check
/* What a result guarantees and costs, in words; and the settings' explanations. */

/**
 * @typedef {import("./texts.js").Replacement} Replacement
 * @typedef {{text: string, replacements: Replacement[], record: Record<string, any>,
 *   budget: {spent: number, left: number | null},
 *   risk: {ceiling: number, expected: number | null, note: string}}} Answer
 */

/** @type {Record<string, string[]>} */
export const EXPLAINED = {
  strict: ["Strict", "Only 179 small words such as “the” and “with” stay as they are."],
  balanced: ["Balanced", "Who, how much and sensitive facts are hidden; illnesses, beliefs, origins and crimes are replaced by others."],
  deidentify: ["Names and numbers", "Names of people, firms, places and products, amounts and dates stay here; the rest stays readable."],
  words: ["Word by word", "3,000 frequent words stay; each other word is drawn by itself."],
  identifiers: ["Identifiers only", "Only e-mail addresses, card numbers and the like. No differential privacy."],
  cape: ["Cape", "Words that fit the sentence."],
  dyntext: ["DynText", "Words close in meaning."],
};
const NO_PRIVACY =
  "Only what is recognized as an identifier is replaced. Every other word leaves as it is, names included.";

const BY_CLASS =
  "What stands in for a hidden thing does not depend on it. What was not found to be private leaves as it is.";

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

/** @param {Answer} answer @param {boolean} copied whether its cost has been charged by now */
export function showFacts({ record, budget, risk }, copied) {
  byId("no-facts").hidden = true;
  byId("record").hidden = false;
  showVerdict(record);
  rows(byId("figures"), [
    ...epsilons(record),
    ["Replaced", counts(record)],
    ["Unchanged", amount(record.n_public, "word")],
    [copied ? "Charged" : "Copying costs", record.charged ? `${shortly(record.charged)} epsilon` : "nothing"],
    ["Budget", budgetLine(budget, copied ? 0 : record.charged)],
    ["Attack success to expect", risk.expected === null ? "not measured" : percent(risk.expected)],
    ["Ceiling set by epsilon", percent(risk.ceiling)],
  ]);
  byId("risk-note").textContent = risk.note;
  rows(byId("terms"), terms(record));
}

/** No figures. */
export function clearFacts() {
  byId("no-facts").hidden = false;
  byId("record").hidden = true;
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
    ? [[record.n_things, "thing"], [record.n_drawn, "drawn one"]]
    : [[record.n_units, "word"], [record.n_numbers, "number"], [record.n_identifiers, "identifier"]];
  return found.filter(([n]) => n).map(([n, name]) => amount(n, name)).join(", ") || "nothing";
}

/** @param {number} n @param {string} name */
const amount = (n, name) => `${decimals.format(n)} ${name}${n === 1 ? "" : "s"}`;

/** @param {Answer["budget"]} budget @param {number} cost */
function budgetLine({ spent, left }, cost) {
  if (left === null) return `${shortly(spent)} epsilon spent; no limit is set`;
  const line = document.createElement("span");
  const meter = document.createElement("meter");
  [meter.max, meter.value] = [spent + left || 1, spent];
  meter.setAttribute("aria-label", "Budget spent");
  const short = cost > left ? ". This text costs more than is left." : "";
  line.className = short && "bad";
  line.append(`${shortly(spent)} epsilon spent, ${shortly(left)} left${short}`, meter);
  return line;
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
