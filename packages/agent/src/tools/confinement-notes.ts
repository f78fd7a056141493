import { headOf } from '@halting/core/adapters'
import { notConfinedCode, notConfinedMark } from '@halting/policy'
import type { Confinement } from '@halting/policy/wall'
import { notConfined, notTakenBack, ranConfined, ranInWorkspace, takenBack } from './shell-texts.ts'
import type { ShellEnd } from './shell-command.ts'
import { ranInTrial } from './trial-texts.ts'
import type { Workspace } from './workspace.ts'

/** A confined command that has ended. */
export interface EndedConfined {
  readonly confinement: Confinement
  readonly end: ShellEnd
  readonly output: string
  /** It succeeded, its exit code is an answer, or somebody stopped it: nobody asks why it ended as it did. */
  readonly isOver: boolean
}

/** What the model is told of the confinement of a command, beside its output. */
export function confinementNotes(ended: EndedConfined, workspace: Pick<Workspace, 'wall'>): readonly string[] {
  const { confinement, end, output, isOver } = ended
  if (confinement.kind === 'trial') return !isOver && mayBeConfinement(end, output) ? [ranInTrial] : []
  if (confinement.kind !== 'edit') {
    if (end.exitCode === notConfinedCode && output.includes(notConfinedMark)) workspace.wall?.confiner?.forget()
    return !isOver && refusals.test(output) ? [ranConfined] : []
  }
  if (didNotRun(end, output)) {
    workspace.wall?.forgetEdits()
    return [notConfined]
  }
  return [...aftermathNotes(end), ...(!isOver && mayBeConfinement(end, output) ? [ranInWorkspace] : [])]
}

/** Bubblewrap, or what prepares the caches before it, has failed: the shell, which tells its directory at its end, did not run. */
export function didNotRun({ exitCode, directory }: ShellEnd, output: string): boolean {
  if (directory !== undefined) return false
  return exitCode === 1
    ? output.startsWith('bwrap: ')
    : exitCode === notConfinedCode && output.includes(notConfinedMark)
}

// Spec R-EBASH-4.
/** What came of it beside its output: what was taken back. */
export function aftermathNotes({ aftermath, unsettled }: ShellEnd): readonly string[] {
  const paths = aftermath?.takenBack ?? []
  return [
    ...(paths.length === 0 ? [] : [takenBack(shownPaths(paths.map(({ path }) => path)))]),
    ...(unsettled === undefined ? [] : [notTakenBack(unsettled)]),
  ]
}

const mostPaths = 5

function shownPaths(paths: readonly string[]): string {
  const shown = paths.slice(0, mostPaths).map((path) => headOf(JSON.stringify(path).slice(1, -1), 200))
  const more = paths.length - shown.length
  return more === 0 ? shown.join(', ') : `${shown.join(', ')} and ${more} more`
}

/** What a command that is confined to reading is refused, as programs report it. */
const refusals = /permission denied|operation not permitted|read-only file system|network is unreachable/i

// Spec R-EBASH-3.
/**
 * Whether a failure may be that of the confinement. A program that failed by itself, such as a test, ends with a code of its own and reports what it found:
 * nothing in its output names a file, a right, a socket or a service that was missing. Where that is not sure the answer is yes.
 */
function mayBeConfinement({ kind, exitCode }: ShellEnd, output: string): boolean {
  if (kind !== 'exited' || exitCode === null || exitCode > 125) return true
  return output.trim() === '' || hints.some((hint) => hint.test(output))
}

/** Words of programs that miss the network, the home folder, a socket, a right or room. */
const hints: readonly RegExp[] = [
  /permission|permitted|denied|forbidden|read[- ]only|not writable|unwritable|unable to (?:access|write|create|open)|cannot (?:create|open|write|access|connect)/i,
  /network|unreachable|resolv|getaddrinfo|name or service|no such host|unknown host|\bconnect|socket|\bdial\b|\bproxy\b|offline/i,
  /download|fetch|registry|\btls\b|\bssl\b|certificate|timed? ?out|timeout|credential|authenticat|unauthorized|log ?in|daemon|docker/i,
  /no such file|not found|(?:cannot|can't|could not) find (?:module|package|the|file)|no module named|does not exist|doesn't exist|not installed/i,
  /no space left|busy|index\.lock|(?:could not|unable to) lock|errno|bad system call|sigsys|seccomp|namespace|\bssh\b|\bgpg\b|keyring/i,
  /\bE(?:ACCES|PERM|ROFS|NOENT|NETUNREACH|CONNREFUSED|NOTFOUND|AI_AGAIN|HOSTUNREACH|ADDRNOTAVAIL|BUSY|NOSPC|XDEV)\b/,
]
