"use strict";

// Tables are sorted by the column whose heading is clicked; without this script they are plain.
{
  const valueOf = (row, k) => {
    const value = Number(row.cells[k].dataset.value);
    return Number.isNaN(value) ? null : value;
  };

  // Compare two rows in one column; cells without a number come last in both directions.
  function comparing(rows, k, direction) {
    if (rows.every((row) => valueOf(row, k) === null)) {
      const text = (row) => row.cells[k].textContent;
      const order = { numeric: true };
      return (a, b) => direction * text(a).localeCompare(text(b), undefined, order);
    }
    return (a, b) => {
      const [x, y] = [valueOf(a, k), valueOf(b, k)];
      if (x === null || y === null) return (x === null) - (y === null);
      return direction * (x - y);
    };
  }

  for (const table of document.querySelectorAll("table.sortable")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, k) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const direction = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
        const rows = [...table.tBodies[0].rows];
        table.tBodies[0].append(...rows.sort(comparing(rows, k, direction)));
        for (const other of heads) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
      });
    });
  }
}
