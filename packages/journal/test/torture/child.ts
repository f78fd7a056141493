// A process that works until it is killed. kills.test.ts bundles it from the sources and runs it.
import { appendFileSync, closeSync, fsyncSync, openSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { streamRun, resume, startRun, type RunOptions, type ModelRequest, type Tool } from '@halting/core'
import { textOf } from '@halting/core/adapters'
import { type StepStore, type StepRecord, DurableStepEngine } from '@halting/core/steps'
import { scriptedModel, transcriptProblems, type ScriptedReply } from '@halting/core/testing'
import { openJournal } from '../../src/open-journal.ts'
import { pricePerToken, type Left, type Moment, type Orders, type Paid } from './moments.ts'

// The parent wrote it.
const orders = JSON.parse(process.argv[2] ?? '') as Orders
const sessionId = '11111111-2222-4333-8444-555555555555'

let seen = 0
function reach(moment: Moment): void {
  if (orders.stopAt?.moment !== moment || ++seen !== orders.stopAt.time) return
  writeSync(1, `at ${moment}\n`)
  // This process does nothing any more. The kernel still has what it was given.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
}

/** The kernel then has the line, and a kill of this process cannot undo that. */
function note(name: string, line: string): void {
  appendFileSync(join(orders.folder, name), `${line}\n`)
}

function takeEffect(callId: string): void {
  const file = openSync(join(orders.folder, 'effects.txt'), 'a')
  writeSync(file, `${callId}\n`)
  reach('during_effect')
  fsyncSync(file)
  closeSync(file)
}

const tools: readonly Tool[] = [
  {
    name: 'Look',
    description: 'Looks.',
    inputSchema: { type: 'object' },
    readOnly: true,
    async execute(_input, { callId }) {
      note('looked.txt', callId)
      await pause()
      return { content: [{ type: 'text', text: `seen by ${callId}` }] }
    },
  },
  {
    name: 'Pay',
    description: 'Does what must not be done twice.',
    inputSchema: { type: 'object' },
    readOnly: false,
    async execute(_input, { callId }) {
      reach('before_effect')
      await pause()
      takeEffect(callId)
      await pause()
      return { content: `paid by ${callId}`, details: { callId } }
    },
  },
]

const pause = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

const isOfPay = (record: StepRecord): boolean =>
  (record.type === 'intent' || record.type === 'result') && /\/tool:.*pay_\d+_\d+$/.test(record.key)

/** The log of the journal, which reports the moments. */
function watched(log: StepStore): StepStore {
  let isPayIntent = false
  return {
    keeps: log.keeps,
    append(record) {
      isPayIntent = record.type === 'intent' && isOfPay(record)
      if (isPayIntent) reach('before_intent')
      if (record.type === 'result' && isOfPay(record)) reach('before_result')
      if (record.type === 'lap') reach('before_lap')
      log.append(record)
      // It is written in the next turn of the event loop, and reported after that.
      if (record.type === 'result' && isOfPay(record)) afterWrite('after_result')
      if (record.type === 'result' && record.key.includes('/model:')) afterWrite('after_reply')
    },
    flush() {
      const flushed = log.flush()
      if (isPayIntent) afterWrite('intent_not_synced')
      return flushed
    },
  }
}

function afterWrite(moment: Moment): void {
  setImmediate(() => setTimeout(() => reach(moment), 1))
}

/** Derives the next reply from the conversation, so that any process can continue. */
function nextReply({ messages }: ModelRequest): ScriptedReply {
  const turn = messages.filter(({ role }) => role === 'assistant').length
  const usage = { input_tokens: 500 + turn, output_tokens: 100 }
  const costUsd = usage.input_tokens * pricePerToken.input + usage.output_tokens * pricePerToken.output
  const paid: Paid = {
    process: process.pid,
    turn,
    costUsd,
    problems: transcriptProblems(messages).map(String),
  }
  note('paid.jsonl', JSON.stringify(paid))
  if (turn + 1 >= orders.turns) return { text: `done after ${turn + 1} turns`, usage }
  const look = (index: number) => ({ id: `look_${turn}_${index}`, name: 'Look' })
  const pay = (index: number) => ({ id: `pay_${turn}_${index}`, name: 'Pay', input: { amount: turn } })
  const calls = [[look(0), look(1), pay(2)], [pay(0)], [look(0), pay(1), pay(2), look(3)], [pay(0), look(1), look(2)]]
  return { thinking: `turn ${turn}`, text: `Turn ${turn}.`, toolCalls: calls[turn % calls.length] ?? [], usage }
}

const model = scriptedModel(nextReply, { maxOutputTokens: 2_000 })
const options: RunOptions = {
  model,
  tools,
  maxTurns: orders.turns + 5,
  maxBudgetUsd: orders.maxBudgetUsd,
  prices: {
    cost: (_model, usage) => usage.input_tokens * pricePerToken.input + usage.output_tokens * pricePerToken.output,
    worstCase: (_model, { inputTokens, outputTokens }) =>
      inputTokens * pricePerToken.input + outputTokens * pricePerToken.output,
  },
}

const path = join(orders.folder, 'project', `${sessionId}.jsonl`)
const journal = await openJournal({ path, sessionId, cwd: orders.folder, version: '0.1.0' })
const log = watched(journal.log)
writeSync(1, 'started\n')
const running =
  journal.open === undefined
    ? streamRun(startRun({ prompt: 'Do the work.', sessionId }), {
        ...options,
        steps: new DurableStepEngine({ log, sessionId }),
      })
    : resume(journal.open, options, journal.transcript, log).loop
const { terminal, state } = await running.ended
await journal.close()
const left: Left = {
  reason: terminal.reason,
  committedUsd: terminal.committedUsd,
  answer: textOf(state.transcript.messages().at(-1)?.content ?? ''),
  messages: state.transcript.messages(),
  problems: transcriptProblems(state.transcript.messages()).map(String),
}
writeFileSync(join(orders.folder, 'end.json'), JSON.stringify(left))
writeSync(1, `ended ${terminal.reason}${terminal.error === undefined ? '' : ` ${terminal.error.message}`}\n`)
