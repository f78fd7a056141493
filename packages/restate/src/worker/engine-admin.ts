import { setTimeout as pause } from 'node:timers/promises'
import { messageOf, anySignal } from '@halting/core/adapters'
import { trimSlashes, urlBelow, fetchFailure } from '../http/call-handler.ts'
import { attemptsObject, setAsideKey } from '../attempts/set-aside.ts'
import { sessionObject } from '../service/names.ts'
import { engineClock } from '../http/engine-clock.ts'

const betweenTriesMs = 500
/** Prefix of the names of all services of a worker. */
const servicePrefix = 'halting_'
const patienceMs = 60_000
/** Maximum time, in milliseconds, for the engine to get an answer from a worker. */
const reachMs = 3_000
/** Maximum number of sessions in one query. */
const maxNamesPerQuery = 500

/** A worker that is registered with the engine. */
export interface Deployment {
  readonly id: string
  readonly uri: string
  readonly metadata: Metadata
}

type Metadata = Readonly<Record<string, string>> | null | undefined

/** The address of a registration. Several registrations may have the same address. */
export interface DeploymentAddress {
  readonly id: string
  readonly uri: string
  /** Whether the deployment also serves services of other programs. */
  readonly isShared?: boolean
}

/** An unfinished invocation that is bound to one worker, or was last tried there. */
export interface BoundInvocation {
  readonly id: string
  readonly deployment: string
  /** Whether it is not bound yet and is retried wherever new calls go. */
  readonly isFree: boolean
  readonly status: string
  /** Undefined for invocations other than the work at a session, for example one that waits for a result. */
  readonly sessionId: string | undefined
}

/** Work at a session that is not currently running. */
export interface WorkOfSession {
  /** Id of the invocation. */
  readonly id: string
  readonly sessionId: string
  readonly status: 'suspended' | 'backing-off' | 'paused'
  /** The worker that it is bound to. */
  readonly deployment: string | null
  /** The error of the last attempt, if it failed. */
  readonly failure: string | null
}

interface NamedRow {
  readonly name: string
}

interface ServiceRow extends NamedRow {
  readonly deployment_id: string
  readonly metadata?: Metadata
}

interface BoundRow {
  readonly id: string
  readonly target_service_name: string
  readonly target_handler_name: string
  readonly target_service_key?: string | null
  readonly status: string
  readonly pinned_deployment_id?: string | null
  readonly last_attempt_deployment_id?: string | null
}

interface WorkRow {
  readonly id: string
  readonly target_service_key: string
  readonly status: WorkOfSession['status']
  readonly pinned_deployment_id?: string | null
  readonly last_failure?: string | null
  readonly modified_at?: string
}

/** The last failure of paused work. */
interface PausedFailure {
  /** When its invocation last changed, as the engine writes it. It does not change while it stays paused. */
  readonly modifiedAt: string | undefined
  readonly failure: string
}

/** A worker's requests to the admin API of the engine. */
export class EngineAdmin {
  readonly #base: string
  /** Failures of the work that `restingWork` found paused, by invocation. */
  #failures: ReadonlyMap<string, PausedFailure> = new Map()

  constructor(url: string) {
    this.#base = trimSlashes(url)
  }

  /**
   * Registers the worker at this address; for a known worker, the engine discovers its services again. Retries for a minute while the engine, or the worker from the engine's
   * side, is not reachable. `onWait` is called with the reason, once for each reason.
   */
  async register(worker: string, signal?: AbortSignal, onWait: (because: string) => void = () => {}): Promise<void> {
    const until = performance.now() + patienceMs
    let lastReported = ''
    for (;;) {
      try {
        await requestAdmin(this.#base, { ...registration(worker), signal })
        return
      } catch (error) {
        signal?.throwIfAborted()
        const because = `${this.#base} did not take ${worker}: ${fetchFailure(error)}`
        if (performance.now() > until) throw new Error(because, { cause: error })
        if (because !== lastReported) onWait(because)
        lastReported = because
      }
      await pause(betweenTriesMs, undefined, { signal })
    }
  }

  /** Sends a request so that the date of its answer updates the `EngineClock`. Settles soon, even without an answer. */
  async readClock(): Promise<void> {
    await requestAdmin(this.#base, { path: '/health', answerMs: 1_000 }).catch(() => undefined)
  }

  /** Why the engine does not know the worker at this address; undefined if it does. */
  async whyUnknown(worker: string): Promise<string | undefined> {
    try {
      const isKnown = (await this.deployments()).some(({ uri }) => sameAddress(uri, worker))
      return isKnown ? undefined : `the engine at ${this.#base} does not know ${worker}`
    } catch (error) {
      return `the engine at ${this.#base} does not answer: ${fetchFailure(error)}`
    }
  }

  /** All registrations that serve sessions. */
  async deployments(): Promise<readonly DeploymentAddress[]> {
    // This cast is safe: the admin API returns this type.
    const { deployments } = (await requestAdmin(this.#base, { path: '/deployments' })) as {
      deployments: readonly { readonly id: string; readonly uri?: string; readonly services?: readonly NamedRow[] }[]
    }
    return deployments.flatMap(({ id, uri, services = [] }) => {
      const names = services.map(({ name }) => name)
      if (uri === undefined || !names.includes(sessionObject)) return []
      return [{ id, uri, isShared: !names.every((name) => name.startsWith(servicePrefix)) }]
    })
  }

  /** Where new sessions go; undefined if nowhere. */
  async latest(deployments: readonly DeploymentAddress[]): Promise<Deployment | undefined> {
    // This cast is safe: the admin API returns this type.
    const service = (await requestAdmin(this.#base, { path: `/services/${sessionObject}` })) as ServiceRow
    const found = deployments.find(({ id }) => id === service.deployment_id)
    return found && { ...found, metadata: service.metadata }
  }

  /** Whether the engine gets an answer from the worker at this address. Changes nothing. */
  async reaches(worker: string): Promise<boolean> {
    const { path, method, body } = registration(worker)
    try {
      await requestAdmin(this.#base, { path, method, body: { ...body, dry_run: true }, answerMs: reachMs })
      return true
    } catch (error) {
      // A refusal of the engine has a status, and a timeout means that a worker accepted the connection and stayed
      // silent. If the engine itself does not answer, the state of the worker is unknown.
      if (/^\d{3} /.test(messageOf(error)) || (error instanceof Error && error.name === 'TimeoutError')) return false
      throw error
    }
  }

  /** Directs new sessions to this worker. */
  async announce(worker: string): Promise<void> {
    await requestAdmin(this.#base, registration(worker))
  }

  /** Changes the address of a registration. Everything bound to it continues there with its next attempt; a running attempt stays where it is. */
  async readdress(deployment: string, uri: string): Promise<void> {
    await requestAdmin(this.#base, { path: `/deployments/${deployment}`, method: 'PATCH', body: { uri } })
  }

  /** Unfinished invocations that are bound to these registrations, and those retried there without being bound. */
  async boundTo(deployments: readonly string[]): Promise<readonly BoundInvocation[]> {
    if (deployments.length === 0) return []
    const names = deployments.map(sqlLiteral).join(', ')
    const rows = await queryRows<BoundRow>(
      this.#base,
      `SELECT id, target_service_name, target_handler_name, target_service_key, status, pinned_deployment_id, last_attempt_deployment_id FROM sys_invocation WHERE status <> 'completed' AND starts_with(target_service_name, '${servicePrefix}') AND (pinned_deployment_id IN (${names}) OR (pinned_deployment_id IS NULL AND status = 'backing-off' AND last_attempt_deployment_id IN (${names})))`,
    )
    return rows.map(({ id, status, pinned_deployment_id: pinned, target_service_key: key, ...row }) => ({
      id,
      status,
      deployment: pinned ?? row.last_attempt_deployment_id ?? '',
      isFree: (pinned ?? null) === null,
      sessionId:
        row.target_service_name === sessionObject && row.target_handler_name === 'work' && typeof key === 'string'
          ? key
          : undefined,
    }))
  }

  /** State of an object for each of these sessions, by session. */
  async stateOf(object: string, key: string, sessions: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const found = new Map<string, string>()
    for (let at = 0; at < sessions.length; at += maxNamesPerQuery) {
      const names = sessions.slice(at, at + maxNamesPerQuery).map(sqlLiteral)
      const rows = await queryRows<{ readonly service_key: string; readonly value_utf8: string }>(
        this.#base,
        `SELECT service_key, value_utf8 FROM state WHERE service_name = '${object}' AND key = '${key}' AND service_key IN (${names.join(', ')})`,
      )
      for (const { service_key: session, value_utf8: value } of rows) found.set(session, value)
    }
    return found
  }

  /** Statuses of sessions without a current run, as JSON, ordered by id, after this one. */
  async idleSessions(
    after: string,
    limit: number,
  ): Promise<readonly { readonly session: string; readonly status: string }[]> {
    const rows = await queryRows<{ readonly service_key: string; readonly value_utf8: string }>(
      this.#base,
      `SELECT service_key, value_utf8 FROM state WHERE service_name = '${sessionObject}' AND key = 'status' AND value_utf8 LIKE '%"state":"idle"%' AND service_key > ${sqlLiteral(after)} ORDER BY service_key LIMIT ${limit}`,
    )
    return rows.map(({ service_key: session, value_utf8: status }) => ({ session, status }))
  }

  /** The metadata that a worker announces. */
  async metadataOf(deployment: string): Promise<Metadata> {
    // This cast is safe: the admin API returns this type.
    const { services } = (await requestAdmin(this.#base, { path: `/deployments/${deployment}` })) as {
      services: readonly ServiceRow[]
    }
    return services.find(({ name }) => name === sessionObject)?.metadata
  }

  /**
   * Work that is being retried or paused; with `besides`, also suspended work that is bound to other registrations. It takes one query, however many sessions there are, and one
   * more for each 500 that were paused since the last call.
   */
  async restingWork(besides?: readonly string[]): Promise<readonly WorkOfSession[]> {
    const names = besides?.map(sqlLiteral).join(', ')
    const suspended = names === undefined ? '' : ` OR (status = 'suspended' AND pinned_deployment_id NOT IN (${names}))`
    const rows = await queryRows<WorkRow>(
      this.#base,
      `SELECT id, target_service_key, status, pinned_deployment_id, last_failure, modified_at FROM sys_invocation WHERE target_service_name = '${sessionObject}' AND target_handler_name = 'work' AND (status IN ('backing-off', 'paused')${suspended})`,
    )
    this.#failures = await this.#failuresOf(rows.filter(({ status }) => status === 'paused'))
    return rows.map(({ id, status, target_service_key: sessionId, ...row }) => ({
      id,
      sessionId,
      status,
      deployment: row.pinned_deployment_id ?? null,
      failure: (status === 'paused' ? this.#failures.get(id)?.failure : row.last_failure) ?? null,
    }))
  }

  async #failuresOf(paused: readonly WorkRow[]): Promise<ReadonlyMap<string, PausedFailure>> {
    const known = new Map<string, PausedFailure>()
    const unread = new Map<string, string | undefined>()
    for (const { id, modified_at: modifiedAt } of paused) {
      const before = this.#failures.get(id)
      if (before !== undefined && before.modifiedAt === modifiedAt) known.set(id, before)
      else unread.set(id, modifiedAt)
    }
    for (const [id, failure] of await readFailures(this.#base, [...unread.keys()]))
      known.set(id, { modifiedAt: unread.get(id), failure })
    return known
  }

  /** Which of these sessions are set aside, and why, as a clause. */
  async setAside(sessionIds: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const rows = await queryRows<{ readonly service_key: string; readonly because: string | null }>(
      this.#base,
      `SELECT service_key, json_get_str(value_utf8, 'because') AS because FROM state WHERE service_name = '${attemptsObject}' AND key = '${setAsideKey}' AND service_key IN (${sessionIds.map(sqlLiteral).join(', ')})`,
    )
    return new Map(
      rows.map(({ service_key: sessionId, because }) => [sessionId, because ?? 'its work has ended workers']),
    )
  }

  /** Pauses an invocation. Has no effect if it is already paused or over. */
  async pause(invocation: string): Promise<void> {
    await this.#change(`/invocations/${invocation}/pause`)
  }

  /** Resumes an invocation at a registration. Returns false, without effect, if it is running or not paused yet. */
  async resume(invocation: string, deployment: string): Promise<boolean> {
    return this.#change(`/invocations/${invocation}/resume?deployment=${deployment}`)
  }

  /** The error of the last attempt of a paused invocation. */
  async failureOf(invocation: string): Promise<string | null> {
    return (await readFailures(this.#base, [invocation])).get(invocation) ?? null
  }

  /** Retries an invocation now, where it is bound. Has no effect if it is running. */
  async retryNow(invocation: string): Promise<void> {
    await this.#change(`/invocations/${invocation}/resume`)
  }

  /** Requests a change. A refusal means that there is nothing to change any more. */
  async #change(path: string): Promise<boolean> {
    try {
      await requestAdmin(this.#base, { path, method: 'PATCH' })
      return true
    } catch (error) {
      if (/^\d{3} /.test(messageOf(error))) return false
      throw error
    }
  }
}

/** The last failures of these paused invocations. Omits those that were paused without a failure. */
async function readFailures(admin: string, invocations: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>()
  for (let at = 0; at < invocations.length; at += maxNamesPerQuery) {
    const names = invocations.slice(at, at + maxNamesPerQuery).map(sqlLiteral)
    const rows = await queryRows<{ readonly id: string; readonly failure?: string | null }>(
      admin,
      `SELECT id, json_get_str(event_json, 'last_failure', 'error_message') AS failure FROM sys_journal_events WHERE event_type = 'Paused' AND id IN (${names.join(', ')}) ORDER BY appended_at`,
    )
    // Ordered by time, so the last pause wins.
    for (const { id, failure } of rows) if (typeof failure === 'string') found.set(id, failure)
  }
  return found
}

/** A string literal in the engine's query language. */
function sqlLiteral(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}

function registration(worker: string): AdminRequest {
  return { path: '/deployments', method: 'POST', body: { uri: worker, force: true }, answerMs: patienceMs }
}

export function sameAddress(a: string, b: string): boolean {
  return trimSlashes(a) === trimSlashes(b)
}

const defaultAnswerMs = 5_000

interface AdminRequest {
  readonly path: string
  readonly method?: 'GET' | 'POST' | 'PATCH'
  readonly body?: object
  readonly signal?: AbortSignal | undefined
  /** How long to wait for an answer. Default: 5 s. */
  readonly answerMs?: number
}

/** Sends a request to the admin API of the engine. Returns the answer, parsed from JSON. @throws Error with status and text if it is refused. */
async function requestAdmin(
  admin: string,
  { path, method = 'GET', body, signal, answerMs = defaultAnswerMs }: AdminRequest,
): Promise<unknown> {
  const timeout = AbortSignal.timeout(answerMs)
  const onDate = engineClock.ask()
  const response = await fetch(urlBelow(admin, path), {
    method,
    signal: signal === undefined ? timeout : anySignal([signal, timeout]),
    headers: { accept: 'application/json', ...(body !== undefined && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  onDate(response.headers.get('date'))
  const text = await response.text()
  if (!response.ok) throw new Error(`${response.status} ${text.slice(0, 500)}`)
  return text === '' ? undefined : JSON.parse(text)
}

/** Runs a query in the engine's SQL. */
async function queryRows<T>(admin: string, query: string): Promise<readonly T[]> {
  // This cast is safe: the admin API returns this type.
  const { rows } = (await requestAdmin(admin, { path: '/query', method: 'POST', body: { query } })) as {
    readonly rows: readonly T[]
  }
  return rows
}
