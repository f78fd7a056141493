import { closeSync, lstatSync, readSync } from 'node:fs'
import { basename, dirname, extname, join, resolve } from 'node:path'
import { isJsonObject } from '@halting/core/adapters'
import { configFolder } from '../files/config-folder.ts'
import { realPath } from '../files/real-path.ts'
import { openRegularSync } from '../files/regular-file.ts'
import { shortDigest } from '../files/short-digest.ts'
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
    isThere(join(base, unhashed, `${id}.jsonl`)) &&
    !isThere(join(base, own, `${id}.jsonl`)) &&
    isOfFolder(join(base, unhashed, `${id}.jsonl`), place.cwd)
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
  /** Where earlier versions put them, together with those of other folders: of these, only what `isOfFolder` knows as its own counts. */
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
export function isOfFolder(path: string, cwd: string): boolean {
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
function isThere(path: string): boolean {
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
