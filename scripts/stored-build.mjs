// Stores the output of a build for the next build that would make the same: it is used only while every input file has the same bytes.
import { createHash, randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

/** How much later than the start of a build a file must have changed to be certainly another one: file systems have coarse clocks. */
const clockMs = 1_000

/**
 *
 * @param {string} file where it is stored: JSON, which nobody else writes
 * @param {string} key further dependencies, such as versions
 * @returns {unknown} undefined if nothing is stored, or only the output of other inputs
 */
export function storedBuild(file, key) {
  try {
    const { digest, inputs, made } = JSON.parse(readFileSync(file, 'utf8'))
    return digest === digestOf(inputs, key) ? made : undefined
  } catch {
    return undefined
  }
}

/**
 *
 * @param {readonly string[]} inputs the input files, absolute; a path that is not a file counts as missing
 * @param {number} startedAt when the build began, by `Date.now()`: the build may have read an earlier version of a file that changed since, and then nothing is stored
 */
export function storeBuild(file, key, inputs, startedAt, made) {
  rmSync(file, { force: true })
  const digest = digestOf(inputs, key)
  if (inputs.some((path) => changedAt(path) >= startedAt - clockMs)) return
  mkdirSync(dirname(file), { recursive: true })
  const written = `${file}.${randomBytes(6).toString('hex')}`
  writeFileSync(written, JSON.stringify({ digest, inputs, made }))
  renameSync(written, file)
}

function digestOf(inputs, key) {
  const hash = createHash('sha256').update(JSON.stringify(key))
  for (const path of inputs) hash.update(JSON.stringify([path, contentOf(path)]))
  return hash.digest('hex')
}

function contentOf(path) {
  try {
    return createHash('sha256').update(readFileSync(path)).digest('hex')
  } catch {
    return null
  }
}

/** Does not use the modification time, which a move keeps. */
const changedAt = (path) => statSync(path, { throwIfNoEntry: false })?.ctimeMs ?? 0
