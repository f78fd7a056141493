import { closeSync, lstatSync, readSync } from 'node:fs'
import { basename, dirname, extname, join, resolve } from 'node:path'
import { isJsonObject } from '@halting/core/adapters'
import { configFolder } from '../files/config-folder.ts'
import { realPath } from '../files/real-path.ts'
import { openRegularSync } from '../files/regular-file.ts'
import { sessionStoreKey, sessionStoreVariable } from '../stores/store-place.ts'
import { workingCopiesFolder } from '../stores/working-copies.ts'

/** Identifies the location of a session. */
export interface SessionPlace {
  /** Working directory of the agent. */
  readonly cwd: string
  /** Id of the session. */
  readonly sessionId: string
  /** Home folder of the user. */
  readonly home: string
  /** The environment, for variables that change the location. */
  readonly env: Readonly<Record<string, string | undefined>>
}

/** A folder, as a base that the user may have replaced with a link, and the names below it. */
export interface FolderBelow {
  /** The part of the path that may contain links. */
  readonly base: string
  /** Names below `base`, from the top. */
  readonly parts: readonly string[]
}

/**
 * Returns the folder of a session's files: `~/.halting/projects/<cwd>-<hash>/<session id>`, or under
 * `HALTING_CONFIG_DIR`. A session that an earlier version created, in a folder without the hash, stays there.
 */
export function sessionFolder(place: SessionPlace): FolderBelow {
  const id = safeName(place.sessionId)
  const { base, own, unhashed } = sessionsOf(place)
  const isBefore =
    unhashed !== undefined &&
    exists(join(base, unhashed, `${id}.jsonl`)) &&
    !exists(join(base, own, `${id}.jsonl`)) &&
    isSessionOfFolder(join(base, unhashed, `${id}.jsonl`), place.cwd)
  return { base, parts: [isBefore ? unhashed : own, id] }
}

/** Returns the file of a session's records, next to that folder. */
export function sessionFile(place: SessionPlace): string {
  const { base, parts } = sessionFolder(place)
  return `${join(base, ...parts)}.jsonl`
}

/** Returns the folder of a session's files, by the path of its records. */
export function folderOfSession(path: string): string {
  return join(dirname(path), basename(path, extname(path)))
}

/** Locations of the sessions of all folders, and of one. */
export interface SessionsOf {
  /** Folder with the sessions of all folders. */
  readonly base: string
  /** Folder with the sessions of this one. */
  readonly own: string
  /**
   * Folder name used by earlier versions, shared with other folders: only sessions that match `isSessionOfFolder`
   * count.
   */
  readonly unhashed: string | undefined
}

/**
 * Returns where the sessions of a folder are, whether or not there are any: in the folder of their store, if the
 * environment names one.
 */
export function sessionsOf(place: Omit<SessionPlace, 'sessionId'>): SessionsOf {
  const store = place.env[sessionStoreVariable] ?? ''
  if (store === '') return projectsOf(place)
  const base = workingCopiesFolder(configFolder('halting', place), sessionStoreKey(store))
  return { base, own: projectName(resolve(place.cwd)), unhashed: undefined }
}

/** Returns where a user's files about a folder are, such as notes, wherever its sessions are stored. */
export function projectsOf(place: Omit<SessionPlace, 'sessionId'>): SessionsOf {
  const cwd = resolve(place.cwd)
  return {
    base: join(configFolder('halting', place), 'projects'),
    own: projectName(cwd),
    unhashed: cwd.length <= longestProjectName ? lettersOf(cwd) : undefined,
  }
}

/**
 * Returns the folder name for a working directory. Different paths may have the same letters; the hash distinguishes
 * them.
 */
export function projectName(cwd: string): string {
  if (lastNamed?.cwd !== cwd) lastNamed = { cwd, name: `${lettersOf(cwd)}-${shortHash(cwd)}` }
  return lastNamed.name
}

/** Cached, because most programs use only one folder. */
let lastNamed: { readonly cwd: string; readonly name: string } | undefined

function lettersOf(cwd: string): string {
  return cwd.replaceAll(/[^a-zA-Z0-9]/g, '-').slice(0, longestProjectName)
}

const longestProjectName = 200
const headBytes = 64 * 1_024

/** Whether a session worked in this folder. False if it cannot be read. */
export function isSessionOfFolder(path: string, cwd: string): boolean {
  try {
    const file = openRegularSync(path)
    try {
      const bytes = Buffer.alloc(headBytes)
      const length = readSync(file, bytes, 0, headBytes, 0)
      const end = bytes.indexOf(10)
      const head: unknown = JSON.parse(bytes.toString('utf8', 0, end < 0 ? length : end))
      return isJsonObject(head) && typeof head['cwd'] === 'string' && resolve(head['cwd']) === resolve(cwd)
    } finally {
      closeSync(file)
    }
  } catch {
    return false
  }
}

/** Whether a path exists. If it is inaccessible, opening it reports the error. */
function exists(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined
  } catch {
    return false
  }
}

/**
 * Returns the path as written, and with the links of its base resolved. Links below the base are not followed: only an
 * attacker would create one.
 */
export function endsOf({ base, parts }: FolderBelow): readonly string[] {
  return [...new Set([join(base, ...parts), join(realPath(base), ...parts)])]
}

const longestName = 60

/** Returns a file name for an untrusted id: the id itself if it is safe, otherwise with a unique hash. */
export function safeName(id: string): string {
  // The notes of a project are next to its sessions.
  const isSafe = /^[a-zA-Z0-9][\w-]*$/.test(id) && id.length <= longestName && !/^memory(?:-|$)/i.test(id)
  return isSafe ? id : `${id.replaceAll(/[^a-zA-Z0-9]/g, '-').slice(0, longestName)}-${shortHash(id)}`
}

/** Returns the first characters of a text's SHA-256. */
export function shortHash(text: string): string {
  return shortDigest(text)
}

/**
 * Returns the first twelve hexadecimal digits of a text's SHA-256, for names of a few hundred characters, which every
 * start needs. Loading `node:crypto` costs 2 to 6 ms of CPU, and this about 0.1.
 */
export function shortDigest(text: string): string {
  const bytes = Buffer.from(text)
  const blocks = Buffer.alloc(Math.ceil((bytes.length + 9) / 64) * 64)
  bytes.copy(blocks)
  blocks[bytes.length] = 0x80
  blocks.writeUIntBE(bytes.length * 8, blocks.length - 6, 6)
  const state = Int32Array.from(squareRoots)
  for (let at = 0; at < blocks.length; at += 64) addBlock(state, blocks, at)
  return [state[0], state[1]]
    .map((word = 0) => (word >>> 0).toString(16).padStart(8, '0'))
    .join('')
    .slice(0, 12)
}

/** Fraction bits of the square roots of the first eight primes, and of the cube roots of the first 64. */
const squareRoots: readonly number[] = primes(8).map((prime) => fraction(Math.sqrt(prime)))
const cubeRoots: readonly number[] = primes(64).map((prime) => fraction(Math.cbrt(prime)))

function fraction(root: number): number {
  return Math.floor((root - Math.floor(root)) * 2 ** 32) | 0
}

function primes(count: number): readonly number[] {
  const found: number[] = []
  for (let number = 2; found.length < count; number++)
    if (found.every((prime) => number % prime !== 0)) found.push(number)
  return found
}

const rotateRight = (word: number, by: number): number => (word >>> by) | (word << (32 - by))

function addBlock(state: Int32Array, bytes: Buffer, at: number): void {
  const words = new Int32Array(64)
  for (let index = 0; index < 16; index++) words[index] = bytes.readInt32BE(at + index * 4)
  const word = (index: number): number => words[index] ?? 0
  for (let index = 16; index < 64; index++) {
    const [before, last] = [word(index - 15), word(index - 2)]
    const first = rotateRight(before, 7) ^ rotateRight(before, 18) ^ (before >>> 3)
    const second = rotateRight(last, 17) ^ rotateRight(last, 19) ^ (last >>> 10)
    words[index] = word(index - 16) + first + word(index - 7) + second
  }
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = state
  for (let index = 0; index < 64; index++) {
    const chosen = (rotateRight(e, 6) ^ rotateRight(e, 11) ^ rotateRight(e, 25)) + ((e & f) ^ (~e & g))
    const one = (h + chosen + (cubeRoots[index] ?? 0) + word(index)) | 0
    const two = ((rotateRight(a, 2) ^ rotateRight(a, 13) ^ rotateRight(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0
    ;[h, g, f, e, d, c, b, a] = [g, f, e, (d + one) | 0, c, b, a, (one + two) | 0]
  }
  for (const [index, value] of [a, b, c, d, e, f, g, h].entries()) state[index] = (state[index] ?? 0) + value
}
