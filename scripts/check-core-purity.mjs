// Core reads no clock, draws no random number, and uses neither process nor network. Comments may mention them.
import { readFileSync } from 'node:fs'
import { parseSync } from 'oxc-parser'
import { report, root, sourceFiles } from './packages.mjs'

const theClock = 'packages/core/src/values/system-clock.ts'

const forbidden = [
  ['Date', /(?<![.\w])Date\s*\.|\bnew\s+Date\b/g],
  ['performance', /(?<![.\w])performance\s*\./g],
  ['timers', /\bset(?:Timeout|Interval|Immediate)\b/g],
  ['Math.random', /\bMath\s*\.\s*random\b/g],
  ['crypto', /\bcrypto\b/g],
  ['process', /(?<![.\w])process\s*[.[]/g],
  ['console', /(?<![.\w])console\s*\./g],
  ['fetch', /(?<![.\w])fetch\s*\(/g],
  ['globalThis', /\bglobalThis\b/g],
]

/** The text with its comments replaced by blanks. All other characters keep their positions. */
function withoutComments(path, text) {
  const { comments, errors } = parseSync(path, text)
  if (errors.length > 0) throw new Error(`${path}: ${errors[0].message}`)
  return comments.reduce(
    (code, { start, end }) => code.slice(0, start) + code.slice(start, end).replaceAll(/[^\n]/g, ' ') + code.slice(end),
    text,
  )
}

const files = sourceFiles('core').filter((path) => path !== theClock)
const problems = files.flatMap((path) => {
  const code = withoutComments(path, readFileSync(new URL(path, root), 'utf8'))
  return forbidden.flatMap(([name, pattern]) =>
    [...code.matchAll(pattern)].map(
      ({ index }) => `${path}:${code.slice(0, index).split('\n').length}: ${name} is not for core`,
    ),
  )
})

report('core purity', files.length, problems)
