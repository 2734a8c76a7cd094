"use strict";
// Runs under way: their figures are fetched again until one ends, then the page is loaded again.
(() => {
  const live = [...document.querySelectorAll("[data-live]")];
  if (!live.length) return;
  const EVERY = 2000;  // milliseconds
  const ids = [...new Set(live.map((each) => each.dataset.live))];
  const address = "/progress?" + ids.map((id) => "run=" + encodeURIComponent(id)).join("&");

  function show(place, told) {
    const bar = place.querySelector("progress"), words = place.querySelector("span");
    bar.max = Math.max(told.planned, 1);
    bar.value = told.done + told.failed;
    if (words.textContent !== told.text) words.textContent = told.text;
  }

  async function look() {
    let wait = EVERY;
    if (!document.hidden) {
      try {
        const reply = await fetch(address, { headers: { accept: "application/json" } });
        if (reply.status === 401) return;
        if (reply.ok) {
          const told = await reply.json();
          if (ids.some((id) => !told[id] || told[id].state !== "under way")) { location.reload(); return; }
          for (const place of live) show(place, told[place.dataset.live]);
        }
      } catch {
        wait = 5 * EVERY;  // the server is not there at the moment
      }
    }
    setTimeout(look, wait);
  }

  setTimeout(look, EVERY);
})();
