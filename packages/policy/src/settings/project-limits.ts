import { ConfigurationError } from '@halting/core'
import { durationMs, isJsonObject, longestDurationMs } from '@halting/core/adapters'
import { excludeFromGit } from '../git/exclude.ts'
import type { checkFile } from './check-file.ts'
import type { DefaultLimits } from './fields.ts'
import { withValue } from './json-edit.ts'
import { checkInProject } from './store-permissions.ts'
import { changeSettingsFile, settingsFileText } from './settings-file.ts'
import { type PlacesOptions, settingsPlaces } from './places.ts'
import { readSettingsFiles } from './read-files.ts'

const limitNames = ['maxRunUsd', 'maxTokens', 'maxDuration', 'maxTurns'] as const

/** Limits of a run, as in `limits` of the settings. */
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

/** A limit to be saved. JSON. */
export interface SavedLimit {
  /** Its name in `limits`. */
  readonly name: keyof ProjectLimits
  /** The limit. */
  readonly value: number | string
  /** The previous value in the file; absent if there was none. */
  readonly before?: number | string | null
  /** Why it was not written, as it would have no effect; absent if it was written. */
  readonly notWritten?: string
}

/** The result of saving limits. JSON. */
export interface SavedLimits {
  /** The settings file. */
  readonly path: string
  /** The limits, in the order of their names in `ProjectLimits`. */
  readonly limits: readonly SavedLimit[]
}

// Spec R-CALIB-9.
/**
 * Writes limits to the person's settings of one project (`.halting/settings.local.json`). The rest of the file is preserved as written, and after a
 * crash the file is either the old or the new one. A limit is not written if a lower one applies: of an administrator, of the person, of another
 * file of the project, or by default.
 * @throws ConfigurationError for a file that cannot be changed, that prevents a run from starting, or that is outside of the project, and in the
 * person's home folder.
 */
export async function saveProjectLimits(
  limits: ProjectLimits,
  options: PlacesOptions & {
    /** Limits that apply if no file sets one. */
    readonly defaultLimits?: DefaultLimits
  },
): Promise<SavedLimits> {
  const path = settingsPlaces(options).find(({ level }) => level === 'local')?.path
  if (path === undefined)
    throw new ConfigurationError('Your home folder is not a project. Set the limits in your own settings.')
  checkInProject(path, options.cwd)
  // Loaded on demand, because zod is large.
  const { checkFile: check } = await import('./check-file.ts')
  // Problems of this file are reported first, as for every change of settings.
  await settingsFileText(path)
  const notWritten = await lowerLimits(limits, path, options)
  const wanted = limitNames.flatMap((name) => {
    const value = limits[name]
    return value === undefined ? [] : [{ name, value, why: notWritten.get(name) }]
  })
  const isAny = wanted.some(({ why }) => why === undefined)
  let before: Readonly<Record<string, unknown>> = {}
  const changed = (text: string): string => {
    before = limitsIn(text, path)
    const next = wanted.reduce(
      (now, { name, value, why }) => (why === undefined ? withValue(now, ['limits', name], value) : now),
      text,
    )
    checkIsLoadable(next, path, options.cwd, check)
    return next
  }
  // The settings file is personal and must not be part of the person's commits.
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

/** Why limits would have no effect, by name: another file has a lower one. */
async function lowerLimits(
  limits: ProjectLimits,
  path: string,
  { defaultLimits = {}, ...options }: Parameters<typeof saveProjectLimits>[1],
): Promise<ReadonlyMap<string, string>> {
  const files = (await readSettingsFiles(options)).filter(({ name }) => name !== path)
  const { mergeReadFiles } = await import('./merge-read-files.ts')
  const { settings, origins } = await mergeReadFiles(files, { ...options, defaultLimits })
  const ofProject = new Set(
    files.filter(({ level }) => level === 'local' || level === 'project').map(({ name }) => name),
  )
  const found = new Map<string, string>()
  for (const name of limitNames) {
    const given = limits[name]
    if (given === undefined) continue
    const value = typeof given === 'string' ? (durationMs(given) ?? Infinity) : given
    const own = settings.limits?.[name]
    const max = own === undefined ? (defaultLimits[name]?.value ?? Infinity) : (own ?? Infinity)
    const origin = origins.find(({ setting }) => setting === `limits.${name}`)
    const from = (own === undefined ? defaultLimits[name]?.from : origin?.from) ?? 'settings'
    const shown = own === undefined ? max : String(origin?.value)
    const why = ofProject.has(from) ? 'a lower limit applies' : 'a project cannot raise a limit'
    if (value > max) found.set(name, `${why} (${shown}, from ${from})`)
    else if (name === 'maxDuration' && value > longestDurationMs) found.set(name, 'a run lasts at most 24 days')
  }
  return found
}

/** @throws ConfigurationError for limits that prevent a run from starting, for example with a misspelled name. */
function checkIsLoadable(text: string, path: string, cwd: string, check: typeof checkFile): void {
  const json = text.replace(/^\uFEFF/, '')
  const content: unknown = JSON.parse(json)
  if (!isJsonObject(content)) return
  const { problems } = check({ level: 'local', name: path, projectDirectory: cwd, content, json })
  const found = problems.find(({ field, stops }) => stops && (field === 'limits' || field === 'file'))
  if (found !== undefined) throw new ConfigurationError(`${found.text} Nothing was changed.`)
}

function limitsIn(text: string, path: string): Readonly<Record<string, unknown>> {
  const content: unknown = text.trim() === '' ? {} : JSON.parse(text.replace(/^\uFEFF/, ''))
  const found = isJsonObject(content) ? (content['limits'] ?? {}) : {}
  if (isJsonObject(found)) return found
  throw new ConfigurationError(`limits in ${path} is not an object. Nothing was changed; fix it first.`)
}
