import { execFileSync, spawn } from 'node:child_process'
import { cpus, loadavg } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const child = fileURLToPath(new URL('./child.mjs', import.meta.url))
/** The Node.js of the measured processes, `--node=PATH`: pi needs 22.19 or newer. */
export const node = textOf('node', process.execPath)
const nodeVersion = node === process.execPath ? process.versions.node : execFileSync(node, ['-p', 'process.versions.node'], { encoding: 'utf8' }).trim()

/**
 * One measurement in a new process. Undefined if it took longer than `limitMs`.
 * @param {readonly string[]} parameters @param {number} [limitMs]
 * @returns {Promise<Record<string, any> | undefined>}
 */
export function measured(parameters, limitMs = 120_000) {
  return new Promise((resolve, reject) => {
    const process_ = spawn(node, [child, ...parameters], { stdio: ['ignore', 'pipe', 'inherit'] })
    let said = ''
    let late = false
    const timer = setTimeout(() => {
      late = true
      process_.kill('SIGKILL')
    }, limitMs)
    process_.stdout.on('data', (data) => (said += data))
    process_.on('error', reject)
    process_.on('close', (code) => {
      clearTimeout(timer)
      if (late) resolve(undefined)
      else if (code === 0) resolve(JSON.parse(said))
      else reject(new Error(`${parameters.join(' ')} failed`))
    })
  })
}

/** @param {readonly number[]} values */
export function median(values) {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}

/** The median of each number of several measurements. @param {readonly Record<string, any>[]} samples */
export function medians(samples) {
  const numbers = Object.keys(samples[0]).filter((key) => typeof samples[0][key] === 'number')
  return Object.fromEntries(numbers.map((key) => [key, median(samples.map((sample) => sample[key]))]))
}

/** @param {readonly string[]} head @param {readonly (readonly string[])[]} rows */
export function table(head, rows) {
  const line = (cells) => `| ${cells.join(' | ')} |`
  return [line(head), line(head.map((_, index) => (index === 0 ? '---' : '---:'))), ...rows.map(line)].join('\n')
}

/** Milliseconds with the significant digits. @param {number} value */
export function ms(value) {
  if (value >= 100) return value.toFixed(0)
  return value >= 10 ? value.toFixed(1) : value >= 1 ? value.toFixed(2) : value.toFixed(3)
}

/** @param {string} title */
export function heading(title) {
  const load = loadavg()[0].toFixed(1)
  console.log(`\n## ${title}\n\nNode ${nodeVersion}, ${cpus().length} cores, load ${load} at the start, ${new Date().toISOString().slice(0, 10)}\n`)
}

/** A number from the command line: `--repeats=5`. @param {string} name @param {number} otherwise */
export function numberOf(name, otherwise) {
  const found = process.argv.find((argument) => argument.startsWith(`--${name}=`))
  return found === undefined ? otherwise : Number(found.slice(name.length + 3))
}

/** A text from the command line: `--node=/usr/bin/node`. @param {string} name @param {string} otherwise */
export function textOf(name, otherwise) {
  const found = process.argv.find((argument) => argument.startsWith(`--${name}=`))
  return found === undefined ? otherwise : found.slice(name.length + 3)
}

/** The checkout whose packages are measured: this one, or that of `--build=FOLDER`. */
export const checkout = resolve(textOf('build', fileURLToPath(new URL('../..', import.meta.url))))

/** The entry of a package, from the build of that checkout. @param {string} name @param {string} [entry] */
export function builtPackage(name, entry = 'index') {
  return import(pathToFileURL(join(checkout, 'packages', name, 'dist', `${entry}.js`)).href)
}

/** The builds of a comparison: this one, and then that of `--before=FOLDER`, the root of another checkout that was built. */
export function comparedBuilds() {
  const before = textOf('before', '')
  return before === '' ? [{ label: '', folder: checkout }] : [{ label: 'before: ', folder: resolve(before) }, { label: 'after: ', folder: checkout }]
}
