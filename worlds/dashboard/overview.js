// Nothing is kept here but the currency of choice: what is shown is asked of the worlds that know it, all at once.

/** The id of the one world of that name that this one may call. Throws where there is none. */
async function worldOf(name) {
  const ids = await worlds.list();
  const id = ids.find((each) => each.slice(0, -7) === name); // the name, a dash and six digits
  if (id === undefined) throw new Error(`This needs the world ${name}; allow it: pw grants dashboard --allow ${name}`);
  return id;
}

/** Ask a world by its name: askWorld("currency", "rateOf", "EUR"). */
async function askWorld(name, definition, ...args) {
  return await worlds.call(await worldOf(name), definition, ...args);
}

/** The currency that amounts are shown in where nobody asks for another. */
function homeCurrency() {
  return data.get("home") ?? "USD";
}

/** Choose the currency that amounts are shown in; the world currency must know it. */
async function setHome(code) {
  await askWorld("currency", "rateOf", code);
  return data.set("home", code.toUpperCase());
}

/**
 * Amounts in dollars as amounts in another currency, {perDollar, digits}. They are counted in its smallest coin, so that
 * the total is exactly the sum of what is shown: inCurrency([{spent: 1, left: 2}], rate) is {trips, total}.
 */
function inCurrency(trips, { perDollar, digits }) {
  const coin = 10 ** digits;
  const coins = (dollars) => Math.round(dollars * perDollar * coin);
  const counted = trips.map((trip) => ({ ...trip, spent: coins(trip.spent), budget: coins(trip.budget) }));
  const sum = (name) => counted.reduce((total, trip) => total + trip[name], 0);
  const shown = (trip) => ({ ...trip, spent: trip.spent / coin, budget: trip.budget / coin, left: (trip.budget - trip.spent) / coin });
  return { trips: counted.map(shown), total: shown({ spent: sum("spent"), budget: sum("budget") }) };
}

/** All at a glance, in a currency: {currency, digits, trips, total, todos}. */
async function overview(code = homeCurrency()) {
  const [rate, trips, todos] = await Promise.all([
    askWorld("currency", "rateOf", code),
    askWorld("trip-budget", "allTrips"),
    askWorld("todos", "countTodos"),
  ]);
  return { currency: code.toUpperCase(), digits: rate.digits, ...inCurrency(trips, rate), todos };
}

/** Write down what was spent on a trip today, in dollars: spend("Rome", {what: "Dinner", category: "food", amount: 48.5, paidBy: "Ada"}). */
async function spend(trip, { what, category, amount, paidBy }) {
  const day = new Date().toISOString().slice(0, 10);
  return await askWorld("trip-budget", "addExpense", trip, { day, what, category, amount, paidBy });
}
