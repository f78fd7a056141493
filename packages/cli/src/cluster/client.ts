import type { BudgetStatus, LeaseHolder, NamedRequest, Opening, SessionStatus, WorkDone } from '@halting/restate'
import { messageOf } from '@halting/core/adapters'
import { runsOf, type StepRecord } from '@halting/core/steps'
import { oneLine } from '../io/figures.ts'
import { UsageError } from '../usage-error.ts'

const sessionObject = 'halting_session'
const budgetObject = 'halting_budget'
const answerMs = 30_000

/** A row of the list of sessions. */
export interface ListedSession extends SessionStatus {
  readonly sessionId: string
}

/** What this program asks of a cluster: plain requests, which any Node can make. */
export class ClusterClient {
  readonly #url: string
  readonly #admin: string

  /** `url`: where it takes requests; `admin`: where it is administered. */
  constructor(url: string, admin: string) {
    this.#url = url
    this.#admin = admin
  }

  /** False for one that came before, or that means nothing now. */
  async request(sessionId: string, request: NamedRequest & { readonly opening?: Opening }): Promise<boolean> {
    return (await this.#call(sessionId, 'request', request)) as boolean
  }

  async status(sessionId: string): Promise<SessionStatus> {
    return (await this.#call(sessionId, 'status')) as SessionStatus
  }

  /** What came of the work that was over last; null before there was any. */
  async done(sessionId: string): Promise<WorkDone | null> {
    return (await this.#call(sessionId, 'done')) as WorkDone | null
  }

  /** All records from this number on. */
  async records(sessionId: string, since = 0): Promise<readonly StepRecord[]> {
    const all: StepRecord[] = []
    for (;;) {
      const from = since + all.length
      // What the object of a session answers.
      const { records } = (await this.#call(sessionId, 'records', from)) as { readonly records: readonly StepRecord[] }
      if (records.length === 0) return all
      all.push(...records.map(checkHere))
    }
  }

  /** All runs of a session. @throws UsageError for one that the cluster does not have. */
  async runs(sessionId: string): Promise<readonly (readonly StepRecord[])[]> {
    const runs = runsOf(await this.records(sessionId))
    if (runs.length > 0) return runs
    throw new UsageError(
      `No conversation found with session ID: ${oneLine(sessionId, 100)}. halting sessions --cluster ${this.#url} lists those of the cluster.`,
    )
  }

  /** What is kept of all sessions, by the engine's own query language. */
  async list(): Promise<readonly ListedSession[]> {
    const query = `select service_key, value_utf8 from state where service_name = '${sessionObject}' and key = 'status'`
    const answer = (await this.#ask(`${this.#admin}/query`, { query })) as {
      readonly rows: readonly { readonly service_key: string; readonly value_utf8: string }[]
    }
    return answer.rows.map((row) => ({
      sessionId: row.service_key,
      // Only the object of a session writes it.
      ...(JSON.parse(row.value_utf8) as SessionStatus),
    }))
  }

  /** What stands with a tenant. One that nobody has heard of has spent nothing. */
  async budget(tenant: string): Promise<BudgetStatus> {
    return (await this.#askTenant(tenant, 'status')) as BudgetStatus
  }

  /** Its sessions at work, the first thousand. */
  async leaseHolders(tenant: string): Promise<readonly LeaseHolder[]> {
    return (await this.#askTenant(tenant, 'holders')) as readonly LeaseHolder[]
  }

  /** What its sessions may spend together from now on. */
  async limitTenant(tenant: string, usd: number): Promise<void> {
    await this.#askTenant(tenant, 'setLimit', usd)
  }

  #askTenant(tenant: string, handler: string, body?: unknown): Promise<unknown> {
    return this.#ask(`${this.#url}/${budgetObject}/${encodeURIComponent(tenant)}/${handler}`, body)
  }

  #call(sessionId: string, handler: string, body?: unknown): Promise<unknown> {
    return this.#ask(`${this.#url}/${sessionObject}/${encodeURIComponent(sessionId)}/${handler}`, body)
  }

  /** @throws UsageError that says what is the matter, and where. */
  async #ask(url: string, body?: unknown): Promise<unknown> {
    let response
    try {
      response = await fetch(url, {
        method: 'POST',
        signal: AbortSignal.timeout(answerMs),
        headers: { accept: 'application/json', ...(body !== undefined && { 'content-type': 'application/json' }) },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      })
    } catch (error) {
      throw new UsageError(`The cluster at ${new URL(url).origin} does not answer: ${whyOf(error)}.`)
    }
    const text = await response.text()
    if (response.ok) return text === '' ? undefined : JSON.parse(text)
    const hint = response.status === 404 ? ' No worker is registered there: halting serve --register does that.' : ''
    throw new UsageError(`The cluster at ${new URL(url).origin} says ${response.status}: ${oneLine(text, 300)}${hint}`)
  }
}

/** `fetch` hides the reason behind its error. */
function whyOf(error: unknown): string {
  return messageOf(error instanceof Error && error.cause !== undefined ? error.cause : error)
}

/** What is large may be kept in a store that only workers reach. */
function checkHere(record: StepRecord | { readonly type: 'payload' }): StepRecord {
  if (record.type !== 'payload') return record
  throw new UsageError(
    'A part of the session is in the payload store of the workers, which this program does not reach.',
  )
}
