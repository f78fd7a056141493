// The table of results. Run: node bench/stopping/table.mjs ROWS.json…, with the output of `run.mjs --json`. Prints the tables of README.md.
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { table } from '../lib/measure.mjs'
import { situations } from './situations.mjs'

/** A row for each situation, a column for each program. */
export function tableOf(rows) {
  const versions = new Map(rows.map(({ program, version }) => [program, version]))
  const shown = Object.keys(situations).filter((title) => rows.some((row) => row.title === title))
  const cell = (title, name) => cellOf(rows.find((row) => row.program === name && row.title === title))
  return table(
    ['', ...[...versions].map(([name, version]) => `${name} ${version}`.trim())],
    [...shown.map((title) => [title, ...[...versions.keys()].map((name) => cell(title, name))]), ['as it should be', ...[...versions.keys()].map((name) => countOf(rows, name))]],
  )
}

/** What it did, what it cost, and how it reported that. */
function cellOf(row) {
  if (row === undefined) return ''
  const { verdict, problems, requests, billedUsd, endedBy, exit, said } = row
  if (verdict === 'has none') return '–'
  const ended = endedBy === 'us' ? 'ended by us' : exit === null ? 'ended by the signal' : `exit ${exit}`
  const words = said.replaceAll(/[|`<>\n]/g, ' ').trim().slice(0, 90)
  const what = problems.length === 0 ? '✓' : `✗ ${verdict.replaceAll('|', '/').slice(0, 200)}`
  return `${what}<br>${requests} requests, $${billedUsd.toFixed(2)}, ${ended}<br>${words === '' ? '(nothing)' : `“${words}”`}`
}

function countOf(rows, name) {
  const tried = rows.filter(({ program, verdict }) => program === name && verdict !== 'has none')
  return `${tried.filter(({ problems }) => problems.length === 0).length} of ${tried.length}`
}

/** Of the situations that were played. */
function situationsTable(rows) {
  return table(
    ['', 'what happens', 'what a good program does'],
    Object.entries(situations)
      .filter(([title]) => rows.some((row) => row.title === title))
      .map(([title, { asks, good }]) => [title, asks, good].map((text) => text.replaceAll('|', '/'))),
  )
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const rows = process.argv.slice(2).flatMap((file) => JSON.parse(readFileSync(file, 'utf8')))
  console.log(`${situationsTable(rows)}\n\n${tableOf(rows)}`)
}
