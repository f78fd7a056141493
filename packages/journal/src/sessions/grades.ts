import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  renameSync,
  rmSync,
  type Stats,
  writeSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { ConfigurationError } from '@halting/core'
import { codeOf, isJsonObject, messageOf } from '@halting/core/adapters'
import { type BriefLock, tryBriefLock } from '../files/brief-lock.ts'
import { configFolder } from '../files/config-folder.ts'
import { makeDurableFolder } from '../files/durable.ts'
import { ownershipProblem, readSized } from '../files/private-file.ts'
import { safeName, type SessionPlace } from './session-folder.ts'

// Grades of runs: one file for all sessions of a user, wherever they are stored. Lines are appended under a lock; the
// next writer removes an incomplete line of a killed process.

/** A grade of a run. JSON. */
export interface StoredGrade {
  /** Id of the session. */
  readonly sessionId: string
  /** Id of the run in its session. */
  readonly runId: string
  /** Whether the run did what it should. */
  readonly grade: 'good' | 'bad'
  /** When it was graded: ISO 8601 in UTC. */
  readonly at: string
}

/** A new grade of a run; `none` removes its grade. */
export interface NewGrade extends Pick<StoredGrade, 'sessionId' | 'runId'> {
  /** The grade. */
  readonly grade: StoredGrade['grade'] | 'none'
}

/** The grades of a user; the last one of each run. */
export interface StoredGrades {
  /** In the order in which they were given. */
  readonly all: readonly StoredGrade[]
  /** Returns the grade of a run; undefined if it has none. */
  of(sessionId: string, runId: string): StoredGrade | undefined
}

type Owner = Omit<SessionPlace, 'sessionId'>
type Line = Omit<StoredGrade, 'grade'> & Pick<NewGrade, 'grade'>

const largestBytes = 16 * 1024 * 1024
/** A larger file is rewritten without replaced lines. */
const usualBytes = 1024 * 1024
const longestId = 1_000
/** Time after which an unreachable holder of the lock counts as dead. The lock is normally held for milliseconds. */
const abandonedMs = 10_000

/** Returns the file of a user's grades: `~/.halting/grades.jsonl`, or under `HALTING_CONFIG_DIR`. */
export function gradesFile(owner: Owner): string {
  return fileIn(configFolder('halting', owner))
}

function fileIn(folder: string): string {
  return join(folder, 'grades.jsonl')
}

/** Reads all grades; empty without a file. @throws ConfigurationError for an unreadable or invalid file. */
export function readGrades(owner: Owner): StoredGrades {
  return gradesOf(readFile(gradesFile(owner)).lines)
}

/** Stores a grade of a run. @throws ConfigurationError for an unwritable or invalid file. */
export async function noteGrade(owner: Owner, { sessionId, runId, grade }: NewGrade): Promise<void> {
  checkId('sessionId', sessionId)
  checkId('runId', runId)
  const path = gradesFile(owner)
  await makeDurableFolder(dirname(path)).catch((error: unknown) => {
    throw gradesError(path, error)
  })
  const line: Line = { sessionId, runId, grade, at: new Date().toISOString() }
  await withGradesLock(path, (lock) => {
    const read = readFile(path)
    if (read.bytes > usualBytes) rewrite(path, gradesOf([...read.lines, line]).all, lock)
    else append(path, line, read)
  })
}

/**
 * Removes the grades of deleted sessions, by session id or file name. @throws ConfigurationError for an unwritable or
 * invalid file.
 */
export async function forgetGrades(file: string, sessionIds: ReadonlySet<string>): Promise<void> {
  if (sessionIds.size === 0) return
  const isGone = ({ sessionId }: Line): boolean => sessionIds.has(sessionId) || sessionIds.has(safeName(sessionId))
  if (!readFile(file).lines.some(isGone)) return
  await withGradesLock(file, (lock) => {
    const remaining = gradesOf(readFile(file).lines).all.filter((grade) => !isGone(grade))
    rewrite(file, remaining, lock)
  })
}

/** Returns the grades file for the sessions in this folder of projects; undefined if it is not in a settings folder. */
export function gradesFileBeside(base: string): string | undefined {
  if (basename(base) !== 'projects') return undefined
  const above = dirname(base)
  return fileIn(basename(dirname(above)) === 'stores' ? dirname(dirname(above)) : above)
}

function gradesOf(lines: readonly Line[]): StoredGrades {
  const found = new Map<string, StoredGrade>()
  for (const { grade, ...line } of lines) {
    const key = JSON.stringify([line.sessionId, line.runId])
    found.delete(key)
    if (grade !== 'none') found.set(key, { ...line, grade })
  }
  return { all: [...found.values()], of: (sessionId, runId) => found.get(JSON.stringify([sessionId, runId])) }
}

interface ReadFile {
  readonly lines: readonly Line[]
  readonly bytes: number
  /** Bytes of complete lines. */
  readonly wholeBytes: number
  /** The last line is complete but has no line end. */
  readonly lacksEnd: boolean
}

const emptyFile: ReadFile = { lines: [], bytes: 0, wholeBytes: 0, lacksEnd: false }

function readFile(path: string): ReadFile {
  const bytes = bytesOf(path)
  if (bytes === undefined) return emptyFile
  const end = bytes.lastIndexOf(10) + 1
  const texts = bytes.toString('utf8', 0, end).split('\n').slice(0, -1)
  const lines = texts.flatMap((text, index) => {
    if (text.trim() === '') return []
    const line = lineIn(text)
    if (line === undefined)
      throw new ConfigurationError(`${path}, line ${index + 1}: not a grade of a run. Fix or remove the line.`)
    return [line]
  })
  if (end === bytes.length) return { lines, bytes: bytes.length, wholeBytes: end, lacksEnd: false }
  // An editor may omit the last line end; a killed process leaves an incomplete line.
  const last = lineIn(bytes.toString('utf8', end))
  if (last === undefined) return { lines, bytes: bytes.length, wholeBytes: end, lacksEnd: false }
  return { lines: [...lines, last], bytes: bytes.length, wholeBytes: bytes.length, lacksEnd: true }
}

function lineIn(text: string): Line | undefined {
  let read: unknown
  try {
    read = JSON.parse(text)
  } catch {
    return undefined
  }
  if (!isJsonObject(read)) return undefined
  const { session, run, grade, at } = read
  if (typeof session !== 'string' || typeof run !== 'string' || typeof at !== 'string') return undefined
  if (grade !== 'good' && grade !== 'bad' && grade !== 'none') return undefined
  return { sessionId: session, runId: run, grade, at }
}

function textOf({ sessionId, runId, grade, at }: Line): string {
  return `${JSON.stringify({ session: sessionId, run: runId, grade, at })}\n`
}

function bytesOf(path: string): Buffer | undefined {
  let file: number
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw gradesError(path, error)
  }
  try {
    const stats = fstatSync(file)
    checkFile(path, stats)
    return readSized(file, stats.size)
  } catch (error) {
    throw gradesError(path, error)
  } finally {
    closeSync(file)
  }
}

/** @throws ConfigurationError if the file is not a private file of the user. */
function checkFile(path: string, stats: Stats): void {
  if (!stats.isFile()) throw new ConfigurationError(`${path} is not a regular file. Remove it.`)
  const others = ownershipProblem(path, stats)
  if (others !== undefined) throw new ConfigurationError(others)
  if (stats.size > largestBytes) throw new ConfigurationError(`${path} is larger than 16 MB. Remove it.`)
}

function append(path: string, line: Line, { wholeBytes, lacksEnd }: ReadFile): void {
  const { O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_RDWR } = constants
  try {
    const file = openSync(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0o600)
    try {
      if (fstatSync(file).size > wholeBytes) ftruncateSync(file, wholeBytes)
      writeAll(file, Buffer.from(`${lacksEnd ? '\n' : ''}${textOf(line)}`), wholeBytes)
      fsyncSync(file)
    } finally {
      closeSync(file)
    }
  } catch (error) {
    throw gradesError(path, error)
  }
}

function rewrite(path: string, grades: readonly StoredGrade[], lock: BriefLock): void {
  const part = `${path}.part`
  const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants
  try {
    rmSync(part, { force: true })
    const file = openSync(part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600)
    try {
      writeAll(file, Buffer.from(grades.map(textOf).join('')), 0)
      fsyncSync(file)
    } finally {
      closeSync(file)
    }
    // A process that considered this one dead has written since.
    if (!lock.isHeld()) throw new Error('another process took over its lock. Try again')
    renameSync(part, path)
  } catch (error) {
    rmSync(part, { force: true })
    throw gradesError(path, error)
  }
}

function writeAll(file: number, bytes: Buffer, from: number): void {
  let size = 0
  while (size < bytes.length) size += writeSync(file, bytes, size, bytes.length - size, from + size)
}

/** Changes the file while no other process does. */
async function withGradesLock(path: string, change: (lock: BriefLock) => void): Promise<void> {
  const lockPath = join(dirname(path), 'grades.lock')
  let holder = { token: '', since: performance.now() }
  for (;;) {
    const abandoned = performance.now() - holder.since > abandonedMs ? holder.token : undefined
    const attempt = attemptLock(lockPath, abandoned)
    if (attempt.kind === 'locked') {
      try {
        change(attempt.lock)
      } finally {
        attempt.lock.release()
      }
      return
    }
    if (attempt.token !== holder.token) holder = { token: attempt.token, since: performance.now() }
    // Random delays, so that waiting processes do not collide again.
    await wait(1 + Math.random() * 3)
  }
}

function attemptLock(path: string, abandoned: string | undefined): ReturnType<typeof tryBriefLock> {
  try {
    return tryBriefLock(path, abandoned)
  } catch (error) {
    throw gradesError(path, error)
  }
}

function checkId(name: string, id: unknown): void {
  if (typeof id !== 'string' || id === '' || id.length > longestId)
    throw new ConfigurationError(`The ${name} of a grade is a text of 1 to ${longestId} characters.`)
}

function gradesError(path: string, error: unknown): ConfigurationError {
  if (error instanceof ConfigurationError) return error
  switch (codeOf(error)) {
    case 'ELOOP':
    case 'EMLINK':
      return new ConfigurationError(`${path} is a link. Remove it, or put the file in its place.`)
    case 'ENOSPC':
    case 'EDQUOT':
      return new ConfigurationError(`${path} cannot be written: the disk is full. Free some space.`)
    case 'EROFS':
    case 'EACCES':
    case 'EPERM':
      return new ConfigurationError(
        `${path} cannot be read and written (${codeOf(error)}). Make it and its folder writable for you, or set HALTING_CONFIG_DIR.`,
      )
    default:
      return new ConfigurationError(`${path} cannot be used: ${messageOf(error)}.`)
  }
}
