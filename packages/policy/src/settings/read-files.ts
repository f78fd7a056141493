import { statSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { ConfigurationError, type Json, type JsonObject } from '@halting/core'
import { isJsonObject, messageOf } from '@halting/core/adapters'
import { readBoundedFile } from '@halting/journal/files'
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
  /** The value of `--settings`: a file, or JSON. */
  readonly given?: string | undefined
  /** The settings of another flag; they precede `given`. */
  readonly chosen?:
    | {
        /** The flag that sets them, for messages. */
        readonly name: string
        /** The settings. */
        readonly content: JsonObject
      }
    | undefined
  /** The levels to read in addition to those of an administrator and the command line. Default: all. */
  readonly sources?: readonly SettingSource[] | undefined
  /** Fields of the person's own files that apply even if `sources` excludes these files. */
  readonly alwaysOwn?: readonly string[] | undefined
}

/** An existing file, or why it is ignored as a whole. */
export type ReadFile = SettingsText & { readonly problem?: string }

/** Reads the existing files, the highest precedence first. @throws ConfigurationError for a file that cannot be read or is not JSON. */
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
      // An excluded file without any of these names is not parsed, as it may be damaged.
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

/** The file with only these fields; undefined if it has none of them. */
function withOnlyFields(file: ReadFile, names: readonly string[]): ReadFile | undefined {
  const content = Object.fromEntries(Object.entries(file.content).filter(([name]) => names.includes(name)))
  return Object.keys(content).length === 0 ? undefined : { ...file, content }
}

/** MCP servers of other files, as settings files with nothing else. Problems in these are reported but do not prevent the start. */
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
      // This cast is safe: values of a JSON object are JSON.
      const servers = serversIn(file.content).filter((value) => value !== undefined) as Json[]
      return servers.filter(hasServers).map((mcpServers) => ({ ...common, content: { mcpServers } }))
    })
  return (await Promise.all(files)).flat()
}

/** Whether there is at least one server. Another program stores an empty object for every project that it knows. */
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

/** Maximum size of a settings file. Larger files are not written by hand. */
export const largestSettingsBytes: number = 1024 * 1024
/** Maximum size of another program's file, which also contains data about every project. */
const largestOfOthers = 16 * 1024 * 1024

async function readIfThere(
  path: string,
  level: SettingsLevel = 'flag',
  maxBytes: number = largestSettingsBytes,
): Promise<string | undefined> {
  if (isAbsent(path)) return undefined
  try {
    return await readBoundedFile(path, maxBytes)
  } catch (thrown) {
    const code = thrown instanceof Error && 'code' in thrown ? thrown.code : undefined
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    const isOfProject = level === 'project' || level === 'local'
    const out = isOfProject ? ' Fix or delete it, or ignore project settings with --setting-sources user.' : ''
    throw new ConfigurationError(`The settings in ${path} cannot be read: ${messageOf(thrown)}.${out}`)
  }
}

/** Synchronous: most of these files are missing, and a lookup by the thread pool is fifty times slower. */
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
    // An administrator's settings are binding: they are never skipped.
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

/** If the file is not JSON, its restrictions are unknown, so nothing runs. */
function parse(text: string, name: string): Pick<SettingsText, 'content' | 'json'> {
  // Some editors write a byte order mark.
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

/** V8 quotes the invalid text. As the file may be a link to anything, that could be a key. */
function withoutText(message: string): string {
  return message.replace(/, (?:\.\.\.)?"[\s\S]*"(?:\.\.\.)? is not valid JSON$/, '')
}

/** The position of a JSON error. Some messages of V8 contain the line, some the offset, and some neither. */
function placeOf(thrown: unknown, json: string): string {
  const message = messageOf(thrown)
  if (/\(line \d+/.test(message)) return ''
  return ` (line ${json.slice(0, positionOf(message) ?? firstInvalidIndex(json)).split('\n').length})`
}

function positionOf(message: string): number | undefined {
  const [, position] = /at position (\d+)/.exec(message) ?? []
  return position === undefined ? undefined : Number(position)
}

/** The length of the longest prefix that could be the beginning of JSON. Up to this index the text is merely incomplete, not invalid. */
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
