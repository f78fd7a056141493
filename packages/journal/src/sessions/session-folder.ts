import { closeSync, lstatSync, readSync } from 'node:fs'
import { basename, dirname, extname, join, resolve } from 'node:path'
import { isJsonObject } from '@halting/core/adapters'
import { configFolder } from '../files/config-folder.ts'
import { realPath } from '../files/real-path.ts'
import { openRegularSync } from '../files/regular-file.ts'
import { sessionStoreKey, sessionStoreVariable } from '../stores/store-place.ts'
import { workingCopiesFolder } from '../stores/working-copies.ts'

/** Whose session it is. */
export interface SessionPlace {
  /** Where the agent works. */
  readonly cwd: string
  /** Id of the session. */
  readonly sessionId: string
  /** The person's own folder. */
  readonly home: string
  /** The environment, for variables that move the folder. */
  readonly env: Readonly<Record<string, string | undefined>>
}

/** A folder, and the parts of its path below the one that the person may have put elsewhere by a link. */
export interface FolderBelow {
  /** The part of the path that links may be in. */
  readonly base: string
  /** The names below `base`, from the top. */
  readonly parts: readonly string[]
}

/**
 * What one session keeps beside its transcript: `~/.halting/projects/<cwd>-<hash>/<session id>`, or under `HALTING_CONFIG_DIR`. A session that an earlier
 * version began, in a folder without the hash, stays where it is.
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

/** The file of its records, beside that folder. */
export function sessionFile(place: SessionPlace): string {
  const { base, parts } = sessionFolder(place)
  return `${join(base, ...parts)}.jsonl`
}

/** The folder of what a session keeps beside its file. */
export function folderOfSession(path: string): string {
  return join(dirname(path), basename(path, extname(path)))
}

/** Where the sessions of all folders are, and the part of it that has those of this one. */
export interface SessionsOf {
  /** Folder with the sessions of all folders. */
  readonly base: string
  /** Folder with the sessions of this one. */
  readonly own: string
  /** Where earlier versions put them, together with those of other folders: of these, only what `isSessionOfFolder` knows as its own counts. */
  readonly unhashed: string | undefined
}

/** Where the sessions of a folder are, whether or not there are any: below the folder of their store, where the environment names one. */
export function sessionsOf(place: Omit<SessionPlace, 'sessionId'>): SessionsOf {
  const store = place.env[sessionStoreVariable] ?? ''
  if (store === '') return projectsOf(place)
  const base = workingCopiesFolder(configFolder('halting', place), sessionStoreKey(store))
  return { base, own: projectName(resolve(place.cwd)), unhashed: undefined }
}

/** Where the person's files about a folder are, such as notes, wherever its sessions are. */
export function projectsOf(place: Omit<SessionPlace, 'sessionId'>): SessionsOf {
  const cwd = resolve(place.cwd)
  return {
    base: join(configFolder('halting', place), 'projects'),
    own: projectName(cwd),
    unhashed: cwd.length <= longestProjectName ? lettersOf(cwd) : undefined,
  }
}

/** The name of the folder for a working directory. Other paths may come to the same letters: the hash tells them apart. */
export function projectName(cwd: string): string {
  if (lastNamed?.cwd !== cwd) lastNamed = { cwd, name: `${lettersOf(cwd)}-${shortHash(cwd)}` }
  return lastNamed.name
}

/** Almost every program asks for one folder alone, again and again. */
let lastNamed: { readonly cwd: string; readonly name: string } | undefined

function lettersOf(cwd: string): string {
  return cwd.replaceAll(/[^a-zA-Z0-9]/g, '-').slice(0, longestProjectName)
}

const longestProjectName = 200
const headBytes = 64 * 1_024

/** Whether a session says that it worked in this folder. What cannot be read says nothing. */
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

/** What cannot be looked at is not there for us: whoever opens it is told why. */
function exists(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined
  } catch {
    return false
  }
}

/** Its path as written, and with the links above it followed. A link among the parts is not followed: nobody but a stranger makes one there. */
export function endsOf({ base, parts }: FolderBelow): readonly string[] {
  return [...new Set([join(base, ...parts), join(realPath(base), ...parts)])]
}

const longestName = 60

/** A name of a file for an id of somebody else's making: itself where it is harmless, and else with a hash that tells it from others. */
export function safeName(id: string): string {
  // The notes of a project stand beside its sessions.
  const isSafe = /^[a-zA-Z0-9][\w-]*$/.test(id) && id.length <= longestName && !/^memory(?:-|$)/i.test(id)
  return isSafe ? id : `${id.replaceAll(/[^a-zA-Z0-9]/g, '-').slice(0, longestName)}-${shortHash(id)}`
}

/** The first characters of the SHA-256 of a text. */
export function shortHash(text: string): string {
  return shortDigest(text)
}

/**
 * The first twelve digits, in base 16, of the SHA-256 of a text: for names of a few hundred characters, which each start has. To load `node:crypto` costs 2 to
 * 6 ms of CPU, and this some 0.1.
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

/** Bits behind the point of the square roots of the first eight primes, and of the cube roots of the first 64. */
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
