import { statSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { ConfigurationError, type Json, type JsonObject } from '@halting/core'
import { isJsonObject, messageOf } from '@halting/core/adapters'
import { boundedFile } from '@halting/journal/files'
import type { SettingsText } from './check-file.ts'
import { mcpPlaces } from './mcp-files.ts'
import {
  type PlacesOptions,
  type SettingsLevel,
  type SettingsPlace,
  settingsPlaces,
  type SettingSource,
} from './places.ts'

/** Which settings files are read. */
export interface ReadOptions extends PlacesOptions {
  /** What `--settings` gives: a file, or JSON itself. */
  readonly given?: string | undefined
  /** Settings that a flag of their own sets: they count before `given`. */
  readonly chosen?:
    | {
        /** The flag that sets them, for messages. */
        readonly name: string
        /** The settings. */
        readonly content: JsonObject
      }
    | undefined
  /** The levels that count beside an administrator's and the command line's; all when absent. */
  readonly sources?: readonly SettingSource[] | undefined
  /** Fields of the person's own files that count although `sources` leaves these out. */
  readonly alwaysOwn?: readonly string[] | undefined
}

/** A file that is there, or why all of it is passed over. */
export type ReadFile = SettingsText & { readonly problem?: string }

/** Reads the files that are there, the most urgent first. @throws ConfigurationError for one that cannot be read or is no JSON. */
export async function readSettingsFiles(options: ReadOptions): Promise<readonly ReadFile[]> {
  const { given, chosen, cwd, sources, alwaysOwn = [] } = options
  const isWanted = (level: SettingsLevel): boolean =>
    level === 'managed' || sources === undefined || sources.some((source) => source === level)
  const isPartly = (level: SettingsLevel): boolean => level === 'user' && alwaysOwn.length > 0 && !isWanted(level)
  const places = settingsPlaces(options).filter(({ level }) => isWanted(level) || isPartly(level))
  const found = await Promise.all(
    places.map(async (place) => {
      const text = await readIfThere(place.path, place.level)
      if (text === undefined) return undefined
      if (!isPartly(place.level)) return readPlace(place, text, cwd)
      // What names none of them may be damaged: whoever leaves the file out does not read it.
      return alwaysOwn.some((name) => text.includes(name))
        ? withOnlyFields(await readPlace(place, text, cwd), alwaysOwn)
        : undefined
    }),
  )
  const files = [...found.filter((file) => file !== undefined), ...(await readMcpFiles(options, isWanted))]
  return [
    ...files.filter(({ level }) => level === 'managed'),
    ...(chosen === undefined ? [] : [chosenFile(chosen, cwd)]),
    ...(given === undefined ? [] : [await readGiven(given, cwd)]),
    ...files.filter(({ level }) => level !== 'managed'),
  ]
}

/** The file with these fields alone; undefined where it has none of them. */
function withOnlyFields(file: ReadFile, names: readonly string[]): ReadFile | undefined {
  const content = Object.fromEntries(Object.entries(file.content).filter(([name]) => names.includes(name)))
  return Object.keys(content).length === 0 ? undefined : { ...file, content }
}

/** Servers beside the settings, as files of settings that say nothing else. What is wrong with one stops nothing: it is told. */
async function readMcpFiles(
  options: PlacesOptions,
  isWanted: (level: SettingsLevel) => boolean,
): Promise<readonly ReadFile[]> {
  const contents = new Map<string, Promise<Pick<ReadFile, 'content' | 'json' | 'problem'> | undefined>>()
  const files = mcpPlaces(options)
    .filter(({ level }) => isWanted(level))
    .map(async ({ path, level, serversIn }): Promise<readonly ReadFile[]> => {
      const read = contents.get(path) ?? readMcpFile(path, level)
      const isFirst = !contents.has(path)
      contents.set(path, read)
      const file = await read
      if (file === undefined) return []
      const common = { level, name: path, projectDirectory: options.cwd, json: file.json }
      if (file.problem !== undefined) return isFirst ? [{ ...common, content: {}, problem: file.problem }] : []
      // True: what is in a JSON object is JSON.
      const servers = serversIn(file.content).filter((value) => value !== undefined) as Json[]
      return servers.filter(hasServers).map((mcpServers) => ({ ...common, content: { mcpServers } }))
    })
  return (await Promise.all(files)).flat()
}

/** Every project that another program knows has an empty one. */
function hasServers(servers: Json): boolean {
  return !isJsonObject(servers) || Object.keys(servers).length > 0
}

async function readMcpFile(
  path: string,
  level: SettingsLevel,
): Promise<Pick<ReadFile, 'content' | 'json' | 'problem'> | undefined> {
  try {
    const text = await readIfThere(path, level, largestOfOthers)
    if (text === undefined || !text.includes('"mcpServers"')) return undefined
    return parse(text, path)
  } catch (thrown) {
    return { content: {}, json: '', problem: `The MCP servers in ${path} are ignored: ${messageOf(thrown)}` }
  }
}

function chosenFile({ name, content }: NonNullable<ReadOptions['chosen']>, cwd: string): ReadFile {
  return { level: 'flag', name, projectDirectory: cwd, content, json: JSON.stringify(content) }
}

async function readGiven(given: string, cwd: string): Promise<ReadFile> {
  if (given.trimStart().startsWith('{')) {
    return { level: 'flag', name: '--settings', projectDirectory: cwd, ...parse(given, 'The value of --settings') }
  }
  const path = resolve(cwd, given)
  const text = await readIfThere(path)
  if (text === undefined) {
    throw new ConfigurationError(`--settings takes an existing file or JSON, not "${given}".`)
  }
  return { level: 'flag', name: given, projectDirectory: cwd, ...parse(text, given) }
}

/** Nobody writes more by hand. */
export const largestSettingsBytes: number = 1024 * 1024
/** Another program keeps what it knows of every project in the same file. */
const largestOfOthers = 16 * 1024 * 1024

async function readIfThere(
  path: string,
  level: SettingsLevel = 'flag',
  maxBytes: number = largestSettingsBytes,
): Promise<string | undefined> {
  if (isAbsent(path)) return undefined
  try {
    return await boundedFile(path, maxBytes)
  } catch (thrown) {
    const code = thrown instanceof Error && 'code' in thrown ? thrown.code : undefined
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    const isOfProject = level === 'project' || level === 'local'
    const out = isOfProject ? ' Fix or delete it, or ignore project settings with --setting-sources user.' : ''
    throw new ConfigurationError(`The settings in ${path} cannot be read: ${messageOf(thrown)}.${out}`)
  }
}

/** Asked at once: most of these files are not there, and a look by a thread of the pool costs fifty times as much. */
function isAbsent(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false }) === undefined
  } catch {
    return false
  }
}

async function readPlace({ level, path }: SettingsPlace, text: string, cwd: string): Promise<ReadFile> {
  const isOfProject = level === 'project' || level === 'local'
  const common = { level, name: path, projectDirectory: isOfProject ? dirname(dirname(path)) : cwd }
  try {
    return { ...common, ...parse(text, path) }
  } catch (thrown) {
    // What an administrator wrote binds: it is not passed over.
    if (level === 'managed' || !(await isOfAnotherUser(path))) throw thrown
    return {
      ...common,
      content: {},
      json: '',
      problem: `${messageOf(thrown)} The file belongs to another user and is ignored.`,
    }
  }
}

async function isOfAnotherUser(path: string): Promise<boolean> {
  const own = process.getuid?.()
  return own !== undefined && (await stat(path)).uid !== own
}

/** What the file forbids cannot be seen when it is no JSON, so nothing runs. */
function parse(text: string, name: string): Pick<SettingsText, 'content' | 'json'> {
  // Some editors begin a file with a mark of its encoding.
  const json = text.replace(/^\uFEFF/, '')
  if (json.trim() === '') return { content: {}, json }
  let value: unknown
  try {
    value = JSON.parse(json)
  } catch (thrown) {
    throw new ConfigurationError(
      `${name} is not valid JSON: ${withoutText(messageOf(thrown))}${placeOf(thrown, json)}. Fix or delete it.`,
    )
  }
  if (!isJsonObject(value)) throw new ConfigurationError(`${name} must contain one JSON object.`)
  return { content: value, json }
}

/** V8 quotes what it could not read: a link leads to whatever, also to keys. */
function withoutText(message: string): string {
  return message.replace(/, (?:\.\.\.)?"[\s\S]*"(?:\.\.\.)? is not valid JSON$/, '')
}

/** V8 tells the line in some of its messages, the position in others, and in some neither. */
function placeOf(thrown: unknown, json: string): string {
  const message = messageOf(thrown)
  if (/\(line \d+/.test(message)) return ''
  return ` (line ${json.slice(0, positionOf(message) ?? firstInvalidIndex(json)).split('\n').length})`
}

function positionOf(message: string): number | undefined {
  const [, position] = /at position (\d+)/.exec(message) ?? []
  return position === undefined ? undefined : Number(position)
}

/** How many characters could still be the beginning of JSON: up to there a text only ends too soon. */
function firstInvalidIndex(json: string): number {
  let [right, wrong] = [0, json.length + 1]
  while (wrong - right > 1) {
    const middle = Math.floor((right + wrong) / 2)
    if (endsTooSoon(json.slice(0, middle))) right = middle
    else wrong = middle
  }
  return right
}

function endsTooSoon(json: string): boolean {
  try {
    JSON.parse(json)
    return true
  } catch (thrown) {
    const message = messageOf(thrown)
    return /end of JSON/i.test(message) || positionOf(message) === json.length
  }
}
