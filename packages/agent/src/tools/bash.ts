import { codeOf } from '@halting/core/adapters'
import type { Json, Tool, ToolContext, ToolOutput } from '@halting/core'
import { realPath } from '@halting/journal/files'
import { SandboxError, notConfinedCode } from '@halting/policy'
import { answerOfExitOne, isReadOnlyCommand } from '@halting/policy/shell'
import { filledText, flag, inputForm, optional, text, wholeNumber } from './input.ts'
import { failed } from './result.ts'
import type { ShellCommand, ShellEnd } from './shell-command.ts'
import { goneNote, startFolder } from './start-folder.ts'
import { tellingTail } from './telling-tail.ts'
import type { Workspace } from './workspace.ts'

/** Input of the Bash tool. */
export interface BashInput {
  readonly command: string
  /** Milliseconds. */
  readonly timeout?: number
  readonly description?: string
  readonly run_in_background?: boolean
}

/** Runs bash commands. The working directory holds from call to call; variables and functions do not. */
export function createBashTool(workspace: Workspace): Tool<BashInput> {
  const { limits } = workspace
  const form = inputForm<BashInput>('Bash', {
    command: filledText('The command for bash'),
    timeout: optional(
      wholeNumber(
        `Milliseconds after which the command is ended; ${limits.bashTimeoutMs} when absent, ${limits.bashMaxTimeoutMs} at most`,
        { minimum: 0 },
      ),
    ),
    description: optional(text('What it does, in five to ten words')),
    run_in_background: optional(
      flag('Start it and go on at once; read it with TaskOutput, wait for it with Wait, end it with TaskStop'),
    ),
  })
  return {
    name: 'Bash',
    description:
      'Runs a command in bash and returns its output and exit code. The working directory is kept between calls, ' +
      'variables are not. There is no input to read from. Prefer Read, Edit, Write, Glob and Grep for files. ' +
      `Of output beyond ${limits.bashOutputCharacters} characters the head and the tail are shown` +
      (workspace.spoolFolder === undefined ? '.' : ', and the file that has all of it.'),
    inputSchema: form.schema,
    validate: (input) => form.validate(input),
    readOnly: ({ command, run_in_background: isBackground }) => isBackground !== true && isReadOnlyCommand(command),
    // The directory holds from call to call, so commands follow one another.
    concurrencySafe: false,
    onUnknownOutcome: 'tell',
    execute(input, context) {
      const { checkpoints } = workspace
      if (input.run_in_background === true) return startInBackground(input, workspace, context)
      // What only reads needs no look at the project.
      if (checkpoints === undefined || isReadOnlyCommand(input.command)) return run(input, workspace, context)
      return checkpoints.aroundCommand(context, input.command, () => run(input, workspace, context))
    },
  }
}

async function startInBackground(
  { command }: BashInput,
  workspace: Workspace,
  context: ToolContext,
): Promise<ToolOutput> {
  await workspace.checkpoints?.background(context, command)
  const started = await startCommand(command, workspace, context)
  if (started.kind === 'failed') return started.result
  started.shell.letGo()
  // TaskOutput shows its head and tail.
  started.shell.spool?.drop()
  // Loaded when used.
  const { endOf, shownCommand, startedWords } = await import('./task-words.ts')
  const { tasks } = workspace
  tasks.redact = workspace.redact
  const task = tasks.add(command, started.shell, { endOf, shownCommand })
  return {
    content: startedWords(task, tasks.atEnd, typeof context.agentType === 'string' ? 'agent' : 'main'),
    details: { backgroundTaskId: task.id },
    tasks: [task.started],
  }
}

async function run(input: BashInput, workspace: Workspace, context: ToolContext): Promise<ToolOutput> {
  const { signal, agentType } = context
  if (signal.aborted) return failed('Interrupted before the command was started. It did not run.')
  const started = await startCommand(input.command, workspace, context)
  if (started.kind === 'failed') return started.result
  const { shell } = started
  const { bashTimeoutMs, bashMaxTimeoutMs } = workspace.limits
  // 0 means what comes without it.
  const timeoutMs = Math.min(input.timeout || bashTimeoutMs, bashMaxTimeoutMs)
  const cut = cutShort(shell, signal, timeoutMs)
  const stopTelling = tellingTail(shell.output, context)
  const end = await shell.ended
  stopTelling()
  const reason = await cut.settled()
  const lowered =
    input.timeout !== undefined && input.timeout > bashMaxTimeoutMs
      ? `The timeout was lowered to ${bashMaxTimeoutMs} ms, the longest.`
      : undefined
  const answer = reason === undefined && end.exitCode === 1 ? answerOfExitOne(input.command) : undefined
  const isAgent = typeof agentType === 'string'
  const confined = started.isConfined ? confinementNote(end, shell, workspace) : undefined
  return toldResult({ end, shell, reason, timeoutMs, lowered, answer, confined, isAgent }, workspace)
}

export type Started =
  | { readonly kind: 'started'; readonly shell: ShellCommand; readonly isConfined: boolean }
  | { readonly kind: 'failed'; readonly result: ToolOutput }

/** Starts a command as Bash does: where the shell is, confined as it was judged. */
export async function startCommand(command: string, workspace: Workspace, context: ToolContext): Promise<Started> {
  const { callId, rights } = context
  // Loaded when used.
  const [{ startShellCommand }, { leaveRunning }] = await Promise.all([
    import('./shell-command.ts'),
    import('./leave-running.ts'),
  ])
  workspace.leaveRunning = leaveRunning
  const folder = startFolder(command, workspace)
  if (folder.kind === 'gone') return { kind: 'failed', result: failed(folder.why) }
  const { directory } = folder
  const traceparent = workspace.traceparentOf?.(callId)
  const confinement = workspace.confinementOf(command, context)
  try {
    return {
      kind: 'started',
      isConfined: confinement !== undefined,
      shell: startShellCommand(command, workspace, {
        directory,
        access: accessOf(command),
        rights,
        traceparent,
        confinement,
      }),
    }
  } catch (thrown) {
    if (thrown instanceof SandboxError) return { kind: 'failed', result: failed(thrown.message) }
    // Node throws for an argument or environment that is too long to start anything with.
    if (codeOf(thrown) !== 'E2BIG') throw thrown
    return { kind: 'failed', result: failed('The command is too long to start. Write it to a file and run that file.') }
  }
}

/** What runs without a rule writes nothing: in a sandbox it cannot (spec R-BOX-3). */
function accessOf(command: string): 'read-only' | 'project' {
  return isReadOnlyCommand(command) ? 'read-only' : 'project'
}

type CutReason = 'aborted' | 'timed out' | undefined

/** Ends the command when the run is aborted or the time is up. `settled` waits until all of it is gone. */
function cutShort(shell: ShellCommand, signal: AbortSignal, timeoutMs: number): { settled(): Promise<CutReason> } {
  let reason: CutReason
  let ending: Promise<void> | undefined
  const end = (why: CutReason): void => {
    if (ending !== undefined) return
    reason = why
    ending = shell.end()
  }
  const onAbort = (): void => end('aborted')
  const timer = setTimeout(() => end('timed out'), timeoutMs)
  signal.addEventListener('abort', onAbort, { once: true })
  if (signal.aborted) onAbort()
  return {
    async settled() {
      clearTimeout(timer)
      signal.removeEventListener('abort', onAbort)
      await ending
      return reason
    },
  }
}

/** What a confined command is refused, as programs report it. */
const refusals = /permission denied|operation not permitted|read-only file system|network is unreachable/i

/** For the model: a failure may be that of the confinement, and the same command would fail again. */
function confinementNote({ exitCode }: ShellEnd, { output }: ShellCommand, { wall }: Workspace): string | undefined {
  if (exitCode === 0) return undefined
  const text = output.toString()
  if (exitCode === notConfinedCode && text.includes('this command cannot be confined')) wall?.confiner?.forget()
  return refusals.test(text)
    ? 'It ran confined: read-only, without network, and without files outside of the project and the system. An allow rule for it lets it run unconfined.'
    : undefined
}

interface Ended {
  readonly end: ShellEnd
  readonly shell: ShellCommand
  readonly reason: CutReason
  readonly timeoutMs: number
  /** Says that the timeout was more than there is. */
  readonly lowered: string | undefined
  /** What the exit code says, where it is an answer and no failure. */
  readonly answer: string | undefined
  /** Says that the command failed while it was confined. */
  readonly confined: string | undefined
  /** A subagent calls. */
  readonly isAgent: boolean
}

function toldResult(
  { end, shell, reason, timeoutMs, lowered, answer, confined, isAgent }: Ended,
  workspace: Workspace,
): ToolOutput {
  const output = shell.output.toString().replace(/\n+$/, '')
  const notes = [
    outcomeOf(end, reason, timeoutMs, answer),
    confined,
    lowered,
    directoryNote(end, workspace, isAgent),
  ].filter((note) => note !== undefined)
  const isFine = end.exitCode === 0 || answer !== undefined
  const isError = reason !== undefined || end.kind !== 'exited' || !isFine
  const shown = output === '' && !isError ? ['(no output)'] : output === '' ? [] : [output]
  const details: Json = {
    stdout: output,
    stderr: '',
    interrupted: reason === 'aborted',
    timedOut: reason === 'timed out',
    exitCode: end.exitCode,
    ...(answer !== undefined && { returnCodeInterpretation: answer }),
  }
  const spooled = shell.spool?.end()
  return { content: [...shown, ...notes].join('\n'), isError, details, ...(spooled !== undefined && { spooled }) }
}

function outcomeOf(
  end: ShellEnd,
  reason: CutReason,
  timeoutMs: number,
  answer: string | undefined,
): string | undefined {
  if (reason === 'aborted') return 'Interrupted: the command and all that it started were ended before it was done.'
  if (reason === 'timed out') {
    return `Timed out after ${timeoutMs} ms: the command and all that it started were ended. Set timeout higher, or run_in_background.`
  }
  if (end.kind === 'not started') return `bash could not be started: ${end.detail ?? 'unknown'}`
  if (end.kind === 'killed') return `The shell was ended by ${end.detail ?? 'a signal'}.`
  if (end.exitCode === 0) return undefined
  return answer === undefined ? `Exit code ${end.exitCode}` : `Exit code ${end.exitCode}: ${answer}.`
}

/**
 * Agents run side by side over one shell: none moves it, or a command of another would run elsewhere than where it was judged (spec R-AGENT-8).
 */
function directoryNote({ directory }: ShellEnd, workspace: Workspace, isAgent: boolean): string | undefined {
  if (isAgent) {
    const hasMoved = directory !== undefined && directory !== realPath(workspace.shellDirectory)
    return (
      goneNote(workspace) ?? (hasMoved ? `The next command starts in ${workspace.shellDirectory} again.` : undefined)
    )
  }
  if (directory === undefined) return goneNote(workspace)
  if (workspace.moveShell(directory) === 'moved') return goneNote(workspace)
  const gone = goneNote(workspace)
  const now = gone === undefined ? `: the working directory is ${workspace.cwd} again.` : `. ${gone}`
  return `${directory} is outside the directories of this session${now}`
}
