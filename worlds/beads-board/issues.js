/** All issues as they are kept, by id. */
function allIssues() {
  return data.list("issue:").map((row) => row.value);
}

/** One issue by id. Throws where there is none. */
function getIssue(id) {
  const issue = data.get(issueKey(id));
  if (issue === undefined) throw new Error(`No issue ${id}`);
  return issue;
}

/** Keep an issue that was changed just now. */
function keepIssue(issue) {
  return data.set(issueKey(issue.id), issueFrom({ ...issue, updated_at: new Date().toISOString() }));
}

/** The next id that no issue has: "bb-1", "bb-2" and so on. */
function nextId() {
  let number = data.get("last-number") ?? 0;
  do number++;
  while (data.get(issueKey(`bb-${number}`)) !== undefined);
  data.set("last-number", number);
  return `bb-${number}`;
}

/**
 * Write an issue down: addIssue({title: "Fix the door", type: "bug", priority: 1, labels: ["house"], dependsOn: ["bb-1"]}).
 * All but the title may be left out.
 */
function addIssue({ title, description = "", type = "task", priority = 2, assignee, labels = [], dependsOn = [] }) {
  const dependencies = dependsOn.map((on) => ({ depends_on_id: getIssue(on).id, type: "blocks" }));
  return keepIssue({ id: nextId(), title, description, issue_type: type, priority, assignee, labels, dependencies });
}

/** Change what is said of an issue: title, description, type, priority, assignee, labels. */
function changeIssue(id, changes) {
  const { title, description, type: issue_type, priority, assignee, labels, ...unknown } = changes;
  const [name] = Object.keys(unknown);
  if (name !== undefined) throw new TypeError(`An issue's ${name} cannot be changed so`);
  const said = Object.entries({ title, description, issue_type, priority, assignee, labels });
  return keepIssue({ ...getIssue(id), ...Object.fromEntries(said.filter(([, value]) => value !== undefined)) });
}

/** Begin to work on an issue; perhaps say who does. */
function startIssue(id, assignee) {
  const { closed_at, close_reason, ...issue } = getIssue(id);
  return keepIssue({ ...issue, status: "in_progress", assignee: assignee ?? issue.assignee });
}

/** Close an issue; perhaps say why. What waited for it need wait no longer. */
function closeIssue(id, reason) {
  return keepIssue({ ...getIssue(id), status: "closed", closed_at: new Date().toISOString(), close_reason: reason });
}

/** Put an issue back among the open ones. */
function reopenIssue(id) {
  const { closed_at, close_reason, ...issue } = getIssue(id);
  return keepIssue({ ...issue, status: "open" });
}

/** Let an issue wait for another, or name it "related" or the like. Refused where it would come to wait for itself. */
function addDependency(id, on, type = "blocks") {
  const issue = getIssue(id);
  getIssue(on);
  const others = issue.dependencies.filter(({ depends_on_id }) => depends_on_id !== on);
  const changed = { ...issue, dependencies: [...others, { issue_id: id, depends_on_id: on, type }] };
  const circle = new Board(allIssues().map((each) => (each.id === id ? changed : each))).circle();
  if (circle !== null) throw new Error(`That would be a circle: ${circle.join(" -> ")}`);
  return keepIssue(changed);
}

/** Let an issue no longer wait for another; answers whether it did. */
function removeDependency(id, on) {
  const issue = getIssue(id);
  const dependencies = issue.dependencies.filter(({ depends_on_id }) => depends_on_id !== on);
  if (dependencies.length < issue.dependencies.length) keepIssue({ ...issue, dependencies });
  return dependencies.length < issue.dependencies.length;
}

/**
 * Issues with a filter, the most urgent first: listIssues({column: "ready", type: "bug", priority: 1, label: "house",
 * assignee: "Ada", find: "door"}). What is left out, or is empty text, does not matter.
 */
function listIssues(filter = {}) {
  return new Board(allIssues()).inOrder(filter.column).filter((issue) => passes(issue, filter));
}

/** Whether an issue passes a filter, its column apart. */
function passes(issue, { type, priority, label, assignee, find }) {
  const isAny = (value) => value === undefined || value === null || value === "";
  const text = `${issue.id} ${issue.title} ${issue.description ?? ""}`.toLowerCase();
  return (
    (isAny(type) || issue.issue_type === type) &&
    (isAny(priority) || issue.priority === Number(priority)) &&
    (isAny(label) || issue.labels.includes(label)) &&
    (isAny(assignee) || issue.assignee === assignee) &&
    (isAny(find) || find.toLowerCase().split(/\s+/).every((word) => text.includes(word)))
  );
}

/** What can be begun now: the ids and titles of the ready issues, the most urgent first. */
function readyIssues() {
  return listIssues({ column: "ready" }).map(({ id, title, priority }) => ({ id, title, priority }));
}
