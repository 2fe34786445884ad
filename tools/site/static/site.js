// A table of text that is wider than a phone stands there as a list: the cells of a row one below the
// other, each with the title of its column. Tables of numbers scroll (site.css).
const MOST_COLUMNS = 5; // of a list; more cells cannot be compared in it

function layTables() {
  for (const table of document.querySelectorAll("article .table-wrapper > table")) {
    const box = table.parentElement;
    const titles = [...table.querySelectorAll("thead th")].map((cell) => cell.textContent.trim());
    const isText = titles.length <= MOST_COLUMNS && !table.querySelector("td.text-right");
    table.classList.remove("as-list");
    table.classList.toggle("as-list", isText && box.scrollWidth > box.clientWidth);
    for (const row of table.tBodies[0].rows) {
      for (const cell of row.cells) {
        cell.dataset.title = cell.textContent.trim() && (titles[cell.cellIndex] ?? "");
      }
    }
  }
}
document.addEventListener("DOMContentLoaded", layTables);
window.addEventListener("resize", layTables);

// The search finds pages, and names on pages: it has no word for both. A method is found by its own
// name; that of its class finds the class.
document.addEventListener("DOMContentLoaded", () => {
  if (typeof Search === "undefined") return;
  Documentation.addTranslations({
    locale: "en",
    plural_expr: "n === 1 ? 0 : 1",
    messages: {
      "Search finished, found one page matching the search query.": [
        "Found in one place.",
        "Found in ${resultCount} places.",
      ],
    },
  });
  const byWholeName = Search.performObjectSearch;
  Search.performObjectSearch = (term, terms) =>
    byWholeName(term, terms).filter(([, name]) => {
      const own = name.toLowerCase().split(".").pop();
      return [...terms].some((word) => own.includes(word));
    });
});

// A program in both languages stands below two lines that have a language's name alone. One of the two
// is shown, behind a tab each; the reader's choice holds for all pages.
const LANGUAGES = ["Python", "C++"];
const isLanguage = (element) =>
  element?.matches("p:has(> strong:only-child)") && LANGUAGES.includes(element.textContent.trim());
const isProgram = (element) => element?.matches("div[class*=highlight-]");

function tabbed(first) {
  const box = document.createElement("div");
  box.className = "languages";
  const tabs = box.appendChild(document.createElement("div"));
  tabs.setAttribute("role", "tablist");
  first.before(box);
  let panel;
  for (let next = first; isLanguage(next) || isProgram(next); next = box.nextElementSibling) {
    if (isProgram(next)) {
      panel.append(next);
      continue;
    }
    const tab = tabs.appendChild(document.createElement("button"));
    tab.setAttribute("role", "tab");
    tab.textContent = next.textContent.trim();
    tab.addEventListener("click", () => choose(tab.textContent));
    panel = box.appendChild(document.createElement("div"));
    panel.setAttribute("role", "tabpanel");
    panel.dataset.language = tab.textContent;
    next.remove();
  }
}

function choose(language) {
  showLanguage(language);
  localStorage.setItem("language", language);
}

function showLanguage(language) {
  for (const tab of document.querySelectorAll(".languages [role=tab]")) {
    tab.setAttribute("aria-selected", tab.textContent === language);
  }
  for (const panel of document.querySelectorAll(".languages [role=tabpanel]")) {
    panel.hidden = panel.dataset.language !== language;
  }
}

document.addEventListener("DOMContentLoaded", () => {
  for (const line of [...document.querySelectorAll("article p")].filter(isLanguage)) {
    if (line.isConnected) {
      tabbed(line);
    }
  }
  showLanguage(LANGUAGES[0]); // a browser may refuse the storage
  const chosen = localStorage.getItem("language");
  if (LANGUAGES.includes(chosen)) {
    showLanguage(chosen);
  }
});
