import { isDeepStrictEqual } from 'node:util'
import type { LimitsInForce, SessionSnapshot } from '@halting/core/session'
import type { SettingsChange } from '@halting/core'

type Settings = Pick<SessionSnapshot, 'model' | 'permissionMode' | 'thinking' | 'limits'>

interface PartialSettings extends Partial<Omit<Settings, 'limits'>> {
  readonly limits?: Partial<LimitsInForce>
}

/**
 * Settings that a client has requested for a session.
 * S1: a setting is shown from the request until a worker confirms it; then the worker's value is shown.
 * S2: a setting applies for as long as the client has the session. A worker opens the session only for pending requests, so settings are resent with each request that begins a
 * run.
 * S3: a value that the run itself changes later wins.
 */
export class RequestedSettings {
  #requested: PartialSettings = {}
  /** Settings that no worker has confirmed yet. */
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
    // Only the worker knows which model is the default.
    if (model === null) {
      const { model: _kept, ...requestedSoFar } = this.#requested
      const { model: _unheard, ...unconfirmed } = this.#unconfirmed
      this.#requested = requestedSoFar
      this.#unconfirmed = unconfirmed
    }
  }

  /** The settings to resend with a request that begins a run; undefined if none were requested. */
  settingsToResend(): SettingsChange | undefined {
    if (Object.keys(this.#requested).length === 0) return undefined
    this.#unconfirmed = this.#requested
    return this.#requested
  }

  /** Compares the settings that a worker reports with those that were requested. */
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

  /** Called when a run has ended that had received all settings. */
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

/** The requested limits, with their current values. */
function confirmedLimits({ limits = {} }: PartialSettings, fromWorker: Settings): Partial<LimitsInForce> {
  // This cast is safe: the keys of a record of limits are the names of limits.
  const set = Object.keys(limits) as readonly (keyof LimitsInForce)[]
  return Object.fromEntries(set.map((name) => [name, fromWorker.limits[name]]))
}
