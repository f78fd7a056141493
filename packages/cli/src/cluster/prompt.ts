import { randomUUID } from 'node:crypto'
import type { MessageContent, RunEvent } from '@halting/core'
import type { FlagName, Flags } from '../flags/flags.ts'
import { watchInterruption, type Interruption } from '../headless/interruption.ts'
import { createReport } from '../headless/report.ts'
import { runOnce, type RunSession } from '../headless/run.ts'
import { programMessage } from '../io/figures.ts'
import { readPiped } from '../io/stdin.ts'
import { styleFor } from '../io/style.ts'
import type { Program } from '../program.ts'
import { limitsFromFlags } from '../flags/limit-flags.ts'
import { UsageError } from '../usage-error.ts'
import { openRemoteSession, type RemoteSession } from './remote-session.ts'
import { requestedRun } from './requested-run.ts'
import { withPartialMessages } from './partial-messages.ts'
import { limitQuestionLine, permissionRequestLine } from './request-lines.ts'
import { clusterResumeCommand } from './resume-command.ts'
import { setTimeout as pause } from 'node:timers/promises'
import type { SdkAssistant } from '@halting/core/adapters'
import type { Watcher } from '../headless/watcher.ts'

/** Flags that this frontend supports in addition to those that open a session. */
const supportedFlags: readonly FlagName[] = ['print', 'outputFormat', 'includePartialMessages', 'quiet', 'verbose']

/**
 * `halting -p PROMPT --cluster URL`: sends one prompt and prints its result. Ctrl-C interrupts the run; if this program
 * ends otherwise, the run continues.
 */
export async function promptOnCluster(
  flags: Flags,
  [promptArgument = '']: readonly string[],
  program: Program,
): Promise<number> {
  const { output, stdin } = program
  if (flags.print !== true)
    throw new UsageError('Without a terminal, --cluster needs -p: halting -p "PROMPT" --cluster URL.')
  const isNew = flags.resume === undefined
  if (isNew && promptArgument.trim() === '' && stdin.isTTY) throw noPrompt()
  const note = (text: string): void => output.err(programMessage(text))
  const live = await openRemoteSession(flags, program, { supportedFlags, note })
  const interruption = watchInterruption(output)
  try {
    const piped = await readPiped(stdin, output, promptArgument.trim() !== '' || !isNew)
    const prompt = [promptArgument, piped].filter((part) => part.trim() !== '').join('\n\n')
    if (isNew && prompt === '') throw noPrompt()
    const { id: sessionId } = live.session
    const { argv, env } = program
    const report = createReport({
      flags,
      output,
      style: styleFor(output.isTerminal.stderr, env),
      // Permissions are set on the worker.
      remedies: () => undefined,
      sessionId,
      isStored: true,
      invocation: { argv, argument: promptArgument, prompt },
    })
    const messageId = prompt === '' ? undefined : randomUUID()
    const own = requestedRun(live.session, {
      messageId,
      onQuestion: (question) => output.err(permissionRequestLine(sessionId, question, flags.cluster ?? '')),
      onLimit: (request) => output.err(limitQuestionLine(sessionId, request, flags.cluster ?? '')),
      onNote: note,
    })
    const session = detachable(own, interruption)
    const watcher = withPartialMessages(withMissedTexts(report), sessionId, flags.includePartialMessages === true)
    const asks = { flags, content: promptContent(promptArgument, piped), messageId }
    const run = runOnce({ session, ask: () => sendPrompt(live, asks), interruption, watcher })
    const exitCode = await Promise.race([run, session.detached])
    if (exitCode === 'left') {
      watcher.release()
      note(detachedText(sessionId, flags.cluster ?? '', await closeWithTimeout(live.session)))
      return interruption.exitCode ?? 1
    }
    if (live.isNew && (flags.outputFormat ?? 'text') === 'text' && flags.quiet !== true) note(`session ${sessionId}`)
    return exitCode
  } finally {
    interruption.release()
    // A detached session is closed already, or the cluster does not answer.
    if (!interruption.signal.aborted || interruption.signal.reason === 'user') await live.session.close()
  }
}

function detachedText(sessionId: string, cluster: string, isSent: boolean): string {
  const back = clusterResumeCommand(sessionId, cluster, true)
  return isSent
    ? `The run continues on the cluster. Resume: ${back}`
    : `The cluster does not answer: it may not have the prompt. If it has, the run continues: ${back}`
}

/** Only the first block can contain commands and file mentions, which the worker resolves. Piped input is a second block. */
function promptContent(promptArgument: string, piped: string): MessageContent {
  const [first = '', second] = [promptArgument, piped].filter((part) => part.trim() !== '')
  if (second === undefined) return first
  return [
    { type: 'text', text: first },
    { type: 'text', text: second },
  ]
}

interface PromptToSend {
  readonly flags: Flags
  readonly content: MessageContent
  readonly messageId: string | undefined
}

/** Without a prompt, resumes the session; a run that is already active is only followed. */
function sendPrompt({ session, isWorking }: RemoteSession, { flags, content, messageId }: PromptToSend): void {
  if (messageId !== undefined) session.prompt(content, { id: messageId })
  else if (!isWorking) session.resume(limitsFromFlags(flags))
}

function noPrompt(): UsageError {
  return new UsageError('There is no prompt. Put it after -p, or pipe it in.')
}

/** How long to wait for the cluster on exit. The process may be killed soon after. */
const closeTimeoutMs = 1_000

/** Makes a run ignore interruptions other than Ctrl-C, which detach this program from the run instead. */
function detachable(run: RunSession, { signal }: Pick<Interruption, 'signal'>): RunSession & Detachable {
  const detached = new Promise<'left'>((resolve) => {
    const check = (): void => {
      if (signal.aborted && signal.reason !== 'user') resolve('left')
    }
    signal.addEventListener('abort', check)
    check()
  })
  return {
    listen: (listener) => run.listen(listener),
    settled: () => run.settled(),
    interrupt: (options) =>
      signal.aborted && signal.reason !== 'user'
        ? { wasRunning: true, stillQueued: [], givenBack: [] }
        : run.interrupt(options),
    detached: detached,
  }
}

interface Detachable {
  /** Resolves when this program is ended by something other than Ctrl-C. */
  readonly detached: Promise<'left'>
}

/** Closes the session; false if the cluster does not confirm in time that it received all requests. */
async function closeWithTimeout(session: { close(): Promise<void> }): Promise<boolean> {
  const closed = session.close().then(
    () => true,
    () => false,
  )
  return Promise.race([closed, pause(closeTimeoutMs, false, { ref: false })])
}

/** Emits the whole text of a reply if its pieces did not arrive, for example while the worker was unreachable. */
export function withMissedTexts(watcher: Watcher): Watcher {
  let received = ''
  const collectText = (event: RunEvent): void => {
    if (event.type === 'model_start') received = ''
    if (event.type === 'model_update' && event.update.type === 'text_delta') received += event.update.text
  }
  const emitMissedTexts = ({ message, error }: SdkAssistant): void => {
    const { model } = message
    const texts = message.content.flatMap((block) => (block.type === 'text' ? [block.text] : []))
    const missed = error === undefined ? texts.filter((text) => !received.includes(text)) : []
    if (missed.length === 0) return
    const reply = { request: 0, attempt: 0 }
    watcher.onEvent({ type: 'model_start', ...reply, model })
    for (const [index, text] of missed.entries())
      watcher.onEvent({ type: 'model_update', request: 0, entryId: '', update: { type: 'text_delta', index, text } })
    const outcome = { outcome: 'answered', usage: null, costUsd: 0, durationMs: 0 } as const
    watcher.onEvent({ type: 'model_end', ...reply, ...outcome })
  }
  return {
    ...watcher,
    onEvent(event) {
      watcher.onEvent(event)
      collectText(event)
    },
    see(message) {
      if (message.type === 'assistant' && message.parent_tool_use_id === null) emitMissedTexts(message)
      watcher.see(message)
    },
  }
}
