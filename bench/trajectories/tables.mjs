// The tables by name. What decides in them is the product's own code; here is only what is counted.

/** @type {Record<string, (data: import('./load.mjs').Data, options: { seed: number }) => Promise<import('./cells.mjs').Table[]>>} */
export const tableMakers = {
  endings: async (data) => (await import('./tables/endings.mjs')).endingTables(data),
  foretelling: async (data, options) => [
    ...(await import('./tables/foretelling.mjs')).foretellingTables(data, options),
    ...(await import('./tables/same-task.mjs')).sameTaskTables(data, options),
  ],
  unchecked: async (data, options) => (await import('./tables/unchecked.mjs')).uncheckedTables(data, options),
  repetition: async (data, options) => (await import('./tables/repetition.mjs')).repetitionTables(data, options),
  limits: async (data, options) => (await import('./tables/limits.mjs')).limitTables(data, options),
  together: async (data, options) => (await import('./tables/together.mjs')).togetherTables(data, options),
}

/** @param {import('./load.mjs').Data} data @param {{ seed: number, names?: readonly string[] }} options @returns {Promise<import('./cells.mjs').Table[]>} */
export async function makeTables(data, { seed, names = Object.keys(tableMakers) }) {
  const tables = []
  for (const name of names) tables.push(...(await tableMakers[name](data, { seed })))
  return tables
}
