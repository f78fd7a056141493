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

/** The decision about a folder. */
export interface TrustRecord {
  /** Whether the folder is trusted. */
  readonly trusted: boolean
  /** Time of the decision, as an ISO date. */
  readonly since: string
  /** Ids of the offers that the question named: settings that the folder adds later are not trusted. */
  readonly offers: readonly string[]
}

/** Decisions about trust, by folder. */
export type TrustRecords = ReadonlyMap<string, TrustRecord>

/** The folder, the person's home and the environment for which trust is decided. */
export type TrustOwner = Pick<PlacesOptions, 'cwd' | 'home' | 'env'>

/** The file that says which folders are trusted. It is outside of all projects. */
export function trustFile(owner: TrustOwner): string {
  return join(configFolder('halting', owner), 'trust.json')
}

/** The stored decisions, as they were read. */
export interface ReadRecords {
  /** The decisions, by folder. */
  readonly records: TrustRecords
  /** Why the file is ignored. */
  readonly problem?: string
}

const noRecords: ReadRecords = { records: new Map() }
const largestBytes = 16 * 1024 * 1024

/** The folders that the person trusts. A file that is damaged, or that others may write, trusts nobody. */
export async function readTrust(owner: TrustOwner): Promise<ReadRecords> {
  const path = trustFile(owner)
  const read = await readPersonalFile(path)
  if (read.kind === 'absent') return noRecords
  if (read.kind === 'unfit') return { ...noRecords, problem: `${path} ${read.why}: its trusted folders are ignored.` }
  const records = recordsIn(read.text)
  return records === undefined
    ? { ...noRecords, problem: `${path} is damaged: its trusted folders are ignored. Fix or delete it.` }
    : { records }
}

/** Changes the records, one process at a time; a crash does not lose them. @throws ConfigurationError for a damaged file. */
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

/** @throws ConfigurationError if nothing can be written, for example in a read-only home folder. */
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

/** Waits until no other process has the lock. @throws ConfigurationError if another process does not release it. */
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

/** Folders that Claude Code trusts for this person. Not all of them count (`isTooBroad`). */
export async function trustedByClaude(owner: TrustOwner): Promise<ReadonlySet<string>> {
  const { projects = {} } = await stateOfClaude(owner)
  if (!isJsonObject(projects)) return new Set()
  const isTrusted = ([folder, project]: readonly [string, unknown]): boolean =>
    isAbsolute(folder) && isJsonObject(project) && project['hasTrustDialogAccepted'] === true
  return new Set(Object.entries(projects).flatMap((entry) => (isTrusted(entry) ? [entry[0]] : [])))
}

/** How Claude Code notifies this person (its `preferredNotifChannel`); undefined if they did not choose. */
export async function notificationChannelOfClaude(owner: TrustOwner): Promise<NotificationChannel | undefined> {
  const { preferredNotifChannel: chosen } = await stateOfClaude(owner)
  return notificationChannels.find((channel) => channel === chosen)
}

/** The state of Claude Code for this person, outside of its settings; empty if the file is missing, or if others may write it. */
async function stateOfClaude(owner: TrustOwner): Promise<JsonObject> {
  const { env, home } = owner
  const path = join(env['CLAUDE_CONFIG_DIR'] ? configFolder('claude', owner) : home, '.claude.json')
  const read = await readPersonalFile(path)
  const content = read.kind === 'read' ? parsed(read.text) : undefined
  return isJsonObject(content) ? content : {}
}

/** Folders that contain more than projects: trusting one would also trust downloads and files of other people. */
export function isTooBroad(folder: string, { home }: Pick<TrustOwner, 'home'>): boolean {
  const shared = ['/tmp', '/var/tmp', '/dev/shm', tmpdir()].map((path) => realPath(path))
  return isInside(realPath(home), folder) || shared.some((one) => isInside(one, folder))
}

type PersonalFile =
  | { readonly kind: 'absent' }
  | { readonly kind: 'unfit'; readonly why: string }
  | { readonly kind: 'read'; readonly text: string }

/** A file that only this person can write. The checks apply to the open file. */
async function readPersonalFile(path: string): Promise<PersonalFile> {
  try {
    // Opening a pipe could block the program.
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
