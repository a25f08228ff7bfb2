// Days are texts such as "2026-05-02": no time of day, no zone, and sorting them as text sorts them by time.

/** How many days lie between 1970-01-01 and a day. Throws for what is no day, the 30th of February for instance. */
function dayNumber(day) {
  const ms = /^\d{4}-\d{2}-\d{2}$/.test(day) ? Date.parse(`${day}T00:00:00Z`) : NaN;
  if (Number.isNaN(ms) || dayOfNumber(ms / 86_400_000) !== day) throw new RangeError(`${JSON.stringify(day)} is no day; write it as 2026-05-02`);
  return ms / 86_400_000;
}

/** The day that lies so many days after 1970-01-01. */
function dayOfNumber(number) {
  return new Date(number * 86_400_000).toISOString().slice(0, 10);
}

/** A day so many days later, or earlier: addDays("2026-12-31", 1) is "2027-01-01". */
function addDays(day, count) {
  return dayOfNumber(dayNumber(day) + count);
}

/** How many days from one day to another: daysBetween("2026-05-02", "2026-05-09") is 7. */
function daysBetween(from, to) {
  return dayNumber(to) - dayNumber(from);
}

/** A day for people: showDay("2026-05-02") is "Sat 2 May 2026". */
function showDay(day) {
  const weekdays = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]; // 1970-01-01 was a Thursday
  const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
  const weekday = weekdays[((dayNumber(day) % 7) + 7) % 7];
  const [year, month, date] = day.split("-").map(Number);
  return `${weekday} ${date} ${months[month - 1]} ${year}`;
}
