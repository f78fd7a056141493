// Rules: R-HOST-3, R-HOST-5, R-HOST-7, R-HOST-8, R-HOST-9.
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { drawn } from '../../../agent/test/support/deep.ts'
import { endHosts, host, isResult, user } from '../support/host.ts'
import { call, installProgram, type Line } from '../support/program.ts'

installProgram()
endHosts()

const effect = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.constantFrom('next', 'later', 'now').map((priority) => ({ kind: 'say', priority }) as const),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom('cost', 'context', 'limits').map((name) => ({ kind: 'status', name }) as const),
  },
  { weight: 1, arbitrary: fc.boolean().map((cancels) => ({ kind: 'interrupt', cancels }) as const) },
  { weight: 1, arbitrary: fc.nat(12).map((which) => ({ kind: 'retract', which }) as const) },
  {
    weight: 1,
    arbitrary: fc.constantFrom('plan', 'default', 'nonsense').map((mode) => ({ kind: 'mode', mode }) as const),
  },
  { weight: 2, arbitrary: fc.constantFrom(0, 20, 150).map((ms) => ({ kind: 'pause', ms }) as const) },
)

const fieldsOf = (response: unknown): Line => response as Line

/** Violations of the order of lines, which must hold whatever the host sends. */
function orderProblems(lines: readonly Line[]): readonly string[] {
  const problems: string[] = []
  let place: 'between' | 'in' = 'between'
  let state = 'idle'
  for (const [at, { type, subtype, state: reported }] of lines.entries()) {
    if (type === 'control_response') continue
    const wanted = subtype === 'init' || (subtype === 'session_state_changed' && reported === 'idle') ? 'between' : 'in'
    if (subtype !== 'status' && place !== wanted) problems.push(`line ${at}: ${type} ${subtype ?? ''} stands ${place}`)
    if (subtype === 'init') place = 'in'
    if (type === 'result') place = 'between'
    if (subtype !== 'session_state_changed') continue
    if (reported === state) problems.push(`line ${at}: ${state} twice`)
    state = reported === 'idle' ? 'idle' : 'running'
  }
  return place === 'between' && state === 'idle' ? problems : [...problems, `it ends ${place}, ${state}`]
}

test('whatever the order of input, runs never overlap, each message is used or returned once, and requests are answered', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(effect, { minLength: 4, maxLength: 14 }), async (effects) => {
      const busy = { content: ['I look.', call('Bash', { command: 'sleep 0.05' })] }
      const replies = Array.from({ length: 60 }, (_, at) => (at % 3 === 0 ? busy : { content: 'Done.', delay_ms: 10 }))
      const one = await host(replies, {
        args: ['--allowedTools=Bash', '--replay-user-messages', '--include-all-messages'],
      })
      await one.ask('initialize')
      const sentIds: string[] = []
      const asked: string[] = []
      const ask = (subtype: string, fields: object): void => {
        asked.push(`q${asked.length}`)
        one.send({ type: 'control_request', request_id: asked.at(-1), request: { subtype, ...fields } })
      }
      for (const next of effects) {
        if (next.kind === 'say') {
          sentIds.push(`m${sentIds.length}`)
          one.send(user(`say ${sentIds.length}`, { uuid: sentIds.at(-1), priority: next.priority }))
        } else if (next.kind === 'status') {
          sentIds.push(`m${sentIds.length}`)
          one.send(user(`/${next.name}`, { uuid: sentIds.at(-1) }))
        } else if (next.kind === 'interrupt') ask('interrupt', { cancel_queued: next.cancels })
        else if (next.kind === 'retract') ask('cancel_async_message', { message_uuid: `m${next.which}` })
        else if (next.kind === 'mode') ask('set_permission_mode', { mode: next.mode })
        else await new Promise((resolve) => setTimeout(resolve, next.ms))
      }
      const { status, lines, stderr } = await one.end()
      expect(stderr).toBe('')
      expect(orderProblems(lines)).toEqual([])
      const answers = lines.flatMap(({ type, response }) => (type === 'control_response' ? [fieldsOf(response)] : []))
      for (const id of asked) expect(answers.filter(({ request_id: own }) => own === id)).toHaveLength(1)
      const taken = lines.flatMap(({ isReplay, uuid }) => (isReplay === true ? [String(uuid)] : []))
      const back = answers.flatMap(({ request_id: id, response }) => {
        const { cancelled } = fieldsOf(response ?? {})
        if (Array.isArray(cancelled)) return cancelled.map(String)
        const [which] = effects
          .filter(({ kind }) => kind !== 'say' && kind !== 'status' && kind !== 'pause')
          .flatMap((each, at) => (`q${at}` === id ? [each] : []))
        return cancelled === true && which?.kind === 'retract' ? [`m${which.which}`] : []
      })
      expect([...taken, ...back].toSorted(byText)).toEqual(sentIds.toSorted(byText))
      const local = lines.filter((line) => line['local_command'] !== undefined)
      expect(local.map((line) => line['local_command'])).toEqual(
        effects.flatMap((each) => (each.kind === 'status' ? [each.name] : [])),
      )
      const last = lines.findLast(isResult)
      expect(status).toBe(last?.['is_error'] === true ? 130 : 0)
    }),
    { numRuns: drawn(60) },
  )
}, 240_000)

const byText = (one: string, other: string): number => one.localeCompare(other)
