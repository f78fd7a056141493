import type { ToolContext, ToolOutput } from '@halting/core'
import { redactedMark } from '@halting/core/redact'
import { toolsOfCaller } from './available-tools.ts'
import {
  changedSinceRead,
  encodingPreserved,
  existsUnread,
  fileCreated,
  fileUpdated,
  hardLinks,
  lineEndsChanged,
  losesSecretsOfFile,
  notAFile,
} from './change-texts.ts'
import { askedEditor } from './editor-files.ts'
import { changeOf, creationOf, type FileChange, lineCountOf } from './patch.ts'
import { type Planning, type RefusedChange, refusedChange } from './precheck.ts'
import { errorResult } from './result.ts'
import { isShownIn } from './shown-text.ts'
import { nameOfEncoding } from './text-encoding.ts'
import { type LoadedFile, loadFile, saveFile } from './text-file.ts'
import type { Workspace } from './workspace.ts'

/** The caller for whom a file is written. */
export interface WriteContext {
  readonly workspace: Workspace
  readonly context: ToolContext
}

/** The planned write: the file is created, or the content replaces this file. */
type WritePlan =
  | RefusedChange
  | { readonly kind: 'create' }
  | {
      readonly kind: 'replace'
      readonly existing: Exclude<LoadedFile, { readonly kind: 'absent' | 'not a file' }>
    }

/** Reads the file and changes nothing. */
async function planWrite(
  path: string,
  real: string,
  content: string,
  { workspace, context }: Planning,
): Promise<WritePlan> {
  const has = toolsOfCaller(context.rights)
  const editor = askedEditor(workspace.editor, context.signal)
  const existing = await loadFile(real, workspace.limits.editBytes, editor)
  if (existing.kind === 'not a file') return refusedChange(notAFile(path, existing.what, 'Write'))
  if (existing.kind === 'absent') return { kind: 'create' }
  const freshness = workspace.filesOf(context).freshness(real, existing.seen, isShownIn(context))
  if (freshness === 'never read') return refusedChange(existsUnread(path, has))
  if (freshness === 'changed') {
    const { whatChanged } = await import('./changed-files.ts')
    const what = await whatChanged(real, existing, workspace.filesOf(context))
    return refusedChange(changedSinceRead(path, has) + what)
  }
  if (existing.kind === 'text' && losesSecrets(existing.text, content, workspace.redact))
    return refusedChange(losesSecretsOfFile(path, redactedMark, has))
  return { kind: 'replace', existing }
}

/** Why the file at a real path currently cannot be written. */
export async function whyNotWritten(
  path: string,
  real: string,
  content: string,
  planning: Planning,
): Promise<string | undefined> {
  const plan = await planWrite(path, real, content, planning)
  return plan.kind === 'refused' ? plan.why : undefined
}

/** Executes Write. */
export async function writeFile(
  path: string,
  real: string,
  content: string,
  { workspace, context }: WriteContext,
): Promise<ToolOutput> {
  const plan = await planWrite(path, real, content, { workspace, context })
  if (plan.kind === 'refused') return errorResult(plan.why)
  if (plan.kind === 'create') return createFile(path, real, content, { workspace, context })
  const { existing } = plan
  const keeping = { checkpoints: workspace.checkpoints, call: context }
  const editor = askedEditor(workspace.editor, context.signal)
  if (existing.kind !== 'text') {
    const saved = await saveFile(real, content, { over: existing.stats, keeping, editor })
    const memo = workspace.filesOf(context).recordSeen(real, saved, 1, content)
    const details = { type: 'update', filePath: path, ...uncountedChange }
    return { content: fileUpdated(path, lineCountOf(content)), details, memo }
  }
  const { encoding, stats: over } = existing
  // The model does not see the byte order mark, so it can neither preserve nor remove it.
  const hasMark = existing.hasMark && !content.startsWith('\uFEFF')
  const saved = await saveFile(real, content, { over, encoding, hasMark, keeping, editor })
  const memo = workspace.filesOf(context).recordSeen(real, saved, 1, content)
  const change = await changeOf(path, existing.text, content)
  return {
    content: fileUpdated(path, lineCountOf(content)) + formNote(existing, content) + hardLinks(existing.names),
    details: { type: 'update', filePath: path, ...change },
    memo,
  }
}

/** Creates a file that does not exist. */
export async function createFile(
  path: string,
  real: string,
  content: string,
  { workspace, context }: WriteContext,
): Promise<ToolOutput> {
  const keeping = { checkpoints: workspace.checkpoints, call: context }
  const editor = askedEditor(workspace.editor, context.signal)
  const same = workspace.lookAlikesNote(real, context.rights)
  const saved = await saveFile(real, content, { keeping, editor })
  const memo = workspace.filesOf(context).recordSeen(real, saved, 1, content)
  const details = { type: 'create', filePath: path, ...creationOf(content) }
  return { content: fileCreated(path, lineCountOf(content)) + same, details, memo }
}

type ExistingText = Extract<LoadedFile, { readonly kind: 'text' }>

/** Returns a note about properties that a reader of lines does not see. */
function formNote({ text, encoding, hasMark }: ExistingText, content: string): string {
  const isPlainNow = text.includes('\r\n') && content.includes('\n') && !content.includes('\r\n')
  const encodingNote = encodingPreserved(encoding === 'utf-8' ? undefined : nameOfEncoding(encoding), hasMark)
  return encodingNote + (isPlainNow ? lineEndsChanged : '')
}

/**
 * Whether a write would lose secrets. The model saw the redaction mark and not the secret: if the content has more
 * marks than the file had, one of them stands for a secret.
 */
export function losesSecrets(text: string, content: string, redact: Workspace['redact']): boolean {
  if (redact === undefined || redact(text) === text) return false
  return content.split(redactedMark).length > text.split(redactedMark).length
}

/** The former content was not text. */
const uncountedChange: FileChange = { structuredPatch: [], linesAdded: null, linesRemoved: null }
