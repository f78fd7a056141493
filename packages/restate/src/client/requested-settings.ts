import { isDeepStrictEqual } from 'node:util'
import type { LimitsInForce, SessionSnapshot } from '@halting/core/session'
import type { SettingsChange } from '@halting/core'

type Settings = Pick<SessionSnapshot, 'model' | 'permissionMode' | 'thinking' | 'limits'>

interface PartialSettings extends Partial<Omit<Settings, 'limits'>> {
  readonly limits?: Partial<LimitsInForce>
}

/**
 * What a client has set in a session.
 * S1: it is shown from when it was set, until a worker says the same; then what the worker says is shown. S2: it holds as long as the client has the session: a worker
 * opens the session for what it is asked for, so it is said again with what begins a run. S3: what the run itself changed afterwards, holds then.
 */
export class RequestedSettings {
  #requested: PartialSettings = {}
  /** What no worker has said yet. */
  #unconfirmed: PartialSettings = {}

  request({ model, permissionMode, thinking, limits }: SettingsChange): void {
    const requested: PartialSettings = {
      ...(typeof model === 'string' && { model }),
      ...(typeof permissionMode === 'string' && { permissionMode }),
      ...(thinking !== undefined && { thinking }),
      ...(limits !== undefined && { limits }),
    }
    this.#requested = mergeSettings(this.#requested, requested)
    this.#unconfirmed = mergeSettings(this.#unconfirmed, requested)
    // Which model is the usual one its worker knows.
    if (model === null) {
      const { model: _kept, ...requestedSoFar } = this.#requested
      const { model: _unheard, ...unconfirmed } = this.#unconfirmed
      this.#requested = requestedSoFar
      this.#unconfirmed = unconfirmed
    }
  }

  /** What is said again with what begins a run; undefined where nothing was set. */
  settingsToResend(): SettingsChange | undefined {
    if (Object.keys(this.#requested).length === 0) return undefined
    this.#unconfirmed = this.#requested
    return this.#requested
  }

  /** What a worker says stands. */
  onWorkerSettings(fromWorker: Settings): void {
    for (const name of names) {
      if (this.#requested[name] === undefined) continue
      if (this.#unconfirmed[name] !== undefined && !isConfirmed(fromWorker, this.#unconfirmed, name)) continue
      const { [name]: _heard, ...unconfirmed } = this.#unconfirmed
      this.#unconfirmed = unconfirmed
      this.#requested = {
        ...this.#requested,
        [name]: name === 'limits' ? confirmedLimits(this.#requested, fromWorker) : fromWorker[name],
      }
    }
  }

  /** A run is over that has heard of all. */
  end(): void {
    this.#unconfirmed = {}
  }

  applyTo<T extends Settings>(fromWorker: T): T {
    const { limits, ...others } = this.#unconfirmed
    return { ...fromWorker, ...others, ...(limits !== undefined && { limits: { ...fromWorker.limits, ...limits } }) }
  }
}

const names = ['model', 'permissionMode', 'thinking', 'limits'] as const

function mergeSettings(before: PartialSettings, { limits, ...others }: PartialSettings): PartialSettings {
  return { ...before, ...others, ...(limits !== undefined && { limits: { ...before.limits, ...limits } }) }
}

function isConfirmed(fromWorker: Settings, unconfirmed: PartialSettings, name: (typeof names)[number]): boolean {
  return name === 'limits'
    ? isDeepStrictEqual({ ...fromWorker.limits, ...unconfirmed.limits }, { ...fromWorker.limits })
    : isDeepStrictEqual(fromWorker[name], unconfirmed[name])
}

/** Those that were set, as they stand. */
function confirmedLimits({ limits = {} }: PartialSettings, fromWorker: Settings): Partial<LimitsInForce> {
  // The names of a record over limits are those of limits.
  const set = Object.keys(limits) as readonly (keyof LimitsInForce)[]
  return Object.fromEntries(set.map((name) => [name, fromWorker.limits[name]]))
}
