import { existsSync, mkdirSync, writeFileSync } from 'node:fs'

const told = new URL('../.tmp/', import.meta.url)

/** Tells a line a check (`kind`: passed, failed or skipped) and how many there were, here and in `.tmp/NAME.json`, where `.ci/run` looks. */
export function tellChecks(name, checks) {
  for (const { title, kind, why } of checks)
    console.log(why === undefined ? `${kind}: ${title}` : `${kind}: ${title}: ${why}`)
  const count = (wanted) => checks.filter(({ kind }) => kind === wanted).length
  const sum = { passed: count('passed'), failed: count('failed'), skipped: count('skipped') }
  if (!existsSync(told)) mkdirSync(told)
  writeFileSync(new URL(`${name}.json`, told), `${JSON.stringify(sum)}\n`)
  console.log(`${name.replaceAll('-', ' ')}: ${sum.passed} passed, ${sum.failed} failed, ${sum.skipped} skipped`)
  return sum
}
