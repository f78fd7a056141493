import { isDeepStrictEqual } from 'node:util'
import type { LimitsInForce, SessionSnapshot } from '@halting/core/session'
import type { SettingsChange } from '@halting/core'

type Settings = Pick<SessionSnapshot, 'model' | 'permissionMode' | 'thinking' | 'limits'>

interface Asked extends Partial<Omit<Settings, 'limits'>> {
  readonly limits?: Partial<LimitsInForce>
}

/**
 * What a client has set in a session.
 * S1: it is shown from when it was set, until a worker says the same; then what the worker says is shown. S2: it holds as long as the client has the session: a worker
 * opens the session for what it is asked for, so it is said again with what begins a run. S3: what the run itself changed afterwards, holds then.
 */
export class AskedSettings {
  #kept: Asked = {}
  /** What no worker has said yet. */
  #unheard: Asked = {}

  ask({ model, permissionMode, thinking, limits }: SettingsChange): void {
    const asked: Asked = {
      ...(typeof model === 'string' && { model }),
      ...(typeof permissionMode === 'string' && { permissionMode }),
      ...(thinking !== undefined && { thinking }),
      ...(limits !== undefined && { limits }),
    }
    this.#kept = merged(this.#kept, asked)
    this.#unheard = merged(this.#unheard, asked)
    // Which model is the usual one its worker knows.
    if (model === null) {
      const { model: _kept, ...kept } = this.#kept
      const { model: _unheard, ...unheard } = this.#unheard
      this.#kept = kept
      this.#unheard = unheard
    }
  }

  /** What is said again with what begins a run; undefined where nothing was set. */
  again(): SettingsChange | undefined {
    if (Object.keys(this.#kept).length === 0) return undefined
    this.#unheard = this.#kept
    return this.#kept
  }

  /** What a worker says stands. */
  hear(told: Settings): void {
    for (const name of names) {
      if (this.#kept[name] === undefined) continue
      if (this.#unheard[name] !== undefined && !isHeard(told, this.#unheard, name)) continue
      const { [name]: _heard, ...unheard } = this.#unheard
      this.#unheard = unheard
      this.#kept = { ...this.#kept, [name]: name === 'limits' ? limitsOf(this.#kept, told) : told[name] }
    }
  }

  /** A run is over that has heard of all. */
  end(): void {
    this.#unheard = {}
  }

  over<T extends Settings>(told: T): T {
    const { limits, ...others } = this.#unheard
    return { ...told, ...others, ...(limits !== undefined && { limits: { ...told.limits, ...limits } }) }
  }
}

const names = ['model', 'permissionMode', 'thinking', 'limits'] as const

function merged(before: Asked, { limits, ...others }: Asked): Asked {
  return { ...before, ...others, ...(limits !== undefined && { limits: { ...before.limits, ...limits } }) }
}

function isHeard(told: Settings, unheard: Asked, name: (typeof names)[number]): boolean {
  return name === 'limits'
    ? isDeepStrictEqual({ ...told.limits, ...unheard.limits }, { ...told.limits })
    : isDeepStrictEqual(told[name], unheard[name])
}

/** Those that were set, as they stand. */
function limitsOf({ limits = {} }: Asked, told: Settings): Partial<LimitsInForce> {
  // The names of a record over limits are those of limits.
  const set = Object.keys(limits) as readonly (keyof LimitsInForce)[]
  return Object.fromEntries(set.map((name) => [name, told.limits[name]]))
}
