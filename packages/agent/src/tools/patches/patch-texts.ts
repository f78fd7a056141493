// Results of the apply_patch tool.
import type { HasTool } from '../available-tools.ts'
import { quoted } from './patch-format-texts.ts'
import type { InexactPlace, Misplaced } from './place-hunks.ts'

// Patches that do not match the files. Nothing was changed.

/** All problems, one file per line. */
export function notApplied(problems: readonly string[]): string {
  return `Nothing was changed.\n${problems.join('\n')}`
}

export const sameFile = (path: string): string =>
  `${path}: the patch has two sections for this file. Put all hunks for a file into one section.`
export const insideOther = (path: string, other: string): string =>
  `${path} is inside ${other}, which is also a file in the patch.`
export const existsAlready = (path: string): string =>
  `${path} already exists. Change it with *** Update File, or choose another path.`
export const targetExists = (path: string, target: string): string =>
  `${path} cannot be moved: ${target} already exists. Choose another path, or delete that file in a separate patch first.`
export const missing = (path: string, lookAlikes: string, has: HasTool): string =>
  `${path} does not exist. ${has('Glob') ? 'Find the path with Glob, or create' : 'Correct the path, or create'} the file with *** Add File.${lookAlikes}`
export const isLink = (path: string, real: string, has: HasTool): string =>
  `${path} is a link to ${real}. A patch neither deletes nor moves a link: name ${real} to change that file${has('Bash') ? ', or use Bash to change the link' : ''}.`
export const unread = (path: string, has: HasTool): string =>
  `${path} was not read. Read it before you delete it${has('Bash') ? ', or delete it with Bash' : ''}.`
export const changedSince = (path: string): string =>
  `${path} has changed since it was read. Read it again before you delete it.`
export const hiddenFile = (path: string): string =>
  `${path} cannot be patched: a permission rule denies reading it. Do not try to work around this.`
export const secretLost = (path: string, mark: string): string =>
  `${path}: the patch adds ${mark}, which stands for a secret that was not shown. Leave lines with secrets out of the patch.`

/**
 * @param nearest the most similar lines of the file, with line numbers; empty if they are unknown or must not be shown
 */
export function misplaced(path: string, why: Misplaced, nearest: string): string {
  return `${path}, hunk ${why.hunk}: ${misplacedText(why)}${nearest === '' ? '' : ` The most similar lines are:\n${nearest}`}`
}

function misplacedText(why: Misplaced): string {
  switch (why.kind) {
    case 'no anchor':
      return `no line after the previous hunk reads ${quoted(why.anchor)}. Copy the line after @@ exactly from the file.`
    case 'not found':
      return 'its unchanged and removed lines are not consecutive lines of the file. Read the file and copy the lines exactly.'
    case 'elsewhere':
      return 'its lines are not at the end of the file. Read the end of the file, or leave out *** End of File.'
    case 'unordered':
      return `its lines are at line ${why.line}, above the previous hunk. Order the hunks from top to bottom.`
    case 'several':
      return `its lines are in the file ${why.count} times (lines ${why.lines.join(', ')}${why.count > why.lines.length ? ', ...' : ''}). Add more unchanged lines, or a line such as "@@ class Parser" from above the right place.`
    case 'nothing changed':
      return 'it has no - or + lines.'
  }
}

// Patches that were applied.

/** The change of one file. `lines`: added and removed; null if they were not counted. */
export interface PatchedSummary {
  readonly kind: 'add' | 'update' | 'delete'
  readonly path: string
  readonly moveTo?: string | undefined
  readonly lines: { readonly added: number | null; readonly removed: number | null }
  readonly inexact: readonly InexactPlace[]
  /** Further sentences, each with a space before it. */
  readonly notes: string
}

export function applied(files: readonly PatchedSummary[]): string {
  const count = files.length === 1 ? '1 file' : `${files.length} files`
  return `Patched ${count}:\n${files.map(summaryLine).join('\n')}`
}

function summaryLine({ kind, path, moveTo, lines: { added, removed }, inexact, notes }: PatchedSummary): string {
  const counts = added === null || removed === null || kind === 'delete' ? '' : ` (+${added} -${removed})`
  const target = moveTo === undefined ? '' : ` -> ${moveTo}`
  const places = inexact.map(
    ({ hunk, line, ignored }) =>
      `\n  Hunk ${hunk} was placed at line ${line}, ignoring ${ignoredText[ignored]}. Check the result.`,
  )
  return `${{ add: 'A', update: 'M', delete: 'D' }[kind]} ${path}${target}${counts}${notes}${places.join('')}`
}

const ignoredText: Readonly<Record<InexactPlace['ignored'], string>> = {
  'line ends': 'blanks at line ends',
  blanks: 'blanks around lines',
  punctuation: 'the kind of punctuation',
}

// Patches that failed while files were written.

/** @param failure why, as a sentence; @param left files that could not be restored, each with the reason */
export function failedMidway(failure: string, left: readonly string[]): string {
  const state =
    left.length === 0
      ? 'All files were restored: nothing was changed.'
      : `These files could not be restored; read them before you continue:\n${left.join('\n')}`
  return `The patch was not applied. ${failure} ${state}`
}

export const changedMeanwhile = (path: string): string => `${path}: another program changed it meanwhile`
export const notRestored = (path: string, reason: string): string => `${path}: ${reason}`
