import { checkpointsBeside, SessionFiles, type LeftFile, type RestorePlan } from '@halting/agent'
import type { StoredSessionFile } from '@halting/journal'
import { type Flags, wantsJson } from '../flags/flags.ts'
import { many, oneLine } from '../io/figures.ts'
import type { Program } from '../program.ts'

/** The files that a session has changed. */
export function sessionFiles({ path }: StoredSessionFile): SessionFiles {
  return new SessionFiles(checkpointsBeside(path))
}

const verbs = {
  done: { remove: 'removed', bringBack: 'brought back', restore: 'restored' },
  ahead: { remove: 'remove', bringBack: 'bring back', restore: 'restore' },
} as const

/** What was done to each file, or what is ahead of it; a line each. */
export function planText(
  { changes }: Pick<RestorePlan, 'changes'>,
  when: keyof typeof verbs,
  shown: (path: string) => string,
): string {
  return changes
    .map(
      ({ path, before, after }) => `  ${verbs[when][changeKind(before.kind, after.kind)].padEnd(13)} ${shown(path)}\n`,
    )
    .join('')
}

/** What `--json` tells of files that go back, or would. */
export interface RestoreFacts {
  readonly plan: Pick<RestorePlan, 'changes'> & Partial<Omit<RestorePlan, 'changes'>>
  readonly isDone: boolean
  /** Those that the plan leaves when absent. */
  readonly left?: readonly LeftFile[]
  /** Of a dry run. */
  readonly diff?: string
  /** What else is told, such as the message. */
  readonly more?: { readonly [field: string]: unknown }
}

/** One JSON object where `--json` is given, else the text. */
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

/** What may be different and nobody knows. */
export function unknownText({ unknown }: Pick<RestorePlan, 'unknown'>): string {
  return unknown.length === 0 ? '' : `Unknown:\n${unknown.map((each) => `  ${oneLine(each, 500)}\n`).join('')}`
}

/** Why nothing is done: somebody else's changes would be lost. */
export function refusalText(left: readonly LeftFile[], shown: (path: string) => string): string {
  return `${many(left.length, 'file')} would not be reverted, so nothing was changed:\n${leftText(left, shown)}Use --skip-changed to skip ${left.length === 1 ? 'it' : 'them'} and revert the others.\n`
}
