import type { PermissionRequest } from '@halting/core'
import { isJsonObject } from '@halting/core/adapters'
import { existsSync } from 'node:fs'
import { withoutLookupCache } from '../files/lookup-cache.ts'
import { absolutePath, bothEnds } from '../files/paths.ts'
import type { TrialConfinement } from '../sandbox/confinement.ts'
import { analyseShell, type ShellAnalysis, type SimpleCommand } from '../shell/analysis.ts'
import { effectsOfCommand, isHarmlessSink } from '../shell/read-only.ts'
import { nameOf } from '../shell/wrappers.ts'
import type { ShellWord } from '../shell/words.ts'
import { doubtAbout } from './command-rules.ts'
import { editConfinement, editProblem } from './edit-confinement.ts'
import { innermost, whereaboutsOf, type Whereabouts } from './places.ts'
import { isPathAllowed, type RuleBook } from './rule-book.ts'
import { ruleForAny } from './rule-match.ts'
import { subjectsOf } from './subject.ts'

/** A call of Bash whose command is tried before a person is asked about it. */
export interface TrialCall {
  /** Id of the call. */
  readonly callId: string
  /** The subagent that calls. */
  readonly agentId?: string | undefined
  /** The command line. */
  readonly command: string
  /** The input of the call, as its tool reads it. */
  readonly input: unknown
  /** To what the command is confined. */
  readonly confinement: TrialConfinement
}

/** Tries commands, and stores the results of those that had no effects. */
export interface TrialPort {
  /**
   * Tries the command of a call. Gives undefined where it had no effects: its result is stored then, and Bash gives that to the call.
   * Else it gives why the command has to run again, as the end of a sentence; nothing is left of it then. Never rejects.
   */
  run(call: TrialCall, signal: AbortSignal): Promise<string | undefined>
}

// Spec R-TRY-1.
/**
 * To what a command is confined that is tried before a person is asked; undefined where it is not tried. To be asked about a
 * call that these rules ask about.
 */
export function trialConfinement(request: PermissionRequest, book: RuleBook): TrialConfinement | undefined {
  const { call, hookDecision, needsApproval, wasAsked } = request
  if (call.name !== 'Bash' || book.mode !== 'default') return undefined
  if (withoutLookupCache(() => book.wall?.trials?.().kind) !== 'overlay') return undefined
  if (hookDecision !== undefined || needsApproval === true || wasAsked === true) return undefined
  const subjects = subjectsOf(call, book.cwd)
  const [subject] = subjects
  if (subject.kind !== 'command' || ruleForAny(book.ask, call.name, subjects, book) !== undefined) return undefined
  const { command } = subject
  // What deny rules for files name, it does not see.
  const deny = book.deny.filter(({ spec }) => spec.kind !== 'path')
  if (doubtAbout(command, { ...book, deny }) !== undefined) return undefined
  if (editProblem(request, command, book) !== undefined || skipsTrial(command, book)) return undefined
  const { directories, readable, denied } = editConfinement(command, book)
  return { kind: 'trial', directories, readable, denied }
}

/** The command of a call of Bash. */
export function commandOfCall({ call }: PermissionRequest): string | undefined {
  const command = isJsonObject(call.input) ? call.input['command'] : undefined
  return typeof command === 'string' ? command : undefined
}

// Spec R-TRY-2.
/** What is known to have effects is not tried, and neither is what would do something else where only the session is seen. */
function skipsTrial(command: string, book: RuleBook): boolean {
  const analysis = analyseShell(command)
  const { commands, redirects, features } = analysis
  if (features.has('background') || features.has('coproc')) return true
  if (redirects.some(({ direction, target }) => direction === 'out' && !isHarmlessSink(target))) return true
  return commands.some(usesOutside) || commands.some(changesFiles) || namesHiddenPlace(analysis, book)
}

function changesFiles(command: SimpleCommand): boolean {
  return effectsOfCommand(command).some(({ kind }) => kind === 'write' || kind === 'write tree' || kind === 'relocate')
}

function usesOutside(command: SimpleCommand): boolean {
  return [...command.words, ...innermost(command)].some(({ value }) => outsidePrograms.has(nameOf(value)))
}

/**
 * Programs whose effects are not seen, since they signal other processes, ask a service to do something, or are about the
 * machine. In a trial they would find nothing there and, as `pkill`, may say nothing.
 */
const outsidePrograms: ReadonlySet<string> = new Set(
  (
    'kill pkill killall killall5 skill snice xkill fuser renice systemctl service initctl rc-service loginctl machinectl journalctl supervisorctl pm2 ' +
    'sudo su doas runuser pkexec run0 docker docker-compose podman podman-compose nerdctl buildah ctr crictl kubectl helm minikube kind vagrant virsh multipass lxc incus ' +
    'at batch crontab anacron mount umount losetup swapon swapoff modprobe insmod rmmod sysctl shutdown reboot halt poweroff init telinit ' +
    'date hostname hostnamectl timedatectl localectl dbus-send gdbus busctl notify-send xdg-open open say osascript wall write mesg logger ' +
    'mail mailx sendmail tmux screen zellij adb fastboot emacsclient code codium cursor subl ssh-add ssh-agent gpg gpgconf gpg-connect-agent pass secret-tool keyctl ' +
    'psql pg_dump pg_restore createdb dropdb mysql mysqldump mariadb redis-cli mongosh mongo sqlplus influx clickhouse-client cqlsh watchman bazelisk'
  ).split(' '),
)

// Spec R-TRY-2a.
/** Whether a word names something that is there and that a trial does not see. */
function namesHiddenPlace(analysis: ShellAnalysis, book: RuleBook): boolean {
  const whereabouts = whereaboutsOf(analysis, book.shellDirectory())
  const words = [
    ...analysis.commands.flatMap((one) => [...one.words, ...one.assignments]),
    ...analysis.redirects.map(({ target }) => target),
  ]
  return words.some((word) => pathsIn(word, whereabouts).some((path) => isHidden(path, book)))
}

/** A word, what stands behind an equals sign in it, and behind the letter of an option. */
function pathsIn({ value }: ShellWord, { directories }: Whereabouts): readonly string[] {
  const parts = [value, value.slice(value.indexOf('=') + 1), value.replace(/^-[A-Za-z]/, '')]
  const named = parts.flatMap((part) => part.split(':')).filter((part) => /^[/~]|(?:^|\/)\.\.(?:\/|$)/.test(part))
  return [...new Set(named)].flatMap((part) => directories.map((from) => absolutePath(part, from)))
}

function isHidden(path: string, book: RuleBook): boolean {
  if (/^\/(?:dev|proc)(?:\/|$)/.test(path) || isPathAllowed(book, { kind: 'read', toolName: 'Read' }, path))
    return false
  return (
    !bothEnds(path).every((end) => book.wall?.reads(end, false) === true) && (existsSync(path) || path.includes('*'))
  )
}
