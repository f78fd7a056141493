import type { CommandChange } from '../checks/command-changes.ts'
import type { FileChange } from './change-log.ts'
import type { ContentStore } from './content-store.ts'
import { type PathState, stateAt } from './path-state.ts'

const largestBytes = 1024 * 1024
const maxFiles = 50

/** Counts changed lines, regardless of their order. Reads the current files, so call this function immediately. */
export async function changedLines(
  changes: readonly FileChange[],
  contents: ContentStore,
): Promise<readonly CommandChange[]> {
  const files = changes.filter(({ before, after }) => before.kind !== 'folder' && after.kind !== 'folder')
  const counted = await Promise.all(
    files
      .slice(0, maxFiles)
      .map(async (change) => ({ ...namedChange(change), lines: await linesOf(change, contents) })),
  )
  return [...counted, ...files.slice(maxFiles).map(namedChange)]
}

function namedChange({ path, before, after }: FileChange): CommandChange {
  const isNew = before.kind === 'absent' && after.kind !== 'absent'
  return {
    path,
    lines: 1,
    ...(after.kind === 'absent' && { isDeleted: true as const }),
    ...(isNew && { isNew: true as const }),
  }
}

async function linesOf({ path, before, after }: FileChange, contents: ContentStore): Promise<number> {
  // Only the mode was changed.
  if (before.kind === 'file' && after.kind === 'file' && before.sha256 === after.sha256) return 0
  const [old, now] = [await textBefore(before, contents), textNow(path, after)]
  return old === undefined || now === undefined ? 1 : Math.max(1, differingLines(old, now))
}

async function textBefore(state: PathState, contents: ContentStore): Promise<string | undefined> {
  if (state.kind === 'absent') return ''
  if (state.kind !== 'file' || state.bytes > largestBytes) return undefined
  return textOf(await contents.read(state.sha256).catch(() => undefined))
}

function textNow(path: string, state: PathState): string | undefined {
  if (state.kind === 'absent') return ''
  return state.kind === 'file' ? textOf(stateAt(path, largestBytes).content) : undefined
}

function textOf(content: Buffer | undefined): string | undefined {
  return content === undefined || content.includes(0) ? undefined : content.toString('utf8')
}

/** Lines that one text has and the other does not. */
function differingLines(old: string, now: string): number {
  const counts = new Map<string, number>()
  for (const line of linesIn(old)) counts.set(line, (counts.get(line) ?? 0) - 1)
  for (const line of linesIn(now)) counts.set(line, (counts.get(line) ?? 0) + 1)
  return [...counts.values()].reduce((sum, count) => sum + Math.abs(count), 0)
}

function linesIn(text: string): readonly string[] {
  return text === '' ? [] : text.replace(/\n$/, '').split('\n')
}
