import { sessionMetadata } from '../../src/service/session-metadata.ts'
import type { BoundInvocation } from '../../src/worker/engine-admin.ts'
import type { EngineSnapshot } from '../../src/worker/engine-watch.ts'
import type { LostWorkersOptions } from '../../src/worker/lost-workers.ts'

/** The work at a session, as the engine has it. */
export interface FakeWork {
  deployment: string | null
  status: 'running' | 'suspended' | 'backing-off' | 'paused'
  /** The worker of its running attempt. */
  at: string | undefined
  failure: string | null
}

/** An engine as seen through its admin API: workers by address, and work bound to their registrations. */
export class FakeAdmin {
  readonly deployments = new Map<string, { uri: string; readonly metadata: Record<string, string> }>()
  readonly work = new Map<string, FakeWork>()
  readonly living = new Set<string>()
  /** Registrations that also serve other programs. */
  readonly shared = new Set<string>()
  readonly newSessions = new Set<string>()
  /** Running attempts that had to end. */
  readonly interrupted: string[] = []
  latest = ''
  readonly changes: string[] = []

  add(name: string, uri: string, format?: number): void {
    const metadata = sessionMetadata(false)
    this.deployments.set(name, {
      uri,
      metadata: format === undefined ? metadata : { 'halting.format': String(format) },
    })
    this.latest = name
    this.living.add(uri)
  }

  bind(session: string, deployment: string | null, status: FakeWork['status']): void {
    const at = status === 'running' ? this.deployments.get(deployment ?? '')?.uri : undefined
    this.work.set(session, { deployment, status, at, failure: null })
  }

  /** Its attempts fail, now and later. */
  lose(uri: string): void {
    this.living.delete(uri)
    for (const work of this.work.values()) if (work.at === uri) this.#fail(work, uri)
  }

  /** The engine retries what it retries. */
  attempt(): void {
    for (const [session, work] of this.work) if (work.status === 'backing-off') this.#attempt(session, work)
  }

  #fail(work: FakeWork, uri: string): void {
    Object.assign(work, { status: 'backing-off', at: undefined, failure: `error when calling '${uri}/'` })
  }

  #attempt(_session: string, work: FakeWork): void {
    const name = work.deployment ?? this.latest
    const uri = this.deployments.get(name)?.uri ?? ''
    if (!this.living.has(uri)) return this.#fail(work, uri)
    Object.assign(work, { status: 'running', at: uri, deployment: name, failure: null })
  }

  /** What a worker sees in its next look. */
  seenBy(url: string): EngineSnapshot {
    const all = [...this.deployments].map(([id, { uri }]) => ({ id, uri, isShared: this.shared.has(id) }))
    const latest = this.deployments.get(this.latest)
    return {
      latest: { id: this.latest, uri: latest?.uri ?? '', metadata: latest?.metadata },
      isHere: latest?.uri === url,
      takesOver: false,
      format: 1,
      url,
      deployments: all,
      ownDeployments: all.filter(({ uri }) => uri === url).map(({ id }) => id),
      resting: [],
    }
  }

  /** The admin API. Each answer takes a turn of the event loop, so that workers interleave. */
  get asked(): LostWorkersOptions['admin'] {
    const soon = async <T>(what: () => T): Promise<T> => {
      await new Promise(setImmediate)
      return what()
    }
    return {
      announce: (url) => soon(() => this.#announce(url)),
      boundTo: (names) => soon(() => this.#boundTo(names)),
      failureOf: (id) => soon(() => this.work.get(id)?.failure ?? null),
      metadataOf: (name) => soon(() => this.deployments.get(name)?.metadata),
      pause: (id) => soon(() => this.#pause(id)),
      reaches: (url) => soon(() => this.living.has(url)),
      readdress: (name, uri) => soon(() => this.#readdress(name, uri)),
      resume: (id, name) => soon(() => this.#resume(id, name)),
      retryNow: (id) => soon(() => this.#retry(id)),
      stateOf: (_object, key, sessions) =>
        soon(() =>
          key === 'status'
            ? new Map(sessions.map((id) => [id, JSON.stringify({ records: this.newSessions.has(id) ? 0 : 7 })]))
            : new Map(),
        ),
    }
  }

  #announce(url: string): void {
    this.changes.push(`announce ${url}`)
    this.latest = [...this.deployments].find(([, { uri }]) => uri === url)?.[0] ?? this.latest
  }

  #boundTo(names: readonly string[]): readonly BoundInvocation[] {
    return [...this.work].flatMap(([id, { deployment, status }]) => {
      const name = deployment ?? (status === 'backing-off' ? this.latest : undefined)
      if (name === undefined || !names.includes(name)) return []
      return [{ id, sessionId: id, status, deployment: name, isFree: deployment === null }]
    })
  }

  #pause(id: string): void {
    const work = this.work.get(id)
    if (work === undefined || work.status === 'suspended') return
    this.changes.push(`pause ${id}`)
    if (work.status === 'running') this.interrupted.push(id)
    Object.assign(work, { status: 'paused', at: undefined })
  }

  #readdress(name: string, uri: string): void {
    this.changes.push(`readdress ${name} ${uri}`)
    const deployment = this.deployments.get(name)
    if (deployment !== undefined) deployment.uri = uri
  }

  #resume(id: string, name: string): boolean {
    const work = this.work.get(id)
    if (work === undefined || work.status === 'running' || work.status === 'backing-off') return false
    this.changes.push(`resume ${id} ${name}`)
    work.deployment = name
    this.#attempt(id, work)
    return true
  }

  #retry(id: string): void {
    const work = this.work.get(id)
    if (work?.status === 'backing-off') this.#attempt(id, work)
  }
}
