"use strict";
// Everything works without this file but the live distance, the marked differences, drafts, keys, and replies that
// are sent again when the connection was lost.

const form = document.getElementById("card");
const problem = document.getElementById("problem");
const state = document.getElementById("state");
if (problem && !problem.hidden) problem.focus();

// the same words as unwaver.text.distance.jaccard_distance
function words(text) {
  return text.normalize("NFC").toLowerCase().replace(/[!-/:-@[-`{-~]/g, "")
    .split(/(?:[^\S\ufeff]|[\x1c-\x1f\x85])+/).filter(Boolean);
}

function distance(one, other) {
  const a = new Set(words(one)), b = new Set(words(other));
  const all = new Set([...a, ...b]);
  if (!all.size) return 0;
  return 1 - [...a].filter((word) => b.has(word)).length / all.size;
}

// --- writing: distances, and more boxes -----------------------------------------------------------------------

const boxes = document.getElementById("boxes");
if (boxes) {
  const areas = [...boxes.querySelectorAll("textarea")];
  const tell = () => {
    let filled = 0;
    areas.forEach((area, n) => {
      const output = area.parentElement.querySelector("output");
      const text = area.value.trim();
      if (!text) {
        output.textContent = "";
        delete output.dataset.far;
        return;
      }
      filled += 1;
      const original = distance(text, boxes.dataset.original);
      const others = areas.filter((other, m) => m !== n && other.value.trim());
      const own = others.length ? Math.min(...others.map((other) => distance(text, other.value))) : null;
      const least = own === null ? original : Math.min(original, own);
      output.dataset.far = least < 0.2 ? "red" : least < 0.4 ? "yellow" : "green";
      const word = { red: "too close", yellow: "close", green: "good" }[output.dataset.far];
      output.textContent = `${word}: ${Math.round(100 * original)} % of the words differ from the original` +
        (own === null ? "" : `, ${Math.round(100 * own)} % from your closest other one`);
    });
    const open = Math.max(Number(boxes.dataset.least), filled + 1);
    areas.forEach((area, n) => area.parentElement.classList.toggle("open", n < open || area.value.trim() !== ""));
  };
  boxes.addEventListener("input", tell);
  boxes.classList.add("live");
  tell();
}

// --- drafts: what is typed is kept before it is sent ----------------------------------------------------------

let keepDraft = () => {};
let dropDraft = () => {};
if (form && form.dataset.draft) {
  let timer = null;
  const keep = () => {
    clearTimeout(timer);
    timer = null;
    const body = new URLSearchParams(new FormData(form));
    fetch(form.dataset.draft, { method: "POST", body, keepalive: true, credentials: "same-origin" })
      .then((found) => tellDraft(found.ok), () => tellDraft(false));
  };
  const tellDraft = (kept) => {
    if (form.getAttribute("aria-busy") !== "true")
      state.textContent = kept ? "Draft kept." : "The draft could not be kept: no connection to the server.";
  };
  form.addEventListener("input", () => {
    state.textContent = "";
    clearTimeout(timer);
    timer = setTimeout(keep, 800);
  });
  keepDraft = () => { if (timer !== null) keep(); };
  dropDraft = () => { clearTimeout(timer); timer = null; };
  addEventListener("pagehide", () => keepDraft());
  document.addEventListener("visibilitychange", () => { if (document.hidden) keepDraft(); });
}

// --- sending: what was typed stays on the page until the server has it ------------------------------------------

function tellProblem(text) {
  problem.textContent = text;
  problem.hidden = false;
  problem.focus();
}

const pause = (seconds) => new Promise((done) => setTimeout(done, 1000 * seconds));

async function sendUntilItArrives(body) {
  for (let wait = 1; ; wait = Math.min(2 * wait, 15)) {
    let found = null;
    try {
      found = await fetch(form.action, { method: "POST", body, redirect: "manual", credentials: "same-origin" });
    } catch { /* told below */ }
    if (found && found.status !== 429 && found.status !== 503) return found;
    const why = !found ? "No connection to the server" : found.status === 429 ? "The server is busy" :
      "The server cannot save at the moment";
    tellProblem(`${why}. Your reply is still on this page and will be sent again by itself. Keep the page open.`);
    await pause(found ? Number(found.headers.get("retry-after")) || wait : wait);
  }
}

// who had to open their link again has a new session: the page takes over what a new one would hold
async function renewed(body) {
  const page = new DOMParser().parseFromString(await (await fetch(location.href)).text(), "text/html");
  const fresh = page.getElementById("card");
  if (!fresh || fresh.getAttribute("action") !== form.getAttribute("action")) return false;
  for (const name of ["csrf", "ticket"]) {
    form.elements[name].value = fresh.elements[name].value;
    body.set(name, fresh.elements[name].value);
  }
  return true;
}

if (form && form.dataset.next) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (form.getAttribute("aria-busy") === "true") return;
    form.setAttribute("aria-busy", "true");
    state.textContent = "Saving …";
    dropDraft();
    const body = new URLSearchParams(new FormData(form));
    if (event.submitter && event.submitter.name) body.append(event.submitter.name, event.submitter.value);
    let found = await sendUntilItArrives(body);
    if (found.status === 403 && await renewed(body).catch(() => false)) found = await sendUntilItArrives(body);
    if (found.type === "opaqueredirect") {
      location.assign(form.dataset.next);
      return;
    }
    form.removeAttribute("aria-busy");
    state.textContent = "";
    const page = new DOMParser().parseFromString(await found.text(), "text/html");
    const told = page.querySelector("#problem:not([hidden])") || page.querySelector("main p");
    tellProblem(told ? told.textContent : `Not saved: the server answered ${found.status}.`);
  });
}

// --- differences, word by word --------------------------------------------------------------------------------

function longest(a, b) {
  const table = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      table[i][j] = a[i] === b[j] ? table[i + 1][j + 1] + 1 : Math.max(table[i + 1][j], table[i][j + 1]);
  const shared = [new Set(), new Set()];
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    if (a[i] === b[j]) { shared[0].add(i++); shared[1].add(j++); }
    else if (table[i + 1][j] >= table[i][j + 1]) i++;
    else j++;
  }
  return shared;
}

function marked(place, parts, shared) {
  place.replaceChildren(...parts.map((part, n) => {
    if (shared.has(n) || !part.trim()) return document.createTextNode(part);
    const mark = document.createElement("mark");
    mark.textContent = part;
    return mark;
  }));
}

const MOST_PARTS = 4000; // words and the spaces between them; a table of more would stop the page
const button = document.getElementById("differences");
if (button) {
  const places = [...document.querySelectorAll("[data-diff]")];
  const plain = places.map((place) => place.textContent);
  const parts = plain.map((text) => text.split(/(\s+)/));
  button.hidden = parts.some((of) => of.length > MOST_PARTS);
  button.addEventListener("click", () => {
    const on = button.getAttribute("aria-pressed") !== "true";
    button.setAttribute("aria-pressed", String(on));
    const shared = on ? longest(parts[0], parts[1]) : null;
    places.forEach((place, n) => {
      if (on) marked(place, parts[n], shared[n]);
      else place.textContent = plain[n];
    });
  });
}

// --- keys -----------------------------------------------------------------------------------------------------

function choose(event) {
  const own = event.target.closest && event.target.closest(".choice");
  const place = own || form.querySelector(".choice[data-keys]");
  const radio = place && place.querySelectorAll("input[type=radio]")[Number(event.key) - 1];
  if (radio) {
    radio.click();
    radio.focus();
    return true;
  }
  const box = !place && form.querySelectorAll("textarea")[Number(event.key) - 1];
  if (box && box.offsetParent) box.focus();
  return Boolean(box);
}

document.addEventListener("keydown", (event) => {
  if (!form || event.altKey || event.isComposing) return;
  const save = () => { event.preventDefault(); form.requestSubmit(form.querySelector("button.main")); };
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) return save();
  if (event.ctrlKey || event.metaKey || event.target.matches("textarea, input:not([type=radio])")) return;
  if (/^[1-9]$/.test(event.key)) {
    if (choose(event)) event.preventDefault();
  } else if (event.key.toLowerCase() === "d" && button && !button.hidden) {
    button.click();
  } else if (event.key === "Enter" && event.target.matches("input[type=radio], body, main, #problem")) {
    save();
  }
});
