// A book is a row under "book:" and its number, padded, so that rows sorted by key are sorted by number.

/**
 * A book on the list, and how far it was read; `finished` is the day and `rating` the stars, where it has them. Throws
 * for what cannot be one.
 */
class Book {
  constructor({ id, title, author = "", pages, page = 0, finished, rating }) {
    if (typeof title !== "string" || title.trim() === "") throw new TypeError("A book needs a title");
    if (title.length > 300 || String(author).length > 300) throw new RangeError("Titles and names have at most 300 characters");
    if (!Number.isInteger(pages) || pages < 1 || pages > 20_000) throw new RangeError("A book has from 1 to 20000 pages");
    Object.assign(this, { id, title: title.trim(), author: String(author).trim(), pages, page, finished, rating });
  }

  /** Where it stands: "reading", "next" if it was not begun, or "finished". */
  get shelf() {
    if (this.page === 0) return "next";
    return this.page < this.pages ? "reading" : "finished";
  }

  /** Say that it was read to a page, on a day. Page 0 puts it back to the next ones. */
  readTo(page, day) {
    if (!Number.isInteger(page) || page < 0) throw new RangeError("A page is an integer from 0 on");
    this.page = Math.min(page, this.pages);
    this.finished = this.shelf === "finished" ? (this.finished ?? day) : undefined;
    if (this.shelf === "next") this.rating = undefined;
    return this;
  }

  /** Give it one to five stars, or null for none. */
  rate(stars) {
    if (stars !== null && !(Number.isInteger(stars) && stars >= 1 && stars <= 5)) throw new RangeError("A rating is from 1 to 5 stars");
    if (this.shelf === "next") throw new Error(`Read ${this.title} before you rate it`);
    this.rating = stars ?? undefined;
    return this;
  }

  /** Whether each of the words is in its title or its author's name, in any case. */
  has(words) {
    const text = `${this.title} ${this.author}`.toLowerCase();
    return words.toLowerCase().split(/\s+/).every((word) => text.includes(word));
  }
}

/** The key of a book: bookKey(7) is "book:00007". */
function bookKey(id) {
  return "book:" + String(id).padStart(5, "0");
}

/** Today, as the world's clock has it: "2026-05-02". */
function today() {
  return new Date().toISOString().slice(0, 10);
}

/** One book by its number. Throws where there is none. */
function getBook(id) {
  const row = data.get(bookKey(id));
  if (row === undefined) throw new Error(`No book ${id}`);
  return new Book(row);
}

/** The books of a shelf ("reading", "next", "finished"; all if none is named) that have the words, as they were added. */
function listBooks(shelf, words = "") {
  const books = data.list("book:").map((row) => new Book(row.value));
  return books.filter((book) => (!shelf || book.shelf === shelf) && book.has(words));
}

/** Put a book on the list: addBook({title: "Emma", author: "Jane Austen", pages: 474}). */
function addBook({ title, author, pages }) {
  const id = (data.get("last-book") ?? 0) + 1;
  const book = new Book({ id, title, author, pages });
  data.set("last-book", id);
  return data.set(bookKey(id), book);
}

/** Say how far a book was read; the last page finishes it. */
function readTo(id, page, day = today()) {
  return data.set(bookKey(id), getBook(id).readTo(page, day));
}

/** Give a book one to five stars; null takes them away. */
function rateBook(id, stars) {
  return data.set(bookKey(id), getBook(id).rate(stars));
}

/** Take a book off the list; answers what it was. */
function removeBook(id) {
  const book = getBook(id);
  data.delete(bookKey(id));
  return book;
}

/** How many books and pages: {next, reading, finished, pagesRead}. */
function countBooks() {
  const books = listBooks();
  const on = (shelf) => books.filter((book) => book.shelf === shelf).length;
  const pagesRead = books.reduce((sum, book) => sum + book.page, 0);
  return { next: on("next"), reading: on("reading"), finished: on("finished"), pagesRead };
}
