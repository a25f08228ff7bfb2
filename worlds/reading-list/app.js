// The page. All of it works as plain forms; where scripts run, a book is changed in place without loading the page again.

const SHELVES = [
  ["", "All"],
  ["reading", "Reading"],
  ["next", "Next"],
  ["finished", "Finished"],
];

/** The page of the reading list: tabs for the shelves, a search, books to read on in, and a form for new ones. */
function app(path, query, request) {
  if (request.method === "POST") return changeByForm(path, request);
  if (path !== "/") return { status: 404, body: listPage(request.base, query, `There is nothing at ${path}`) };
  return listPage(request.base, query);
}

/** What a form changes: the page again, or why not. */
function changeByForm(path, { base, form }) {
  const id = Number(form.id);
  const changes = {
    "/add": () => addBook({ title: form.title, author: form.author, pages: Number(form.pages) }),
    "/read": () => readTo(id, Number(form.page)),
    "/rate": () => rateBook(id, form.stars ? Number(form.stars) : null),
    "/remove": () => removeBook(id),
  };
  try {
    changes[path]();
  } catch (error) {
    return { status: 422, body: listPage(base, {}, error.message, path === "/add" ? form : {}) };
  }
  return { status: 303, headers: { location: "/" } };
}

/** The whole page as text. `problem` is shown above the books; `draft` fills the form for new ones. */
function listPage(base, query, problem = "", draft = {}) {
  const isOpen = (listBooks().length === 0 || draft.title !== undefined) && new Markup("open");
  const body = html`
<header><h1><a href="${base}/">Reading list</a></h1></header>
<p class="problem" role="alert">${problem}</p>
<div class="card"><details class="new" ${isOpen}>
  <summary>Add a book</summary>
  <form method="post" action="${base}/add" class="fields">
    <label class="wide">Title <input name="title" required maxlength="300" value="${draft.title}"></label>
    <label>Author <input name="author" maxlength="300" value="${draft.author}"></label>
    <label>Pages <input name="pages" type="number" inputmode="numeric" min="1" max="20000" required value="${draft.pages}"></label>
    <button class="main">Add</button>
  </form>
</details></div>
<main data-base="${base}" data-query="${JSON.stringify(query)}">${listMarkup(base, query)}</main>`;
  const accent = { light: "#7a3b69", dark: "#e3a6d0" };
  return documentOf({ title: "Reading list", accent, style: listStyle(), body, script: pageScript() });
}

/** The tabs, the search and the books of a shelf that have the words: what changes when a book does. */
function listMarkup(base, { shelf = "", find = "" }) {
  const counts = countBooks();
  const inAll = { ...counts, "": counts.next + counts.reading + counts.finished };
  const books = listBooks(shelf, find).sort((a, b) => shelfOrder(a) - shelfOrder(b));
  const tab = ([name, label]) => html`<a href="${base}/?shelf=${name}" ${name === shelf && new Markup('aria-current="page"')}>${label} <b>${inAll[name]}</b></a>`;
  return html`<nav class="tabs" aria-label="Shelves">${SHELVES.map(tab)}</nav>
${(inAll[""] > 5 || find) && searchForm(base, shelf, find)}
${books.map((book) => bookMarkup(book, base))}${books.length === 0 && emptyMarkup(shelf, find)}
${counts.pagesRead > 0 && html`<p class="faint small">${counts.pagesRead} pages read so far</p>`}`;
}

/** The same as a text, for the page's script. */
function listText(base, query) {
  return listMarkup(base, query).text;
}

/** Reading comes first, then what is next, then what is finished. */
function shelfOrder(book) {
  return ["reading", "next", "finished"].indexOf(book.shelf);
}

/** The form that looks for words. */
function searchForm(base, shelf, find) {
  return html`<form action="${base}/" class="row" role="search">
  <input type="hidden" name="shelf" value="${shelf}">
  <input class="grow" type="search" name="find" value="${find}" aria-label="Find" placeholder="Title or author">
  <button>Find</button>
</form>`;
}

/** What stands where there are no books. */
function emptyMarkup(shelf, find) {
  if (find) return html`<p class="empty">Nothing with “${find}” here.</p>`;
  return html`<p class="empty">${shelf ? "No books on this shelf." : "No books yet. Which one is next?"}</p>`;
}

/** One book as markup. */
function bookMarkup(book, base) {
  const percent = Math.round((book.page / book.pages) * 100);
  const star = (stars) => html`<button name="stars" value="${stars === book.rating ? "" : stars}" aria-label="${stars} of 5 stars" aria-pressed="${stars <= (book.rating ?? 0)}">★</button>`;
  const hidden = html`<input type="hidden" name="id" value="${book.id}">`;
  return html`<article class="card book" id="book-${book.id}">
  <div class="row"><div class="grow"><h2>${book.title}</h2><p class="faint small">${book.author || "Unknown author"} · ${book.shelf === "reading" ? `page ${book.page} of ${book.pages} · ${percent}%` : `${book.pages} pages`}</p></div>
    <form method="post" action="${base}/remove">${hidden}<button class="quiet" aria-label="Remove ${book.title}" title="Remove">✕</button></form></div>
  ${book.shelf === "reading" && html`<div class="bar" role="progressbar" aria-label="Read" aria-valuenow="${percent}" aria-valuemin="0" aria-valuemax="100"><i style="width:${percent}%"></i></div>`}
  <div class="row">
  ${book.shelf === "next" && html`<form method="post" action="${base}/read" data-live="readTo">${hidden}<input type="hidden" name="page" value="1"><button>Start</button></form>`}
  ${book.shelf === "reading" && html`<form method="post" action="${base}/read" data-live="readTo" class="row grow">${hidden}
    <label class="page">Page <input name="page" type="number" inputmode="numeric" min="0" max="${book.pages}" required value="${book.page}"></label> <button>Save</button></form>`}
  ${book.shelf === "reading" && html`<form method="post" action="${base}/read" data-live="readTo">${hidden}<input type="hidden" name="page" value="${book.pages}"><button>Finished</button></form>`}
  ${book.shelf === "finished" && html`<span class="grow faint small">Finished ${book.finished}</span>
    <form method="post" action="${base}/rate" data-live="rateBook" class="stars">${hidden}${[1, 2, 3, 4, 5].map(star)}</form>`}
  </div>
</article>`;
}

/** What the page's script does, as text: a form with data-live calls that function, then the books are shown anew. */
function pageScript() {
  const script = () => {
    const main = document.querySelector("main");
    const problem = document.querySelector(".problem");
    addEventListener("submit", async (event) => {
      const { target: form, submitter } = event;
      if (!form.dataset.live) return;
      event.preventDefault();
      const { id, page, stars } = Object.fromEntries(new FormData(form, submitter));
      const value = page ?? stars;
      submitter.disabled = true;
      try {
        await world.call(form.dataset.live, Number(id), value === "" ? null : Number(value));
        main.innerHTML = await world.call("listText", main.dataset.base, JSON.parse(main.dataset.query));
        problem.textContent = "";
      } catch (error) {
        problem.textContent = error.message;
        problem.scrollIntoView({ block: "center" });
        submitter.disabled = false;
      }
    });
  };
  return `(${script})()`;
}

/** What is this page's own style. */
function listStyle() {
  return `
.book .row { margin-top: 0.5rem; }
.book form.row { margin-top: 0; }
.book > .row:first-child { margin-top: 0; flex-wrap: nowrap; align-items: flex-start; }
.book .bar { margin: 0.75rem 0 0.25rem; }
.quiet { border-color: transparent; color: var(--faint); width: 2.75rem; padding: 0; margin: -0.375rem -0.5rem 0 0; }
.page { display: flex; align-items: center; gap: 0.5rem; }
.page > input { width: 5.5rem; margin: 0; }
.stars { display: flex; margin-left: -0.625rem; }
.stars button { border: 0; padding: 0; width: 2.75rem; font-size: 1.5rem; color: var(--faint); opacity: 0.5; }
.stars button[aria-pressed="true"] { color: var(--accent); opacity: 1; }
form[role="search"] { margin-bottom: 1rem; }`;
}
