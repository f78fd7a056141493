// The index of docs/decisions: number, title and status of each record. Fails if docs/decisions/README.md does not match the records, or if a record has no title
// of the form `# 0001: …`. `--write` writes it anew.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { report, root } from './packages.mjs'

const folder = new URL('docs/decisions/', root)
const records = readdirSync(folder)
  .filter((name) => /^\d{4}-.+\.md$/.test(name))
  .toSorted()
  .map((name) => {
    const text = readFileSync(new URL(name, folder), 'utf8')
    const number = name.slice(0, 4)
    const title = text.startsWith(`# ${number}: `) ? text.slice(number.length + 4).split('\n', 1)[0] : undefined
    const replacement = /^Replaced by \[(\d{4})\]/m.exec(text)?.[1]
    return { name, number, title, status: replacement === undefined ? 'accepted' : `replaced by ${replacement}` }
  })

const index = `# Decisions

Why the code is as it is. Each title is the decision, and the record has its context and what was rejected. A new record takes the next free number; one that replaces another says so in that one's second line.

| number | decision | status |
|---|---|---|
${records.map(({ name, number, title, status }) => `| [${number}](${name}) | ${title} | ${status} |`).join('\n')}
`

const file = new URL('README.md', folder)
if (process.argv.includes('--write')) writeFileSync(file, index)
const isCurrent = existsSync(file) && readFileSync(file, 'utf8') === index
report('decisions', records.length, [
  ...records
    .filter(({ title }) => title === undefined)
    .map(({ name, number }) => `${name} does not begin with "# ${number}: "`),
  ...(isCurrent ? [] : ['docs/decisions/README.md is not that of the records: run npm run names']),
])
