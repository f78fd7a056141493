import { existsSync, mkdirSync, writeFileSync } from 'node:fs'

const folder = new URL('../.tmp/', import.meta.url)

/** Prints a line for each check (`kind`: passed, failed or skipped) and the counts. Also writes the counts to `.tmp/NAME.json`, which `.ci/run` reads. */
export function reportChecks(name, checks) {
  for (const { title, kind, why } of checks)
    console.log(why === undefined ? `${kind}: ${title}` : `${kind}: ${title}: ${why}`)
  const count = (wanted) => checks.filter(({ kind }) => kind === wanted).length
  const sum = { passed: count('passed'), failed: count('failed'), skipped: count('skipped') }
  if (!existsSync(folder)) mkdirSync(folder)
  writeFileSync(new URL(`${name}.json`, folder), `${JSON.stringify(sum)}\n`)
  console.log(`${name.replaceAll('-', ' ')}: ${sum.passed} passed, ${sum.failed} failed, ${sum.skipped} skipped`)
  return sum
}
