import { readFile, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { ConfigurationError } from '@halting/core'
import { isJsonObject, messageOf } from '@halting/core/adapters'
import type { JsonObject } from '@halting/core'
import { settingsPlaces } from './places.ts'
import type { PlacesOptions, SettingsLevel, SettingsPlace } from './places.ts'

/** What settings files say of what this version serves. */
export interface Settings {
  /** A command that prints an API key. */
  readonly apiKeyHelper?: string
  /** Prices by model id, as each file gives them, the most urgent first. Not checked yet. */
  readonly modelPrices?: readonly JsonObject[]
  /** Sessions that were not touched for so many days are removed; 30 when absent. */
  readonly cleanupPeriodDays?: number
  /** Known secrets are taken out of what tools give. */
  readonly redactSecrets?: boolean
  /** Whether what files were is kept before they are changed; it is when absent. */
  readonly fileCheckpointingEnabled?: boolean
}

export interface LoadedSettings {
  readonly settings: Settings
  /** What a person should know: a setting that is there and does not count. */
  readonly warnings: readonly string[]
  /** The files that were found, the most urgent first. */
  readonly files: readonly FoundFile[]
}

/** A settings file that is there, or what `--settings` gives. */
export interface FoundFile {
  readonly level: SettingsLevel
  readonly name: string
  /** Keys that count. */
  readonly served: readonly string[]
  /** Keys that this version does not serve yet, and keys that do not count in a file of this level. */
  readonly passedOver: readonly string[]
}

export interface LoadOptions extends PlacesOptions {
  /** What `--settings` gives: a file, or JSON itself. */
  readonly given?: string | undefined
}

interface SettingsFile {
  readonly level: SettingsLevel
  readonly name: string
  readonly content: JsonObject
  /** Set for a file that is passed over as a whole: why. */
  readonly problem?: string
}

const served = [
  'apiKeyHelper',
  'modelPrices',
  'cleanupPeriodDays',
  'redactSecrets',
  'fileCheckpointingEnabled',
] as const

/**
 * Reads the settings files, the most urgent first (see `settingsPlaces`). What runs a command, sets a price or removes sessions counts
 * only where the person or an administrator wrote it: a project that was cloned must not decide that. It may ask for secrets to be taken out.
 * @throws ConfigurationError for a file that is not readable, no JSON, or holds a value of the wrong kind. One that is
 * no JSON and belongs to another user is that user's to mend: it is passed over, and told.
 */
export async function loadSettings(options: LoadOptions): Promise<LoadedSettings> {
  const files = await readFiles(options)
  const warnings: string[] = []
  let settings: Settings = {}
  let asksForRedaction = false
  for (const file of files) {
    if (file.problem !== undefined) warnings.push(file.problem)
    warnings.push(...unserved(file))
    if (isOfProject(file)) {
      for (const name of served)
        if (file.content[name] !== undefined && !tightens(name, file)) warnings.push(notFromProject(name, file))
      asksForRedaction ||= tightens('redactSecrets', file)
      continue
    }
    const { modelPrices = [], ...single } = settingsOf(file)
    const prices = [...(settings.modelPrices ?? []), ...modelPrices]
    settings = {
      ...single,
      ...settings,
      ...(prices.length > 0 && { modelPrices: prices }),
    }
  }
  if (asksForRedaction) settings = { ...settings, redactSecrets: true }
  return { settings, warnings, files: files.map(foundFile) }
}

function foundFile(file: SettingsFile): FoundFile {
  const { level, name, content } = file
  const counts = (key: string): boolean => isServed(key) && (!isOfProject(file) || tightens(key, file))
  const keys = Object.keys(content)
  return { level, name, served: keys.filter(counts), passedOver: keys.filter((key) => !counts(key)) }
}

function isServed(key: string): boolean {
  return served.some((one) => one === key)
}

/** What a project may say: nothing is lost or run by it. */
function tightens(key: string, { content }: SettingsFile): boolean {
  return key === 'redactSecrets' && content[key] === true
}

function isOfProject({ level }: Pick<SettingsFile, 'level'>): boolean {
  return level === 'project' || level === 'local'
}

function notFromProject(setting: string, { name }: SettingsFile): string {
  return `${setting} in ${name} does not count: it is read from your own settings and from --settings only.`
}

/** Says nothing of settings: for the editor that a person writes them with. */
const forEditors: ReadonlySet<string> = new Set(['$schema'])

/** Nothing that a person wrote down is passed over in silence. */
function unserved({ name, content }: SettingsFile): readonly string[] {
  const others = Object.keys(content).filter((key) => !isServed(key) && !forEditors.has(key))
  if (others.length === 0) return []
  return [`${name} holds what this version does not serve yet: ${others.join(', ')}. It is passed over.`]
}

async function readFiles(options: LoadOptions): Promise<readonly SettingsFile[]> {
  const { given, cwd } = options
  const places = settingsPlaces(options)
  const found = await Promise.all(
    places.map(async ({ level, path }): Promise<SettingsFile | undefined> => {
      const text = await readIfThere(path)
      return text === undefined ? undefined : readPlace({ level, path }, text)
    }),
  )
  const files = found.filter((file) => file !== undefined)
  if (given === undefined) return files
  const flag = await readGiven(given, cwd)
  return [
    ...files.filter(({ level }) => level === 'managed'),
    flag,
    ...files.filter(({ level }) => level !== 'managed'),
  ]
}

async function readGiven(given: string, cwd: string): Promise<SettingsFile> {
  if (given.trimStart().startsWith('{')) {
    return { level: 'flag', name: '--settings', content: parse(given, 'What --settings gives') }
  }
  const path = resolve(cwd, given)
  const text = await readIfThere(path)
  if (text === undefined) {
    throw new ConfigurationError(`--settings takes a file that is there, or JSON; "${given}" is neither.`)
  }
  return { level: 'flag', name: given, content: parse(text, given) }
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (thrown) {
    const code = thrown instanceof Error && 'code' in thrown ? thrown.code : undefined
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    throw new ConfigurationError(`The settings in ${path} cannot be read: ${messageOf(thrown)}.`)
  }
}

async function readPlace({ level, path }: SettingsPlace, text: string): Promise<SettingsFile> {
  try {
    return { level, name: path, content: parse(text, path) }
  } catch (thrown) {
    // What an administrator wrote binds: it is not passed over.
    if (level === 'managed' || !(await isOfAnotherUser(path))) throw thrown
    return {
      level,
      name: path,
      content: {},
      problem: `${messageOf(thrown)} It belongs to another user, and is passed over.`,
    }
  }
}

async function isOfAnotherUser(path: string): Promise<boolean> {
  const own = process.getuid?.()
  return own !== undefined && (await stat(path)).uid !== own
}

function parse(text: string, name: string): JsonObject {
  if (text.trim() === '') return {}
  let value: unknown
  try {
    // Some editors begin a file with a mark of its encoding.
    value = JSON.parse(text.replace(/^\uFEFF/, ''))
  } catch (thrown) {
    throw new ConfigurationError(`${name} is no JSON: ${messageOf(thrown)}. Mend it, or take it away.`)
  }
  if (!isJsonObject(value)) throw new ConfigurationError(`${name} must hold one JSON object.`)
  return value
}

/** @throws ConfigurationError */
function settingsOf({ name, content }: SettingsFile): Settings {
  const { apiKeyHelper, modelPrices, cleanupPeriodDays, redactSecrets, fileCheckpointingEnabled } = content
  if (apiKeyHelper !== undefined && (typeof apiKeyHelper !== 'string' || apiKeyHelper.trim() === '')) {
    throw new ConfigurationError(`apiKeyHelper in ${name} must be a command, as text.`)
  }
  if (modelPrices !== undefined && !isJsonObject(modelPrices)) {
    throw new ConfigurationError(`modelPrices in ${name} must be an object: prices by model id.`)
  }
  if (cleanupPeriodDays !== undefined && !isDays(cleanupPeriodDays)) {
    throw new ConfigurationError(
      `cleanupPeriodDays in ${name} must be a whole number of days from 1 on: sessions that were not touched for so long are removed. ` +
        'A large one, such as 3650, keeps them; --no-session-persistence keeps none.',
    )
  }
  if (redactSecrets !== undefined && typeof redactSecrets !== 'boolean') {
    throw new ConfigurationError(`redactSecrets in ${name} must be true or false.`)
  }
  if (fileCheckpointingEnabled !== undefined && typeof fileCheckpointingEnabled !== 'boolean') {
    throw new ConfigurationError(`fileCheckpointingEnabled in ${name} must be true or false.`)
  }
  return {
    ...(apiKeyHelper !== undefined && { apiKeyHelper }),
    ...(fileCheckpointingEnabled !== undefined && { fileCheckpointingEnabled }),
    ...(modelPrices !== undefined && { modelPrices: [modelPrices] }),
    ...(cleanupPeriodDays !== undefined && { cleanupPeriodDays }),
    ...(redactSecrets !== undefined && { redactSecrets }),
  }
}

function isDays(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 1
}
