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
