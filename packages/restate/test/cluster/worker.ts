// A worker of tests: node worker.js PORT LOG [ADMIN [stays|takes-over [INGRESS]]]; with ADMIN it is like one of `halting serve`, otherwise only its services. Its sessions have a
// scripted model and tools that note their effects in LOG, one line each.
import { appendFileSync } from 'node:fs'
import { createSession } from '@halting/core/session'
import { scriptedModel } from '@halting/core/testing'
import { serve } from '@restatedev/restate-sdk'
import type { AnyTool } from '@halting/core'
import type { SessionServiceOptions } from '../../src/service/session-options.ts'
import { sessionServices } from '../../src/service/session-service.ts'
import { startWorker } from '../../src/worker/worker.ts'

const [port = '0', log = '/dev/null', admin = '', as = 'stays', ingress] = process.argv.slice(2)
const note = (...words: readonly (string | number)[]): void =>
  appendFileSync(log, `${[Date.now(), process.pid, ...words].join(' ')}\n`)
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

const options: SessionServiceOptions = {
  ...(ingress !== undefined && { ingress: { url: ingress } }),
  async open({ sessionId, opening, journal }) {
    const turns = Number(opening['turns'] ?? 3)
    const toolMs = Number(opening['toolMs'] ?? 50)
    note('open', sessionId)
    const pay: AnyTool = {
      name: 'Pay',
      description: 'Does what must not be done twice.',
      inputSchema: { type: 'object' },
      readOnly: false,
      async execute(_input, { callId, signal }) {
        note('paid', sessionId, callId)
        signal.addEventListener('abort', () => note('aborted', sessionId, callId))
        await pause(toolMs)
        return `paid by ${callId}`
      },
    }
    return createSession({
      options: {
        model: scriptedModel(({ messages }) => {
          const turn = messages.filter(({ role }) => role === 'assistant').length
          note('asked', sessionId, turn)
          return turn < turns
            ? {
                toolCalls: [
                  { name: 'Pay', id: `p${turn}a` },
                  { name: 'Pay', id: `p${turn}b` },
                ],
              }
            : 'done '.repeat(Number(opening['words'] ?? 1)).trim()
        }),
        tools: [pay],
        sessionId,
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
    onOpen() {},
    onStored() {},
    onLeave() {},
    onEvent(sessionId, event) {
      if (event.type === 'run_end') note('ended', sessionId, event.terminal.reason)
      if (event.type === 'question') note('question', sessionId, event.question.callId)
    },
  },
}
/** With CAN_OPEN, it has only the folders of the sessions named there. */
const folders = process.env['CAN_OPEN']
const canOpen = folders === undefined ? undefined : (id: string): boolean => new RegExp(folders).test(id)
if (admin === '') await serve({ port: Number(port), services: [...sessionServices(options)] })
else
  await startWorker({
    ...options,
    host: '127.0.0.1',
    port: Number(port),
    admin,
    takesOver: as === 'takes-over',
    ...(canOpen !== undefined && { canOpen: ({ sessionId }) => canOpen(sessionId) }),
    onEvent({ type, ...event }) {
      if (type === 'worker_lost' || type === 'worker_back') note(type, JSON.stringify(event))
    },
  })
note('serving', port)
