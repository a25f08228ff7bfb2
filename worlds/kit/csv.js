/** Rows of cells as a text of comma-separated values: toCsv([["a", "b,c"]]) is 'a,"b,c"\r\n'. What is no text becomes one. */
function toCsv(rows) {
  const cell = (value) => {
    const text = value === null || value === undefined ? "" : String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  // A row of one empty cell would be an empty line, and that is no row at all.
  const line = (row) => (row.length === 1 && cell(row[0]) === "" ? '""' : row.map(cell).join(","));
  return rows.map((row) => line(row) + "\r\n").join("");
}

/**
 * Rows of cells from comma-separated values, also with line breaks and doubled quotes between quotes; lines may end in
 * \n or \r\n, and empty ones are left out. parseCsv('a,"b,c"\n') is [["a", "b,c"]]. Throws where a quote is never closed.
 */
function parseCsv(text) {
  const rows = [];
  let row = [];
  let at = 0;
  while (at < text.length) {
    const [cell, end] = text[at] === '"' ? quotedCell(text, at) : plainCell(text, at);
    row.push(cell);
    at = end;
    if (text[at] === ",") {
      at++;
      if (at < text.length && !/[\r\n]/.test(text[at])) continue;
      row.push(""); // the comma was the last of its line
    }
    const isEmptyLine = row.length === 1 && cell === "" && text[at - 1] !== '"';
    if (!isEmptyLine) rows.push(row);
    row = [];
    at += text.startsWith("\r\n", at) ? 2 : 1;
  }
  return rows;
}

/** The cell that begins at a quote, and where it ends: [cell, end]. */
function quotedCell(text, start) {
  const parts = [];
  let from = start + 1;
  for (;;) {
    const quote = text.indexOf('"', from);
    if (quote < 0) throw new SyntaxError(`The quote on line ${text.slice(0, start).split("\n").length} is never closed`);
    parts.push(text.slice(from, quote));
    if (text[quote + 1] !== '"') {
      const [rest, end] = plainCell(text, quote + 1); // nothing, if the text is as it should be
      return [parts.join('"') + rest, end];
    }
    from = quote + 2;
  }
}

/** The cell from here to the next comma or end of line: [cell, end]. */
function plainCell(text, start) {
  const rest = /[^,\r\n]*/y;
  rest.lastIndex = start;
  const [cell] = rest.exec(text);
  return [cell, start + cell.length];
}
