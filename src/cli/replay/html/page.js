"use strict";
(() => {
  const box = document.getElementById("q");
  const count = document.getElementById("hits");
  const places = [...document.querySelectorAll(".said, .finding, .session > header, .aside > header")];
  const words = places.map((place) => place.textContent.toLowerCase());
  let hits = [];
  let at = -1;

  const unfold = (place) => {
    for (let up = place; up; up = up.parentElement) {
      if (up.tagName === "DETAILS") up.open = true;
    }
  };

  // Where the browser can, the words themselves are marked, without a change to the page.
  const mark = (wanted) => {
    if (!window.CSS || !CSS.highlights) return;
    CSS.highlights.delete("found");
    if (!wanted) return;
    const ranges = [];
    for (const place of hits.slice(0, 500)) {
      const texts = document.createTreeWalker(place, NodeFilter.SHOW_TEXT);
      for (let text = texts.nextNode(); text; text = texts.nextNode()) {
        const lower = text.data.toLowerCase();
        if (lower.length !== text.data.length) continue;
        for (let from = lower.indexOf(wanted); from >= 0; from = lower.indexOf(wanted, from + wanted.length)) {
          const range = new Range();
          range.setStart(text, from);
          range.setEnd(text, from + wanted.length);
          ranges.push(range);
        }
      }
    }
    CSS.highlights.set("found", new Highlight(...ranges));
  };

  const tell = () => {
    count.value = !box.value.trim() ? "" : hits.length ? `${at + 1} of ${hits.length}` : "nothing";
  };

  const go = (step) => {
    if (!hits.length) return;
    if (at >= 0) hits[at].classList.remove("now");
    at = (at + step + hits.length) % hits.length;
    const place = hits[at];
    place.classList.add("now");
    unfold(place);
    for (const fold of place.querySelectorAll("details")) {
      if (fold.textContent.toLowerCase().includes(box.value.trim().toLowerCase())) fold.open = true;
    }
    place.scrollIntoView({ block: "center" });
    tell();
  };

  const search = () => {
    for (const place of hits) place.classList.remove("hit", "now");
    const wanted = box.value.trim().toLowerCase();
    hits = wanted ? places.filter((_, nth) => words[nth].includes(wanted)) : [];
    at = -1;
    for (const place of hits) place.classList.add("hit");
    mark(wanted);
    tell();
    if (hits.length) go(1);
  };

  let later = 0;
  box.addEventListener("input", () => {
    clearTimeout(later);
    later = setTimeout(search, 120);
  });
  box.form.addEventListener("submit", (event) => event.preventDefault());
  box.addEventListener("keydown", (event) => {
    if (event.key === "Enter") {
      event.preventDefault();
      go(event.shiftKey ? -1 : 1);
    } else if (event.key === "Escape") {
      box.value = "";
      search();
      box.blur();
    }
  });
  document.getElementById("next").addEventListener("click", () => go(1));
  document.getElementById("prev").addEventListener("click", () => go(-1));

  const theme = () => {
    const root = document.documentElement;
    const dark = root.dataset.theme
      ? root.dataset.theme === "dark"
      : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  };
  document.getElementById("theme").addEventListener("click", theme);

  const turns = [...document.querySelectorAll(".turn")];
  const step = (by) => {
    const top = 80;
    let now = turns.findIndex((turn) => turn.getBoundingClientRect().top > top + 4);
    if (now < 0) now = turns.length;
    if (by < 0) {
      now = turns.findLastIndex((turn) => turn.getBoundingClientRect().top < top - 16);
    }
    const turn = turns[Math.max(0, Math.min(turns.length - 1, now))];
    if (turn) {
      turn.scrollIntoView({ block: "start" });
      turn.focus({ preventScroll: true });
    }
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (/^(input|textarea|select)$/i.test(event.target.tagName)) return;
    if (event.key === "/") {
      event.preventDefault();
      box.focus();
      box.select();
    } else if (event.key === "j") step(1);
    else if (event.key === "k") step(-1);
    else if (event.key === "t") theme();
  });

  const arrive = () => {
    const target = location.hash && document.getElementById(location.hash.slice(1));
    if (!target) return;
    unfold(target);
    target.scrollIntoView({ block: "start" });
    if (target.tabIndex >= -1 && target.focus) target.focus({ preventScroll: true });
  };
  window.addEventListener("hashchange", arrive);
  arrive();
})();
