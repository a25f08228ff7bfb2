// Exchange rates, one row of data a currency: {perDollar, digits} under "rate:" and its code. The dollar is the
// measure of all others and needs no row.

/** A currency code as it is kept: three capital letters. Throws when it is none. */
function currencyCode(code) {
  if (typeof code !== "string" || !/^[A-Za-z]{3}$/.test(code)) {
    throw new TypeError(`A currency code is three letters, such as EUR; not ${JSON.stringify(code)}`);
  }
  return code.toUpperCase();
}

/** Round half away from zero to so many digits after the point; roundTo(1.005, 2) is 1.01. */
function roundTo(value, digits) {
  // Shifting the exponent as text keeps 1.005 from turning into 1.00499…
  const shift = (number, by) => {
    const [mantissa, exponent = "0"] = String(number).split("e");
    return Number(`${mantissa}e${Number(exponent) + by}`);
  };
  return Math.sign(value) * shift(Math.round(shift(Math.abs(value), digits)), -digits);
}

/** What is known of a currency: {perDollar, digits}. Throws where nothing is. */
function rateOf(code) {
  const known = currencyCode(code);
  if (known === "USD") return { perDollar: 1, digits: 2 };
  const rate = data.get("rate:" + known);
  if (rate === undefined) throw new Error("Unknown currency: " + known);
  return rate;
}

/** Say how much of a currency one dollar buys, and how many digits after the point its amounts have (2). */
function setRate(code, perDollar, digits = 2) {
  const known = currencyCode(code);
  if (known === "USD") throw new RangeError("A dollar buys one dollar; its rate cannot be set");
  if (typeof perDollar !== "number" || !(perDollar > 0)) throw new RangeError("A rate is a number above zero");
  if (!Number.isInteger(digits) || digits < 0 || digits > 4) throw new RangeError("Digits are an integer from 0 to 4");
  return data.set("rate:" + known, { perDollar, digits });
}

/** Forget a currency; answers whether it was known. */
function removeRate(code) {
  return data.delete("rate:" + currencyCode(code));
}

/** All rates by code, the dollar included: {EUR: 0.92, JPY: 150, USD: 1}. */
function listRates() {
  const rates = data.list("rate:").map((row) => [row.key.slice("rate:".length), row.value.perDollar]);
  return Object.fromEntries([...rates, ["USD", 1]].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** An amount of one currency in another, rounded to the digits of that one: convert(10, "USD", "JPY"). */
function convert(amount, from, to) {
  if (typeof amount !== "number" || !Number.isFinite(amount)) throw new TypeError("An amount is a number");
  const source = rateOf(from);
  const target = rateOf(to);
  return roundTo((amount / source.perDollar) * target.perDollar, target.digits);
}
