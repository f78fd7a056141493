// What it costs to begin: the import of the library, and `halting --version`. See README.md.
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { heading, median, ms, numberOf, table } from './lib/measure.mjs'

const runs = numberOf('repeats', 25)
const here = fileURLToPath(new URL('.', import.meta.url))
const program = fileURLToPath(new URL('../packages/cli/bin/halting.js', import.meta.url))

/** Wall time of one process, from spawn to exit. @param {readonly string[]} parameters */
function wall(parameters) {
  const began = performance.now()
  const { status } = spawnSync(process.execPath, parameters, { cwd: here, stdio: 'ignore' })
  if (status !== 0) throw new Error(`node ${parameters.join(' ')} failed`)
  return performance.now() - began
}

/** Each in turns, so that a busy moment hits all. @param {Record<string, readonly string[]>} commands */
function taken(commands) {
  const times = Object.fromEntries(Object.keys(commands).map((name) => [name, []]))
  for (let run = 0; run < runs; run++) for (const [name, parameters] of Object.entries(commands)) times[name].push(wall(parameters))
  return times
}

const importOf = (name) => ['--input-type=module', '-e', `await import(${JSON.stringify(name)})`]

heading('Startup')
const bare = 'nothing'
const imports = taken({
  [bare]: ['--input-type=module', '-e', '0'],
  '@halting/core': importOf('@halting/core'),
  '@mariozechner/pi-agent-core': importOf('@mariozechner/pi-agent-core'),
  'ai': importOf('ai'),
})
const importRows = Object.entries(imports).map(([name, times]) => {
  const [least, middle] = [Math.min(...times), median(times)]
  return [name, ms(least), ms(middle), ms(least - Math.min(...imports[bare])), ms(middle - median(imports[bare]))]
})
console.log(`### Import, ${runs} fresh processes each\n`)
console.log(table(['`await import` of', 'min, ms', 'median, ms', 'min above nothing', 'median above nothing'], importRows))

const versions = taken({ 'node -e 0': ['-e', '0'], 'halting --version': [program, '--version'] })
const base = versions['node -e 0']
const versionRows = Object.entries(versions).map(([name, times]) => [
  name,
  ms(Math.min(...times)),
  ms(median(times)),
  (Math.min(...times) / Math.min(...base)).toFixed(2),
  (median(times) / median(base)).toFixed(2),
])
console.log(`\n### Version, ${runs} fresh processes each\n`)
console.log(table(['', 'min, ms', 'median, ms', 'ratio of mins', 'ratio of medians'], versionRows))
