import { HaltingError } from '../values/errors.ts'
import type { StepRecord } from './log.ts'
import type { AbandonedStep, StepKey } from './steps.ts'

export type Answer = Extract<StepRecord, { readonly type: 'result' | 'intent' | 'control' }>

/**
 * What is on record of the main loop and of all that it waits for, or of one agent that works beside it, and was not asked for yet.
 * Each goes on live where its own record ends.
 */
export class RecordedAnswers {
  /** Without any when nothing is replayed. */
  #answers: Map<StepKey, Answer> | undefined
  /** Something ran that was not on record: from here on nothing is a replay. */
  #isLive = false

  constructor(records: readonly StepRecord[] = []) {
    for (const record of records) {
      // A result comes after its intent and takes its place.
      if (record.type === 'result' || record.type === 'intent' || record.type === 'control') this.#put(record)
    }
  }

  #put(answer: Answer): void {
    ;(this.#answers ??= new Map()).set(answer.key, answer)
  }

  get replaying(): boolean {
    return !this.#isLive && this.hasAny
  }

  get hasAny(): boolean {
    return this.#answers !== undefined && this.#answers.size > 0
  }

  goLive(): void {
    this.#isLive = true
  }

  find(key: StepKey): Answer | undefined {
    return this.#answers?.get(key)
  }

  /** @throws HaltingError `step_mismatch` for the answer to something else. */
  take(key: StepKey, digest: string | null): Answer | undefined {
    const found = this.#answers?.get(key)
    if (found === undefined) return undefined
    this.#answers?.delete(key)
    if (found.type !== 'control' && found.digest !== digest) {
      throw new HaltingError(
        'step_mismatch',
        `The record of ${key} is of another prompt or another call. Nothing was written: resume it over the transcript that it was made over.`,
      )
    }
    return found
  }

  /** Takes all whose keys begin so. */
  abandon(prefix: StepKey): readonly AbandonedStep[] {
    return this.#takeAll(prefix).flatMap((answer): readonly AbandonedStep[] => {
      if (answer.type === 'control') return []
      const { key } = answer
      return answer.type === 'result'
        ? [{ key, isDone: true, value: answer.value }]
        : [{ key, isDone: false, value: answer.intent }]
    })
  }

  /** The answers of an agent, which from now on are asked for beside these. */
  split(prefix: StepKey): RecordedAnswers {
    const others = new RecordedAnswers()
    for (const answer of this.#takeAll(prefix)) others.#put(answer)
    return others
  }

  #takeAll(prefix: StepKey): readonly Answer[] {
    const taken = [...(this.#answers ?? [])].flatMap(([key, answer]) => (key.startsWith(prefix) ? [answer] : []))
    for (const { key } of taken) this.#answers?.delete(key)
    return taken
  }

  /** Whether there is one in whose key the name stands. */
  hasOf(name: string): boolean {
    for (const key of this.#answers?.keys() ?? []) if (key.includes(name)) return true
    return false
  }

  clear(): void {
    this.#answers?.clear()
  }
}
