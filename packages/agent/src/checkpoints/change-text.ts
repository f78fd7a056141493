import { displayPath } from '@halting/policy/files'
import type { FileChange } from './change-log.ts'
import type { ContentStore } from './content-store.ts'
import { stateAt, type PathState } from './path-state.ts'
import { gitQuotedName } from './git-quoted-name.ts'

const longestWorkMs = 2_000

/** A change as a unified diff, in git's wording for binary content. */
export async function changeText(
  { path, before, after }: FileChange,
  from: string,
  contents: ContentStore,
): Promise<string> {
  const name = displayPath(path, from)
  const head = headOf(name, before, after)
  const [old, next] = [await textOf(before, path, contents), await textOf(after, path, contents)]
  if (old === next) return head
  if (old === undefined || next === undefined) return `${head}Binary files differ\n`
  // Loaded on demand: takes 15 to 40 ms.
  const { createTwoFilesPatch } = await import('diff')
  const [oldName, newName] = [nameOf('a', name, before), nameOf('b', name, after)]
  const options = { context: 3, timeout: longestWorkMs }
  const patch = createTwoFilesPatch(oldName, newName, old, next, undefined, undefined, options)
  if (patch === undefined) return `${head}Files differ, but the difference is too large to show\n`
  return head + patch.replace(/^=+\n/, '').replaceAll(/^(---|\+\+\+) (.*)\t$/gm, '$1 $2')
}

function nameOf(side: 'a' | 'b', name: string, { kind }: PathState): string {
  return kind === 'absent' || kind === 'folder' ? '/dev/null' : `${side}/${name}`
}

function headOf(name: string, before: PathState, after: PathState): string {
  const lines = [`diff --git ${gitQuotedName(`a/${name}`)} ${gitQuotedName(`b/${name}`)}`]
  const [old, next] = [modeOf(before), modeOf(after)]
  if (before.kind === 'absent') lines.push(`new file mode ${next ?? '100644'}`)
  else if (after.kind === 'absent') lines.push(`deleted file mode ${old ?? '100644'}`)
  else if (old !== undefined && next !== undefined && old !== next) lines.push(`old mode ${old}`, `new mode ${next}`)
  return `${lines.join('\n')}\n`
}

function modeOf(state: PathState): string | undefined {
  switch (state.kind) {
    case 'link':
      return '120000'
    case 'folder':
      return '040000'
    case 'file':
      return state.mode === null ? undefined : `10${state.mode.toString(8).padStart(4, '0')}`
    case 'absent':
    case 'unkept':
      return undefined
  }
}

/** Undefined if the content is not text. */
async function textOf(state: PathState, path: string, contents: ContentStore): Promise<string | undefined> {
  if (state.kind === 'link') return state.target
  if (state.kind !== 'file') return state.kind === 'unkept' ? undefined : ''
  const stored = (await contents.read(state.sha256)) ?? stateAt(path).content
  if (stored === undefined || stored.includes(0)) return undefined
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(stored)
  } catch {
    return undefined
  }
}
