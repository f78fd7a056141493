import { ConfigurationError } from '@halting/core'
import { durationMs, isJsonObject, longestDurationMs } from '@halting/core/adapters'
import { excludeFromGit } from '../git/exclude.ts'
import type { DefaultLimits } from './fields.ts'
import { withValue } from './json-edit.ts'
import { checkInProject } from './keep-permissions.ts'
import { changeSettingsFile } from './own-settings.ts'
import { type PlacesOptions, settingsPlaces } from './places.ts'
import { loadSettings } from './settings.ts'

const limitNames = ['maxRunUsd', 'maxTokens', 'maxDuration', 'maxTurns'] as const

/** Limits of a run, as `limits` in settings has them. */
export interface ProjectLimits {
  /** US dollars. */
  readonly maxRunUsd?: number
  /** Input and output tokens. */
  readonly maxTokens?: number
  /** A duration with its units, such as `1h30m`. */
  readonly maxDuration?: string
  /** Turns. */
  readonly maxTurns?: number
}

/** One limit that was to be saved. JSON. */
export interface SavedLimit {
  /** Its name below `limits`. */
  readonly name: keyof ProjectLimits
  /** The limit. */
  readonly value: number | string
  /** What the file had; absent where it had none. */
  readonly before?: number | string | null
  /** Why it was not written, since it would not count; absent where it was. */
  readonly notWritten?: string
}

/** What became of limits that were to be saved. JSON. */
export interface SavedLimits {
  /** The settings file. */
  readonly path: string
  /** The limits, in the order of their names in `ProjectLimits`. */
  readonly limits: readonly SavedLimit[]
}

// Spec R-CALIB-9.
/**
 * Writes limits into the settings that a person has for one project (`.halting/settings.local.json`). The rest of the file stays as it was written, and a crash
 * leaves the old file or the new one. What an administrator, the person's own settings or a default holds lower is not written: a project raises no limit.
 * @throws ConfigurationError for a file that cannot be changed, for one that leads out of the project, and in the person's home folder.
 */
export async function saveProjectLimits(
  limits: ProjectLimits,
  options: PlacesOptions & {
    /** Limits that hold where no file has one. */
    readonly defaultLimits?: DefaultLimits
  },
): Promise<SavedLimits> {
  const path = settingsPlaces(options).find(({ level }) => level === 'local')?.path
  if (path === undefined)
    throw new ConfigurationError('Your home folder is not a project. Set the limits in your own settings.')
  checkInProject(path, options.cwd)
  const notWritten = await ceilings(limits, options)
  const wanted = limitNames.flatMap((name) => {
    const value = limits[name]
    return value === undefined ? [] : [{ name, value, why: notWritten.get(name) }]
  })
  const isAny = wanted.some(({ why }) => why === undefined)
  let before: Readonly<Record<string, unknown>> = {}
  const changed = (text: string): string => {
    before = limitsIn(text, path)
    return wanted.reduce(
      (now, { name, value, why }) => (why === undefined ? withValue(now, ['limits', name], value) : now),
      text,
    )
  }
  // Of this person alone: it is none of the changes that they commit.
  if (isAny) await excludeFromGit(path)
  if (isAny) await changeSettingsFile(path, changed)
  return {
    path,
    limits: wanted.map(({ name, value, why }) => {
      const had = before[name]
      const isWritten = typeof had === 'number' || typeof had === 'string' || had === null
      return { name, value, ...(isWritten && { before: had }), ...(why !== undefined && { notWritten: why }) }
    }),
  }
}

/** Why limits would not count, by their names: a lower one holds that is not the project's. */
async function ceilings(
  limits: ProjectLimits,
  { defaultLimits = {}, ...options }: Parameters<typeof saveProjectLimits>[1],
): Promise<ReadonlyMap<string, string>> {
  const { settings, origins } = await loadSettings({ ...options, sources: ['user'] })
  const found = new Map<string, string>()
  for (const name of limitNames) {
    const given = limits[name]
    if (given === undefined) continue
    const value = typeof given === 'string' ? (durationMs(given) ?? Infinity) : given
    const own = settings.limits?.[name]
    const max = own === undefined ? (defaultLimits[name]?.value ?? Infinity) : (own ?? Infinity)
    const origin = origins.find(({ setting }) => setting === `limits.${name}`)
    const from = own === undefined ? defaultLimits[name]?.from : origin?.from
    const shown = own === undefined ? max : String(origin?.value)
    if (value > max) found.set(name, `a project cannot raise a limit (${shown}, from ${from ?? 'settings'})`)
    else if (name === 'maxDuration' && value > longestDurationMs) found.set(name, 'a run lasts at most 24 days')
  }
  return found
}

function limitsIn(text: string, path: string): Readonly<Record<string, unknown>> {
  const content: unknown = text.trim() === '' ? {} : JSON.parse(text.replace(/^\uFEFF/, ''))
  const found = isJsonObject(content) ? (content['limits'] ?? {}) : {}
  if (isJsonObject(found)) return found
  throw new ConfigurationError(`limits in ${path} is not an object. Nothing was changed; fix it first.`)
}
