// The page: what trips cost in the currency of choice, what is to do, and a form to write an expense down on the way.

/** The page. Where a world does not answer, it says so and shows the rest. */
async function app(path, query, request) {
  const { base, form } = request;
  if (path !== "/" && request.method !== "POST") return { status: 404, body: await wholePage(base, query.in, `There is nothing at ${path}`) };
  if (request.method !== "POST") return await wholePage(base, query.in);
  try {
    if (path === "/spend") await spend(form.trip, { ...form, amount: Number(form.amount) });
    else if (path === "/todo") await askWorld("todos", "addTodo", form.title);
    else throw new Error(`There is nothing at ${path}`);
  } catch (error) {
    return { status: 422, body: await wholePage(base, form.in, error.message) };
  }
  return { status: 303, headers: { location: form.in ? `/?in=${encodeURIComponent(form.in)}` : "/" } };
}

/** The whole page as text, with amounts in a currency. */
async function wholePage(base, code = homeCurrency(), message = "") {
  const [rates, panels] = await Promise.all([askWorld("currency", "listRates").catch(() => ({ USD: 1 })), panelsText(base, code)]);
  const codes = [...new Set([...Object.keys(rates), code])].sort();
  const body = html`
<header class="row">
  <div class="grow"><h1><a href="${base}/">Dashboard</a></h1></div>
  <form action="${base}/" class="row currency"><select name="in" aria-label="Currency">
    ${codes.map((each) => html`<option ${each === code && new Markup("selected")}>${each}</option>`)}</select><noscript><button>Show</button></noscript></form>
</header>
<p class="problem" role="alert">${message}</p>
<main>${new Markup(panels)}</main>`;
  const accent = { light: "#1c6b57", dark: "#7fd8bd" };
  return documentOf({ title: "Dashboard", accent, style: dashboardStyle(), body, script: dashboardScript() });
}

/** All panels as a text of markup, also for the page's script. */
async function panelsText(base, code) {
  try {
    const seen = await overview(code);
    return panels(base, seen, await drawn(seen)).text;
  } catch (error) {
    return html`<p class="problem">${error.message}</p>`.text;
  }
}

/** The amounts as people write them and the trips as bars, both by the world kit: {spent, left, chart}. */
async function drawn({ trips, total, currency, digits }) {
  const written = (amount) => askWorld("kit", "formatMoney", amount, currency, digits);
  const [spent, left, ...texts] = await Promise.all([total.spent, total.left, ...trips.map((trip) => trip.spent)].map(written));
  const bars = trips.map((trip, index) => ({ label: trip.name, part: trip.spent, whole: trip.budget, text: texts[index] }));
  return { spent, left, chart: await askWorld("kit", "barChart", bars) };
}

/** What was seen, as panels. */
function panels(base, { trips, total, currency, todos }, { spent, left, chart }) {
  const number = (label, value, isBad) => {
    const [figure, ...unit] = value.split(" ");
    return html`<div class="number ${isBad && "bad"}"><dt>${label}</dt><dd><b>${figure}</b> <small>${unit.join(" ")}</small></dd></div>`;
  };
  return html`<dl class="numbers">
  ${number("Spent", spent)} ${number("Left", left, total.left < 0)}
  ${number("Trips", `${trips.length}`)} ${number("To do", `${todos.open} of ${todos.total}`)}
</dl>
<section class="card"><h2>Trips</h2>
  ${trips.length > 0 ? html`<div class="chart">${new Markup(chart)}</div>` : html`<p class="faint">No trips yet. Plan one in the world trip-budget: addTrip("Rome", 500, ["Ada", "Bob"]).</p>`}
</section>
${trips.length > 0 && spendForm(base, trips, currency)}
<section class="card"><h2>To do</h2><form method="post" action="${base}/todo" class="row"><input type="hidden" name="in" value="${currency}">
  <input name="title" class="grow" required maxlength="200" aria-label="To do" placeholder="Pack the bags"><button>Add</button></form></section>`;
}

/** The form for an expense. */
function spendForm(base, trips, currency) {
  const travellers = [...new Set(trips.flatMap((trip) => trip.travellers))];
  const choice = (value) => html`<option>${value}</option>`;
  return html`<section class="card"><h2>Write an expense down</h2><form method="post" action="${base}/spend" class="fields">
  <input type="hidden" name="in" value="${currency}">
  <label>Trip <select name="trip">${trips.map((trip) => choice(trip.name))}</select></label>
  <label>Paid by <select name="paidBy">${travellers.map(choice)}</select></label>
  <label>What for <input name="what" required placeholder="Dinner"></label>
  <label>Category <select name="category">${["food", "travel", "stay", "culture", "other"].map(choice)}</select></label>
  <label>Dollars <input name="amount" type="number" inputmode="decimal" min="0" step="0.01" required></label>
  <button class="main">Add</button></form></section>`;
}
