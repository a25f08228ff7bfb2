// Given to every page of a world, before its own scripts: `await world.call(name, ...args)`.
(() => {
  const { id, token } = __PAGE__;
  const call = async (name, ...args) => {
    const response = await fetch(`/call/${id}/${encodeURIComponent(name)}`, {
      method: "POST",
      credentials: "omit",
      // As text, so that the browser need not ask first whether it may.
      headers: { "content-type": "text/plain" },
      body: JSON.stringify({ token, args }),
    });
    const answer = await response.json();
    if (response.ok) return answer.value;
    throw Object.assign(new Error(answer.error), {
      failure: answer.failure ?? answer.refused ?? "refused",
      hint: answer.hint,
      incident: answer.incident,
    });
  };
  Object.defineProperty(globalThis, "world", { value: Object.freeze({ id, call }) });
})();
