// Things to do, one row of data each: {id, title, done} under "todo:" and the number.
// The number is padded in the key, so that rows sorted by key are sorted by number.

/** The key of a todo: todoKey(7) is "todo:000007". */
function todoKey(id) {
  return "todo:" + String(id).padStart(6, "0");
}

/** The title as it is kept: trimmed, not empty, at most 200 characters. Throws when it cannot be one. */
function todoTitle(title) {
  if (typeof title !== "string" || title.trim() === "") throw new TypeError("A todo needs a title");
  const text = title.trim();
  if (text.length > 200) throw new RangeError(`A title has at most 200 characters, this one has ${text.length}`);
  return text;
}

/** One todo by its number. Throws where there is none. */
function getTodo(id) {
  const todo = data.get(todoKey(id));
  if (todo === undefined) throw new Error(`No todo ${id}`);
  return todo;
}

/** All todos by number; listTodos(false) only those still open, listTodos(true) only those done. */
function listTodos(done) {
  const todos = data.list("todo:").map((row) => row.value);
  return typeof done === "boolean" ? todos.filter((todo) => todo.done === done) : todos;
}

/** Add something to do; answers the new todo. */
function addTodo(title) {
  const text = todoTitle(title);
  const id = (data.get("last-todo") ?? 0) + 1;
  data.set("last-todo", id);
  return data.set(todoKey(id), { id, title: text, done: false });
}

/** Mark a todo as done. Doing it twice changes nothing. */
function completeTodo(id) {
  return data.set(todoKey(id), { ...getTodo(id), done: true });
}

/** Mark a todo as open again. */
function reopenTodo(id) {
  return data.set(todoKey(id), { ...getTodo(id), done: false });
}

/** Give a todo another title. */
function renameTodo(id, title) {
  return data.set(todoKey(id), { ...getTodo(id), title: todoTitle(title) });
}

/** Remove a todo; answers what it was. Its number is not given again. */
function removeTodo(id) {
  const todo = getTodo(id);
  data.delete(todoKey(id));
  return todo;
}
