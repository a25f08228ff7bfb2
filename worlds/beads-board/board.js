// An issue is a row under "issue:" and its id, with the names that beads gives its fields, so that lines come in and go
// out as they are. A dependency {depends_on_id, type} of the type "blocks" is what an issue waits for.

/** Issues by id, and what follows from their dependencies. Never writes. */
class Board {
  constructor(issues) {
    this.issues = new Map(issues.map((issue) => [issue.id, issue]));
    this.waiting = new Map(); // id -> ids of those that wait for it
    for (const { id } of issues) {
      for (const other of this.waitsFor(id)) this.waiting.set(other, [...(this.waiting.get(other) ?? []), id]);
    }
  }

  /** The ids that an issue waits for, closed ones too; of issues that are not on the board nothing is known. */
  waitsFor(id) {
    const blocking = this.issues.get(id).dependencies.filter(({ type }) => type === "blocks");
    return blocking.map((dependency) => dependency.depends_on_id).filter((other) => this.issues.has(other));
  }

  /** The ids that it still waits for. */
  blockers(id) {
    return this.waitsFor(id).filter((other) => this.issues.get(other).status !== "closed");
  }

  /** The ids that wait for it. */
  blocks(id) {
    return this.waiting.get(id) ?? [];
  }

  /** Where it stands: "ready", "in_progress", "blocked" or "closed". */
  columnOf(id) {
    const { status } = this.issues.get(id);
    if (status === "closed" || status === "in_progress") return status;
    return status !== "open" || this.blockers(id).length > 0 ? "blocked" : "ready";
  }

  /** All issues of a column, or of all columns: the most urgent first, then the oldest. */
  inOrder(column) {
    const age = (issue) => issue.created_at + issue.id;
    const issues = [...this.issues.values()].filter(({ id }) => !column || this.columnOf(id) === column);
    return issues.sort((a, b) => a.priority - b.priority || (age(a) < age(b) ? -1 : 1));
  }

  /** A circle of issues that wait for each other, as ids: ["a", "b", "a"] if a waits for b and b for a; null if there is none. */
  circle() {
    const done = new Set();
    for (const start of this.issues.keys()) {
      if (done.has(start)) continue;
      const path = [start];
      const left = new Map([[start, this.waitsFor(start)]]); // of each on the path, those that were not looked at yet
      while (path.length > 0) {
        const id = path.at(-1);
        const next = left.get(id).shift();
        if (left.has(next)) return [...path.slice(path.indexOf(next)), next];
        if (next === undefined) {
          left.delete(path.pop());
          done.add(id);
        } else if (!done.has(next)) {
          path.push(next);
          left.set(next, this.waitsFor(next));
        }
      }
    }
    return null;
  }
}

/** The key of an issue. Throws for what cannot be an id. */
function issueKey(id) {
  if (typeof id !== "string" || !/^[A-Za-z0-9][\w.-]{0,99}$/.test(id)) throw new TypeError(`${JSON.stringify(id)} is no id of an issue`);
  return "issue:" + id;
}

/**
 * An issue as it is kept, from what somebody or a line of beads says of it. What it does not know of it leaves as it is.
 * Throws for what cannot be an issue.
 */
function issueFrom(said) {
  issueKey(said.id);
  const { title, status = "open", priority = 2, issue_type = "task", labels, dependencies, created_at } = said;
  if (typeof title !== "string" || title.trim() === "" || title.length > 500) throw new TypeError("An issue needs a title of 1 to 500 characters");
  if (!["open", "in_progress", "blocked", "deferred", "closed"].includes(status)) throw new TypeError(`No issue is ${JSON.stringify(status)}`);
  if (!Number.isInteger(priority) || priority < 0 || priority > 4) throw new RangeError("A priority is from 0, the most urgent, to 4");
  if (typeof issue_type !== "string") throw new TypeError("A type is a word, such as task or bug");
  const now = new Date().toISOString();
  return {
    ...said,
    title: title.trim(),
    status,
    priority,
    issue_type,
    labels: [...new Set(labels ?? [])].map(String),
    dependencies: (dependencies ?? []).map((dependency) => dependencyFrom(said.id, dependency)),
    created_at: created_at ?? now,
    updated_at: said.updated_at ?? created_at ?? now,
  };
}

/** A dependency as it is kept: {issue_id, depends_on_id, type}, and what else is said of it. */
function dependencyFrom(id, { type = "blocks", depends_on_id, ...rest }) {
  issueKey(depends_on_id);
  return { ...rest, issue_id: id, depends_on_id, type };
}
