// A worker of growth.ts, carried.ts and restore.ts: node growth-worker.mjs PORT LOG ADMIN [PAYLOADS] [RECORDS] [INGRESS]. Its sessions call a tool as often as their opening says,
// each result with this
// many bytes; each call is noted in LOG. RECORDS: number of records after which an invocation ends at the next iteration. INGRESS: sessions may have tenants.
import { createHash } from 'node:crypto'
import { appendFileSync } from 'node:fs'
import type { AnyTool, ModelMessage, Prices } from '@halting/core'
import { createSession } from '@halting/core/session'
import { scriptedModel } from '@halting/core/testing'
import { filePayloads } from '../../src/payloads/file-payloads.ts'
import { startWorker } from '../../src/worker/worker.ts'

const [port = '0', log = '/dev/null', admin = '', payloads = '', maxRecords = '', ingress = ''] = process.argv.slice(2)
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
const note = (...words: readonly (string | number)[]): void =>
  appendFileSync(log, `${[Date.now(), process.pid, ...words].join(' ')}\n`)

/** This many bytes, which compress to no less than three quarters; the same for the same name. */
function outputOf(name: string, bytes: number): string {
  const lines: string[] = []
  for (let line = 0; line * 89 < bytes; line++)
    lines.push(createHash('sha512').update(`${name} ${line}`).digest('base64'))
  return lines.join('\n').slice(0, bytes)
}

/** One cent per thousand tokens: a request costs some tenths of a cent. */
const prices: Prices = {
  cost: (_model, { input_tokens, output_tokens }) => (input_tokens + output_tokens) / 1e5,
  worstCase: (_model, { inputTokens, outputTokens }) => (inputTokens + outputTokens) / 1e5,
}

await startWorker({
  host: '127.0.0.1',
  port: Number(port),
  admin,
  ...(payloads !== '' && { payloads: filePayloads({ folder: payloads }) }),
  ...(maxRecords !== '' && { renewAfter: { records: Number(maxRecords), bytes: 20_000_000 } }),
  ...(ingress !== '' && { ingress: { url: ingress }, chunkUsd: 0.05 }),
  async open({ sessionId, opening, journal }) {
    const turns = Number(opening['turns'] ?? 3)
    const toolMs = Number(opening['toolMs'] ?? 0)
    const bytes = Number(opening['bytes'] ?? 20)
    const tool: AnyTool = {
      name: 'Do',
      description: 'Does what must not be done twice.',
      inputSchema: { type: 'object' },
      readOnly: opening['reads'] === true,
      async execute(_input, { callId }) {
        note('did', sessionId, callId)
        if (toolMs > 0) await pause(toolMs)
        return outputOf(`${sessionId} ${callId}`, bytes)
      },
    }
    return createSession({
      options: {
        // The next step follows from the conversation alone, so that any process can continue.
        model: scriptedModel(({ messages }) => {
          const isPrompt = ({ role, content }: ModelMessage): boolean =>
            role === 'user' && (typeof content === 'string' || content[0]?.type !== 'tool_result')
          const begin = messages.findLastIndex(isPrompt)
          const run = messages.filter(isPrompt).length
          const turn = messages.slice(begin).filter(({ role }) => role === 'assistant').length
          const id = `c${run}.${turn}`
          // Repeated calls with the same input would make the loop add a message, which resets the count.
          return turn < turns ? { toolCalls: [{ name: 'Do', id, input: { id } }] } : `done with ${run}`
        }),
        tools: [tool],
        ...(opening['tenant'] !== undefined && { prices }),
        sessionId,
        maxTurns: 100_000,
        permissions: {
          denies: () => undefined,
          decide: () => (opening['asks'] === true ? { behavior: 'ask', message: 'May I?' } : { behavior: 'allow' }),
        },
      },
      journal,
      answersQuestions: true,
      permissions: { mode: 'default' },
      cwd: '/',
      end: async () => {},
    })
  },
  listener: {
    url: null,
    onOpen: (sessionId) => note('open', sessionId),
    onStored() {},
    onLeave() {},
    onEvent(sessionId, event) {
      if (event.type === 'run_end') note('ended', sessionId, event.terminal.reason)
      if (event.type === 'failed') note('failed', sessionId, String(event.error).replaceAll(/\s/g, '_'))
    },
  },
})
note('serving', port)
