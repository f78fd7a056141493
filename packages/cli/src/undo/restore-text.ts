import { checkpointsOfFile, SessionFiles, type LeftFile, type RestorePlan } from '@halting/agent'
import type { StoredSessionFile } from '@halting/journal'
import { type Flags, wantsJson } from '../flags/flags.ts'
import { many, oneLine } from '../io/figures.ts'
import { tableLines } from '../io/table.ts'
import type { Program } from '../program.ts'

/** The recorded file changes of a session. */
export function sessionFiles({ path }: StoredSessionFile): SessionFiles {
  return new SessionFiles(checkpointsOfFile(path))
}

const verbs = {
  done: { remove: 'removed', bringBack: 'brought back', restore: 'restored' },
  ahead: { remove: 'remove', bringBack: 'bring back', restore: 'restore' },
} as const

/** What was or will be done to each file, one line each. */
export function planText(
  { changes }: Pick<RestorePlan, 'changes'>,
  when: keyof typeof verbs,
  shown: (path: string) => string,
): string {
  const rows = changes.map(({ path, before, after }) => [verbs[when][changeKind(before.kind, after.kind)], shown(path)])
  return tableLines(rows, { columns: [{ min: 12 }, {}] })
    .map((line) => `${line}\n`)
    .join('')
}

/** The JSON of a restore or its preview. */
export interface RestoreFacts {
  readonly plan: Pick<RestorePlan, 'changes'> & Partial<Omit<RestorePlan, 'changes'>>
  readonly isDone: boolean
  /** Default: the files that the plan skips. */
  readonly left?: readonly LeftFile[]
  /** Only for a dry run. */
  readonly diff?: string
  /** Further fields, such as the message. */
  readonly more?: { readonly [field: string]: unknown }
}

/** Prints JSON with `--json`, otherwise the text. */
export function printRestore(
  flags: Flags,
  { sessionId }: StoredSessionFile,
  facts: RestoreFacts,
  text: string,
  program: Program,
): void {
  const { plan, isDone, left = plan.left ?? [], diff, more } = facts
  const files = plan.changes.map(({ path, before, after }) => ({
    path,
    change: verbs.done[changeKind(before.kind, after.kind)],
  }))
  const json = {
    session_id: sessionId,
    run: plan.run ?? null,
    done: isDone,
    ...more,
    files,
    left,
    unknown: plan.unknown ?? [],
    ...(diff !== undefined && { diff }),
  }
  program.output.out(wantsJson(flags) ? `${JSON.stringify(json)}\n` : text)
}

function changeKind(before: string, after: string): keyof (typeof verbs)['done'] {
  if (after === 'absent') return 'remove'
  return before === 'absent' ? 'bringBack' : 'restore'
}

export function leftText(left: readonly LeftFile[], shown: (path: string) => string): string {
  return left.map(({ path, why }) => `  ${shown(path)}: ${oneLine(why, 500)}\n`).join('')
}

/** Files that may differ, but were not recorded. */
export function unknownText({ unknown }: Pick<RestorePlan, 'unknown'>): string {
  return unknown.length === 0 ? '' : `Unknown:\n${unknown.map((each) => `  ${oneLine(each, 500)}\n`).join('')}`
}

/** Why no file is restored: changes by others would be lost. */
export function refusalText(left: readonly LeftFile[], shown: (path: string) => string): string {
  return `${many(left.length, 'file')} would not be reverted, so nothing was changed:\n${leftText(left, shown)}Use --skip-changed to skip ${left.length === 1 ? 'it' : 'them'} and revert the others.\n`
}
