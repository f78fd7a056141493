import { createSession, type Session, type SessionEvent, type SessionParts } from '@halting/core/session'
import type { QueryOptions } from '@halting/core'
import { createMemorySteps, type MemorySteps, type StepRecord } from '@halting/core/steps'
import { noteOf, planOptions, promptOf, type Plan, type PlanWorld } from './plan.ts'
import { answerTo, type RandomSession } from './random-plan.ts'

/** Outcome of a session: its records, and its side effects. */
export interface Played {
  readonly records: readonly StepRecord[]
  /** Why each of its runs ended. */
  readonly reasons: readonly string[]
  /** Calls that took effect, in order. */
  readonly effects: readonly string[]
}

/** Why the runs of a record ended. */
export function endsOf(records: readonly StepRecord[]): readonly string[] {
  return records.flatMap((record) => (record.type === 'end' && record.scope === '' ? [record.terminal.reason] : []))
}

/** A session of a plan, over its store. */
export function sessionOf(
  plan: Plan,
  world: PlanWorld,
  parts: { readonly journal?: SessionParts['journal']; readonly options?: Partial<QueryOptions> },
): Session {
  return createSession({
    options: { ...planOptions(plan, world), sessionId: 'played', ...parts.options },
    journal: undefined,
    answersQuestions: true,
    permissions: { mode: 'default' },
    cwd: '/',
    end: async () => {},
    ...(parts.journal !== undefined && { journal: parts.journal }),
  })
}

/** Sends an input to a session in this process. */
export function sayTo(session: Session, kind: Parameters<PlanWorld['say']>[0], callId: string): void {
  if (kind === 'Steer') session.prompt(noteOf(callId), { id: `note-${callId}` })
  else if (kind === 'Stop') session.stop('enough')
  else session.interrupt()
}

/** Plays it in this process: in memory, or over a journal. */
export async function playHere(
  { plan, prompts }: RandomSession,
  journal?: SessionParts['journal'],
  sessionId = 'played',
): Promise<Played> {
  const effects: string[] = []
  const reasons: string[] = []
  const drivers: MemorySteps[] = []
  const world: PlanWorld = {
    effect: (callId) => void effects.push(callId),
    billed: () => {},
    say: async (kind, callId) => sayTo(session, kind, callId),
  }
  const stepsFor = (): MemorySteps => {
    const steps = createMemorySteps({ sessionId })
    drivers.push(steps)
    return steps
  }
  const session = sessionOf(plan, world, {
    journal,
    // Without a journal a session has no driver: this one stores the records.
    options: { sessionId, ...(journal === undefined && { stepsFor }) },
  })
  session.listen((event: SessionEvent) => {
    if (event.type === 'run_end') reasons.push(event.terminal.reason)
    if (event.type === 'question') session.answer(event.question.id, answerTo(event.question.callId))
  })
  for (let run = 1; run <= prompts; run++) {
    session.prompt(promptOf(run), { id: `prompt-${run}` })
    await session.settled()
  }
  await session.close()
  return { records: drivers.flatMap(({ records }) => records), reasons, effects }
}
