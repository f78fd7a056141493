// A worker of the soak: soak-worker.mjs PORT LOG. Its sessions do what the plan of their opening says, and note in LOG what they do outside, one line each.
import { appendFileSync } from 'node:fs'
import { serve } from '@restatedev/restate-sdk'
import { sessionServices } from '../../src/service/session-service.ts'
import type { Plan, PlanWorld } from '../support/plan.ts'
import { sayTo, sessionOf } from '../support/play.ts'

const [port = '0', log = '/dev/null'] = process.argv.slice(2)
const note = (...words: readonly (string | number)[]): void => appendFileSync(log, `${words.join(' ')}\n`)

const services = sessionServices({
  async open({ sessionId, opening, journal }) {
    const world: PlanWorld = {
      effect: (callId) => note('paid', sessionId, callId),
      billed: (usd) => note('billed', sessionId, usd),
      say: async (kind, callId) => sayTo(session, kind, callId),
    }
    // The soak wrote it.
    const session = sessionOf(opening['plan'] as Plan, world, { journal, options: { sessionId } })
    session.listen((event) => {
      if (event.type === 'question') note('asks', sessionId, event.question.callId)
      if (event.type === 'run_end') note('ended', sessionId, event.terminal.reason)
    })
    return session
  },
})
await serve({ port: Number(port), services: [...services] })
process.send?.('serving')
