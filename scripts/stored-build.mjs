// What a build made, for the next that would make the same: only while every file that it was made from has the same bytes.
import { createHash, randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

/** How much later a file has to have changed than a build began for sure to be another one: clocks of file systems are coarse. */
const clockMs = 1_000

/**
 * @param {string} file where it is stored: JSON, which nobody else writes
 * @param {string} key what else it depends on, such as versions
 * @returns {unknown} undefined where nothing is stored, or not of these files
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
 * @param {readonly string[]} inputs the files that it was made from, absolute; a path that is not a file counts as missing
 * @param {number} startedAt when the build began, by `Date.now()`: a file that changed since may have been read before, and then nothing is stored
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

/** Not its time of change, which a move keeps. */
const changedAt = (path) => statSync(path, { throwIfNoEntry: false })?.ctimeMs ?? 0
