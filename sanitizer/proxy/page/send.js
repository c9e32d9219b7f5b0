// @ts-check
/* Sending what step 2 shows behind the turns before it, to the address that the proxy was started with. */

/**
 * @typedef {import("./facts.js").Answer} Answer
 * @typedef {{answer: Answer, told: string, bad: boolean}} Gone
 */

/** @param {string} id @returns {any} */
const byId = (id) => document.getElementById(id);
const [form, model, key, cancel, status] = ["send", "model", "key", "send-cancel", "send-status"].map(byId);

let aborter = new AbortController();
let tellsModels = false; // without a key
let listed = ""; // the key that the listed models were asked with
let listSoon = () => {};

/** The model that is asked. @returns {string} */
export const named = () => model.value.trim();

/** @param {{upstream: string, upstream_is_local: boolean, needs_key: boolean}} settings @param {string} last */
export function describeSending({ upstream, upstream_is_local: local, needs_key: needsKey }, last) {
  byId("send-to").textContent = ` to ${upstream}`;
  byId("send").hidden = byId("send-hint").hidden = !upstream;
  /** @type {HTMLDetailsElement} */ (byId("elsewhere")).open ||= !upstream;
  byId("key-label").hidden = byId("key-hint").hidden = !needsKey;
  tellsModels = local || !needsKey;
  model.value ||= last;
  listSoon();
}

/** @param {string} words @param {boolean} [bad] */
function say(words, bad = false) {
  status.textContent = words;
  status.className = bad ? "bad" : "";
}

/** Names to choose from, once there is a key; without them a name can be typed all the same.
 * @param {(path: string, values: object) => Promise<any>} ask @param {boolean} [quiet] say nothing of a failure */
async function list(ask, quiet = false) {
  const given = key.value.trim();
  if (!(given || tellsModels) || (listed === given && byId("models").childElementCount)) return;
  listed = given;
  try {
    const { models } = await ask("/page/models", { key: given });
    if (listed !== given) return;
    byId("models").replaceChildren(...models.map((/** @type {string} */ value) => Object.assign(document.createElement("option"), { value })));
    model.placeholder = models.length ? `${models.length} models` : "Its name";
    if (models.length === 1 && document.activeElement !== model) model.value ||= models[0];
    say("");
  } catch (error) {
    if (!quiet && error instanceof Error) say(`${error.message} Its models cannot be listed: type a name.`, true);
  }
}

/**
 * @param {(path: string, values: object, signal?: AbortSignal) => Promise<any>} ask
 * @param {(begun: string, without: string, way: (asked: object) => Promise<Gone>) => Promise<void>} leave
 * @param {(answer: Answer) => string} cost @param {() => object} which turn is sent again, if one is
 * @param {(turns: any[]) => void} next called when the text was answered
 */
export function wireSending(ask, leave, cost, which, next) {
  listSoon = () => list(ask, true);
  model.addEventListener("focus", () => list(ask));
  key.addEventListener("change", () => list(ask));
  cancel.addEventListener("click", () => aborter.abort());
  form.addEventListener("submit", async (/** @type {Event} */ event) => {
    event.preventDefault();
    await leave("Sending…", "Nothing was sent.", async (asked) => {
      aborter = new AbortController();
      cancel.hidden = false;
      say(`Waiting for ${named()}…`);
      try {
        const answer = await ask("/page/send", { ...asked, ...which(), model: named(), key: key.value.trim() }, aborter.signal);
        say(answer.failed ? `It left, but ${answer.failed}. Sending the same text again is free.` : `${named()} has answered.`, Boolean(answer.failed));
        if (!answer.failed) next(answer.turns);
        return { answer, told: `Sent, ${cost(answer)}.`, bad: false };
      } catch (error) {
        say(error instanceof Error ? error.message : "", true);
        throw error;
      } finally {
        cancel.hidden = true;
      }
    });
  });
}
