/** What a trip has cost and what is left: {spent, left, byCategory, byDay}, as amounts. */
function tripTotals(trip) {
  const expenses = listExpenses(trip);
  const amounts = (sums) => Object.fromEntries(Object.entries(sums).map(([key, cents]) => [key, fromCents(cents)]));
  const spentCents = expenses.reduce((sum, expense) => sum + expense.cents, 0);
  return {
    spent: fromCents(spentCents),
    left: fromCents(getTrip(trip).budgetCents - spentCents),
    byCategory: amounts(sumBy(expenses, "category")),
    byDay: amounts(sumBy(expenses, "day")),
  };
}

/** Who gets how much back, and who owes it (below zero), when all costs are shared evenly; the sum is zero. */
function settleUp(trip) {
  const { travellers } = getTrip(trip);
  const expenses = listExpenses(trip);
  const paid = sumBy(expenses, "paidBy");
  const shares = shareCents(
    expenses.reduce((sum, expense) => sum + expense.cents, 0),
    travellers.length,
  );
  return Object.fromEntries(
    travellers.map((person, index) => [person, fromCents((paid[person] ?? 0) - shares[index])]),
  );
}

/** All trips at a glance: [{name, travellers, budget, spent, left}], by name. */
function allTrips() {
  return listTrips().map((name) => {
    const { travellers, budgetCents } = getTrip(name);
    const { spent, left } = tripTotals(name);
    return { name, travellers, budget: fromCents(budgetCents), spent, left };
  });
}
