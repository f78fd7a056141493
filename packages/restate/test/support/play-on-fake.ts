import type { QueryOptions } from '@halting/core'
import type { StepRecord } from '@halting/core/steps'
import { attempt, mailSignal } from '../../src/engine/attempt.ts'
import { ClusterSession } from '../../src/service/cluster-session.ts'
import type { SessionRequest } from '../../src/service/messages.ts'
import { openRunOf } from '../../src/service/open-run.ts'
import { SessionWork } from '../../src/service/work.ts'
import { FakeInvocation } from './fake-engine.ts'
import { endsOf, sessionOf, type Played } from './play.ts'
import { noteOf, promptOf, type PlanWorld } from './plan.ts'
import { answerTo, type RandomSession } from './random-plan.ts'

/** When a process loses the session: after so many turns of the event loop, one number for each process; then never. */
export type Kills = readonly number[]

/** Plays it on an engine of which nothing is real but its order: each prompt an invocation, whatever is said a message to it. */
export async function playOnFake(
  { plan, prompts }: RandomSession,
  kills: Kills = [],
  optionsIn: (effects: readonly string[]) => Partial<QueryOptions> = () => ({}),
): Promise<Played> {
  const effects: string[] = []
  const records: StepRecord[] = []
  const killsLeft = [...kills]
  let number = 0

  const request = (what: SessionRequest, id: string): string => JSON.stringify({ number: ++number, id, request: what })

  for (let run = 1; run <= prompts; run++) {
    const invocation = new FakeInvocation()
    const before = [...records]
    const first = request({ type: 'prompt', content: promptOf(run) }, `prompt-${run}`)
    const heard = new Map<string, () => void>()
    const mail = (what: SessionRequest, id: string): Promise<void> =>
      new Promise((resolve) => {
        heard.set(id, resolve)
        invocation.signal(mailSignal, request(what, id))
      })
    const world: PlanWorld = {
      effect: (callId) => void effects.push(callId),
      billed: () => {},
      say: (kind, callId) => mail(saidBy(kind, callId), `note-${callId}`),
    }
    for (;;) {
      const engine = invocation.attempt()
      const kill = killsLeft.shift()
      if (kill !== undefined) void turns(kill).then(() => engine.kill())
      const kept: StepRecord[] = []
      const lost = new Promise<'lost'>((resolve) => engine.gone.addEventListener('abort', () => resolve('lost')))
      const done = attempt({
        engine,
        mail: [first],
        begin({ records: found, log }) {
          const journal = new ClusterSession({
            sessionId: 'played',
            path: 'played',
            records: [...before, ...found],
            log,
          })
          const session = sessionOf(plan, world, { journal, options: optionsIn(effects) })
          const left = (): void => void session.close()
          engine.gone.addEventListener('abort', left)
          session.listen((event) => {
            if (event.type !== 'question') return
            const { callId } = event.question
            invocation.signal(
              mailSignal,
              request({ type: 'answer', callId, answer: answerTo(callId) }, `answer-${callId}`),
            )
          })
          const work = new SessionWork({
            session,
            log,
            settled: new Set(),
            openRun: openRunOf(found),
            untold: [],
            spent: () => journal.spent,
            onEvent: () => {},
          })
          return {
            deliver(message) {
              work.deliver(message)
              heard.get((JSON.parse(message) as { readonly id: string }).id)?.()
            },
            cancel: () => work.cancel(),
            run: () => work.run(),
          }
        },
        onBatch: (batch) => void kept.push(...batch.records),
      })
      if ((await Promise.race([done, lost])) === 'lost') continue
      records.push(...kept)
      engine.kill()
      break
    }
  }
  return { records, reasons: endsOf(records), effects }
}

function saidBy(kind: 'Steer' | 'Stop' | 'Interrupt', callId: string): SessionRequest {
  if (kind === 'Steer') return { type: 'prompt', content: noteOf(callId) }
  return kind === 'Stop' ? { type: 'stop', message: 'enough' } : { type: 'interrupt' }
}

async function turns(count: number): Promise<void> {
  for (let left = count; left > 0; left--) await new Promise(setImmediate)
}
