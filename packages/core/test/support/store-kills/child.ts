// A process that works on a session of a store until it is killed: bundled, and run by torment.ts.
import { appendFileSync, closeSync, fsyncSync, openSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import {
  resume,
  startRun,
  streamRun,
  type ModelMessage,
  type ModelRequest,
  type RunOptions,
  type RunResult,
  type Tool,
} from '../../../src/index.ts'
import { DurableStepEngine, type SessionStore, type StepRecord, type StepStore } from '../../../src/entries/steps.ts'
import { scriptedModel, transcriptProblems, type ScriptedReply } from '../../../src/testing/index.ts'
import type { Left, Orders } from './orders.ts'

const isReply = (record: StepRecord): boolean =>
  record.type === 'result' &&
  record.key.includes('/model:') &&
  // The result of a model attempt has a kind.
  (record.value as { readonly kind?: string }).kind === 'answered'

/** Works on the session of the orders, and records how it ended. */
export async function workAt(store: SessionStore, { folder, sessionId, turns, stopAt }: Orders): Promise<void> {
  /** Once written, the kernel has it, and killing this process does not undo it. */
  const note = (name: string, line: string): void => appendFileSync(join(folder, name), `${line}\n`)

  function stop(): void {
    writeSync(1, 'at the record\n')
    // This process does nothing more, except for what the kernel already has.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
  }

  let appended = 0
  const watched = (log: StepStore): StepStore => ({
    keeps: log.keeps,
    append(record) {
      if (++appended === stopAt) stop()
      log.append(record)
    },
    flush: () => log.flush(),
  })

  const session = await store.open(sessionId, { cwd: folder })
  note('asked.txt', `${process.pid} found ${(session.open ?? []).filter(isReply).length}`)
  const log = watched(session.log)
  const options: RunOptions = {
    model: scriptedModel((request) => nextReply(request, turns, note), { maxOutputTokens: 2_000 }),
    tools: toolsIn(folder),
    maxTurns: turns + 5,
  }

  /** A run that an earlier process finished without reporting it is not started again. */
  async function theEnd(): Promise<{ readonly terminal: RunResult; readonly messages: readonly ModelMessage[] }> {
    const ended = session.ended.at(-1)
    if (session.open === undefined && ended !== undefined)
      return { terminal: ended.terminal, messages: session.transcript.messages() }
    const running =
      session.open === undefined
        ? streamRun(startRun({ prompt: 'Do the work.', sessionId }), {
            ...options,
            steps: new DurableStepEngine({ log, sessionId }),
          })
        : resume(session.open, options, session.transcript, log).loop
    const { terminal, state } = await running.ended
    return { terminal, messages: state.transcript.messages() }
  }

  writeSync(1, 'started\n')
  const { terminal, messages } = await theEnd()
  if (stopAt === 0) stop()
  await session.close()
  const read = await store.read(sessionId)
  await store.close()
  const left: Left = {
    reason: terminal.reason,
    error: terminal.error?.message ?? null,
    messages,
    problems: transcriptProblems(messages).map(String),
    lastReason: read?.info.lastReason ?? null,
    starts: read?.records.filter(({ type }) => type === 'start').length ?? 0,
    ends: read?.records.filter(({ type }) => type === 'end').length ?? 0,
  }
  writeFileSync(join(folder, 'end.json'), JSON.stringify(left))
  writeSync(1, `ended ${terminal.reason}\n`)
}

const pause = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

function toolsIn(folder: string): readonly Tool[] {
  const takeEffect = (callId: string): void => {
    const file = openSync(join(folder, 'effects.txt'), 'a')
    writeSync(file, `${callId}\n`)
    fsyncSync(file)
    closeSync(file)
  }
  const inputSchema = { type: 'object' } as const
  return [
    {
      name: 'Look',
      description: 'Looks.',
      inputSchema,
      readOnly: true,
      async execute(_input, { callId }) {
        await pause()
        return `seen by ${callId}`
      },
    },
    {
      name: 'Pay',
      description: 'Does what must not be done twice.',
      inputSchema,
      readOnly: false,
      async execute(_input, { callId }) {
        await pause()
        takeEffect(callId)
        await pause()
        return `paid by ${callId}`
      },
    },
  ]
}

/** The next step depends only on the conversation, so that any process can continue. */
function nextReply(
  { messages }: ModelRequest,
  turns: number,
  note: (name: string, line: string) => void,
): ScriptedReply {
  const turn = messages.filter(({ role }) => role === 'assistant').length
  note('asked.txt', `${process.pid} asked ${turn}`)
  if (turn + 1 >= turns) return { text: `done after ${turn + 1} turns` }
  const look = (index: number) => ({ id: `look_${turn}_${index}`, name: 'Look' })
  const pay = (index: number) => ({ id: `pay_${turn}_${index}`, name: 'Pay', input: { amount: turn } })
  const calls = [[look(0), pay(1)], [pay(0)], [pay(0), pay(1), look(2)], [look(0), look(1)]]
  return { text: `Turn ${turn}.`, toolCalls: calls[turn % calls.length] ?? [] }
}
