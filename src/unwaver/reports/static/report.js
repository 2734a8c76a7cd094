"use strict";
// The list of groups. Texts of data reach the page as text nodes only.
(() => {
  const ROW = 64;                 // pixels, as in report.css
  const TALLEST = 8000000;        // pixels that every browser can scroll
  const SURE = 90;                // per cent, from where on a model counts as confident
  const MOST_LABELS = 31;         // bits of a mask
  const MOST_CELLS = 1000000;     // of the table that finds different words
  const [HELD, BROKEN, NOT_APPLICABLE, MISSING] = [0, 1, 2, 3];
  const NO_LABEL = { "-1": "unreadable", "-2": "failed", "-3": "not asked", "-4": "cut", "-5": "refused", "-6": "empty",
    "-7": "tool call" };
  const EXPECTED = {
    same: "the same answer", different: "another answer", implied: "what the originals imply", bucket: "the right answer",
  };
  // control characters, turns of direction and marks that take no room
  const UNSAFE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

  const byId = (id) => document.getElementById(id);
  const clean = (text) => text.replace(UNSAFE, "\ufffd");

  function node(name, className, ...children) {
    const made = document.createElement(name);
    if (className) made.className = className;
    for (const child of children) made.append(typeof child === "string" ? clean(child) : child);
    return made;
  }

  // a name goes on in another line where its parts meet, and not inside a word
  function named(text) {
    const parts = [];
    for (const part of clean(text).split(/(?<=[/_.:=@])(?=[^/_.:=@\s])/)) parts.push(document.createElement("wbr"), part);
    return parts.slice(1);
  }

  function theme() {
    const button = byId("theme"), root = document.documentElement;
    const dark = () => (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
    button.hidden = false;
    button.addEventListener("click", () => { root.dataset.theme = dark() ? "light" : "dark"; });
    let before;
    addEventListener("beforeprint", () => {
      before = root.dataset.theme;
      root.dataset.theme = "light";
      for (const each of document.querySelectorAll("details:not(.all)")) each.open = true;
    });
    addEventListener("afterprint", () => { if (before) root.dataset.theme = before; else delete root.dataset.theme; });
  }

  // a link to how a number was computed opens it
  function unfold() {
    const target = location.hash.length > 1 && byId(location.hash.slice(1));
    if (target && target.tagName === "DETAILS") { target.open = true; target.scrollIntoView(); }
  }

  async function unpack(text) {
    const binary = atob(text);
    const bytes = new Uint8Array(binary.length);
    for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return JSON.parse(await new Response(stream).text());
  }

  function typed(data) {
    for (const table of ["case", "answer", "item", "field"])
      for (const name of Object.keys(data[table])) data[table][name] = Int32Array.from(data[table][name]);
    data.probs = Int16Array.from(data.probs);
    data.size = data.case.state.length;
    data.answers = data.answer.item.length;
    return data;
  }

  const end = (column, n, all) => (n + 1 < column.length ? column[n + 1] : all);

  // which of the labels, at most 31, each case holds
  function masks(data) {
    const counts = new Map();
    for (const label of data.answer.label) if (label >= 0) counts.set(label, (counts.get(label) || 0) + 1);
    const shown = [...counts.keys()].sort((a, b) => counts.get(b) - counts.get(a)).slice(0, MOST_LABELS);
    const bit = new Int32Array(data.labels.length).fill(-1);
    shown.forEach((label, n) => { bit[label] = n; });
    const mask = new Int32Array(data.size);
    for (let c = 0; c < data.size; c++) {
      const last = end(data.case.first, c, data.answers);
      for (let a = data.case.first[c]; a < last; a++) {
        const label = data.answer.label[a];
        if (label >= 0 && bit[label] >= 0) mask[c] |= 1 << bit[label];
      }
    }
    return { mask, bit, shown: counts.size > MOST_LABELS ? [] : shown };
  }

  function fill(select, options) {
    for (const [value, words] of options) {
      const option = node("option", "", words.length > 80 ? words.slice(0, 79) + "…" : words);
      option.value = value;
      select.append(option);
    }
    select.parentElement.hidden = options.length < 3;
  }

  function explorer(data) {
    const { mask, bit, shown } = masks(data);
    const lower = [];             // texts in lower case, made while nothing else is to be done
    let chosen = new Int32Array(0), selected = -1;

    const relationName = (n) => data.relations[n].slice(0, 3).join("/");
    const modelName = (n) => data.models[n][0] + " (" + data.models[n][1] + ")";
    fill(byId("relation"), [["-1", "all"], ...data.relations.map((_, n) => [String(n), relationName(n)])]);
    fill(byId("model"), [["-1", "all"], ...data.models.map((_, n) => [String(n), modelName(n)])]);
    fill(byId("label"), [["-1", "any"], ...shown.map((label) => [String(label), data.labels[label]])]);
    fill(byId("state"), [
      ["broken", "inconsistent"], ["sure", "confident and inconsistent (≥ " + SURE + " %)"], ["held", "consistent"],
      ["unreadable", "with an unreadable answer"], ["na", "does not apply"], ["missing", "answers missing"], ["all", "all"],
    ]);
    if (!data.case.state.includes(BROKEN)) byId("state").value = "all";
    if (!data.case.sure.some((s) => s >= 0)) byId("state").querySelector("[value=sure]").remove();

    function withWords(words) {
      const found = new Uint8Array(data.texts.length);
      for (let t = 0; t < data.texts.length; t++) {
        if (lower[t] === undefined) lower[t] = data.texts[t].toLowerCase();
        if (lower[t].includes(words)) found[t] = 1;
      }
      return found;
    }

    function lowerSome(from) {
      const stop = Math.min(from + 20000, data.texts.length);
      for (let t = from; t < stop; t++) if (lower[t] === undefined) lower[t] = data.texts[t].toLowerCase();
      if (stop < data.texts.length) setTimeout(lowerSome, 20, stop);
    }

    function hasText(c, found) {
      const last = end(data.case.first, c, data.answers);
      if (found[data.case.group[c]]) return true;
      for (let a = data.case.first[c]; a < last; a++) {
        const item = data.answer.item[a], stop = end(data.item.first, item, data.field.text.length);
        for (let f = data.item.first[item]; f < stop; f++) if (found[data.field.text[f]]) return true;
      }
      return false;
    }

    function filter() {
      const relation = Number(byId("relation").value), model = Number(byId("model").value);
      const label = Number(byId("label").value), state = byId("state").value;
      const words = byId("words").value.trim().toLowerCase();
      const found = words ? withWords(words) : null;
      const wanted = label >= 0 ? 1 << bit[label] : 0;
      const { case: cases } = data;
      const kept = new Int32Array(data.size);
      let n = 0;
      for (let c = 0; c < data.size; c++) {
        if (relation >= 0 && cases.relation[c] !== relation) continue;
        if (model >= 0 && cases.model[c] !== model) continue;
        if (wanted && !(mask[c] & wanted)) continue;
        const s = cases.state[c];
        if (state === "broken" ? s !== BROKEN : state === "sure" ? s !== BROKEN || cases.sure[c] < SURE
          : state === "held" ? s !== HELD : state === "na" ? s !== NOT_APPLICABLE : state === "missing" ? s !== MISSING
          : state === "unreadable" ? !cases.unreadable[c] : false) continue;
        if (found && !hasText(c, found)) continue;
        kept[n++] = c;
      }
      chosen = kept.slice(0, n);
      const more = data.all > data.size ? " (the worst " + data.size.toLocaleString("en") + " of "
        + data.all.toLocaleString("en") + " are in this file)" : "";
      byId("count").textContent = n.toLocaleString("en") + " of " + data.size.toLocaleString("en") + " groups" + more;
      list.scrollTop = 0;
      resize();
      choose(n ? 0 : -1);
    }

    // --- the list: as many rows as fit, filled anew while scrolling
    const list = byId("list"), rows = byId("rows"), pool = [];
    const scale = () => Math.max(1, (chosen.length * ROW) / TALLEST);
    function resize() {
      byId("tall").style.height = Math.min(chosen.length * ROW, TALLEST) + "px";
      draw();
    }

    function draw() {
      const fit = Math.ceil(list.clientHeight / ROW) + 1;
      const exact = (list.scrollTop * scale()) / ROW;
      const first = Math.max(0, Math.min(Math.floor(exact), chosen.length - fit + 1));
      while (pool.length < fit) {
        const made = node("div", "case");
        made.setAttribute("role", "option");
        made.addEventListener("click", () => choose(Number(made.dataset.place)));
        pool.push(made);
        rows.append(made);
      }
      rows.style.transform = "translateY(" + (scale() > 1 ? list.scrollTop - (exact - first) * ROW : first * ROW) + "px)";
      pool.forEach((row, n) => {
        const place = first + n;
        row.hidden = place >= chosen.length || n >= fit;
        if (!row.hidden) write(row, place);
      });
    }

    function labelOf(a) {
      const label = data.answer.label[a];
      if (label >= 0) return data.labels[label];
      const said = data.answer.said[a];
      return NO_LABEL[label] + (said < 0 ? "" : ": " + clean(data.texts[said]));
    }

    function write(row, place) {
      const c = chosen[place];
      const a = data.case.first[c], last = end(data.case.first, c, data.answers);
      const said = [];
      for (let n = a; n < Math.min(last, a + 12); n++) said.push(labelOf(n).slice(0, 40));
      const state = data.case.state[c];
      const words = ["held", "broken " + (data.case.bad[c] < 100 ? data.case.bad[c] + " %" : ""), "does not apply", "missing"][state];
      const relation = data.relations[data.case.relation[c]];
      const who = data.models.length > 1 ? " · " + data.models[data.case.model[c]][0] : "";
      row.dataset.place = String(place);
      row.setAttribute("aria-selected", String(place === selected));
      row.replaceChildren(
        node("div", "top", node("span", "", relation[1] + "/" + relation[2] + who), node("span", state === BROKEN ? "broken" : state === HELD ? "held" : "", words)),
        node("div", "line", node("div", "answers", [...new Set(said)].length === 1 ? said[0] : said.join(" → ")),
          node("div", "snippet", snippet(last - 1))),
      );
    }

    // what the last item says that the first does not, or its last text
    function snippet(a) {
      const fields = fieldsOf(data.answer.item[a]);
      return fields.length ? fields[fields.length - 1].text.slice(0, 160) : data.texts[data.case.group[0]] || "";
    }

    function choose(place) {
      selected = place;
      draw();
      byId("group").replaceChildren();
      if (place >= 0) show(chosen[place]);
    }

    // --- one group
    function fieldsOf(item) {
      const found = [], stop = end(data.item.first, item, data.field.text.length);
      for (let f = data.item.first[item]; f < stop; f++)
        found.push({ name: data.fields[data.field.name[f]], text: data.texts[data.field.text[f]] });
      return found;
    }

    function itemsOf(c) {
      const items = new Map(), last = end(data.case.first, c, data.answers);
      for (let a = data.case.first[c]; a < last; a++) {
        const item = data.answer.item[a];
        if (!items.has(item)) items.set(item, { item, role: data.roles[data.item.role[item]], fields: fieldsOf(item), answers: [] });
        items.get(item).answers.push(a);
      }
      return [...items.values()];
    }

    function show(c) {
      const relation = data.relations[data.case.relation[c]], expect = relation[3];
      const state = data.case.state[c], items = itemsOf(c);
      const verdict = ["holds", "broken", "does not apply", "answers are missing"][state]
        + (state === BROKEN && data.case.sure[c] >= 0 ? ", the model was " + data.case.sure[c] + " % sure" : "");
      const parts = [
        node("h3", "", ...named(data.texts[data.case.group[c]])),
        node("p", "expects", "Expects " + EXPECTED[expect] + ": ", node("b", state === BROKEN ? "broken" : state === HELD ? "held" : "", verdict),
          " · " + modelName(data.case.model[c])),
      ];
      const original = items.find((i) => i.role === "original") || items[0];
      const others = items.filter((i) => i !== original);
      if (expect === "implied") parts.push(...implied(items));
      else if (others.length) parts.push(...compared(original, others));
      else parts.push(node("div", "sides", side(original, original.role, original.fields, null, true)));
      byId("group").replaceChildren(...parts);
      byId("group").scrollTop = 0;
    }

    // premises and conclusion, each with all its texts
    function implied(items) {
      const premises = items.filter((i) => i.role === "original"), rest = items.filter((i) => i.role !== "original");
      return [
        node("div", "sides", ...premises.map((i, n) => side(i, premises.length > 1 ? "premise " + (n + 1) : "premise", i.fields, null, premises.length === 1))),
        node("div", "sides", ...rest.map((i) => side(i, "so: conclusion, must be " + goldOf(i.item).join(" or "), i.fields, null, true))),
      ];
    }

    // what all share once, then original and variants with their different words
    function compared(original, others) {
      const same = (name, text) => others.every((o) => o.fields.some((f) => f.name === name && f.text === text));
      const shared = original.fields.filter((f) => same(f.name, f.text));
      const own = (i) => i.fields.filter((f) => !shared.some((s) => s.name === f.name));
      const parts = [];
      if (shared.length && shared.length < original.fields.length)
        parts.push(node("div", "sides", plain("the same in all", shared)));
      const whole = shared.length === original.fields.length;
      const of = (i) => (whole ? i.fields : own(i));
      if (others.length === 1) {
        parts.push(node("div", "sides", side(original, original.role, of(original), of(others[0]), false, "del"),
          side(others[0], others[0].role, of(others[0]), of(original), false, "ins")));
      } else {
        parts.push(node("div", "sides", side(original, original.role, of(original), null, true)));
        parts.push(node("div", "sides", ...others.map((o, n) => side(o, o.role + " " + (n + 1), of(o), of(original), false, "ins"))));
      }
      return parts;
    }

    function plain(title, fields) {
      return node("div", "side full", node("div", "role", title), ...fields.map((f) => field(f, null, "")));
    }

    function side(i, title, fields, against, full, mark) {
      return node("div", full ? "side full" : "side", node("div", "role", title),
        ...fields.map((f) => field(f, against && against.find((g) => g.name === f.name), mark)), ...answersOf(i));
    }

    function field(f, other, mark) {
      const text = node("div", "text");
      text.dir = "auto";
      if (other && other.text !== f.text && f.name !== "item") text.append(...marked(f.text, other.text, mark));
      else if (f.name === "item") text.append(...named(f.text));
      else text.append(clean(f.text));
      return node("div", "field", node("i", "", f.name), text);
    }

    const goldOf = (item) => data.label_sets[data.item.gold[item]].map((l) => data.labels[l]);

    function answersOf(i) {
      const gold = goldOf(i.item), counts = new Map();
      for (const a of i.answers) {
        const key = data.answer.label[a] + "/" + data.answer.right[a] + "/" + data.answer.said[a];
        if (!counts.has(key)) counts.set(key, { a, n: 0 });
        counts.get(key).n++;
      }
      const parts = [];
      for (const { a, n } of counts.values()) {
        const right = data.answer.right[a];
        const sign = right === 1 ? "✓ " : right === 0 ? "✗ " : "";
        const line = node("div", "answer " + (right === 1 ? "right" : right === 0 ? "wrong" : ""), sign + labelOf(a));
        if (n > 1) line.append(node("small", "", " × " + n));
        if (right === 0 && gold.length) line.append(node("small", "", "  right: " + gold.join(" or ")));
        parts.push(line);
      }
      const first = i.answers.find((a) => data.answer.prob[a] >= 0);
      if (first !== undefined) parts.push(probs(i.item, first));
      return parts;
    }

    function probs(item, a) {
      const at = data.answer.prob[a], size = data.probs[at];
      const names = data.label_sets[data.item.choices[item]].map((l) => data.labels[l]);
      const box = node("div", "probs");
      for (let n = 0; n < Math.min(size, 12); n++) {
        const share = data.probs[at + 1 + n] / 10;
        const fillBar = node("div", "fill");
        fillBar.style.width = share + "%";
        box.append(node("span", "", (names[n] || "choice " + (n + 1)).slice(0, 60)), node("div", "track", fillBar), node("span", "share", share.toFixed(1) + " %"));
      }
      return box;
    }

    // the text with the words that the other does not have in that place in <ins> or <del>
    function marked(text, other, mark) {
      const mine = text.match(/\s+|\S+/g) || [], theirs = (other.match(/\S+/g) || []);
      const words = mine.map((w, n) => [w, n]).filter(([w]) => /\S/.test(w));
      const kept = common(words.map(([w]) => w), theirs);
      const different = new Set(words.filter((_, n) => !kept[n]).map(([, n]) => n));
      const parts = [];
      mine.forEach((word, n) => {
        const inside = different.has(n) || (/^\s+$/.test(word) && different.has(n - 1) && different.has(n + 1));
        const last = parts[parts.length - 1];
        if (last && last.inside === inside) last.text += word;
        else parts.push({ inside, text: word });
      });
      return parts.map((p) => (p.inside ? node(mark, "", p.text) : document.createTextNode(clean(p.text))));
    }

    // which of the words belong to a longest common subsequence
    function common(a, b) {
      const kept = new Uint8Array(a.length);
      let start = 0, enda = a.length, endb = b.length;
      while (start < enda && start < endb && a[start] === b[start]) kept[start++] = 1;
      while (enda > start && endb > start && a[enda - 1] === b[endb - 1]) { kept[--enda] = 1; endb--; }
      const n = enda - start, m = endb - start;
      if (!n || !m || n * m > MOST_CELLS) return kept;
      const best = new Uint16Array((n + 1) * (m + 1));
      for (let i = n - 1; i >= 0; i--)
        for (let j = m - 1; j >= 0; j--)
          best[i * (m + 1) + j] = a[start + i] === b[start + j] ? best[(i + 1) * (m + 1) + j + 1] + 1
            : Math.max(best[(i + 1) * (m + 1) + j], best[i * (m + 1) + j + 1]);
      for (let i = 0, j = 0; i < n && j < m;) {
        if (a[start + i] === b[start + j]) { kept[start + i] = 1; i++; j++; }
        else if (best[(i + 1) * (m + 1) + j] >= best[i * (m + 1) + j + 1]) i++;
        else j++;
      }
      return kept;
    }

    list.addEventListener("scroll", draw, { passive: true });
    addEventListener("resize", draw);
    list.addEventListener("keydown", (event) => {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (!step || !chosen.length) return;
      event.preventDefault();
      const place = Math.max(0, Math.min(chosen.length - 1, selected + step));
      const top = (place * ROW) / scale();
      if (top < list.scrollTop) list.scrollTop = top;
      else if (top + ROW > list.scrollTop + list.clientHeight) list.scrollTop = top + ROW - list.clientHeight;
      choose(place);
    });
    for (const id of ["relation", "model", "label", "state"]) byId(id).addEventListener("change", filter);
    let waiting;
    byId("words").addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(filter, 120); });
    filter();
    lowerSome(0);
  }

  theme();
  addEventListener("hashchange", unfold);
  document.addEventListener("click", (event) => {   // a second click on the same link opens it again
    const link = event.target instanceof Element && event.target.closest("a[href^='#how-']");
    if (link && link.getAttribute("href") === location.hash) unfold();
  });
  unfold();
  const start = async () => {
    try {
      explorer(typed(await unpack(byId("groups").textContent)));
      document.documentElement.dataset.ready = "yes";
    } catch (error) {
      byId("count").textContent = "The groups cannot be shown: " + error.message;
      console.error(error);
    }
  };
  // the page is painted first
  requestAnimationFrame(() => setTimeout(start, 0));
})();
