import { setImmediate as turnOfLoop } from 'node:timers/promises'
import { codeOf, tailOf } from '@halting/core/adapters'
import type { Json, Tool, ToolContext, ToolOutput } from '@halting/core'
import { realPath } from '@halting/journal/files'
import { SandboxError } from '@halting/policy'
import { answerOfExitOne, isReadOnlyCommand } from '@halting/policy/shell'
import type { Confinement, TrialConfinement } from '@halting/policy/wall'
import { type CutReason, endOnAbort } from './cut-short.ts'
import { toolsOfCaller } from './available-tools.ts'
import { filledText, flag, inputForm, optional, text, wholeNumber } from './input.ts'
import { errorResult } from './result.ts'
import {
  backIn,
  bashNotStarted,
  commandInterrupted,
  commandTimedOut,
  commandTooLong,
  exitCode,
  noOutput,
  notConfinedNow,
  notRunInterrupted,
  outside,
  outsideAndGone,
  shellKilled,
  timeoutLowered,
} from './shell-texts.ts'
import type { ShellCommand, ShellEnd } from './shell-command.ts'
import { goneNote, startFolder } from './start-folder.ts'
import { withCommandWork, workOfTask } from './file-work.ts'
import { agentIdOf, type CommandInput, type Workspace } from './workspace.ts'
import type { BoundedOutput } from './bounded-output.ts'

/** Input of the Bash tool. */
export interface BashInput {
  /** The command line. */
  readonly command: string
  /** In milliseconds. */
  readonly timeout?: number
  /** What the command does, for the user. */
  readonly description?: string
  /** Start it in the background, without waiting for its end. */
  readonly run_in_background?: boolean
  /** Run the command unconfined where it would be confined to the workspace: the user is asked first. */
  readonly unconfined?: boolean
}

/** Runs bash commands. The working directory persists between calls; variables and functions do not. */
export function createBashTool(workspace: Workspace): Tool<BashInput> {
  const { limits } = workspace
  const form = inputForm<BashInput>(
    'Bash',
    {
      command: filledText('Command for bash'),
      timeout: optional(
        wholeNumber(`Milliseconds (default: ${limits.bashTimeoutMs}, at most ${limits.bashMaxTimeoutMs})`, {
          minimum: 0,
        }),
      ),
      description: optional(text('What the command does, in 5 to 10 words')),
      run_in_background: optional(
        flag('Return immediately. Then use Wait to wait for it, TaskOutput to read it, TaskStop to stop it'),
      ),
      unconfined: optional(flag('Ask the person to run it outside of the confinement')),
    },
    {
      cmd: 'command',
      timeout_ms: 'timeout',
      dangerouslyDisableSandbox: 'unconfined',
      with_escalated_permissions: 'unconfined',
    },
  )
  return {
    name: 'Bash',
    description:
      'Runs a bash command. Returns its output, and its exit code if it fails. The working directory persists between calls, ' +
      'variables do not. stdin is closed. For files, prefer Read, Edit, Write, Glob and Grep. ' +
      `Output over ${limits.bashOutputCharacters} characters is shortened in the middle` +
      (workspace.spoolFolder === undefined ? '.' : '; all of it is in a file.'),
    inputSchema: form.schema,
    canonicalInput: (input) => form.canonicalInput(input),
    validate: (input) => form.validate(input),
    readOnly: ({ command, run_in_background: isBackground }) => isBackground !== true && isReadOnlyCommand(command),
    // The directory persists between calls, so commands run one after another.
    concurrencySafe: false,
    onUnknownOutcome: 'tell',
    execute(input, context) {
      const { checkpoints } = workspace
      if (input.run_in_background === true) return startInBackground(input, workspace, context)
      const confinement = workspace.confinementOf(input, context)
      if (confinement?.kind === 'trial')
        return withCommandWork(input.command, workspace, (onChanges) => {
          onChanges([])
          return runTried(input, confinement, workspace, context)
        })
      // Read-only commands need no snapshot of the project. A confined command may change the project, whatever the
      // analysis found.
      if (isReadOnlyCommand(input.command) && confinement?.kind !== 'edit') return run(input, workspace, context)
      return withCommandWork(input.command, workspace, (onChanges) => {
        const running = (): Promise<ToolOutput> => run(input, workspace, context)
        return checkpoints?.aroundCommand(context, input.command, running, onChanges) ?? running()
      })
    },
  }
}

async function startInBackground(input: BashInput, workspace: Workspace, context: ToolContext): Promise<ToolOutput> {
  const { command } = input
  const has = toolsOfCaller(context.rights)
  await workspace.checkpoints?.background(context, command)
  const { begun, atEnd } = await workspace.work.backgroundStarted(command)
  const started = await startCommand(input, workspace, context)
  if (started.kind === 'failed') return started.result
  started.shell.unref()
  // TaskOutput shows the head and tail of the output.
  started.shell.spool?.drop()
  // Loaded on demand.
  const { endOf, shownCommand, startedInBackground } = await import('./task-words.ts')
  const { tasks } = workspace
  tasks.redact = workspace.redact
  const task = tasks.add(command, started.shell, atEnd, {
    endOf: (ended) => endOf(ended, has).map((end) => ({ ...end, ...workOfTask(ended, workspace) })),
    shownCommand,
  })
  return {
    content: startedInBackground(task.id, tasks.atEnd, typeof context.agentType === 'string' ? 'agent' : 'main', has),
    details: { backgroundTaskId: task.id },
    ...begun,
    tasks: [task.started],
  }
}

async function run(input: BashInput, workspace: Workspace, context: ToolContext): Promise<ToolOutput> {
  const { signal } = context
  if (signal.aborted) return errorResult(notRunInterrupted)
  const started = await startCommand(input, workspace, context)
  if (started.kind === 'failed') return started.result
  const { shell } = started
  const { bashTimeoutMs, bashMaxTimeoutMs } = workspace.limits
  // 0 means the default.
  const timeoutMs = Math.min(input.timeout || bashTimeoutMs, bashMaxTimeoutMs)
  const cut = endOnAbort(shell, signal, timeoutMs)
  const stopTelling = tailReporter(shell.output, context)
  const end = await shell.ended
  stopTelling()
  const reason = await cut.settled()
  return resultOf(input, { shell, end, reason, timeoutMs, confinement: started.confinement }, workspace, context)
}

// Spec R-TRY-5.
/**
 * Returns the result of a command that was run as a trial. If the process that tried the command has ended, tries it
 * again in this process.
 */
async function runTried(
  input: BashInput,
  confinement: TrialConfinement,
  workspace: Workspace,
  context: ToolContext,
): Promise<ToolOutput> {
  // Loaded on demand.
  const { Trials } = await import('./trial.ts')
  const { notRunAfterTrial } = await import('./trial-texts.ts')
  workspace.trials ??= new Trials(workspace)
  const { command } = input
  const call = { callId: context.callId, agentId: agentIdOf(context), command, input, confinement }
  const tried = workspace.trials.take(call) ?? (await workspace.trials.try(call, context.signal))
  if (typeof tried !== 'string') return resultOf(input, { ...tried, reason: undefined }, workspace, context)
  return errorResult(context.signal.aborted ? notRunInterrupted : notRunAfterTrial(tried))
}

interface RanCommand {
  readonly shell: ShellCommand
  readonly end: ShellEnd
  readonly reason: CutReason
  readonly timeoutMs: number
  readonly confinement: Confinement | undefined
}

async function resultOf(
  input: BashInput,
  { shell, end, reason, timeoutMs, confinement }: RanCommand,
  workspace: Workspace,
  { agentType }: ToolContext,
): Promise<ToolOutput> {
  const { bashMaxTimeoutMs } = workspace.limits
  const lowered =
    input.timeout !== undefined && input.timeout > bashMaxTimeoutMs ? timeoutLowered(bashMaxTimeoutMs) : undefined
  const answer = reason === undefined && end.exitCode === 1 ? answerOfExitOne(input.command) : undefined
  const isAgent = typeof agentType === 'string'
  const isFine = answer !== undefined || (reason === undefined && end.exitCode === 0)
  const isOver = reason === 'aborted' || isFine
  const ended = confinement && { confinement, end, output: shell.output.toString(), isOver }
  // Loaded on demand.
  const confined =
    ended === undefined ? [] : (await import('./confinement-notes.ts')).confinementNotes(ended, workspace)
  return commandResult({ end, shell, reason, timeoutMs, lowered, answer, confined, isAgent }, workspace)
}

export type Started =
  | { readonly kind: 'started'; readonly shell: ShellCommand; readonly confinement: Confinement | undefined }
  | { readonly kind: 'failed'; readonly result: ToolOutput }

/** Starts a command like Bash: in the shell's directory, confined as judged. */
export async function startCommand(input: CommandInput, workspace: Workspace, context: ToolContext): Promise<Started> {
  const { command } = input
  const { callId, rights } = context
  // Loaded on demand.
  const [{ startShellCommand }, { leaveRunning }] = await Promise.all([
    import('./shell-command.ts'),
    import('./leave-running.ts'),
  ])
  workspace.leaveRunning = leaveRunning
  // Readers of the run's events see the call one step after it begins.
  if (workspace.traceparentOf !== undefined) await turnOfLoop()
  const folder = startFolder(command, workspace)
  if (folder.kind === 'gone') return { kind: 'failed', result: errorResult(folder.why) }
  const { directory } = folder
  const traceparent = workspace.traceparentOf?.(callId)
  const confined = workspace.confinementOf(input, context)
  // Spec R-PERM-1b. The command was allowed in another mode, or on a system that could confine it.
  const isUnconfined = confined === undefined && workspace.sandbox === undefined
  if (context.confined === true && isUnconfined) return { kind: 'failed', result: errorResult(notConfinedNow) }
  // Only Bash tries commands, and a trial does not reach this point.
  const confinement = confined?.kind === 'trial' ? undefined : confined
  try {
    const start = { directory, access: accessOf(command), rights, traceparent, confinement }
    const shell = startShellCommand(command, workspace, start)
    if (confinement?.kind === 'edit') void shell.ended.then((end) => reportAftermath(end, workspace))
    return { kind: 'started', confinement, shell }
  } catch (thrown) {
    if (thrown instanceof SandboxError) return { kind: 'failed', result: errorResult(thrown.message) }
    // Node throws if an argument or the environment is too long to start anything.
    if (codeOf(thrown) !== 'E2BIG') throw thrown
    return { kind: 'failed', result: errorResult(commandTooLong) }
  }
}

// Spec R-EBASH-4.
/** Reports to the user which effects of a confined command were reverted, and which could not be checked. */
function reportAftermath({ aftermath, unsettled }: ShellEnd, { onConfined }: Workspace): void {
  for (const each of aftermath?.takenBack ?? []) onConfined?.({ kind: 'confined_file_taken_back', ...each })
  if (unsettled !== undefined) onConfined?.({ kind: 'confined_command_unchecked', why: unsettled })
}

// Spec R-BOX-3.
/** Commands that run without a rule must not write; the sandbox enforces this. */
function accessOf(command: string): 'read-only' | 'project' {
  return isReadOnlyCommand(command) ? 'read-only' : 'project'
}

interface Ended {
  readonly end: ShellEnd
  readonly shell: ShellCommand
  readonly reason: CutReason
  readonly timeoutMs: number
  /** A note that the timeout exceeded the maximum. */
  readonly lowered: string | undefined
  /** The meaning of an exit code that is an answer and not a failure. */
  readonly answer: string | undefined
  /** Notes about the command's confinement. */
  readonly confined: readonly string[]
  /** Whether the caller is a subagent. */
  readonly isAgent: boolean
}

function commandResult(
  { end, shell, reason, timeoutMs, lowered, answer, confined, isAgent }: Ended,
  workspace: Workspace,
): ToolOutput {
  const output = shell.output.toString().replace(/\n+$/, '')
  const isFine = end.exitCode === 0 || answer !== undefined
  const isError = reason !== undefined || end.kind !== 'exited' || !isFine
  const outcome = outcomeOf(end, reason, timeoutMs, answer)
  // Reports the failure first, then the end of a long output before its beginning, because the reason is at the end.
  const parts = [
    isError ? outcome : undefined,
    isError ? shell.output.tailFirst().replace(/\n+$/, '') : output === '' ? noOutput : output,
    isError ? undefined : outcome,
    ...confined,
    lowered,
    directoryNote(end, workspace, isAgent),
  ].filter((part) => part !== undefined && part !== '')
  const details: Json = {
    stdout: output,
    stderr: '',
    interrupted: reason === 'aborted',
    timedOut: reason === 'timed out',
    exitCode: end.exitCode,
    ...(answer !== undefined && { returnCodeInterpretation: answer }),
  }
  const spooled = shell.spool?.end()
  return { content: parts.join('\n'), isError, details, ...(spooled !== undefined && { spooled }) }
}

function outcomeOf(
  end: ShellEnd,
  reason: CutReason,
  timeoutMs: number,
  answer: string | undefined,
): string | undefined {
  if (reason === 'aborted') return commandInterrupted
  if (reason === 'timed out') return commandTimedOut(timeoutMs)
  if (end.kind === 'not started') return bashNotStarted(end.detail)
  if (end.kind === 'killed') return shellKilled(end.detail)
  return end.exitCode === 0 ? undefined : exitCode(end.exitCode, answer)
}

// Spec R-AGENT-8.
/**
 * Agents run in parallel and share one shell: no agent may change the shell's directory, or commands of others would
 * run in a different directory than the one in which they were judged.
 */
function directoryNote({ directory }: ShellEnd, workspace: Workspace, isAgent: boolean): string | undefined {
  if (isAgent) {
    const hasMoved = directory !== undefined && directory !== realPath(workspace.shellDirectory)
    return goneNote(workspace) ?? (hasMoved ? backIn(workspace.shellDirectory) : undefined)
  }
  if (directory === undefined) return goneNote(workspace)
  if (workspace.moveShell(directory) === 'moved') return goneNote(workspace)
  const gone = goneNote(workspace)
  return gone === undefined ? outside(directory, workspace.cwd) : outsideAndGone(directory, gone)
}

const everyMs = 1_000
const tailCharacters = 1_000

// Spec R-BACK-9a.
/**
 * Reports the latest output of a running command, at most once a second and only if there is new output. Call the
 * returned function to stop.
 */
export function tailReporter(output: BoundedOutput, { progress }: Pick<ToolContext, 'progress'>): () => void {
  const began = performance.now()
  let reported = 0
  const timer = setInterval(() => {
    if (output.length === reported) return
    reported = output.length
    const elapsedSeconds = Math.round((performance.now() - began) / 1_000)
    progress({ elapsedSeconds, tail: tailOf(output.toString(), tailCharacters) })
  }, everyMs)
  // Does not keep the event loop alive.
  timer.unref()
  return () => clearInterval(timer)
}
