/** The text in capitals: uppercaseString("straße") is "STRASSE". */
function uppercaseString(text) {
  return String(text).toUpperCase();
}

/**
 * The text backwards, by code point: a character outside the basic plane, an emoji for instance, stays whole.
 * Marks that combine with the letter before them are characters of their own, so "é" written as two comes apart.
 */
function reverseString(text) {
  return [...String(text)].reverse().join("");
}
