import { randomUUID } from 'node:crypto'
import type { MessageContent, RunEvent } from '@halting/core'
import type { FlagName, Flags } from '../flags/flags.ts'
import { watchInterruption, type Interruption } from '../headless/interruption.ts'
import { createReport } from '../headless/report.ts'
import { runOnce, type RunSession } from '../headless/run.ts'
import { told } from '../io/figures.ts'
import { readPiped } from '../io/stdin.ts'
import { styleFor } from '../io/style.ts'
import type { Program } from '../program.ts'
import { limitsIn } from '../flags/limit-flags.ts'
import { UsageError } from '../usage-error.ts'
import { openRemote, type RemoteLive } from './open-remote.ts'
import { ownRun } from './own-run.ts'
import { withPartial } from './partial.ts'
import { limitLine, questionLine } from './question-line.ts'
import { returnCommand } from './return-command.ts'
import { setTimeout as pause } from 'node:timers/promises'
import type { SdkAssistant } from '@halting/core/adapters'
import type { Watcher } from '../headless/watcher.ts'

/** What this face heeds beside what opens a session. */
const heeded: readonly FlagName[] = ['print', 'outputFormat', 'includePartialMessages', 'quiet', 'verbose']

/** `halting -p PROMPT --cluster URL`: one prompt to a session of a cluster, and its ending. What a person interrupts here ends there; any other end of this program leaves it alone. */
export async function promptOnCluster(
  flags: Flags,
  [written = '']: readonly string[],
  program: Program,
): Promise<number> {
  const { output, stdin } = program
  if (flags.print !== true)
    throw new UsageError('Without a terminal, --cluster needs -p: halting -p "PROMPT" --cluster URL.')
  const isNew = flags.resume === undefined
  if (isNew && written.trim() === '' && stdin.isTTY) throw noPrompt()
  const note = (text: string): void => output.err(told(text))
  const live = await openRemote(flags, program, { heeded, note })
  const interruption = watchInterruption(output)
  try {
    const piped = await readPiped(stdin, output, written.trim() !== '' || !isNew)
    const prompt = [written, piped].filter((part) => part.trim() !== '').join('\n\n')
    if (isNew && prompt === '') throw noPrompt()
    const { id: sessionId } = live.session
    const { argv, env } = program
    const report = createReport({
      flags,
      output,
      style: styleFor(output.isTerminal.stderr, env),
      // Its worker says what sessions may do.
      remedies: () => undefined,
      sessionId,
      isKept: true,
      asked: { argv, written, prompt },
    })
    const messageId = prompt === '' ? undefined : randomUUID()
    const own = ownRun(live.session, {
      messageId,
      onQuestion: (question) => output.err(questionLine(sessionId, question, flags.cluster ?? '')),
      onLimit: (request) => output.err(limitLine(sessionId, request, flags.cluster ?? '')),
      onNote: note,
    })
    const session = untilLeft(own, interruption)
    const watcher = withPartial(withWholeTexts(report), sessionId, flags.includePartialMessages === true)
    const asks = { flags, content: contentOf(written, piped), messageId }
    const run = runOnce({ session, ask: () => ask(live, asks), interruption, watcher })
    const exitCode = await Promise.race([run, session.left])
    if (exitCode === 'left') {
      watcher.release()
      note(leftLine(sessionId, flags.cluster ?? '', await closedInTime(live.session)))
      return interruption.exitCode ?? 1
    }
    if (live.isNew && (flags.outputFormat ?? 'text') === 'text' && flags.quiet !== true) note(`session ${sessionId}`)
    return exitCode
  } finally {
    interruption.release()
    // After it was left it is closed, or the cluster does not answer.
    if (!interruption.signal.aborted || interruption.signal.reason === 'user') await live.session.close()
  }
}

function leftLine(sessionId: string, cluster: string, isSent: boolean): string {
  const back = returnCommand(sessionId, cluster, true)
  return isSent
    ? `The run continues on the cluster. Resume: ${back}`
    : `The cluster does not answer: it may not have the prompt. If it has, the run continues: ${back}`
}

/** Commands and files that are written are looked up by the worker, in the first block; what was piped in beside it is none. */
function contentOf(written: string, piped: string): MessageContent {
  const [first = '', second] = [written, piped].filter((part) => part.trim() !== '')
  if (second === undefined) return first
  return [
    { type: 'text', text: first },
    { type: 'text', text: second },
  ]
}

interface Asked {
  readonly flags: Flags
  readonly content: MessageContent
  readonly messageId: string | undefined
}

/** Without a prompt the session goes on with what was left; a run that goes on is followed to its end. */
function ask({ session, isWorking }: RemoteLive, { flags, content, messageId }: Asked): void {
  if (messageId !== undefined) session.prompt(content, { id: messageId })
  else if (!isWorking) session.resume(limitsIn(flags))
}

function noPrompt(): UsageError {
  return new UsageError('There is no prompt. Put it after -p, or pipe it in.')
}

/** So long a cluster that does not answer is waited for. Whoever ends the program kills it soon. */
const patienceMs = 1_000

/** The same run, which only a person interrupts (Ctrl-C): whatever else ends this program leaves it alone. */
function untilLeft(run: RunSession, { signal }: Pick<Interruption, 'signal'>): RunSession & Left {
  const left = new Promise<'left'>((resolve) => {
    const look = (): void => {
      if (signal.aborted && signal.reason !== 'user') resolve('left')
    }
    signal.addEventListener('abort', look)
    look()
  })
  return {
    listen: (listener) => run.listen(listener),
    settled: () => run.settled(),
    interrupt: (options) =>
      signal.aborted && signal.reason !== 'user'
        ? { wasRunning: true, stillQueued: [], givenBack: [] }
        : run.interrupt(options),
    left,
  }
}

interface Left {
  /** Resolves when this program is ended by something else than a person's Ctrl-C. */
  readonly left: Promise<'left'>
}

/** Lets go of a session. False where the cluster does not say in time that it has what was asked of it. */
async function closedInTime(session: { close(): Promise<void> }): Promise<boolean> {
  const closed = session.close().then(
    () => true,
    () => false,
  )
  return Promise.race([closed, pause(patienceMs, false, { ref: false })])
}

/** A text whose pieces did not come here, as before the worker was reached, is told whole where it would have been told in pieces. */
export function withWholeTexts(watcher: Watcher): Watcher {
  let pieces = ''
  const hearPieces = (event: RunEvent): void => {
    if (event.type === 'model_start') pieces = ''
    if (event.type === 'model_update' && event.update.type === 'text_delta') pieces += event.update.text
  }
  const tellWhole = ({ message, error }: SdkAssistant): void => {
    const { model } = message
    const texts = message.content.flatMap((block) => (block.type === 'text' ? [block.text] : []))
    const missed = error === undefined ? texts.filter((text) => !pieces.includes(text)) : []
    if (missed.length === 0) return
    const reply = { request: 0, attempt: 0 }
    watcher.onEvent({ type: 'model_start', ...reply, model })
    for (const [index, text] of missed.entries())
      watcher.onEvent({ type: 'model_update', request: 0, entryId: '', update: { type: 'text_delta', index, text } })
    const came = { outcome: 'answered', usage: null, costUsd: 0, durationMs: 0 } as const
    watcher.onEvent({ type: 'model_end', ...reply, ...came })
  }
  return {
    ...watcher,
    onEvent(event) {
      watcher.onEvent(event)
      hearPieces(event)
    },
    see(message) {
      if (message.type === 'assistant' && message.parent_tool_use_id === null) tellWhole(message)
      watcher.see(message)
    },
  }
}
