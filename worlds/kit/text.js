/** A text as part of an address: slug("Crème brûlée, twice!") is "creme-brulee-twice". */
function slug(text) {
  const plain = String(text).normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
  return plain.replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "");
}

/** A count with its noun: plural(1, "book") is "1 book", plural(3, "box", "boxes") is "3 boxes". */
function plural(count, one, many = one + "s") {
  return `${formatNumber(count)} ${count === 1 ? one : many}`;
}

/** A number with its thousands apart: formatNumber(-1234567.5) is "-1,234,567.5"; with `digits`, so many after the point. */
function formatNumber(number, digits) {
  if (typeof number !== "number" || !Number.isFinite(number)) throw new TypeError("A number that can be written is finite");
  const text = digits === undefined ? String(number) : number.toFixed(digits);
  if (text.includes("e")) return text;
  const [whole, ...fraction] = text.split(".");
  return [whole.replace(/\B(?=(\d{3})+$)/g, ","), ...fraction].join(".");
}

/** An amount of money: formatMoney(1234.5, "EUR") is "1,234.50 EUR", formatMoney(1500, "JPY", 0) is "1,500 JPY". */
function formatMoney(amount, code, digits = 2) {
  return `${formatNumber(amount, digits)} ${code}`;
}
