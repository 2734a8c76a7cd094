"use strict";
// Everything works without this file but the live distance, the marked differences, drafts and number keys.

const form = document.getElementById("card");
const problem = document.getElementById("problem");
if (problem) problem.focus();

function words(text) {
  return text.toLowerCase().replace(/[!-/:-@[-`{-~]/g, "").split(/\s+/).filter(Boolean);
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
    areas.forEach((area, n) => area.parentElement.classList.toggle("open", n < open));
  };
  boxes.addEventListener("input", tell);
  tell();
}

// --- drafts: what is typed is kept before it is sent ----------------------------------------------------------

if (form && form.dataset.draft) {
  let timer = null;
  const keep = () => {
    const body = new URLSearchParams(new FormData(form));
    fetch(form.dataset.draft, { method: "POST", body, keepalive: true, credentials: "same-origin" }).catch(() => {});
  };
  form.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(keep, 800);
  });
  form.addEventListener("submit", () => clearTimeout(timer));
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

const button = document.getElementById("differences");
if (button) {
  const places = [...document.querySelectorAll("[data-diff]")];
  const plain = places.map((place) => place.textContent);
  button.addEventListener("click", () => {
    const on = button.getAttribute("aria-pressed") !== "true";
    button.setAttribute("aria-pressed", String(on));
    const parts = plain.map((text) => text.split(/(\s+)/).slice(0, 2000));
    const shared = on ? longest(parts[0], parts[1]) : null;
    places.forEach((place, n) => {
      if (on) marked(place, parts[n], shared[n]);
      else place.textContent = plain[n];
    });
  });
}

// --- keys -----------------------------------------------------------------------------------------------------

document.addEventListener("keydown", (event) => {
  if (!form || event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = event.target.matches("textarea, input:not([type=radio])");
  if (typing) return;
  if (/^[1-9]$/.test(event.key)) {
    const place = event.target.closest && event.target.closest(".choice") || form.querySelector(".choice[data-keys]");
    const radio = place && place.querySelectorAll("input[type=radio]")[Number(event.key) - 1];
    if (radio) { radio.checked = true; radio.focus(); event.preventDefault(); }
  } else if (event.key.toLowerCase() === "d" && button) {
    button.click();
  } else if (event.key === "Enter" && event.target.matches("input[type=radio], body, main")) {
    event.preventDefault();
    form.requestSubmit(form.querySelector("button.main"));
  }
});
