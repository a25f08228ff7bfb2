// The pages: the board with its filters, one page an issue, and forms for new issues and for the lines of a beads file.
// All works as plain forms; where scripts run, a button changes the board in place.

/** The pages: "/" is the board, "/issue/ID" one issue. */
function app(path, query, request) {
  try {
    if (request.method === "POST") return changeByForm(path, request);
    if (path === "/") return boardPage(request.base, query);
    const [, id] = /^\/issue\/([^/]+)$/.exec(path) ?? [];
    if (id !== undefined && data.get(issueKey(id)) !== undefined) return issuePage(request.base, id);
    return { status: 404, body: boardPage(request.base, {}, `There is nothing at ${path}`) };
  } catch (error) {
    return { status: 422, body: boardPage(request.base, {}, error.message, path === "/add" ? request.form : {}) };
  }
}

/** What a form changes, and where it leads. */
function changeByForm(path, { base, form }) {
  const seeOther = (location) => ({ status: 303, headers: { location } });
  const words = (text = "") => text.split(/[\s,]+/).filter((word) => word !== "");
  const issue = `/issue/${form.id}`;
  switch (path) {
    case "/add": {
      const { title, description, type, assignee } = form;
      const said = { title, description, type, priority: Number(form.priority), labels: words(form.labels), dependsOn: words(form.dependsOn) };
      return seeOther(`/issue/${addIssue({ ...said, assignee: assignee || undefined }).id}`);
    }
    case "/import": {
      const { added, updated, kept, problems } = importBeads(form.lines);
      const told = problems.map(({ line, error }) => `Line ${line}: ${error}.`).join(" ");
      return boardPage(base, {}, `${added} added, ${updated} updated, ${kept} kept as they are. ${told}`);
    }
    case "/change":
      changeIssue(form.id, { title: form.title, description: form.description, priority: Number(form.priority), labels: words(form.labels) });
      return seeOther(issue);
    case "/wait":
      addDependency(form.id, form.on);
      return seeOther(issue);
    case "/unwait":
      removeDependency(form.id, form.on);
      return seeOther(issue);
    case "/start":
      startIssue(form.id);
      return seeOther(issue);
    case "/close":
      closeIssue(form.id, form.reason || undefined);
      return seeOther(issue);
    case "/reopen":
      reopenIssue(form.id);
      return seeOther(issue);
  }
  return { status: 404, body: boardPage(base, {}, `There is nothing at ${path}`) };
}

/** The columns of the board, by name: what they are called. */
function columnTitles() {
  return { ready: "Ready", in_progress: "In progress", blocked: "Blocked", closed: "Closed" };
}

/** The board as a whole page. `message` is shown above it; `draft` fills the form for new issues. */
function boardPage(base, filter, message = "", draft = {}) {
  const body = html`
<header><h1><a href="${base}/">Beads</a></h1></header>
<p class="problem" role="alert">${message}</p>
${newForms(base, draft)}
${filterForm(base, filter)}
<main class="board">${boardMarkup(base, filter)}</main>`;
  return wholePage("Beads", body);
}

/** A page of this world with its style and script. */
function wholePage(title, body) {
  const accent = { light: "#1f5f8b", dark: "#8cc7f0" };
  return documentOf({ title, accent, style: boardStyle(), body, script: boardScript() });
}

/** The forms behind "New issue" and "Import". */
function newForms(base, draft) {
  const isOpen = draft.title !== undefined && new Markup("open");
  return html`<div class="card two">
<details class="new" ${isOpen}><summary>New issue</summary>
  <form method="post" action="${base}/add" class="fields">
    <label class="wide">Title <input name="title" required maxlength="500" value="${draft.title}"></label>
    <label>Type <select name="type">${options(["task", "bug", "feature", "epic", "chore"], draft.type)}</select></label>
    <label>Priority <select name="priority">${options([0, 1, 2, 3, 4], draft.priority ?? 2, priorityName)}</select></label>
    <label>Assignee <input name="assignee" value="${draft.assignee}"></label>
    <label>Labels <input name="labels" placeholder="house, garden" value="${draft.labels}"></label>
    <label>Waits for <input name="dependsOn" placeholder="bb-1, bb-2" value="${draft.dependsOn}" autocapitalize="none"></label>
    <label class="wide">Description <textarea name="description" rows="3">${draft.description}</textarea></label>
    <button class="main">Add</button>
  </form></details>
<details class="new"><summary>Import</summary>
  <form method="post" action="${base}/import" class="fields">
    <label class="wide">Lines of a beads file, one issue a line
      <textarea name="lines" required spellcheck="false" placeholder='{"id":"bd-1","title":"Fix the door","status":"open"}'></textarea></label>
    <label class="wide">or the file <input type="file" accept=".jsonl,.json,.txt" data-import></label>
    <button class="main">Import</button>
  </form></details></div>`;
}

/** The options of a select. */
function options(values, chosen, nameOf = String) {
  return values.map((value) => html`<option value="${value}" ${String(value) === String(chosen) && new Markup("selected")}>${nameOf(value)}</option>`);
}

/** A priority in words: priorityName(0) is "P0 at once". */
function priorityName(priority) {
  return `P${priority} ${["at once", "soon", "normal", "later", "some day"][priority]}`;
}

/** The form that chooses what the board shows. */
function filterForm(base, { find, type, priority, label, assignee }) {
  const issues = allIssues();
  const known = (values, chosen) => [...new Set([...values, ...(chosen ? [chosen] : [])])].filter(Boolean).sort();
  const select = (name, all, values, chosen, nameOf) => html`<select name="${name}" aria-label="${all}"><option value="">${all}</option>${options(values, chosen, nameOf)}</select>`;
  return html`<form action="${base}/" class="filter" role="search">
  <input type="search" name="find" value="${find}" placeholder="Find" aria-label="Find">
  ${select("type", "Any type", known(issues.map((issue) => issue.issue_type), type), type)}
  ${select("priority", "Any priority", [0, 1, 2, 3, 4], priority ?? "", priorityName)}
  ${select("label", "Any label", known(issues.flatMap((issue) => issue.labels), label), label)}
  ${select("assignee", "Anybody", known(issues.map((issue) => issue.assignee), assignee), assignee)}
  <noscript><button>Show</button></noscript>
</form>`;
}

/** The columns with their cards, for a filter. */
function boardMarkup(base, filter) {
  const issues = allIssues();
  const board = new Board(issues);
  if (issues.length === 0) return html`<p class="empty">Nothing to do yet. Write an issue down, or import the lines of a beads file.</p>`;
  return Object.entries(columnTitles()).map(([column, title]) => {
    const cards = board.inOrder(column).filter((issue) => passes(issue, filter));
    if (column === "closed") cards.sort((a, b) => ((a.closed_at ?? "") > (b.closed_at ?? "") ? -1 : 1));
    const shown = column === "closed" ? cards.slice(0, 20) : cards;
    const more = cards.length - shown.length;
    return html`<section aria-label="${title}"><h2 class="column">${title} <span class="faint">${cards.length}</span></h2>
${shown.map((issue) => cardMarkup(issue, board, base))}
${cards.length === 0 && html`<p class="faint small none">None</p>`}
${more > 0 && html`<p class="faint small">and ${more} more</p>`}</section>`;
  });
}

/** The columns as a text of markup, for the page's script. */
function boardText(base, filter) {
  return html`${boardMarkup(base, filter)}`.text;
}

/** One issue on the board. */
function cardMarkup(issue, board, base) {
  const blockers = board.blockers(issue.id);
  return html`<article class="card issue p${issue.priority}">
  <p class="small faint">${issue.id} · ${issue.issue_type} · P${issue.priority}${issue.assignee && ` · ${issue.assignee}`}</p>
  <h2><a href="${base}/issue/${issue.id}">${issue.title}</a></h2>
  ${blockers.length > 0 && html`<p class="small">waits for ${links(blockers, board, base)}</p>`}
  ${issue.labels.length > 0 && html`<p>${issue.labels.map((label) => html`<span class="chip">${label}</span> `)}</p>`}
  <div class="row">${moves(issue, board.columnOf(issue.id), base)}</div>
</article>`;
}

/** Links to issues, the closed ones struck out. */
function links(ids, board, base) {
  return ids.map((id, index) => {
    const { title, status } = board.issues.get(id);
    const link = html`<a href="${base}/issue/${id}" title="${title}">${id}</a>`;
    return html`${index > 0 && ", "}${status === "closed" ? html`<s>${link}</s>` : link}`;
  });
}

/** The buttons that move an issue on. */
function moves(issue, column, base) {
  const button = (path, live, label, isMain) => html`<form method="post" action="${base}/${path}" data-live="${live}">
    <input type="hidden" name="id" value="${issue.id}"><button class="${isMain && "main"}" aria-label="${label} ${issue.id}">${label}</button></form>`;
  if (column === "closed") return button("reopen", "reopenIssue", "Reopen");
  return html`${column !== "in_progress" && button("start", "startIssue", "Start")}
    ${column === "in_progress" && button("reopen", "reopenIssue", "Put back")} ${button("close", "closeIssue", "Close", column === "in_progress")}`;
}

/** One issue with all that is known of it, as a whole page. */
function issuePage(base, id) {
  const issue = getIssue(id);
  const board = new Board(allIssues());
  const column = board.columnOf(id);
  const waiting = board.waitsFor(id);
  const blocked = board.blocks(id);
  const hidden = html`<input type="hidden" name="id" value="${id}">`;
  const others = board.inOrder().filter((each) => each.id !== id && each.status !== "closed");
  const body = html`
<header><p><a href="${base}/">← Board</a></p><h1>${issue.title}</h1>
  <p class="faint">${id} · ${issue.issue_type} · ${priorityName(issue.priority)}${issue.assignee && ` · ${issue.assignee}`}</p>
  <p><span class="chip">${columnTitles()[column]}</span> ${issue.labels.map((label) => html`<span class="chip">${label}</span> `)}</p></header>
<p class="problem" role="alert"></p>
${issue.description && html`<div class="card description">${issue.description}</div>`}
${issue.close_reason && html`<p class="faint">Closed: ${issue.close_reason}</p>`}
<div class="card">
  <p>Waits for ${waiting.length > 0 ? links(waiting, board, base) : "nothing"}</p>
  <p>Holds up ${blocked.length > 0 ? links(blocked, board, base) : "nothing"}</p>
  ${column !== "closed" && others.length > 0 && html`<form method="post" action="${base}/wait" class="row">${hidden}
    <select name="on" class="grow" aria-label="Wait for">${others.map((each) => html`<option value="${each.id}">${each.id} ${each.title}</option>`)}</select>
    <button>Wait for it</button></form>`}
  ${waiting.map((on) => html`<form method="post" action="${base}/unwait">${hidden}<input type="hidden" name="on" value="${on}">
    <button class="small">Wait for ${on} no longer</button></form>`)}
</div>
<div class="row">${moves(issue, column, base)}</div>
<div class="card edit"><details class="new"><summary>Change</summary><form method="post" action="${base}/change" class="fields">${hidden}
  <label class="wide">Title <input name="title" required maxlength="500" value="${issue.title}"></label>
  <label>Priority <select name="priority">${options([0, 1, 2, 3, 4], issue.priority, priorityName)}</select></label>
  <label>Labels <input name="labels" value="${issue.labels.join(", ")}"></label>
  <label class="wide">Description <textarea name="description" rows="5">${issue.description}</textarea></label>
  <button class="main">Save</button></form></details></div>
<p class="faint small">Written ${issue.created_at.slice(0, 10)}, changed ${issue.updated_at.slice(0, 10)}</p>`;
  return wholePage(`${id} ${issue.title}`, body);
}
