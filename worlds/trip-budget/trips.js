// A trip is a row {name, budgetCents, travellers} under "trip:" and its name.

/** One trip by name. Throws where there is none. */
function getTrip(name) {
  const trip = data.get("trip:" + name);
  if (trip === undefined) throw new Error("No trip " + JSON.stringify(name));
  return trip;
}

/** Plan a trip: a name without ":", what it may cost, and who goes. */
function addTrip(name, budget, travellers) {
  if (typeof name !== "string" || name.trim() === "" || name.includes(":")) {
    throw new TypeError('A trip needs a name without ":"');
  }
  if (!Array.isArray(travellers) || travellers.length === 0) throw new TypeError("A trip needs travellers");
  if (new Set(travellers).size !== travellers.length) throw new TypeError("Two travellers have the same name");
  if (data.get("trip:" + name) !== undefined) throw new Error(`The trip ${JSON.stringify(name)} exists already`);
  return data.set("trip:" + name, { name, budgetCents: toCents(budget), travellers });
}

/** The names of all trips, sorted. */
function listTrips() {
  return data.list("trip:").map((row) => row.value.name);
}

/** Remove a trip and its expenses; answers how many expenses went with it. */
function removeTrip(name) {
  getTrip(name);
  const rows = data.list(`expense:${name}:`);
  for (const row of rows) data.delete(row.key);
  data.delete("trip:" + name);
  return rows.length;
}
