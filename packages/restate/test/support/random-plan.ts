import type { CallKind, Plan } from './plan.ts'
import { randomOf } from './random.ts'

const plainTurns: readonly (readonly CallKind[])[] = [
  ['Look', 'Look', 'Look'],
  ['Pay'],
  ['Pay', 'Look', 'Pay'],
  ['Ask'],
  ['Task'],
  ['Task', 'Task', 'Look'],
  ['Fail', 'Pay'],
  ['Look', 'Ask', 'Pay'],
  ['Steer', 'Look'],
]
const lastTurns: readonly (readonly CallKind[])[] = [
  ['Stop'],
  ['Interrupt'],
  ['Look', 'Stop', 'Pay'],
  ['Pay', 'Interrupt', 'Look'],
]

export interface RandomSession {
  readonly plan: Plan
  readonly prompts: number
}

/** A session that does not depend on time: the same one for the same seed. */
export function randomSession(seed: number): RandomSession {
  const random = randomOf(seed)
  const pick = <T>(list: readonly T[]): T => {
    const picked = list[random(list.length)]
    if (picked === undefined) throw new Error('The list is empty.')
    return picked
  }
  const turns = Array.from({ length: 1 + random(5) }, () => pick(plainTurns))
  const all = random(5) === 0 ? [...turns, pick(lastTurns)] : turns
  // An input in the last turn of a run begins another run: a session that always steers would never end.
  const maySteerForever = all.at(-1)?.includes('Steer') === true
  // Which of two agents gets the rest of a budget depends on time.
  const isRace = all.some((calls) => calls.filter((call) => call === 'Task').length > 1)
  return {
    plan: {
      turns: all,
      isEndless: random(6) === 0 && !maySteerForever,
      toolMs: 0,
      maxTurns: 4 + random(8),
      maxBudgetUsd: random(4) === 0 && !isRace ? 0.05 + random(20) / 100 : null,
    },
    prompts: 1 + random(3),
  }
}

/** Answers of a person to a call that needs permission. */
export function answerTo(
  callId: string,
): { readonly behavior: 'allow' } | { readonly behavior: 'deny'; readonly message: string } {
  const digits = Number(callId.replaceAll(/\D/g, ''))
  return digits % 3 === 0 ? { behavior: 'deny', message: 'No.' } : { behavior: 'allow' }
}
