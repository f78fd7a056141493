// A worker of the soak: soak-worker.mjs PORT LOG ADMIN INGRESS… Its sessions follow the plan of their opening, and note their side effects in LOG, one line
// each. On SIGTERM it leaves its sessions and ends.
import { appendFileSync } from 'node:fs'
import type { AnyTool, Model } from '@halting/core'
import { startWorker } from '../../src/worker/worker.ts'
import { planOptions, type Plan, type PlanWorld } from '../support/plan.ts'
import { sayTo, sessionOf } from '../support/play.ts'

const [port = '0', log = '/dev/null', admin = '', ...nodes] = process.argv.slice(2)
const note = (...words: readonly (string | number)[]): void => appendFileSync(log, `${words.join(' ')}\n`)

/** Marks it as running in this process. */
async function underWay<T>(kind: string, work: () => Promise<T>): Promise<T> {
  note('in', process.pid, kind)
  try {
    return await work()
  } finally {
    note('out', process.pid, kind)
  }
}

function noted(tool: AnyTool): AnyTool {
  if (!('execute' in tool)) return tool
  const { execute } = tool
  return { ...tool, execute: (input, context) => underWay(tool.name, async () => execute(input, context)) }
}

/** Like a load balancer in front of the nodes. */
const anyNode: typeof fetch = (url, init) => {
  // `callHandler` calls by a URL.
  const { pathname } = url as URL
  const node = nodes[Math.floor(Math.random() * nodes.length)]
  const signals = [AbortSignal.timeout(10_000), ...(init?.signal ? [init.signal] : [])]
  return fetch(new URL(pathname, node), { ...init, signal: AbortSignal.any(signals) })
}

const worker = await startWorker({
  host: '127.0.0.1',
  port: Number(port),
  admin,
  ingress: { url: nodes[0] ?? '', fetch: anyNode },
  onEvent: (event) => {
    if (event.type === 'trouble') console.error(event.message)
  },
  async open({ sessionId, opening, journal }) {
    const world: PlanWorld = {
      effect: (callId) => note('paid', sessionId, callId),
      billed: (usd) => note('billed', sessionId, usd),
      say: async (kind, callId) => sayTo(session, kind, callId),
    }
    // The soak wrote it.
    const plan = opening['plan'] as Plan
    const { model: asked, tools = [] } = planOptions(plan, world)
    const options = {
      sessionId,
      tools: tools.map(noted),
      model: {
        ...asked,
        call: (...args: Parameters<Model['call']>) => underWay('request', () => asked.call(...args)),
      },
    }
    const session = sessionOf(plan, world, { journal, options })
    note('in', process.pid, 'session')
    session.listen((event) => {
      if (event.type === 'question') note('asks', sessionId, event.question.callId)
      if (event.type === 'run_end') note('ended', sessionId, event.terminal.reason)
      if (event.type === 'closed') note('out', process.pid, 'session')
    })
    return session
  },
})
process.once('SIGTERM', () => void worker.drain(5_000).then(() => process.exit(0)))
process.send?.('serving')
