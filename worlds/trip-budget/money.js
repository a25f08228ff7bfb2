// Money is counted in cents, as integers, so that sums are exact; amounts come in and go out as plain numbers.

/** An amount in cents: toCents(12.3) is 1230. Throws for what is no amount from 0 to ten million. */
function toCents(amount) {
  if (typeof amount !== "number" || !(amount >= 0 && amount <= 10_000_000)) {
    throw new RangeError(`An amount is a number from 0 to 10000000, not ${JSON.stringify(amount)}`);
  }
  const cents = Math.round(amount * 100);
  if (Math.abs(cents - amount * 100) > 1e-4) throw new RangeError(`${amount} has fractions of a cent`);
  return cents;
}

/** Cents as an amount: fromCents(1230) is 12.3. */
function fromCents(cents) {
  return cents / 100;
}

/** The sums of a list by a key: sumBy([{day: 1, cents: 5}, {day: 1, cents: 2}], "day") is {1: 7}, sorted by key. */
function sumBy(expenses, key) {
  const sums = new Map();
  for (const expense of expenses) sums.set(expense[key], (sums.get(expense[key]) ?? 0) + expense.cents);
  return Object.fromEntries([...sums].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Cents shared out so that nothing is lost: the first ones pay the odd cents. shareCents(100, 3) is [34, 33, 33]. */
function shareCents(cents, people) {
  if (!Number.isInteger(people) || people < 1) throw new RangeError("Costs are shared by one person or more");
  const each = Math.floor(cents / people);
  const odd = cents - each * people;
  return Array.from({ length: people }, (_, index) => each + (index < odd ? 1 : 0));
}
