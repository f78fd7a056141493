import { headOf } from '@halting/core/adapters'
import { notConfinedCode, notConfinedMark } from '@halting/policy'
import type { Confinement } from '@halting/policy/wall'
import { notConfined, notTakenBack, ranConfined, ranInWorkspace, takenBack } from './shell-texts.ts'
import type { ShellEnd, ShellPlace } from './shell-command.ts'
import { ranInTrial } from './trial-texts.ts'

/** A confined command that has ended. */
export interface EndedConfined {
  readonly confinement: Confinement
  readonly end: ShellEnd
  readonly output: string
  /** Whether the command's end needs no explanation: it succeeded, its exit code is an answer, or it was stopped. */
  readonly isOver: boolean
}

/** Notes for the model about the confinement of a command, in addition to its output. */
export function confinementNotes(ended: EndedConfined, { wall }: Pick<ShellPlace, 'wall'>): readonly string[] {
  const { confinement, end, output, isOver } = ended
  if (confinement.kind === 'trial') return !isOver && mayBeConfinement(end, output) ? [ranInTrial] : []
  if (confinement.kind !== 'edit') {
    if (end.exitCode === notConfinedCode && output.includes(notConfinedMark)) wall?.readWall?.forget()
    return !isOver && refusals.test(output) ? [ranConfined] : []
  }
  if (didNotRun(end, output)) {
    wall?.forgetEdits()
    return [notConfined]
  }
  return [...aftermathNotes(end), ...(!isOver && mayBeConfinement(end, output) ? [ranInWorkspace] : [])]
}

/**
 * Whether bubblewrap, or the preparation of caches before it, failed: the shell, which reports its directory at its
 * end, did not run.
 */
export function didNotRun({ exitCode, directory }: ShellEnd, output: string): boolean {
  if (directory !== undefined) return false
  return exitCode === 1
    ? output.startsWith('bwrap: ')
    : exitCode === notConfinedCode && output.includes(notConfinedMark)
}

// Spec R-EBASH-4.
/** Notes about what was reverted. */
export function aftermathNotes({ aftermath, unsettled }: ShellEnd): readonly string[] {
  const paths = aftermath?.takenBack ?? []
  return [
    ...(paths.length === 0 ? [] : [takenBack(shownPaths(paths.map(({ path }) => path)))]),
    ...(unsettled === undefined ? [] : [notTakenBack(unsettled)]),
  ]
}

const maxPaths = 5

function shownPaths(paths: readonly string[]): string {
  const quotedPaths = paths.slice(0, maxPaths).map((path) => headOf(JSON.stringify(path).slice(1, -1), 200))
  const more = paths.length - quotedPaths.length
  return more === 0 ? quotedPaths.join(', ') : `${quotedPaths.join(', ')} and ${more} more`
}

/** Errors of commands confined to reading, in the wording of programs. */
const refusals = /permission denied|operation not permitted|read-only file system|network is unreachable/i

// Spec R-EBASH-3.
/**
 * Whether the confinement may have caused a failure. A program that failed by itself, such as a test, has its own exit
 * code and reports its findings, without naming a missing file, permission, socket or service. In doubt true.
 */
function mayBeConfinement({ kind, exitCode }: ShellEnd, output: string): boolean {
  if (kind !== 'exited' || exitCode === null || exitCode > 125) return true
  return output.trim() === '' || hints.some((hint) => hint.test(output))
}

/** Error messages about a missing network, home folder, socket, permission or disk space. */
const hints: readonly RegExp[] = [
  /permission|permitted|denied|forbidden|read[- ]only|not writable|unwritable|unable to (?:access|write|create|open)|cannot (?:create|open|write|access|connect)/i,
  /network|unreachable|resolv|getaddrinfo|name or service|no such host|unknown host|\bconnect|socket|\bdial\b|\bproxy\b|offline/i,
  /download|fetch|registry|\btls\b|\bssl\b|certificate|timed? ?out|timeout|credential|authenticat|unauthorized|log ?in|daemon|docker/i,
  /no such file|not found|(?:cannot|can't|could not) find (?:module|package|the|file)|no module named|does not exist|doesn't exist|not installed/i,
  /no space left|busy|index\.lock|(?:could not|unable to) lock|errno|bad system call|sigsys|seccomp|namespace|\bssh\b|\bgpg\b|keyring/i,
  /\bE(?:ACCES|PERM|ROFS|NOENT|NETUNREACH|CONNREFUSED|NOTFOUND|AI_AGAIN|HOSTUNREACH|ADDRNOTAVAIL|BUSY|NOSPC|XDEV)\b/,
]
