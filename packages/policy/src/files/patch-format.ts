import { isJsonObject } from '@halting/core/adapters'

/** A line of a hunk: context, removed or added. */
export interface PatchLine {
  /** A space marks context, `-` a removed line, `+` an added line. */
  readonly sign: ' ' | '-' | '+'
  /** The line, without its sign. */
  readonly text: string
}

/** One change within a file. */
export interface PatchHunk {
  /** Lines above the change that locate it, such as `class Parser`, the outermost first. */
  readonly anchors: readonly string[]
  /** The lines of the change, in order. */
  readonly lines: readonly PatchLine[]
  /** Whether the last line is the last one of the file. */
  readonly isAtEnd: boolean
}

/** What a patch does to one file. Paths are as written in the patch. */
export type PatchedFile =
  | {
      readonly kind: 'add'
      /** Path of the file. */
      readonly path: string
      /** The whole content of the new file. */
      readonly content: string
    }
  | {
      readonly kind: 'delete'
      /** Path of the file. */
      readonly path: string
    }
  | {
      readonly kind: 'update'
      /** Path of the file. */
      readonly path: string
      /** Its new path; absent if it is not moved. */
      readonly moveTo?: string
      /** The changes, in order. */
      readonly hunks: readonly PatchHunk[]
    }

/** Why a text is not a patch. Line numbers refer to the patch and start at 1. */
export type PatchProblem =
  | {
      /** What is missing or superfluous in the text. */
      readonly kind: 'no begin' | 'no end' | 'no files' | 'text after end'
    }
  | {
      /** What the line lacks. */
      readonly kind: 'no header' | 'no sign' | 'no plus'
      /** Line number. */
      readonly line: number
      /** The line. */
      readonly text: string
    }
  | {
      /** What is wrong with the path. */
      readonly kind: 'no path' | 'bad path'
      /** Line number. */
      readonly line: number
    }
  | {
      readonly kind: 'no hunks'
      /** Line number. */
      readonly line: number
      /** Path of the file. */
      readonly path: string
    }

/** A patch, or why the text is not one. */
export type ParsedPatch =
  | {
      readonly kind: 'patch'
      /** The files, in order. */
      readonly files: readonly PatchedFile[]
    }
  | {
      readonly kind: 'problem'
      /** Why the text is not a patch. */
      readonly problem: PatchProblem
    }

/** The name of the tool that applies patches. */
export const patchToolName = 'apply_patch'

/** The patch in a call of `apply_patch`; undefined if the input has none. Some models name the field `patch`. */
export function patchTextOf(input: unknown): string | undefined {
  if (typeof input === 'string') return input
  if (!isJsonObject(input)) return undefined
  const text = input['input'] ?? input['patch']
  return typeof text === 'string' ? text : undefined
}

/** The files of a call of `apply_patch`; empty if the input is not a patch. */
export function patchedFilesOf(input: unknown): readonly PatchedFile[] {
  const text = patchTextOf(input)
  const parsed = text === undefined ? undefined : parsePatch(text)
  return parsed?.kind === 'patch' ? parsed.files : []
}

/** A path that a patch changes. */
export interface ChangedPath {
  /** The path. */
  readonly path: string
  /** Whether the patch creates the file. */
  readonly isNew: boolean
  /** Whether the file is moved to another path. */
  readonly isMoved: boolean
}

/** Every path that a patch changes, in order. */
export function changedPathsOf(files: readonly PatchedFile[]): readonly ChangedPath[] {
  return files.flatMap((file): readonly ChangedPath[] => {
    const target = file.kind === 'update' ? file.moveTo : undefined
    const source = { path: file.path, isNew: file.kind === 'add', isMoved: target !== undefined }
    return target === undefined ? [source] : [source, { path: target, isNew: true, isMoved: false }]
  })
}

const begin = '*** Begin Patch'
const end = '*** End Patch'
const endOfFile = '*** End of File'
const headers = { add: '*** Add File:', update: '*** Update File:', delete: '*** Delete File:' } as const
const moveTo = '*** Move to:'

class PatchError extends Error {
  readonly problem: PatchProblem

  constructor(problem: PatchProblem) {
    super(problem.kind)
    this.problem = problem
  }
}

/** Parses a patch. Accepts a patch in a here-document or a Markdown fence. The last line may be missing if the patch is complete without it. */
export function parsePatch(text: string): ParsedPatch {
  try {
    const lines = text.replaceAll('\r\n', '\n').split('\n')
    const files = new PatchReader(lines).files()
    if (files.length === 0) throw new PatchError({ kind: 'no files' })
    return { kind: 'patch', files }
  } catch (thrown) {
    if (thrown instanceof PatchError) return { kind: 'problem', problem: thrown.problem }
    throw thrown
  }
}

/** The delimiter of a here-document that begins in the line. */
const hereDocument = /<<-?\s*\\?(['"]?)(\w+)\1/
const fence = /^```\w*$/

class PatchReader {
  readonly #lines: readonly string[]
  #at = 0
  /** Index after the last line of the sections. */
  readonly #last: number
  readonly #wrapper: string | undefined

  constructor(lines: readonly string[]) {
    this.#lines = lines
    const first = lines.findIndex((line) => line.trim() !== '')
    const wrapping = lines[first]?.trim() ?? ''
    const isWrapped = wrapping !== begin && lines[first + 1]?.trim() === begin
    this.#wrapper = !isWrapped ? undefined : fence.test(wrapping) ? '```' : hereDocument.exec(wrapping)?.[2]
    if (first === -1 || (wrapping !== begin && this.#wrapper === undefined)) throw new PatchError({ kind: 'no begin' })
    this.#at = first + (isWrapped ? 2 : 1)
    this.#last = this.#findEnd()
  }

  /** The index of the end marker. If the marker is missing, the end of the text, provided that the patch is complete without it. */
  #findEnd(): number {
    const lines = this.#lines
    const at = lines.findLastIndex((line) => line.trimEnd() === end || (line.trim() === end && !line.startsWith('+')))
    if (at >= this.#at) {
      const rest = lines.slice(at + 1).map((line) => line.trim())
      const isClean = rest.every((line) => line === '' || isClosing(line, this.#wrapper))
      if (!isClean) throw new PatchError({ kind: 'text after end' })
      return at
    }
    const last = lines.findLastIndex((line) => line.trim() !== '')
    const text = lines[last]?.trim() ?? ''
    if (this.#wrapper !== undefined && isClosing(text, this.#wrapper)) return last
    // A truncated reply would not end at either of these lines.
    if (text === endOfFile || text.startsWith(headers.delete)) return last + 1
    throw new PatchError({ kind: 'no end' })
  }

  files(): readonly PatchedFile[] {
    const files: PatchedFile[] = []
    for (;;) {
      this.#skipBlank()
      if (this.#at >= this.#last) return files
      files.push(this.#file())
    }
  }

  get #line(): string {
    return this.#lines[this.#at] ?? ''
  }

  #skipBlank(): void {
    while (this.#at < this.#last && this.#line.trim() === '') this.#at += 1
  }

  #file(): PatchedFile {
    const header = this.#line.trim()
    const kind = (['add', 'update', 'delete'] as const).find((each) => header.startsWith(headers[each]))
    if (kind === undefined) throw this.#wrong('no header')
    const headerLine = this.#at + 1
    const path = this.#path(headers[kind])
    if (kind === 'delete') return { kind, path }
    if (kind === 'add') return { kind, path, content: this.#added() }
    const target = this.#line.trim().startsWith(moveTo) && this.#at < this.#last ? this.#path(moveTo) : undefined
    const hunks = this.#hunks()
    if (hunks.length === 0 && target === undefined) throw new PatchError({ kind: 'no hunks', line: headerLine, path })
    return { kind, path, hunks, ...(target !== undefined && { moveTo: target }) }
  }

  #wrong(kind: 'no header' | 'no sign' | 'no plus'): PatchError {
    return new PatchError({ kind, line: this.#at + 1, text: this.#line })
  }

  #path(header: string): string {
    const path = this.#line.trim().slice(header.length).trim()
    if (path === '') throw new PatchError({ kind: 'no path', line: this.#at + 1 })
    if (path.includes('\0')) throw new PatchError({ kind: 'bad path', line: this.#at + 1 })
    this.#at += 1
    return path
  }

  #added(): string {
    let content = ''
    for (; this.#at < this.#last && !this.#line.startsWith('***'); this.#at += 1) {
      if (this.#line.startsWith('+')) content += `${this.#line.slice(1)}\n`
      else if (this.#isBlankToHeader()) break
      else throw this.#wrong('no plus')
    }
    return content
  }

  /** Whether only blank lines precede the next header. */
  #isBlankToHeader(): boolean {
    let at = this.#at
    while (at < this.#last && this.#lines[at]?.trim() === '') at += 1
    return at > this.#at && (at >= this.#last || this.#lines[at]?.startsWith('***') === true)
  }

  #hunks(): readonly PatchHunk[] {
    const hunks: PatchHunk[] = []
    for (;;) {
      this.#skipBlank()
      if (this.#at >= this.#last || this.#line.startsWith('***')) return hunks
      hunks.push(this.#hunk())
    }
  }

  #hunk(): PatchHunk {
    const anchors: string[] = []
    for (; this.#at < this.#last && this.#line.startsWith('@@'); this.#at += 1) {
      const anchor = this.#line.slice(2).replace(/^ /, '')
      // Line numbers of unified diffs are often wrong, so the lines locate the change.
      if (anchor.trim() !== '' && !/^-\d+(?:,\d+)? \+\d+(?:,\d+)? @@/.test(anchor)) anchors.push(anchor)
    }
    const lines: PatchLine[] = []
    for (; this.#at < this.#last && !/^(?:\*\*\*|@@)/.test(this.#line); this.#at += 1) lines.push(this.#hunkLine())
    const isAtEnd = this.#at < this.#last && this.#line.trim() === endOfFile
    if (isAtEnd) this.#at += 1
    else while (lines.at(-1)?.sign === ' ' && lines.at(-1)?.text === '') lines.pop()
    if (lines.length === 0) throw this.#wrong('no sign')
    return { anchors, lines, isAtEnd }
  }

  #hunkLine(): PatchLine {
    const line = this.#line
    const sign = line === '' ? ' ' : line[0]
    if (sign !== ' ' && sign !== '-' && sign !== '+') throw this.#wrong('no sign')
    return { sign, text: line.slice(1) }
  }
}

/** Whether a line ends the wrapper around the patch. */
function isClosing(line: string, wrapper: string | undefined): boolean {
  return wrapper !== undefined && line.replace(/["')]+$/, '') === wrapper
}
