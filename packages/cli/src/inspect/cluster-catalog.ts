import type { StepRecord } from '@halting/core/steps'
import type { InspectedSession, Entry, SessionRow, SessionCatalog } from '@halting/analysis/view'
import { endings } from '@halting/core'
import { isEndingReason } from '@halting/core/adapters'
import {
  totalsOf,
  readSessionPage,
  type ListedSession,
  type PageRequest,
  type SessionPage,
} from '../cluster/session-pages.ts'
import { readClusterSession, sessionFromRecords } from '../cluster/cluster-client.ts'
import { queryRecords } from '../cluster/query-records.ts'
import type { Flags } from '../flags/flags.ts'
import type { Program } from '../program.ts'
import { watchedGradingSources } from '../grade/grading-sources.ts'
import { shellQuoted } from '../io/shell-quote.ts'
import { resumeCommand } from '../why/resume-command.ts'
import { recordedResumeContext } from '../why/recorded-resume-context.ts'
import { terminalOf } from '@halting/analysis/why'
import { inspectedSession } from '@halting/analysis/sessions'
import { plainWhyText } from './plain-why-text.ts'

/** Number of sessions on the first page, and on each further page. */
const firstPageSize = 200
const furtherPageSize = 500
/** Maximum number of listed sessions; older ones are dropped from the list. */
const maxListed = 5_000
/** Number of sessions whose records are cached, so that only new records are read. */
const maxCachedSessions = 3

interface ListedEntry extends Entry {
  readonly session: ListedSession
}

/** By session, the engine partition that stores it, so that the engine searches only that one. */
type Partitions = Map<string, string>

/**
 * The sessions of a cluster, or the named ones. Shows the front of the list, and more pages on request. Rows come from
 * the list; records are read only when a session is shown.
 */
export class ClusterCatalog implements SessionCatalog<ListedEntry> {
  readonly title: string
  readonly pauseMs = 3_000
  readonly #flags: Flags
  readonly #named: readonly string[]
  readonly #program: Program
  readonly #grading: ReturnType<typeof watchedGradingSources>
  #listed: ReadonlyMap<string, ListedSession> = new Map()
  #wanted = firstPageSize
  #total = 0
  readonly #partitions: Partitions = new Map()
  /** By session, in the order in which they were last read. */
  readonly #records = new Map<string, readonly StepRecord[]>()

  /** @throws UsageError if the cluster does not answer, or does not have a named session */
  static async open(flags: Flags, words: readonly string[], program: Program): Promise<ClusterCatalog> {
    const catalog = new ClusterCatalog(flags, words, program)
    const there = new Set((await catalog.list()).map(({ key }) => key))
    // Reading the session reports why it is missing.
    for (const word of words) if (!there.has(word)) await readClusterSession(flags, word, program)
    return catalog
  }

  private constructor(flags: Flags, words: readonly string[], program: Program) {
    this.#flags = flags
    this.#named = words
    this.#program = program
    this.#grading = watchedGradingSources(program)
    // The address may contain a user name and a password.
    this.title = `The cluster at ${new URL(flags.cluster ?? '').origin}`
  }

  get remaining(): number {
    return Math.max(0, this.#total - this.#listed.size)
  }

  more(): Promise<void> {
    this.#wanted = Math.min(maxListed, this.#listed.size + furtherPageSize)
    return Promise.resolve()
  }

  async list(): Promise<readonly ListedEntry[]> {
    const named = this.#named.length > 0
    const limit = named ? this.#named.length : Math.min(maxListed, Math.max(this.#wanted, this.#listed.size))
    const { sessions, total } = await this.#page({ limit, ...(named && { ids: this.#named }) })
    const listed = new Map(sessions.map((session) => [session.sessionId, session]))
    // A session that moved out of the page is still listed, unless it was deleted.
    const droppedIds = named ? [] : [...this.#listed.keys()].filter((id) => !listed.has(id))
    if (droppedIds.length > 0 && listed.size < maxListed)
      for (const session of (await this.#page({ limit: maxListed, ids: droppedIds })).sessions)
        listed.set(session.sessionId, session)
    this.#listed = listed
    this.#total = total
    return [...listed.values()].map(entryOf)
  }

  async #page(request: PageRequest): Promise<SessionPage> {
    const page = await readSessionPage(this.#flags, request)
    for (const [sessionId, partition] of page.partitions) this.#partitions.set(sessionId, partition)
    return page
  }

  refreshed({ key }: Entry): Promise<ListedEntry | undefined> {
    return this.find(key)
  }

  async find(key: string): Promise<ListedEntry | undefined> {
    if (this.#named.length > 0 && !this.#named.includes(key)) return undefined
    const partition = this.#partitions.get(key)
    const [found] = (await this.#page({ limit: 1, ids: [key], ...(partition !== undefined && { partition }) })).sessions
    return found === undefined ? undefined : entryOf(found)
  }

  rowOf({ session, ...entry }: ListedEntry): Promise<SessionRow> {
    const { state, reason, title = '', runs } = session
    const { turns, tokens, usd } = totalsOf(session)
    const ending = state === 'idle' && isEndingReason(reason) ? reason : null
    return Promise.resolve({
      key: entry.key,
      sessionId: entry.sessionId,
      path: null,
      changedAt: entry.changedAt,
      isLive: entry.isLive,
      program: 'halting',
      title,
      cwd: '',
      ending,
      exitCode: ending === null ? null : endings[ending].exitCode,
      models: [],
      runs: runs ?? (session.runId === undefined ? 0 : 1),
      copiedRuns: 0,
      turns,
      tokens,
      costUsd: usd,
      unpriced: [],
      activeMs: 0,
      calls: 0,
      failedCalls: 0,
      isStatusOnly: true,
    })
  }

  async read(found: ListedEntry): Promise<InspectedSession> {
    const { cluster } = this.#flags
    const { records, withTexts } = await this.#recordsOf(found.session)
    const session = await sessionFromRecords(this.#flags, found.sessionId, records, this.#program)
    const terminal = terminalOf(session.runs.at(-1) ?? [])
    const terms = recordedResumeContext(session.runs)
    const where = {
      sessionId: found.sessionId,
      sessionCwd: '',
      cwd: '',
      ...terms,
      ...(cluster !== undefined && { cluster }),
    }
    const nextStep = terminal === undefined ? { says: 'It continues in the cluster.' } : resumeCommand(terminal, where)
    const shellArguments = this.#argumentsOf(found)
    const inspected = inspectedSession(session, {
      found,
      nextStep: nextStep,
      shellArguments,
      grading: this.#grading(),
      whyText: plainWhyText,
    })
    return { ...inspected, withTexts }
  }

  /** Reads the records that are not cached; all of them if the session was replaced by another one with the same ID. */
  async #recordsOf({ sessionId, records: count }: ListedSession): Promise<Awaited<ReturnType<typeof queryRecords>>> {
    const cached = this.#records.get(sessionId) ?? []
    const before = cached.length <= count ? cached : []
    const partition = this.#partitions.get(sessionId)
    const read = await queryRecords(this.#flags, { sessionId, partition }, before.length, this.#program)
    const records = [...before, ...read.records]
    this.#records.delete(sessionId)
    this.#records.set(sessionId, records)
    for (const old of this.#records.keys()) if (this.#records.size > maxCachedSessions) this.#records.delete(old)
    return { ...read, records }
  }

  #argumentsOf({ sessionId }: Entry): string {
    const { cluster = '' } = this.#flags
    // Session IDs come from clients and may begin with a dash.
    return shellQuoted(['--cluster', cluster, ...(sessionId.startsWith('-') ? ['--'] : []), sessionId])
  }
}

function entryOf(session: ListedSession): ListedEntry {
  const { sessionId, state, changedMs } = session
  return {
    key: sessionId,
    sessionId,
    path: null,
    changedAt: changedMs ?? null,
    isLive: state !== 'idle' && state !== 'paused',
    signature: JSON.stringify(session),
    session,
  }
}
