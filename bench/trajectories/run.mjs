// What 27,000 recorded runs of agents show about stopping: the tables of docs/stopping-evidence.md. See README.md.
// Run: node bench/trajectories/run.mjs [TABLE …] [--data DIR] [--json] [--write] [--compare FILE]. Needs a build, and the data, which is not shipped.
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { disagreements, markdownOf, withTables } from './cells.mjs'
import { dataFolder, readData } from './load.mjs'
import { makeTables, tableMakers } from './tables.mjs'

const page = fileURLToPath(new URL('../../docs/stopping-evidence.md', import.meta.url))

const { values, positionals } = readArguments()
const { data: named = process.env.HALTING_TRAJECTORIES, graded, live, 'runs-only': runsOnly } = values
const folder = dataFolder(named)
if (folder === undefined && graded === undefined && live === undefined && runsOnly === undefined) {
  const place = named === undefined ? 'in ../shared/data/trajectories' : `in ${named}`
  console.error(`There are no recorded runs ${place}, so nothing is measured. They are not shipped. Give their folder: --data DIR, or HALTING_TRAJECTORIES.`)
  process.exit(0)
}
const seed = Number(values.seed ?? 1)
if (!Number.isSafeInteger(seed)) fail(`--seed takes a whole number, not ${values.seed}.`)
const tables = await makeTables(readData(folder ?? '.', { graded, live, runsOnly }), { seed, ...(positionals.length > 0 && { names: positionals }) })
if (values.compare !== undefined) compare(values.compare)
else if (values.json) console.log(JSON.stringify({ seed, tables }, null, 1))
else for (const table of tables) console.log(`## ${table.title}\n\n${table.note}\n\n${markdownOf(table)}\n`)
if (values.write) writeFileSync(page, withTables(readFileSync(page, 'utf8'), tables))

function readArguments() {
  const text = { type: 'string' }
  const flag = { type: 'boolean', default: false }
  try {
    const options = { data: text, graded: text, live: text, 'runs-only': text, seed: text, compare: text, json: flag, write: flag }
    const found = parseArgs({ options, allowPositionals: true })
    const unknown = found.positionals.find((name) => !Object.hasOwn(tableMakers, name))
    if (unknown !== undefined) fail(`There is no table ${unknown}. Tables: ${Object.keys(tableMakers).join(', ')}.`)
    return found
  } catch (error) {
    return fail(error.message)
  }
}

function fail(message) {
  console.error(message)
  process.exit(2)
}

/** Prints which figures differ from those of another measurement by more than their intervals. */
function compare(file) {
  const { compared, found } = disagreements(tables, JSON.parse(readFileSync(file, 'utf8')).tables)
  console.log(`${found.length} of ${compared} figures with an interval disagree with ${file}.`)
  for (const { table, row, column, here, there } of found) console.log(`- ${table}: ${row}, ${column}: ${here}; there ${there}`)
}
