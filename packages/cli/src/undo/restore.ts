import { checkpointsFolder, SessionFiles, type KeptFile, type LeftFile, type RestorePlan } from '@halting/agent'
import { many, oneLine } from '../io/figures.ts'
import type { Program } from '../program.ts'
import { whose } from '../session/whose.ts'

/** The files that a session has changed. */
export function filesOf({ sessionId }: KeptFile, cwd: string, program: Program): SessionFiles {
  return new SessionFiles(checkpointsFolder({ ...whose(program), cwd, sessionId }))
}

/** What happens to each file, a line each. */
export function planText({ changes }: Pick<RestorePlan, 'changes'>, shown: (path: string) => string): string {
  return changes
    .map(({ path, before, after }) => `  ${doneTo(before.kind, after.kind).padEnd(13)} ${shown(path)}\n`)
    .join('')
}

function doneTo(before: string, after: string): string {
  if (after === 'absent') return 'removed'
  return before === 'absent' ? 'brought back' : 'restored'
}

export function leftText(left: readonly LeftFile[], shown: (path: string) => string): string {
  return left.map(({ path, why }) => `  ${shown(path)}: ${oneLine(why, 500)}\n`).join('')
}

/** What may be different and nobody knows. */
export function unknownText({ unknown }: Pick<RestorePlan, 'unknown'>): string {
  return unknown.length === 0 ? '' : `Not known:\n${unknown.map((each) => `  ${oneLine(each, 500)}\n`).join('')}`
}

/** Why nothing is done: somebody else's changes would be lost. */
export function refusalText(left: readonly LeftFile[], shown: (path: string) => string): string {
  return `${many(left.length, 'file')} would not be put back, so nothing was changed:\n${leftText(left, shown)}--skip-changed leaves ${left.length === 1 ? 'it' : 'them'} and puts the others back.\n`
}
