/** What the page's script does, as text: another currency shows at once. */
function dashboardScript() {
  const script = () => {
    const form = document.querySelector(".currency");
    const main = document.querySelector("main");
    const base = form.getAttribute("action").replace(/\/$/, "");
    form.addEventListener("change", async () => {
      main.setAttribute("aria-busy", "true");
      try {
        main.innerHTML = await world.call("panelsText", base, form.elements.in.value);
        document.querySelector(".problem").textContent = "";
      } catch (error) {
        document.querySelector(".problem").textContent = error.message;
      }
      main.removeAttribute("aria-busy");
    });
  };
  return `(${script})()`;
}

/** What is this page's own style. */
function dashboardStyle() {
  return `
.currency select { width: auto; min-width: 6rem; }
.numbers { display: grid; grid-template-columns: repeat(auto-fit, minmax(9.5rem, 1fr)); gap: 0.75rem; margin: 0 0 0.75rem; }
.number { background: var(--card); border: 1px solid var(--line); border-radius: 0.875rem; padding: 0.75rem 1rem; }
.number dt { font-size: 0.875rem; color: var(--faint); }
.number dd { margin: 0; font-variant-numeric: tabular-nums; white-space: nowrap; }
.number b { font-size: 1.5rem; line-height: 1.3; }
.number small { color: var(--faint); }
.number.bad b { color: var(--bad); }
.chart { margin-top: 0.75rem; font-variant-numeric: tabular-nums; }
.chart > svg { display: block; }
.card > form { margin-top: 0.75rem; }
main[aria-busy] { opacity: 0.5; }`;
}
