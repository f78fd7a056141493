import { setTimeout as pause } from 'node:timers/promises'
import { messageOf } from '@halting/core/adapters'
import { askAdmin, rowsOf, type AdminRequest } from '../http/ask-admin.ts'
import { sessionObject } from '../service/names.ts'

const betweenTriesMs = 500
const patienceMs = 60_000

/** A worker as the engine knows it. */
export interface Deployment {
  readonly id: string
  readonly uri: string
  readonly metadata: Metadata
}

type Metadata = Readonly<Record<string, string>> | null | undefined

/** The work at a session that nobody does at this moment. */
export interface WorkOfSession {
  /** Its name in the engine. */
  readonly id: string
  readonly sessionId: string
  readonly status: 'suspended' | 'backing-off' | 'paused'
  /** The worker that it is bound to. */
  readonly deployment: string | null
  /** What the last attempt came to, where it failed. */
  readonly failure: string | null
}

interface ServiceRow {
  readonly name: string
  readonly deployment_id: string
  readonly metadata?: Metadata
}

interface WorkRow {
  readonly id: string
  readonly target_service_key: string
  readonly status: WorkOfSession['status']
  readonly pinned_deployment_id?: string | null
  readonly last_failure?: string | null
}

/** What a worker asks of the administration of the engine. */
export class EngineAdmin {
  readonly #base: string

  constructor(url: string) {
    this.#base = url.replace(/\/+$/, '')
  }

  /**
   * The engine knows the worker at this address from now on; one that it knows is asked again what it serves. Tries for a minute while the engine, or the
   * worker from the engine's side, is not there yet; `onWait` is told why, once for each reason.
   */
  async register(worker: string, signal?: AbortSignal, onWait: (because: string) => void = () => {}): Promise<void> {
    const until = performance.now() + patienceMs
    let told = ''
    for (;;) {
      try {
        await askAdmin(this.#base, { ...registration(worker), signal })
        return
      } catch (error) {
        signal?.throwIfAborted()
        const because = `${this.#base} did not take ${worker}: ${reasonOf(error)}`
        if (performance.now() > until) throw new Error(because, { cause: error })
        if (because !== told) onWait(because)
        told = because
      }
      await pause(betweenTriesMs, undefined, { signal })
    }
  }

  /** Why the engine does not know the worker at this address; undefined where it does. */
  async whyUnknown(worker: string): Promise<string | undefined> {
    try {
      // Its administration answers so.
      const { deployments } = (await askAdmin(this.#base, { path: '/deployments' })) as {
        deployments: readonly { uri?: string }[]
      }
      const isKnown = deployments.some(({ uri }) => uri !== undefined && sameAddress(uri, worker))
      return isKnown ? undefined : `the engine at ${this.#base} does not know ${worker}`
    } catch (error) {
      return `the engine at ${this.#base} does not answer: ${reasonOf(error)}`
    }
  }

  /** Where new sessions go; undefined while that is nowhere. */
  async latest(): Promise<Deployment | undefined> {
    // Its administration answers so.
    const service = (await askAdmin(this.#base, { path: `/services/${sessionObject}` })) as ServiceRow
    const { deployments } = (await askAdmin(this.#base, { path: '/deployments' })) as {
      deployments: readonly { readonly id: string; readonly uri?: string }[]
    }
    const uri = deployments.find(({ id }) => id === service.deployment_id)?.uri
    return uri === undefined ? undefined : { id: service.deployment_id, uri, metadata: service.metadata }
  }

  /** What a worker says of itself. */
  async metadataOf(deployment: string): Promise<Metadata> {
    // Its administration answers so.
    const { services } = (await askAdmin(this.#base, { path: `/deployments/${deployment}` })) as {
      services: readonly ServiceRow[]
    }
    return services.find(({ name }) => name === sessionObject)?.metadata
  }

  /** Work that is tried again or paused; with `besides` also what is suspended and bound to another worker than that one. One query, however many sessions there are. */
  async workThatRests(besides?: string): Promise<readonly WorkOfSession[]> {
    const suspended = besides === undefined ? '' : ` OR (status = 'suspended' AND pinned_deployment_id <> '${besides}')`
    const rows = await rowsOf<WorkRow>(
      this.#base,
      `SELECT id, target_service_key, status, pinned_deployment_id, last_failure FROM sys_invocation WHERE target_service_name = '${sessionObject}' AND target_handler_name = 'work' AND (status IN ('backing-off', 'paused')${suspended})`,
    )
    return Promise.all(
      rows.map(async ({ id, status, target_service_key: sessionId, ...row }) => ({
        id,
        sessionId,
        status,
        deployment: row.pinned_deployment_id ?? null,
        failure: status === 'paused' ? await failureOf(this.#base, id) : (row.last_failure ?? null),
      })),
    )
  }

  /** Nothing happens where it is paused already, or is over. */
  async pause(invocation: string): Promise<void> {
    await this.#change(`/invocations/${invocation}/pause`)
  }

  /** Has the worker of this deployment go on with it. Nothing happens where it goes on already, or is not paused yet. */
  async resume(invocation: string, deployment: string): Promise<void> {
    await this.#change(`/invocations/${invocation}/resume?deployment=${deployment}`)
  }

  /** What it refuses is not to be done any more. */
  async #change(path: string): Promise<void> {
    await askAdmin(this.#base, { path, method: 'PATCH' }).catch((error: unknown) => {
      if (!/^\d{3} /.test(messageOf(error))) throw error
    })
  }
}

/** What the last attempt came to, of an invocation that is paused. */
async function failureOf(admin: string, invocation: string): Promise<string | null> {
  const paused = `SELECT event_json FROM sys_journal_events WHERE id = '${invocation}' AND event_type = 'Paused'`
  const event = (await rowsOf<{ readonly event_json: string }>(admin, paused)).at(-1)
  // The engine wrote it.
  const told = JSON.parse(event?.event_json ?? '{}') as { readonly last_failure?: { readonly error_message?: string } }
  return told.last_failure?.error_message ?? null
}

function registration(worker: string): AdminRequest {
  return { path: '/deployments', method: 'POST', body: { uri: worker, force: true }, answerMs: patienceMs }
}

/** `fetch` hides the reason behind its error. */
function reasonOf(error: unknown): string {
  return messageOf(error instanceof Error && error.cause !== undefined ? error.cause : error).trim()
}

export function sameAddress(a: string, b: string): boolean {
  return a.replace(/\/+$/, '') === b.replace(/\/+$/, '')
}
