import { chmod, open, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, isAbsolute, join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { ConfigurationError, type JsonObject } from '@halting/core'
import { type NotificationChannel, notificationChannels } from '../settings/fields.ts'
import { isJsonObject, messageOf, codeOf } from '@halting/core/adapters'
import { configFolder, realPath, makeDurableFolder, writeWhole, takeLock } from '@halting/journal/files'
import { isInside } from '../files/paths.ts'
import type { PlacesOptions } from '../settings/places.ts'

/** What was decided about a folder. */
export interface TrustRecord {
  /** Whether the folder is trusted. */
  readonly trusted: boolean
  /** When, as an ISO date. */
  readonly since: string
  /** What the question named, by id: what the folder's own settings bring later was not trusted with it. */
  readonly offers: readonly string[]
}

/** Decisions about trust by folder. */
export type TrustRecords = ReadonlyMap<string, TrustRecord>

/** Whose trust is meant: the folder, the person's home and the environment. */
export type TrustOwner = Pick<PlacesOptions, 'cwd' | 'home' | 'env'>

/** The one file that says which folders are trusted; no project can say it. */
export function trustFile(owner: TrustOwner): string {
  return join(configFolder('halting', owner), 'trust.json')
}

/** The stored decisions about trust, as they were read. */
export interface ReadRecords {
  /** The decisions, by folder. */
  readonly records: TrustRecords
  /** Why nothing of the file counts. */
  readonly problem?: string
}

const none: ReadRecords = { records: new Map() }
const largestBytes = 16 * 1024 * 1024

/** Whom the person trusts. A file that is damaged, or that others may write, trusts nobody. */
export async function readTrust(owner: TrustOwner): Promise<ReadRecords> {
  const path = trustFile(owner)
  const read = await readPersonalFile(path)
  if (read.kind === 'absent') return none
  if (read.kind === 'unfit') return { ...none, problem: `${path} ${read.why}: its trusted folders are ignored.` }
  const records = recordsIn(read.text)
  return records === undefined
    ? { ...none, problem: `${path} is damaged: its trusted folders are ignored. Fix or delete it.` }
    : { records }
}

/** Changes the records, one process at a time; what is there survives a crash. @throws ConfigurationError for a damaged file. */
export async function changeTrust(
  owner: TrustOwner,
  change: (records: Map<string, TrustRecord>) => void,
): Promise<void> {
  const path = trustFile(owner)
  const release = await lockTrust(path)
  try {
    const { records, problem } = await readTrust(owner)
    if (problem !== undefined) throw new ConfigurationError(problem)
    const changed = new Map(records)
    change(changed)
    const folders = Object.fromEntries([...changed].toSorted(([one], [other]) => (one < other ? -1 : 1)))
    await writeWhole(path, `${JSON.stringify({ version: 1, folders }, undefined, 2)}\n`)
    await chmod(path, 0o600)
  } finally {
    await release()
  }
}

/** @throws ConfigurationError where nothing can be written, such as a home that is read-only. */
async function lockTrust(path: string): Promise<() => Promise<void>> {
  try {
    await makeDurableFolder(dirname(path))
    return await lockFile(`${path}.lock`, 'the trusted folders')
  } catch (thrown) {
    if (thrown instanceof ConfigurationError) throw thrown
    throw new ConfigurationError(
      `Cannot write the trusted folders to ${path}: ${messageOf(thrown)}. Make its folder writable, or trust for one run with --trust.`,
    )
  }
}

const patienceMs = 20_000

/** One process at a time. @throws ConfigurationError for one that does not let go. */
export async function lockFile(path: string, what: string): Promise<() => Promise<void>> {
  const until = performance.now() + patienceMs
  for (;;) {
    const taken = await takeLock(path)
    if (taken.kind === 'locked') return () => taken.release()
    if (performance.now() > until) {
      throw new ConfigurationError(`Another process (${taken.holder.pid}) is changing ${what}. Try again.`)
    }
    await wait(20)
  }
}

function recordsIn(text: string): TrustRecords | undefined {
  const content = parsed(text)
  if (!isJsonObject(content) || !isJsonObject(content['folders'])) return undefined
  const records = new Map<string, TrustRecord>()
  for (const [folder, record] of Object.entries(content['folders'])) {
    if (!isJsonObject(record)) return undefined
    const { trusted, since, offers } = record
    if (typeof trusted !== 'boolean' || !Array.isArray(offers)) return undefined
    const ids = offers.filter((id) => typeof id === 'string')
    records.set(folder, { trusted, since: typeof since === 'string' ? since : '', offers: ids })
  }
  return records
}

/** Which folders another program of this person trusts. Not all of them count (`isTooBroad`). */
export async function trustedByClaude(owner: TrustOwner): Promise<ReadonlySet<string>> {
  const { projects = {} } = await stateOfClaude(owner)
  if (!isJsonObject(projects)) return new Set()
  const isTrusted = ([folder, project]: readonly [string, unknown]): boolean =>
    isAbsolute(folder) && isJsonObject(project) && project['hasTrustDialogAccepted'] === true
  return new Set(Object.entries(projects).flatMap((entry) => (isTrusted(entry) ? [entry[0]] : [])))
}

/** How this person has Claude Code call them (its `preferredNotifChannel`); undefined where they did not choose. */
export async function notificationChannelOfClaude(owner: TrustOwner): Promise<NotificationChannel | undefined> {
  const { preferredNotifChannel: chosen } = await stateOfClaude(owner)
  return notificationChannels.find((channel) => channel === chosen)
}

/** What Claude Code stores of this person beside its settings; empty where there is none, or others may write it. */
async function stateOfClaude(owner: TrustOwner): Promise<JsonObject> {
  const { env, home } = owner
  const path = join(env['CLAUDE_CONFIG_DIR'] ? configFolder('claude', owner) : home, '.claude.json')
  const read = await readPersonalFile(path)
  const content = read.kind === 'read' ? parsed(read.text) : undefined
  return isJsonObject(content) ? content : {}
}

/** Folders that hold more than projects: who trusts what is inside them trusts downloads, and what others put there. */
export function isTooBroad(folder: string, { home }: Pick<TrustOwner, 'home'>): boolean {
  const shared = ['/tmp', '/var/tmp', '/dev/shm', tmpdir()].map((path) => realPath(path))
  return isInside(realPath(home), folder) || shared.some((one) => isInside(one, folder))
}

type PersonalFile =
  | { readonly kind: 'absent' }
  | { readonly kind: 'unfit'; readonly why: string }
  | { readonly kind: 'read'; readonly text: string }

/** A file that only this person writes. The checks are of the file that is read. */
async function readPersonalFile(path: string): Promise<PersonalFile> {
  try {
    // A pipe in its place would hold the program up.
    if (!(await stat(path)).isFile()) return { kind: 'unfit', why: 'is not a file' }
    const file = await open(path, 'r')
    try {
      const { uid, mode, size } = await file.stat()
      const own = process.getuid?.()
      if (own !== undefined && uid !== own) return { kind: 'unfit', why: 'belongs to another user' }
      if (own !== undefined && (mode & 0o022) !== 0)
        return { kind: 'unfit', why: 'is writable by others (run chmod 600)' }
      if (size > largestBytes) return { kind: 'unfit', why: 'is too large' }
      return { kind: 'read', text: await file.readFile('utf8') }
    } finally {
      await file.close()
    }
  } catch (thrown) {
    const code = codeOf(thrown)
    if (code === 'ENOENT' || code === 'ENOTDIR') return { kind: 'absent' }
    return { kind: 'unfit', why: `cannot be read (${messageOf(thrown)})` }
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text.replace(/^\uFEFF/, '')) as unknown
  } catch {
    return undefined
  }
}
