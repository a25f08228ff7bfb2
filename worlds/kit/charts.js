// Charts as SVG that a page can hold as it is. They take their colours from the page: --ink, --line and --accent.

/** How much of a whole a part is, from 0 to 1: what is below it counts as nothing, what is above it as all. */
function shareOf(part, whole) {
  if (!(whole > 0)) return part > 0 ? 1 : 0;
  return Math.min(1, Math.max(0, part / whole));
}

/**
 * One bar a row, as SVG: barChart([{label: "Rome", part: 100, whole: 500, text: "100.00 EUR"}]). A bar that went over
 * its whole has the colour --bad.
 */
function barChart(bars) {
  const rowHeight = 52;
  const rows = bars.map((bar, index) => {
    const y = index * rowHeight;
    const colour = bar.part > bar.whole ? "var(--bad, #a33)" : "var(--accent, #357)";
    const width = Number((shareOf(bar.part, bar.whole) * 100).toFixed(2));
    return (
      `<text x="0" y="${y + 17}" fill="currentColor">${escapeXml(bar.label)}</text>` +
      `<text x="100%" y="${y + 17}" text-anchor="end" fill="currentColor">${escapeXml(bar.text ?? "")}</text>` +
      `<rect x="0" y="${y + 26}" width="100%" height="10" rx="5" fill="var(--line, #ddd)"/>` +
      (width > 0 ? `<rect x="0" y="${y + 26}" width="${width}%" height="10" rx="5" fill="${colour}"/>` : "")
    );
  });
  const said = bars.map((bar) => `${bar.label}: ${bar.text ?? bar.part}`).join("; ");
  const height = Math.max(1, bars.length) * rowHeight - 8;
  return `<svg role="img" aria-label="${escapeXml(said)}" width="100%" height="${height}" font-size="16">${rows.join("")}</svg>`;
}

/** A text as XML may hold it, also between quotes. */
function escapeXml(text) {
  const names = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
  return String(text).replace(/[&<>"']/g, (char) => names[char]);
}
