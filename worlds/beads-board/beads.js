/**
 * Take in the lines of a beads file (.beads/issues.jsonl), one issue in JSON a line. An issue that is here already is
 * replaced by one that was updated later; a line that is none and a dependency that would close a circle are left out and
 * told. Answers {added, updated, kept, problems: [{line, error}]}.
 */
function importBeads(text) {
  const counts = { added: 0, updated: 0, kept: 0 };
  const problems = [];
  const lines = new Map(); // id -> the line that it came from
  const board = new Map(allIssues().map((issue) => [issue.id, issue]));
  text.split("\n").forEach((line, index) => {
    if (line.trim() === "") return;
    try {
      const issue = issueOfLine(line);
      if (issue === null) return;
      const mine = board.get(issue.id);
      const isNews = mine === undefined || mine.updated_at < issue.updated_at;
      counts[mine === undefined ? "added" : isNews ? "updated" : "kept"]++;
      if (!isNews) return;
      board.set(issue.id, issue);
      lines.set(issue.id, index + 1);
    } catch (error) {
      problems.push({ line: index + 1, error: error.message });
    }
  });
  let circle;
  while ((circle = new Board([...board.values()]).circle()) !== null) {
    // Something that came in is on it: what was here had none.
    const at = circle.findIndex((id) => lines.has(id));
    const [id, on] = [circle[at], circle[at + 1]];
    problems.push({ line: lines.get(id), error: `${id} cannot wait for ${on}, a circle: ${circle.join(" -> ")}` });
    const issue = board.get(id);
    board.set(id, { ...issue, dependencies: issue.dependencies.filter((each) => each.depends_on_id !== on) });
  }
  for (const id of lines.keys()) data.set(issueKey(id), board.get(id));
  return { ...counts, problems };
}

/** The issue of one line; null for what beads keeps of one that was deleted. */
function issueOfLine(line) {
  const said = JSON.parse(line);
  if (typeof said !== "object" || said === null || Array.isArray(said)) throw new TypeError("A line is an issue: an object in JSON");
  return said.status === "tombstone" ? null : issueFrom(said);
}

/** All issues as the lines of a beads file, by id. */
function exportBeads() {
  return allIssues().map((issue) => JSON.stringify(issue) + "\n").join("");
}
