/** How many todos there are: {open, done, total}. */
function countTodos() {
  const total = listTodos().length;
  const done = listTodos(true).length;
  return { open: total - done, done, total };
}

/** Remove everything that is done; answers how many that were. */
function clearDone() {
  const finished = listTodos(true);
  for (const todo of finished) removeTodo(todo.id);
  return finished.length;
}
