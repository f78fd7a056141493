// A worker whose sessions may kill it: poison-worker.mjs PORT LOG ADMIN INGRESS. An opening says how many turns a session has, and how its tool kills the process. The
// effects of its tools are noted in LOG, one line each.
import { randomUUID } from 'node:crypto'
import { appendFileSync } from 'node:fs'
import { createSession } from '@halting/core/session'
import { scriptedModel } from '@halting/core/testing'
import type { AnyTool, Model, Prices } from '@halting/core'
import { startWorker } from '../../src/worker/worker.ts'

const [port = '0', log = '/dev/null', admin = '', ingress = ''] = process.argv.slice(2)
const note = (...words: readonly (string | number)[]): void =>
  appendFileSync(log, `${[Date.now(), process.pid, ...words].join(' ')}\n`)
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** One dollar per million tokens. */
const prices: Prices = {
  cost: (_model, { input_tokens, output_tokens }) => (input_tokens + output_tokens) / 1e6,
  worstCase: (_model, { inputTokens, outputTokens }) => (inputTokens + outputTokens) / 1e6,
}

/** Its service names each reply as it begins, and reports its usage later. */
function slowly(model: Model, sessionId: string): Model {
  return {
    ...model,
    maxOutputTokens: 1_000,
    async lookUpUsage(replyId) {
      note('looked', sessionId, replyId)
      return { usd: billedUsd }
    },
    async call(request, options) {
      const message = { id: `gen-${randomUUID()}`, type: 'message' }
      options.emit({ type: 'api_event', event: { type: 'message_start', message } })
      await pause(150)
      return model.call(request, options)
    },
  }
}

/** Usage of a lost request. */
const billedUsd = 0.000_001

/** Kills the process, or runs the tool normally. */
async function poison(how: unknown): Promise<void> {
  if (how === 'signal') process.kill(process.pid, 'SIGKILL')
  if (how !== 'memory') return
  const hoard: number[][] = []
  for (;;) {
    hoard.push(Array.from({ length: 200_000 }, () => hoard.length + 0.5))
    await pause(0)
  }
}

await startWorker({
  host: '127.0.0.1',
  port: Number(port),
  admin,
  ingress: { url: ingress },
  onEvent: (event) => {
    if ('session' in event) note('event', event.session ?? '-', event.type, JSON.stringify(event))
  },
  async open({ sessionId, opening, journal }) {
    const turns = Number(opening['turns'] ?? 3)
    note('open', sessionId)
    const act: AnyTool = {
      name: 'Act',
      description: 'Does what must not be done twice.',
      inputSchema: { type: 'object' },
      readOnly: false,
      async execute(_input, { callId }) {
        note('acted', sessionId, callId)
        await pause(150)
        if (opening['kills'] !== undefined) await poison(opening['kills'])
        return `done by ${callId}`
      },
    }
    return createSession({
      options: {
        model: slowly(
          scriptedModel(({ messages }) => {
            const turn = messages.filter(({ role }) => role === 'assistant').length
            return turn < turns ? { toolCalls: [{ name: 'Act', id: `a${turn}` }] } : 'done'
          }),
          sessionId,
        ),
        prices,
        maxBudgetUsd: 1,
        tools: [act],
        sessionId,
        permissions: { denies: () => undefined, decide: () => ({ behavior: 'allow' }) },
      },
      journal,
      answersQuestions: true,
      permissions: { mode: 'default' },
      cwd: '/',
      end: async () => {},
    })
  },
})
note('serving', port)
process.send?.('serving')
