
"use strict";
// A head becomes a button that sorts the rows of its table; a second click turns the order round. Rows without a number
// stay last, and equal ones keep their order.
const value = (row, column) => row.cells[column] ? row.cells[column].textContent.trim() : "";
const order = (a, b) => a.localeCompare(b, "en", { numeric: true });
document.querySelectorAll("table").forEach(table => {
  const heads = Array.from(table.tHead.rows[0].cells);
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      heads.forEach(other => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const rows = Array.from(table.tBodies[0].rows);
      rows.sort((a, b) => {
        const x = value(a, column), y = value(b, column);
        if (!head.classList.contains("n")) return down ? order(y, x) : order(x, y);
        const m = parseFloat(x), n = parseFloat(y);
        if (isNaN(m) || isNaN(n)) return isNaN(m) - isNaN(n);
        return down ? n - m : m - n;
      });
      table.tBodies[0].append(...rows);
    });
  });
});
