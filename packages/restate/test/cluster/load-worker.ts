// A worker of load.ts and suspended.ts, like one of `halting serve`: load-worker.js PORT ADMIN INGRESS ADDRESS PLACES [LOG], where calls are noted. Its sessions wait for as long
// as their opening says, and ask for permission first if it says so.
import { appendFileSync } from 'node:fs'
import { createSession } from '@halting/core/session'
import { scriptedModel } from '@halting/core/testing'
import type { AnyTool } from '@halting/core'
import { startWorker } from '../../src/worker/worker.ts'

const [port = '0', admin = '', ingress = '', advertise = '', places = '16', log] = process.argv.slice(2)
const tell = (message: object): void => void process.send?.({ at: Date.now(), ...message })

const worker = await startWorker({
  host: '127.0.0.1',
  port: Number(port),
  admin,
  advertise,
  ingress: { url: ingress },
  concurrency: Number(places),
  tenantOf: ({ tenant }) => (typeof tenant === 'string' ? tenant : undefined),
  onEvent: (event) => tell({ event }),
  open({ sessionId, opening, journal }) {
    const wait: AnyTool = {
      name: 'Wait',
      description: 'Waits.',
      inputSchema: { type: 'object' },
      readOnly: false,
      async execute() {
        if (log !== undefined) appendFileSync(log, `${sessionId}\n`)
        tell({ calls: sessionId })
        await new Promise((resolve) => setTimeout(resolve, Number(opening['ms'])))
        return 'waited'
      },
    }
    const session = createSession({
      options: {
        model: scriptedModel(({ messages }) =>
          messages.some(({ role }) => role === 'assistant') ? 'done' : { toolCalls: [{ name: 'Wait', id: 'wait' }] },
        ),
        tools: [wait],
        prices: { cost: () => 0.001, worstCase: () => 0.001 },
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
    return Promise.resolve(session)
  },
})
setInterval(() => tell({ rssMb: Math.round(process.memoryUsage().rss / 1_048_576) }), 500)
process.once('SIGTERM', () => void worker.drain(1_000).then(() => process.exit(0)))
process.send?.('serving')
