import { setTimeout as pause } from 'node:timers/promises'
import { isJsonObject } from '@halting/core/adapters'
import { findSetAsideMessage } from '../attempts/set-aside.ts'
import { storageFormat } from '../engine/format.ts'
import type { Opening } from '../service/messages.ts'
import { mailboxObject, sessionObject } from '../service/names.ts'
import { readMetadata } from '../service/session-metadata.ts'
import type { BoundInvocation, EngineAdmin } from './engine-admin.ts'
import type { WorkerListener } from './worker-events.ts'

/** Maximum number of concurrent admin requests. */
const maxConcurrent = 16
/** The engine pauses work that is being retried at once, but reports it a moment later. */
const triesUntilPaused = 10
const betweenTriesMs = 50

/** A session whose worker is lost. */
export interface SessionToMove {
  /** Id of the session. */
  readonly sessionId: string
  /** The opening that came with its first request. */
  readonly opening: Opening
  /** Whether the session has no records yet, so that no worker has a folder for it that matters. */
  readonly isNew: boolean
}

export interface LostWorkOptions {
  readonly admin: Pick<
    EngineAdmin,
    | 'announce'
    | 'boundTo'
    | 'failureOf'
    | 'metadataOf'
    | 'pause'
    | 'reaches'
    | 'readdress'
    | 'resume'
    | 'retryNow'
    | 'stateOf'
  >
  readonly report: WorkerListener
  /** Whether this worker has what it needs to continue a session. Default: always. */
  readonly canOpen?: ((session: SessionToMove) => boolean | Promise<boolean>) | undefined
}

/** The work bound to one registration of a lost worker. */
export interface LostBinding {
  readonly address: string
  /** Id of the registration. */
  readonly name: string
  readonly bound: readonly BoundInvocation[]
  /** Whether the registration also serves other programs, whose calls would be sent here. */
  readonly isShared: boolean
  /** A registration of this worker; `url` is its address. */
  readonly ownDeployment: string
  readonly url: string
}

/** Why work stays with a lost worker. */
type WhyItStays = 'folder' | 'format' | 'nobody'

export interface StayingWork {
  readonly why: WhyItStays
  readonly bound: readonly BoundInvocation[]
}

/** Takes over the work bound to a lost worker. */
export class LostWork {
  readonly #options: LostWorkOptions

  constructor(options: LostWorkOptions) {
    this.#options = options
  }

  /** Takes over the work that this worker can continue. Returns the work that stays with the lost worker, and why. */
  async take(lost: LostBinding): Promise<StayingWork> {
    const { admin, report } = this.#options
    const { name, bound, isShared, address, url } = lost
    if (bound.length === 0) return { why: 'folder', bound }
    if ((readMetadata(await admin.metadataOf(name)).format ?? Infinity) > storageFormat) return { why: 'format', bound }
    const openable = await this.#openable(bound)
    const isStaying = ({ sessionId }: BoundInvocation): boolean => sessionId !== undefined && !openable.has(sessionId)
    const staying = bound.filter(isStaying)
    const moved = new Set<string>()
    if (staying.length === 0 && !isShared) {
      await admin.readdress(name, url)
      for (const { id } of bound) moved.add(id)
      await this.retry(bound)
    } else
      await inBatches(
        bound.filter((each) => !isStaying(each)),
        async (each) => {
          if (await this.#takeOne(each, lost)) moved.add(each.id)
        },
      )
    for (const { id, sessionId } of bound)
      if (sessionId !== undefined && moved.has(id))
        report({ type: 'session_moved', session: sessionId, from: address, to: url })
    return { why: 'folder', bound: staying }
  }

  /** Makes the engine retry work now that it would retry later. */
  async retry(bound: readonly BoundInvocation[]): Promise<void> {
    await inBatches(
      bound.filter(({ status }) => status === 'backing-off'),
      ({ id }) => this.#options.admin.retryNow(id),
    )
  }

  async #takeOne({ id, status }: BoundInvocation, { address, ownDeployment: here }: LostBinding): Promise<boolean> {
    const { admin } = this.#options
    switch (status) {
      case 'suspended':
        return admin.resume(id, here)
      case 'backing-off':
        await admin.pause(id)
        break
      case 'paused':
        // The work was paused by a worker that was lost before it resumed the work. Work that was paused for another reason stays paused.
        if (!isPausedForMove(await admin.failureOf(id), address)) return false
        break
      default:
        return false
    }
    for (let left = triesUntilPaused; left > 0; left--) {
      if (await admin.resume(id, here)) return true
      await pause(betweenTriesMs)
    }
    return false
  }

  /** The sessions for which this worker has everything that it needs. */
  async #openable(bound: readonly BoundInvocation[]): Promise<ReadonlySet<string>> {
    const { admin, canOpen } = this.#options
    const sessions = bound.flatMap(({ sessionId }) => (sessionId === undefined ? [] : [sessionId]))
    if (canOpen === undefined || sessions.length === 0) return new Set(sessions)
    const openings = await admin.stateOf(mailboxObject, 'opening', sessions)
    const statuses = await admin.stateOf(sessionObject, 'status', sessions)
    const openable = new Set<string>()
    await inBatches(sessions, async (sessionId) => {
      const opening = parseObject(openings.get(sessionId))
      const isNew = !(Number(parseObject(statuses.get(sessionId))['records']) > 0)
      if (await canOpen({ sessionId, opening, isNew })) openable.add(sessionId)
    })
    return openable
  }
}

/** The failure of a session that is set aside may also name a worker; that session waits for a person to release it. */
function isPausedForMove(failure: string | null, address: string): boolean {
  return failure?.includes(`'${address}/`) === true && findSetAsideMessage(failure) === undefined
}

function parseObject(text: string | undefined): Opening {
  const value: unknown = JSON.parse(text ?? '{}')
  return isJsonObject(value) ? value : {}
}

async function inBatches<T>(all: readonly T[], each: (one: T) => Promise<void>): Promise<void> {
  for (let at = 0; at < all.length; at += maxConcurrent) await Promise.all(all.slice(at, at + maxConcurrent).map(each))
}
