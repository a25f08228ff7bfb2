// An expense is a row {number, day, what, category, cents, paidBy} under "expense:", the trip's name and the number.

/** The key of an expense: expenseKey("Rome", 3) is "expense:Rome:0003". */
function expenseKey(trip, number) {
  return `expense:${trip}:${String(number).padStart(4, "0")}`;
}

/** The expenses of a trip, in the order they were added. */
function listExpenses(trip) {
  getTrip(trip);
  return data.list(`expense:${trip}:`).map((row) => row.value);
}

/** Write an expense down: addExpense("Rome", {day: "2026-05-02", what: "Dinner", category: "food", amount: 48.5, paidBy: "Ada"}). */
function addExpense(trip, { day, what, category, amount, paidBy }) {
  const { travellers } = getTrip(trip);
  if (!/^\d{4}-\d{2}-\d{2}$/.test(day)) throw new TypeError("A day is written as 2026-05-02");
  if (!travellers.includes(paidBy)) throw new Error(`${paidBy} does not travel to ${trip}`);
  const number = (listExpenses(trip).at(-1)?.number ?? 0) + 1;
  return data.set(expenseKey(trip, number), { number, day, what, category, cents: toCents(amount), paidBy });
}

/** Remove an expense; answers what it was. */
function removeExpense(trip, number) {
  const expense = data.get(expenseKey(trip, number));
  if (expense === undefined) throw new Error(`${trip} has no expense ${number}`);
  data.delete(expenseKey(trip, number));
  return expense;
}
