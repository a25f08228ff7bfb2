/** The text backwards and in capitals: shoutBackwards("hello") is "OLLEH". */
function shoutBackwards(text) {
  return uppercaseString(reverseString(text));
}
