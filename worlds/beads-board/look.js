/** What the pages' script does, as text: buttons change the board in place, filters show at once, a file is imported in parts. */
function boardScript() {
  const script = () => {
    const problem = document.querySelector(".problem");
    const say = (text) => {
      problem.textContent = text;
      if (text) problem.scrollIntoView({ block: "center" });
    };
    const filter = document.querySelector(".filter");
    const board = document.querySelector(".board");

    addEventListener("submit", async (event) => {
      const { target: form, submitter } = event;
      if (!form.dataset.live || !board) return;
      event.preventDefault();
      submitter.disabled = true;
      try {
        await world.call(form.dataset.live, form.elements.id.value);
        const base = form.getAttribute("action").replace(/\/[^/]*$/, "");
        board.innerHTML = await world.call("boardText", base, Object.fromEntries(new FormData(filter)));
        say("");
      } catch (error) {
        say(error.message);
        submitter.disabled = false;
      }
    });

    filter?.addEventListener("change", () => filter.submit());

    document.querySelector("[data-import]")?.addEventListener("change", async ({ target }) => {
      const parts = [""];
      for (const line of (await target.files[0].text()).split("\n")) {
        if (parts.at(-1).length + line.length > 200_000) parts.push("");
        parts[parts.length - 1] += line + "\n";
      }
      try {
        for (const part of parts) await world.call("importBeads", part);
        location.reload();
      } catch (error) {
        say(error.message);
      }
    });
  };
  return `(${script})()`;
}

/** What is these pages' own style. */
function boardStyle() {
  return `
@media (min-width: 60rem) {
  body { max-width: 90rem; padding-inline: 2rem; }
  .board { display: grid; grid-template-columns: repeat(4, minmax(0, 1fr)); gap: 1rem; align-items: start; }
  .board > .empty { grid-column: 1 / -1; }
  .two { display: grid; grid-template-columns: 1fr 1fr; gap: 0 2rem; }
}
.filter { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 0.5rem; margin: 0 0 1rem; }
.filter > [type="search"] { grid-column: 1 / -1; }
@media (min-width: 60rem) { .filter { grid-template-columns: 2fr repeat(4, 1fr); } .filter > [type="search"] { grid-column: auto; } }
.column { margin: 0.75rem 0 0.5rem; font-size: 1rem; }
.none { border: 1px dashed var(--line); border-radius: 0.875rem; padding: 0.75rem 1rem; }
.issue { padding: 0.75rem 1rem 0.75rem 1.25rem; box-shadow: inset 0.3125rem 0 0 var(--line); }
.issue.p0 { box-shadow: inset 0.3125rem 0 0 var(--bad); }
.issue.p1 { box-shadow: inset 0.3125rem 0 0 var(--accent); }
.issue .row { margin-top: 0.5rem; }
[aria-label="Closed"] .issue { opacity: 0.75; }
.description { white-space: pre-wrap; }
.edit { margin-top: 1rem; }
button.small { margin-top: 0.5rem; }`;
}
