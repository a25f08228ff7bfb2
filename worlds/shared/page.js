// What the pages of several worlds are made with. Each of these worlds has this file as a source of its own.

/** Markup that may stand in a page as it is. */
class Markup {
  constructor(text) {
    this.text = text;
  }
  toString() {
    return this.text;
  }
}

/** A text as a page may hold it, also between quotes: escapeText('<b> & "c"') is "&lt;b&gt; &amp; &quot;c&quot;". */
function escapeText(text) {
  const names = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
  return String(text).replace(/[&<>"']/g, (char) => names[char]);
}

/** Markup from a template: html`<b>${name}</b>`. Values are escaped unless they are markup; of lists each, of null and false nothing. */
function html(parts, ...values) {
  const shown = (value) => {
    if (value instanceof Markup) return value.text;
    if (Array.isArray(value)) return value.map(shown).join("");
    return value === null || value === undefined || value === false ? "" : escapeText(value);
  };
  return new Markup(parts.map((part, index) => part + (index < values.length ? shown(values[index]) : "")).join(""));
}

/**
 * A whole document: {title, accent: {light, dark}, style, body, script}. `body` is escaped unless it is markup; `style`
 * and `script` are texts of the world's own and never hold what a visitor wrote.
 */
function documentOf({ title, accent, style = "", body, script = "" }) {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeText(title)}</title>
<style>
:root { color-scheme: light dark; --accent: ${accent.light}; --on-accent: #fff; --paper: #f6f5f1; --card: #fff;
  --ink: #1d1f1b; --faint: #5f635a; --line: #dddbd2; --bad: #a8321f; }
@media (prefers-color-scheme: dark) {
  :root { --accent: ${accent.dark}; --on-accent: #12140f; --paper: #141512; --card: #1e201b; --ink: #ecebe4;
    --faint: #a3a699; --line: #363930; --bad: #ff9c87; }
}
${commonStyle()}
${style}</style>
</head>
<body>
${html`${body}`}
${script && `<script>\n${script}\n</script>`}
</body>
</html>`;
}

/** The style that all these pages share: quiet paper, one accent, nothing smaller than a thumb to press. */
function commonStyle() {
  return `
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0 auto; max-width: 46rem; padding: 1.25rem max(1rem, env(safe-area-inset-left)) 4rem;
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; color: var(--ink); background: var(--paper); }
h1 { font-size: 1.75rem; line-height: 1.2; margin: 0; letter-spacing: -0.01em; }
h2 { font-size: 1.0625rem; line-height: 1.35; margin: 0; }
p { margin: 0.25rem 0; }
a { color: var(--accent); }
h1 a, h2 a { color: inherit; text-decoration: none; }
h2 a:hover { text-decoration: underline; }
header { margin: 0 0 1.25rem; }
.faint { color: var(--faint); }
.small { font-size: 0.875rem; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 0.875rem; padding: 1rem; margin: 0 0 0.75rem;
  overflow-wrap: anywhere; }
.row { display: flex; flex-wrap: wrap; gap: 0.5rem; align-items: center; }
.row > .grow { flex: 1 1 10rem; min-width: 0; }
.empty { text-align: center; padding: 2.5rem 1rem; color: var(--faint); border: 1px dashed var(--line); border-radius: 0.875rem; }
input, select, textarea, button, .button { font: inherit; min-height: 2.75rem; border-radius: 0.625rem; }
input, select, textarea { width: 100%; color: inherit; background: var(--paper); border: 1px solid var(--line);
  padding: 0.5rem 0.75rem; }
textarea { min-height: 9rem; font-family: ui-monospace, "SF Mono", Menlo, Consolas, monospace; font-size: 0.875rem; }
label { display: block; font-size: 0.875rem; color: var(--faint); }
label > input, label > select, label > textarea { margin-top: 0.25rem; color: var(--ink); font-size: 1rem; }
button, .button { display: inline-flex; align-items: center; justify-content: center; cursor: pointer;
  padding: 0.5rem 1rem; border: 1px solid var(--line); background: transparent; color: var(--ink); text-decoration: none;
  white-space: nowrap; }
button.main { background: var(--accent); border-color: var(--accent); color: var(--on-accent); font-weight: 600; }
button:hover, .button:hover { border-color: var(--accent); }
button[disabled] { opacity: 0.5; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
.tabs { display: flex; gap: 0.5rem; margin: 0 -1rem 1rem; padding: 0.25rem 1rem; overflow-x: auto; scrollbar-width: none; }
.tabs a { display: inline-flex; align-items: center; gap: 0.375rem; min-height: 2.75rem; padding: 0 0.875rem;
  border: 1px solid var(--line); border-radius: 999px; color: var(--ink); text-decoration: none; white-space: nowrap; }
.tabs a[aria-current] { background: var(--ink); border-color: var(--ink); color: var(--paper); }
.tabs b { font-weight: 400; opacity: 0.65; }
details.new { margin: -0.625rem 0; }
details.new > form { padding-bottom: 0.625rem; }
details.new > summary { cursor: pointer; list-style: none; min-height: 2.75rem; display: flex; align-items: center;
  font-weight: 600; color: var(--accent); }
details.new > summary::-webkit-details-marker { display: none; }
details.new > summary::before { content: "+"; font-size: 1.5rem; line-height: 1; margin-right: 0.5rem; }
details.new[open] > summary::before { content: "\u2212"; }
.fields { display: grid; gap: 0.75rem; grid-template-columns: repeat(auto-fit, minmax(min(100%, 9rem), 1fr)); align-items: end; }
.fields > .wide { grid-column: 1 / -1; }
.problem { color: var(--bad); border: 1px solid currentColor; border-radius: 0.625rem; padding: 0.625rem 0.875rem; margin: 0 0 1rem; }
.problem:empty { display: none; }
.chip { display: inline-block; font-size: 0.8125rem; line-height: 1.25rem; padding: 0.0625rem 0.5rem; border-radius: 999px;
  border: 1px solid var(--line); color: var(--faint); }
.bar { height: 0.5rem; border-radius: 999px; background: var(--line); overflow: hidden; }
.bar > i { display: block; height: 100%; border-radius: inherit; background: var(--accent); }`;
}
