import { resolve } from 'node:path'
import type { CalledTool } from '@halting/core'
import { isJsonObject } from '@halting/core/adapters'
import { changedPathsOf, patchedFilesOf, patchToolName } from '@halting/policy/files'
import { outlineOf, type CommandOutline, type OutlineWord } from '@halting/policy/shell'
import { whyOnlyPrintsItsText } from './composing-commands.ts'

// What a session wrote, according to its calls. Reads no file: the same calls always give the same answer.

/** What one call wrote. */
interface WrittenFiles {
  /** Absolute paths. */
  readonly paths: readonly string[]
  /** Names of files in an unknown folder: the shell may have changed its folder. */
  readonly names: readonly string[]
  /** The text that was written, if the call contains it. */
  readonly text: string
  /** Names in the call that a program may have written to. */
  readonly mentions: readonly string[]
  /** Words of the commands that it ran. */
  readonly words: readonly string[]
}

const nothing: WrittenFiles = { paths: [], names: [], text: '', mentions: [], words: [] }

/** A text field of a call's input. */
export function fieldOf({ input }: CalledTool, name: string): string | undefined {
  const value = isJsonObject(input) ? input[name] : undefined
  return typeof value === 'string' ? value : undefined
}

/** The last part of a path, normalized as on case-insensitive file systems. */
export function nameIn(path: string): string {
  return path
    .replace(/[/\\]+$/, '')
    .replace(/^.*[/\\]/s, '')
    .toLowerCase()
}

const outlines = new WeakMap<CalledTool, CommandOutline>()

/** Returns the parsed command of a Bash call. Calls are immutable, so each is parsed once. */
export function outlineOfCall(call: CalledTool): CommandOutline {
  const known = outlines.get(call) ?? outlineOf(fieldOf(call, 'command') ?? '')
  outlines.set(call, known)
  return known
}

const writtenFilesOfCalls = new WeakMap<CalledTool, WrittenFiles>()

/** The files that a session wrote with some of its calls, and names that programs may have written for it. */
export class SessionWrites {
  readonly #paths = new Set<string>()
  readonly #names = new Set<string>()
  readonly #mentions = new Set<string>()
  /** Names of files that commands wrote. */
  readonly #byCommands = new Set<string>()
  readonly #texts = new Map<string, string>()

  constructor(calls: readonly CalledTool[], cwd: string) {
    for (const call of calls) {
      const known = writtenFilesOfCalls.get(call) ?? filesWrittenBy(call, cwd)
      writtenFilesOfCalls.set(call, known)
      this.#add(known)
    }
  }

  get isEmpty(): boolean {
    return this.#paths.size === 0 && this.#names.size === 0 && this.#mentions.size === 0
  }

  #add({ paths, names, text, mentions, words }: WrittenFiles): void {
    for (const path of paths) {
      this.#paths.add(path)
      this.#note(nameIn(path), text)
    }
    for (const name of names) {
      this.#note(name, text)
      this.#byCommands.add(name)
    }
    for (const mention of mentions) this.#mentions.add(mention)
    // A script of the session may write to any path in its text.
    for (const word of words) {
      const script = this.#texts.get(nameIn(word))
      if (script !== undefined) for (const mention of namesIn(script)) this.#mentions.add(mention)
    }
  }

  #note(name: string, text: string): void {
    if (name === '' || name === '.' || name === '..') return
    this.#names.add(name)
    this.#texts.set(name, `${this.#texts.get(name) ?? ''}\n${text}`)
  }

  /** Whether this path of a tool, relative to the working directory, may be one of the written files. */
  hasPath(path: string): boolean {
    return this.#paths.has(resolve('/', path)) || this.hasName(nameIn(path))
  }

  /** Whether one of the written files may have this name, in any folder. */
  hasName(name: string): boolean {
    return this.#names.has(name) || this.#mentions.has(name)
  }

  /**
   * The same for a word of a command that may not be a file: names that were only mentioned count only if they look
   * like file names.
   */
  hasWord(name: string): boolean {
    return this.#names.has(name) || (name.includes('.') && this.#mentions.has(name))
  }

  /** Whether one of the written files may match a shell pattern. */
  fits(pattern: string): boolean {
    const last = nameIn(pattern)
    const form = last
      .replaceAll(/[\\^$.+()|{}[\]]/g, '\\$&')
      .replaceAll('?', '.')
      .replaceAll(/\*+/g, '.*')
    const expression = new RegExp(`^${form}$`, 's')
    return /[*?[]/.test(last)
      ? [...this.#names, ...this.#mentions].some((name) => last.includes('[') || expression.test(name))
      : this.hasName(last) || (pattern !== last && !this.isEmpty && last === '')
  }

  /** Whether one of the written files may be below a folder. The folder of the shell is unknown. */
  hasBelow(folder: string): boolean {
    const root = folder.endsWith('/') ? folder : `${folder}/`
    return (
      [...this.#paths].some((path) => path === folder || path.startsWith(root)) ||
      this.#mentions.size > 0 ||
      this.#byCommands.size > 0
    )
  }

  /** Whether the session may have written one of these texts into a file of this name. */
  hasWritten(name: string, texts: readonly string[]): boolean {
    if (this.#byCommands.has(name)) return true
    const known = this.#texts.get(name) ?? ''
    return texts.some((text) => known.includes(text))
  }
}

function filesWrittenBy(call: CalledTool, cwd: string): WrittenFiles {
  switch (call.name) {
    case 'Edit':
    case 'Write':
    case 'NotebookEdit': {
      const path = fieldOf(call, 'file_path') ?? fieldOf(call, 'notebook_path')
      return path === undefined
        ? nothing
        : { ...nothing, paths: [resolve(cwd, path)], text: JSON.stringify(call.input) }
    }
    case patchToolName: {
      const paths = changedPathsOf(patchedFilesOf(call.input)).map(({ path }) => resolve(cwd, path))
      return { ...nothing, paths, text: JSON.stringify(call.input) }
    }
    case 'Bash':
      return filesWrittenByCommand(call)
    case 'Wait':
      return fieldOf(call, 'command') === undefined ? nothing : filesWrittenByCommand(call)
    case 'Agent':
    case 'Task':
      // The session's calls do not show what an agent did, so the files named in its task are used.
      return { ...nothing, mentions: namesIn(JSON.stringify(call.input) ?? '') }
    default:
      return changesFiles(call.name) ? { ...nothing, mentions: namesIn(JSON.stringify(call.input) ?? '') } : nothing
  }
}

/** Whether a server's tool may change files, judged by its name, which is all that is known. */
function changesFiles(name: string): boolean {
  return (
    name.startsWith('mcp__') && !/(?:^|_)(?:read|get|list|search|find|view|show|stat|query|fetch)/i.test(name.slice(5))
  )
}

function filesWrittenByCommand(call: CalledTool): WrittenFiles {
  const { commands, writes, unclear, isReadOnly } = outlineOfCall(call)
  if (isReadOnly) return nothing
  const command = fieldOf(call, 'command') ?? ''
  const isHidden =
    unclear !== undefined ||
    writes.some(({ kind }) => kind !== 'literal') ||
    commands.some((each) => whyOnlyPrintsItsText(each) !== undefined)
  const targets = commands.flatMap(({ words }) => writersTargets(words))
  return {
    ...nothing,
    names: [...writes.map(({ text }) => text), ...targets].filter((path) => !path.startsWith('/dev/')).map(nameIn),
    text: command,
    mentions: isHidden ? namesIn(command) : [],
    words: commands.flatMap(({ words }) => words.map(({ text }) => text)),
  }
}

/** Programs that write to a file among their operands and that have no grammar. */
function writersTargets([name, ...args]: readonly OutlineWord[]): readonly string[] {
  const program = nameIn(name?.text ?? '')
  const operands = args.map(({ text }) => text).filter((text) => !text.startsWith('-'))
  // Package scripts can be set by a command: `npm pkg set scripts.test=…`.
  if (/^(?:npm|pnpm|yarn|bun)$/.test(program) && /^(?:pkg|set-script)$/.test(operands[0] ?? '')) return ['package.json']
  if (/^(?:tee|truncate|install|ln|sponge|mv|cp|rsync|patch|ex|ed)$/.test(program)) return operands
  if (program === 'dd') return operands.filter((text) => text.startsWith('of=')).map((text) => text.slice(3))
  const inPlace = args.some(({ text }) => /^(?:-[a-zA-Z]*i|--in-place)/.test(text))
  const writes = inPlace || args.some(({ text }) => text === '-o')
  return writes && /^(?:sed|perl|ruby|sort|yq)$/.test(program) ? operands.filter((text) => !isScript(text)) : []
}

/** Whether the text is `s/a/b/`, or otherwise does not look like a file name. */
function isScript(text: string): boolean {
  return /^[\d,$]*[sy]([^\w\s]).*\1/.test(text) || /[\s{};]/.test(text)
}

/** Words of a text that may be file names. */
function namesIn(text: string): readonly string[] {
  return (text.match(/[\p{L}\p{N}_][\p{L}\p{N}_.@+-]{2,}/gu) ?? []).map((name) =>
    name.replace(/\.+$/, '').toLowerCase(),
  )
}
