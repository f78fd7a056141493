import type { Stats } from 'node:fs'
import { extname } from 'node:path'
import type { Tool, ToolContext, ToolOutput } from '@halting/core'
import { codeOf, imageFactsOf, isPdf } from '@halting/core/adapters'
import { type OpenFile, openInPlace } from '@halting/policy/files'
import { type HasTool, toolsOfCaller } from './available-tools.ts'
import { type FileMemo, type FileStates, hashOf, seenFile } from './file-state.ts'
import { isImage } from './image.ts'
import { filledText, inputForm, optional, pathAliases, wholeNumber } from './input.ts'
import { bytesOfFile, type LinesRead, readLines, sourceOf } from './line-reader.ts'
import { numberedLines } from './numbered-lines.ts'
import { readAtMost } from './read-at-most.ts'
import {
  binaryFile,
  damagedImage,
  emptyFile,
  imageNotShown,
  imageTooLarge,
  missingFile,
  moreLines,
  offsetBeyondEnd,
  offsetNotReached,
  pdfTooLarge,
  readDirectory,
  readSpecialFile,
  scanStopped,
  undecodedBytes,
} from './read-texts.ts'
import { errorResult } from './result.ts'
import { withErrorResults } from './error-results.ts'
import { decodedText, encodedText, encodingOf, nameOfEncoding } from './text-encoding.ts'
import type { Workspace } from './workspace.ts'

/** Input of the Read tool. */
export interface ReadInput {
  /** Path of the file. */
  readonly file_path: string
  /** The first line, counted from 1. */
  readonly offset?: number
  /** Number of lines. */
  readonly limit?: number
  /** Pages of a PDF: `3`, `1-5` or `10-`. */
  readonly pages?: string
}

/**
 * Reads text as numbered lines, images as images, notebooks by cell and PDFs as text, and records what was read for
 * Edit and Write.
 */
export function createReadTool(workspace: Workspace): Tool<ReadInput> {
  const { limits } = workspace
  const form = inputForm<ReadInput>(
    'Read',
    {
      file_path: filledText('Absolute or relative path'),
      offset: optional(wholeNumber('First line or notebook cell (default: 1)', { minimum: 0 })),
      limit: optional(
        wholeNumber(`Maximum number of lines or cells (default: ${limits.readLines} lines)`, { minimum: 0 }),
      ),
      pages: optional(filledText('PDF pages: 3, 1-5 or 10- (default: 1-10, at most 20)')),
    },
    pathAliases,
  )
  return {
    name: 'Read',
    description:
      'Reads a file. Returns text with line numbers (number and tab are not part of the file), images (PNG, JPEG, GIF, WebP), ' +
      'notebooks (.ipynb) as cells with outputs, and PDFs as text. ' +
      `Lines are cut at ${limits.lineCharacters} characters. Required before Edit or Write changes an existing file.`,
    inputSchema: form.schema,
    canonicalInput: (input) => form.canonicalInput(input),
    validate: (input) => form.validate(input),
    readOnly: true,
    execute(input, context) {
      const path = workspace.pathOf(input.file_path)
      return withErrorResults({ path, doing: 'read' }, async () => {
        const found = await regularFile(path, workspace, context)
        if (found.kind === 'refused') return found.result
        try {
          return await readFound(input, found, workspace, context)
        } finally {
          await found.file.close()
        }
      })
    },
  }
}

async function readFound(
  input: ReadInput,
  found: FoundFile,
  workspace: Workspace,
  { signal, rights }: ToolContext,
): Promise<ToolOutput> {
  const { path } = found
  const has = toolsOfCaller(rights)
  const small = await bytesOfSmall(found)
  const start = small?.subarray(0, startBytes) ?? (await startOf(found.file))
  if (isImage(path, start)) return readImageFile(found, workspace)
  if (start.includes('%PDF-') && isPdf(start)) return readPdfFile(input, found, workspace, { signal, has })
  const isNotebook = extname(path).toLowerCase() === '.ipynb'
  const notebook = isNotebook ? await readNotebookFile(input, found, workspace) : undefined
  if (notebook !== undefined) return notebook
  if (isBinary(start)) {
    return errorResult(binaryFile(path, has))
  }
  return readText(input, { ...found, small }, workspace, { signal, has })
}

/** Text contains no zero bytes, except in UTF-16. */
export function isBinary(start: Uint8Array): boolean {
  return start.includes(0) && encodingOf(start) === 'utf-8'
}

/** The caller: its signal and its tools. */
interface Reader {
  readonly signal: AbortSignal
  readonly has: HasTool
}

/** An open file: the file that was judged, whatever is at its path later. */
interface FoundFile {
  readonly kind: 'file'
  readonly path: string
  readonly real: string
  readonly file: OpenFile
  readonly stats: Stats
  /** Records what was read. */
  readonly files: FileStates
}

type Found = FoundFile | { readonly kind: 'refused'; readonly result: ToolOutput }

async function regularFile(path: string, workspace: Workspace, context: ToolContext): Promise<Found> {
  const refused = (message: string): Found => ({ kind: 'refused', result: errorResult(message) })
  let real = path
  try {
    real = workspace.realPathOf(path, context)
    const found = await openInPlace(real)
    if (found.kind === 'file') return { ...found, path, real, files: workspace.filesOf(context) }
    return refused(found.kind === 'folder' ? readDirectory(path, toolsOfCaller(context.rights)) : readSpecialFile(path))
  } catch (thrown) {
    const code = codeOf(thrown)
    if (code === 'ENOENT' || code === 'ENOTDIR') {
      // Loaded on demand.
      const { nameHints } = await import('./name-hints.ts')
      return refused(missingFile(path, workspace.cwd, await nameHints(real, workspace, context.rights)))
    }
    throw thrown
  }
}

const startBytes = 8192

/** Reads enough of a file to determine its kind. */
export async function startOf(file: OpenFile): Promise<Buffer> {
  const buffer = Buffer.alloc(startBytes)
  const { bytesRead } = await file.read(buffer, 0, startBytes, 0)
  return buffer.subarray(0, bytesRead)
}

/**
 * Reads a small file as a whole, in one read if it does not grow meanwhile. Undefined if the file is larger than
 * reported.
 */
async function bytesOfSmall({ file, stats }: FoundFile): Promise<Buffer | undefined> {
  if (stats.size > keptBytes) return undefined
  // System files report a size of 0.
  const most = stats.size === 0 ? startBytes : stats.size
  // One byte more, so that the end of the file is detected.
  const bytes = await wholeFrom(file, most + 1)
  return bytes.length > most ? undefined : bytes
}

async function readImageFile({ path, real, file, stats, files }: FoundFile, workspace: Workspace): Promise<ToolOutput> {
  const { imageFileBytes } = workspace.limits
  // Larger files are not loaded into memory, even if they could be reduced.
  const bytes = stats.size > imageFileBytes ? undefined : await readAtMost(file, stats.size, imageFileBytes)
  if (bytes === undefined) return errorResult(imageTooLarge(path, stats.size, imageFileBytes))
  if (imageFactsOf(bytes) !== undefined && imageFactsOf(bytes)?.size === undefined)
    return errorResult(damagedImage(path))
  const image = await workspace.fitImage(bytes)
  if (image.kind === 'refused') return errorResult(imageNotShown(path, image.why))
  return {
    memo: files.recordSeen(real, seenFile(stats, hashOf(bytes))),
    content: [image.block],
    details: {
      type: 'image',
      filePath: path,
      mediaType: image.type,
      bytes: bytes.length,
      ...(image.isSmaller && { madeSmaller: true }),
    },
  }
}

/** Returns the text of a PDF, if the library for it is installed. */
async function readPdfFile(
  { pages }: ReadInput,
  { path, file, stats }: FoundFile,
  { limits, pdfLibrary: library }: Workspace,
  { signal, has }: Reader,
): Promise<ToolOutput> {
  const { imageFileBytes } = limits
  const bytes = stats.size > imageFileBytes ? undefined : await readAtMost(file, stats.size, imageFileBytes)
  if (bytes === undefined) return errorResult(pdfTooLarge(path, stats.size, imageFileBytes, has))
  const { readPdf } = await import('./read-pdf.ts')
  return readPdf(path, bytes, { pages, maxCharacters: limits.readCharacters, signal, library, has })
}

/** Returns undefined if the file is not a notebook despite its name; then the file is shown as text. */
async function readNotebookFile(
  input: ReadInput,
  { path, real, file, stats, files }: FoundFile,
  { fitImage, limits }: Workspace,
): Promise<ToolOutput | undefined> {
  if (stats.size > limits.editBytes) return undefined
  const bytes = await wholeFrom(file, stats.size)
  const { readNotebook } = await import('./read-notebook.ts')
  // 0 means the default.
  const range = {
    firstCell: input.offset || 1,
    maxCells: input.limit || Infinity,
    maxCharacters: limits.readCharacters,
    fitImage,
  }
  const notebook = await readNotebook(path, new TextDecoder().decode(bytes), range)
  if (notebook === undefined || notebook.isError === true) return notebook
  return { ...notebook, memo: files.recordSeen(real, seenFile(stats, hashOf(bytes))) }
}

/** Uses positioned reads, so that later reads still begin at the start of the file. */
async function wholeFrom(file: OpenFile, size: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(size)
  let length = 0
  while (length < size) {
    const { bytesRead } = await file.read(bytes, length, size - length, length)
    if (bytesRead === 0) break
    length += bytesRead
  }
  return bytes.subarray(0, length)
}

async function readText(
  input: ReadInput,
  { path, real, file, stats, files, small }: FoundFile & { readonly small: Buffer | undefined },
  workspace: Workspace,
  { signal, has }: Reader,
): Promise<ToolOutput> {
  const { limits } = workspace
  const unsaved = await unsavedBytes({ real, file, stats }, workspace, signal)
  // 0 means the default.
  const firstLine = input.offset || 1
  const range = {
    firstLine,
    maxLines: input.limit || limits.readLines,
    lineCharacters: limits.lineCharacters,
    maxCharacters: limits.readCharacters,
  }
  const inMemory = unsaved ?? small
  const read = await readLines(inMemory === undefined ? bytesOfFile(file) : sourceOf(inMemory), range, {
    hashes: stats.size <= limits.editBytes,
    signal,
    maxBytes: limits.readBytes,
  })
  const storedText = unsaved === undefined ? read.hash && textOfSmall(small, stats) : decodedText(unsaved)?.text
  // A call that shows nothing does not count as a read.
  const note = (): FileMemo => files.recordSeen(real, seenFile(stats, read.hash), firstLine, storedText)
  const details = {
    type: 'text',
    filePath: path,
    startLine: firstLine,
    numLines: read.lines.length,
    totalLines: read.lineCount,
  }
  if (read.lines.length > 0) {
    // The lines are already truncated.
    const shown = numberedLines(read.lines, firstLine, Number.POSITIVE_INFINITY)
    return { content: shown + moreNote(path, read, firstLine, has) + bytesNote(read, has), details, memo: note() }
  }
  if (read.wasCut) return errorResult(offsetNotReached(path, firstLine, limits.readBytes, has))
  if (read.lineCount === 0) return { content: emptyFile(path), details, memo: note() }
  // The file was read to its end, so its lines were counted.
  return errorResult(offsetBeyondEnd(path, read.lineCount ?? 0, firstLine))
}

/** Returns unsaved text of the editor, as it would be saved; undefined if it equals the file on disk. */
async function unsavedBytes(
  { real, file, stats }: Pick<FoundFile, 'real' | 'file' | 'stats'>,
  { editor, limits }: Workspace,
  signal: AbortSignal,
): Promise<Buffer | undefined> {
  if (editor?.read === undefined || stats.size > limits.editBytes) return undefined
  const onDisk = decodedText(await wholeFrom(file, stats.size))
  if (onDisk === undefined) return undefined
  const { unsavedText } = await import('./editor-files.ts')
  const text = await unsavedText(real, onDisk.text, { files: editor, signal }, limits.editBytes)
  return text === undefined ? undefined : encodedText({ ...onDisk, text })
}

/** Returns the text of a small file with the reported size, to report changes later. */
function textOfSmall(small: Buffer | undefined, { size }: Stats): string | undefined {
  return small === undefined || small.length === 0 || small.length !== size ? undefined : decodedText(small)?.text
}

const keptBytes = 64 * 1024

/** A note about what the lines do not show. */
function bytesNote({ lines, encoding }: LinesRead, has: HasTool): string {
  if (!lines.some((line) => line.includes('\uFFFD'))) return ''
  const name = encoding === 'utf-8' ? 'UTF-8' : nameOfEncoding(encoding)
  return `\n\n${undecodedBytes(name, has)}`
}

function moreNote(
  path: string,
  { lines, lineCount, hasMore, wasCut }: LinesRead,
  firstLine: number,
  has: HasTool,
): string {
  if (wasCut && !hasMore) return `\n\n${scanStopped(has)}`
  return hasMore ? `\n\n${moreLines(path, firstLine, firstLine + lines.length - 1, lineCount)}` : ''
}
