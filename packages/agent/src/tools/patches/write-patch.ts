import { rmdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Json, ToolContext, ToolOutput } from '@halting/core'
import { askedEditor, type AskedEditor } from '../editor-files.ts'
import { statsAt } from '../../checkpoints/path-state.ts'
import type { FileMemo, FilesMemo, SeenFile } from '../file-state.ts'
import { changeOf, creationOf, type FileChange, lineCountOf } from '../patch.ts'
import { errorResult } from '../result.ts'
import { withErrorResults } from '../error-results.ts'
import { loadFile, removeFile, type SaveOptions, saveFile } from '../text-file.ts'
import type { Workspace } from '../workspace.ts'
import { hardLinks } from '../change-texts.ts'
import { applied, changedMeanwhile, failedMidway, notApplied, notRestored, type PatchedSummary } from './patch-texts.ts'
import { type LocatedFile, type PatchPath, pathsOf, type PlannedFile, planPatch, type TextFile } from './plan-patch.ts'

interface Where {
  readonly workspace: Workspace
  readonly context: ToolContext
}

/** Applies a patch completely or not at all: if a file cannot be written, the earlier ones are restored. */
export async function applyPatch(files: readonly LocatedFile[], where: Where): Promise<ToolOutput> {
  // In a fixed order, so that two patches never wait for each other.
  const reals = [...new Set(pathsOf(files).map(({ real }) => real))].toSorted()
  const locked = reals.reduceRight<() => Promise<ToolOutput>>(
    (work, real) => () => where.workspace.files.inTurn(real, work),
    async () => {
      const plan = await planPatch(files, where)
      return plan.kind === 'refused' ? errorResult(notApplied(plan.problems)) : writePlanned(plan.files, where)
    },
  )
  return locked()
}

async function writePlanned(files: readonly PlannedFile[], where: Where): Promise<ToolOutput> {
  const writer = new PatchWriter(where)
  for (const file of inWritingOrder(files)) {
    const problem = await withErrorResults({ path: file.at.path, doing: 'written' }, async () => {
      await writer.write(file)
      return { content: '' }
    }).catch(async (thrown: unknown) => {
      await writer.restore()
      throw thrown
    })
    if (problem.isError !== true) continue
    const left = await writer.restore()
    return errorResult(failedMidway(typeof problem.content === 'string' ? problem.content : '', left))
  }
  return writer.output(files)
}

/** Orders deletions last, so that nothing is lost before them. */
function inWritingOrder(files: readonly PlannedFile[]): readonly PlannedFile[] {
  return [...files.filter(({ kind }) => kind !== 'delete'), ...files.filter(({ kind }) => kind === 'delete')]
}

/** Reverts one change. Returns why the revert failed, if it failed. */
type Restore = () => Promise<string | undefined>

class PatchWriter {
  readonly #where: Where
  readonly #keeping: NonNullable<SaveOptions['keeping']>
  readonly #restores: Restore[] = []
  readonly #saved = new Map<string, SeenFile>()

  constructor(where: Where) {
    this.#where = where
    this.#keeping = { checkpoints: where.workspace.checkpoints, call: where.context }
  }

  async write(file: PlannedFile): Promise<void> {
    const { at } = file
    const keeping = this.#keeping
    const editor = askedEditor(this.#where.workspace.editor, this.#where.context.signal)
    switch (file.kind) {
      case 'add':
        return this.#create(at, file.text, { keeping, editor })
      case 'delete':
        return this.#remove(at, file.before)
      case 'update': {
        const { before, moveTo, text } = file
        const { hasMark, encoding, stats } = before
        if (moveTo === undefined) {
          const saved = await saveFile(at.real, text, { hasMark, encoding, over: stats, keeping, editor })
          this.#saved.set(at.real, saved)
          this.#restores.push(() => this.#putBack(at, before, saved))
          return
        }
        await this.#create(moveTo, text, { hasMark, encoding, rightsOf: stats, keeping, editor })
        await this.#remove(at, before)
      }
    }
  }

  async #create({ path, real }: PatchPath, text: string, options: SaveOptions): Promise<void> {
    const folders = missingFolders(real)
    this.#restores.push(async () => {
      for (const folder of folders) await rmdir(folder).catch(() => undefined)
      return undefined
    })
    const saved = await saveFile(real, text, options)
    this.#saved.set(real, saved)
    this.#restores.push(async () => {
      const now = await loadFile(real, Infinity)
      if (now.kind === 'absent') return undefined
      if (now.kind !== 'text' || now.seen.hash !== saved.hash) return changedMeanwhile(path)
      await removeFile(real, { over: now.stats, keeping: this.#keeping })
      return undefined
    })
  }

  async #remove({ path, real }: PatchPath, before: TextFile): Promise<void> {
    await removeFile(real, { over: before.stats, keeping: this.#keeping })
    this.#restores.push(async () => {
      const now = await loadFile(real, Infinity)
      if (now.kind !== 'absent') return changedMeanwhile(path)
      const { hasMark, encoding, stats: rightsOf } = before
      await saveFile(real, before.text, { hasMark, encoding, rightsOf, keeping: this.#keeping, editor: this.#editor() })
      return undefined
    })
  }

  async #putBack({ path, real }: PatchPath, before: TextFile, saved: SeenFile): Promise<string | undefined> {
    const now = await loadFile(real, Infinity)
    if (now.kind !== 'text' || now.seen.hash !== saved.hash) return changedMeanwhile(path)
    const { hasMark, encoding } = before
    const options = { hasMark, encoding, over: now.stats, keeping: this.#keeping, editor: this.#editor() }
    await saveFile(real, before.text, options)
    return undefined
  }

  /** Returns the editor with a separate signal: files are also restored after the call was aborted. */
  #editor(): AskedEditor | undefined {
    return askedEditor(this.#where.workspace.editor, AbortSignal.timeout(restoreMs))
  }

  /** Restores written files, newest first. Returns what could not be restored. */
  async restore(): Promise<readonly string[]> {
    const left: string[] = []
    for (const undo of this.#restores.splice(0).toReversed()) {
      try {
        const problem = await undo()
        if (problem !== undefined) left.push(problem)
      } catch (thrown) {
        left.push(notRestored('path' in Object(thrown) ? String(Object(thrown).path) : '?', String(thrown)))
      }
    }
    return left
  }

  /** The result of an applied patch. */
  async output(files: readonly PlannedFile[]): Promise<ToolOutput> {
    const { workspace, context } = this.#where
    const states = workspace.filesOf(context)
    const memos: FileMemo['file'][] = []
    const deleted: string[] = []
    const summaries: PatchedSummary[] = []
    const details: Json[] = []
    for (const file of files) {
      const target = file.kind === 'update' ? (file.moveTo ?? file.at) : file.at
      const saved = this.#saved.get(target.real)
      if (target !== file.at || file.kind === 'delete') {
        states.deleted(file.at.real)
        deleted.push(file.at.real)
      }
      if (saved !== undefined && file.kind !== 'delete') {
        const firstLine = file.kind === 'update' ? Math.max(1, file.firstLine - linesBefore) : 1
        memos.push(states.recordSeen(target.real, saved, firstLine, file.text).file)
      }
      const change = await changeOfFile(file)
      summaries.push(summaryOf(file, change))
      details.push({
        filePath: file.at.path,
        change: file.kind,
        ...(target !== file.at && { movedTo: target.path }),
        ...change,
      })
    }
    const memo: FilesMemo = { files: memos, deleted }
    return { content: applied(summaries), details: { files: details }, memo }
  }
}

const restoreMs = 10_000
/** Number of lines above a change that count as shown. */
const linesBefore = 20

async function changeOfFile(file: PlannedFile): Promise<FileChange> {
  switch (file.kind) {
    case 'add':
      return creationOf(file.text)
    case 'delete':
      return { structuredPatch: [], linesAdded: 0, linesRemoved: lineCountOf(file.before.text) }
    case 'update':
      return changeOf(file.at.path, file.before.text, file.text)
  }
}

function summaryOf(file: PlannedFile, { linesAdded: added, linesRemoved: removed }: FileChange): PatchedSummary {
  const lines = { added, removed }
  const { kind, at } = file
  if (kind !== 'update') return { kind, path: at.path, lines, inexact: [], notes: '' }
  const { moveTo, inexact, before } = file
  return { kind, path: at.path, moveTo: moveTo?.path, lines, inexact, notes: hardLinks(before.names) }
}

/** Folders above a path that do not exist, the innermost first. */
function missingFolders(path: string): readonly string[] {
  const folders: string[] = []
  for (let at = dirname(path); dirname(at) !== at && statsAt(at) === undefined; at = dirname(at)) folders.push(at)
  return folders
}
