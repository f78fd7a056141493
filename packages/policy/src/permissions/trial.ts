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

/** A Bash call whose command is tried before a person is asked. */
export interface TrialCall {
  /** Id of the call. */
  readonly callId: string
  /** Id of the calling subagent. */
  readonly agentId?: string | undefined
  /** The command line. */
  readonly command: string
  /** The input of the call, as its tool reads it. */
  readonly input: unknown
  /** The confinement of the command. */
  readonly confinement: TrialConfinement
}

/** Tries commands, and stores the results of those without effects. */
export interface TrialPort {
  /**
   * Tries the command of a call. Returns undefined if it had no effects: the result is stored, and Bash returns it to the call. Otherwise returns
   * why the command must run again, as the end of a sentence, and discards everything. Never rejects.
   */
  run(call: TrialCall, signal: AbortSignal): Promise<string | undefined>
}

// Spec R-TRY-1.
/** The confinement for a trial before a person is asked; undefined if the command is not tried. Call it only for calls that these rules ask about. */
export function trialConfinement(request: PermissionRequest, book: RuleBook): TrialConfinement | undefined {
  const { call, hookDecision, needsApproval, wasAsked } = request
  if (call.name !== 'Bash' || book.mode !== 'default') return undefined
  if (withoutLookupCache(() => book.wall?.trials?.().kind) !== 'overlay') return undefined
  if (hookDecision !== undefined || needsApproval === true || wasAsked === true) return undefined
  const subjects = subjectsOf(call, book.cwd)
  const [subject] = subjects
  if (subject.kind !== 'command' || ruleForAny(book.ask, call.name, subjects, book) !== undefined) return undefined
  const { command } = subject
  // The trial does not see files of deny rules.
  const deny = book.deny.filter(({ spec }) => spec.kind !== 'path')
  if (doubtAbout(command, { ...book, deny }) !== undefined) return undefined
  if (editProblem(request, command, book) !== undefined || skipsTrial(command, book)) return undefined
  const { directories, readable, denied } = editConfinement(command, book)
  return { kind: 'trial', directories, readable, denied }
}

/** The command of a Bash call. */
export function commandOfCall({ call }: PermissionRequest): string | undefined {
  const command = isJsonObject(call.input) ? call.input['command'] : undefined
  return typeof command === 'string' ? command : undefined
}

// Spec R-TRY-2.
/** Whether a command is not tried: because its effects are known, or because it would behave differently if it sees only the session. */
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
 * Programs whose effects are invisible: they signal other processes, contact a service, or act on the machine. In a
 * trial they would find nothing and, like `pkill`, may not report an error.
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
/** Whether a word names an existing path that a trial does not see. */
function namesHiddenPlace(analysis: ShellAnalysis, book: RuleBook): boolean {
  const whereabouts = whereaboutsOf(analysis, book.shellDirectory())
  const words = [
    ...analysis.commands.flatMap((one) => [...one.words, ...one.assignments]),
    ...analysis.redirects.map(({ target }) => target),
  ]
  return words.some((word) => pathsIn(word, whereabouts).some((path) => isHidden(path, book)))
}

/** A word, its part after an equals sign, and its part after the letter of an option. */
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
