// Lists come and go as tables, and the world "kit" knows how those are written: this one may call it.

/** The id of the world of helpers. Throws where this world may not call it. */
async function kit() {
  const id = (await worlds.list()).find((world) => /^kit-[0-9a-f]{6}$/.test(world));
  if (id === undefined) throw new Error("This needs the world kit; allow it: pw grants reading-list --allow kit");
  return id;
}

/** All books as a text of comma-separated values, with a line of names first. */
async function exportBooks() {
  const names = ["title", "author", "pages", "page", "finished", "rating"];
  const rows = listBooks().map((book) => names.map((name) => book[name]));
  return await worlds.call(await kit(), "toCsv", [names, ...rows]);
}

/**
 * Add the books of a text of comma-separated values whose first line names the columns: title and pages at least, perhaps
 * author, page, finished and rating. A book that is on the list already is left as it is. Answers {added, known}.
 */
async function importBooks(text) {
  const [names = [], ...rows] = await worlds.call(await kit(), "parseCsv", text);
  const columns = names.map((name) => name.trim().toLowerCase());
  if (!columns.includes("title") || !columns.includes("pages")) throw new Error("The first line must name the columns, title and pages among them");
  let added = 0;
  for (const [index, row] of rows.entries()) {
    const cells = Object.fromEntries(columns.map((name, column) => [name, row[column] ?? ""]));
    try {
      if (importBook(cells)) added++;
    } catch (error) {
      throw new Error(`Book ${index + 1} (${cells.title}): ${error.message}`);
    }
  }
  return { added, known: rows.length - added };
}

/** Add one book of a table, if it is not on the list; answers whether it was added. */
function importBook({ title, author = "", pages, page = "", finished = "", rating = "" }) {
  const same = (book) => book.title === title.trim() && book.author === author.trim();
  if (listBooks().some(same)) return false;
  const { id } = addBook({ title, author, pages: Number(pages) });
  if (page !== "") readTo(id, Number(page), finished || today());
  if (rating !== "") rateBook(id, Number(rating));
  return true;
}
