// Tests R-STEP-6, R-STEP-13: the checks accept a correct step engine, and detect one that breaks a promise.
import { describe, expect, test } from 'vitest'
import {
  DurableStepEngine,
  foldSession,
  type MaybePromise,
  type StepRecord,
  type StepResult,
  type StepEngineOptions,
} from '../../src/entries/steps.ts'
import { checkStepEngine, type CheckedSession, type CheckedStore } from '../../src/testing/index.ts'
import { HaltingError, type Json } from '../../src/index.ts'

/** How a store in memory breaks its promises. */
interface Sabotage {
  /** The stored form of a record; undefined stores nothing. */
  readonly keep?: (text: string, index: number) => string | undefined
  /** The records that remain when the process is gone, of flushed and unflushed ones. */
  readonly left?: (flushed: readonly string[], pending: readonly string[]) => readonly string[]
  /** The records that remain when the process closed the session. */
  readonly closed?: (texts: readonly string[]) => readonly string[]
  readonly takesAnyVersion?: boolean
  readonly drive?: CheckedSession['drive']
  /** Records are in another order. */
  readonly order?: (texts: readonly string[]) => readonly string[]
}

/** A session in memory. Unflushed records are lost with their process. */
function memoryStore({
  keep = (text) => text,
  left = (flushed) => flushed,
  closed = (texts) => texts,
  takesAnyVersion,
  drive,
  order,
}: Sabotage = {}): CheckedStore {
  let stored: readonly string[] = []
  let version = 1
  return {
    async open(): Promise<CheckedSession> {
      if (version > 1 && takesAnyVersion !== true)
        throw new HaltingError('driver', 'A later version wrote this session.')
      const flushed = [...stored]
      const pending: string[] = []
      const records = (order?.(stored) ?? stored).map((text) => JSON.parse(text) as StepRecord)
      const { transcript, open } = foldSession(records.length === 0 ? [] : [records])
      let count = 0
      return {
        transcript,
        open,
        ...(drive !== undefined && { drive }),
        log: {
          keeps: 'all',
          append(record) {
            const text = keep(JSON.stringify(record), count++)
            if (text !== undefined) pending.push(text)
          },
          async flush() {
            flushed.push(...pending.splice(0))
          },
        },
        close: async () => void (stored = closed([...flushed, ...pending])),
        kill: async () => void (stored = left(flushed, pending)),
      }
    },
    writeAsLaterVersion: async () => void (version = 2),
  }
}

describe('a step engine that conforms', () => {
  test('loses unflushed records, or nothing', async () => {
    expect(await checkStepEngine(() => memoryStore())).toEqual([])
    expect(await checkStepEngine(() => memoryStore({ left: (flushed, pending) => [...flushed, ...pending] }))).toEqual(
      [],
    )
  })
})

describe('a step engine that breaks one promise is detected', () => {
  const isOf = (text: string, type: string): boolean => text.includes(`"type":"${type}"`)
  const all = { left: (flushed: readonly string[], pending: readonly string[]) => [...flushed, ...pending] }
  const broken: { readonly [name: string]: readonly [Sabotage, string] } = {
    'loses the last flushed record': [{ left: (flushed) => flushed.slice(0, -1) }, 'kill between every two records'],
    'loses everything': [{ left: () => [] }, 'kill between every two records'],
    'does not store results': [
      { ...all, keep: (text) => (isOf(text, 'result') ? undefined : text) },
      'kill between every two records',
    ],
    'does not store intents': [
      { ...all, keep: (text) => (isOf(text, 'intent') ? undefined : text) },
      'kill between every two records',
    ],
    'does not store iterations': [
      { ...all, keep: (text) => (isOf(text, 'lap') ? undefined : text) },
      'kill between every two records',
    ],
    'does not store the end': [
      { ...all, keep: (text) => (isOf(text, 'end') ? undefined : text) },
      'counts of effects and order of results',
    ],
    'does not store aborts': [
      { ...all, keep: (text) => (isOf(text, 'control') ? undefined : text) },
      'cancel in mid-call',
    ],
    'cuts long records': [
      { ...all, keep: (text) => text.replace(/(oversized ){200000,}/g, 'oversized ') },
      'oversized result',
    ],
    'returns records in another order': [
      { ...all, order: (texts) => [...texts.slice(0, 2), ...texts.slice(2).toReversed()] },
      'kill between every two records',
    ],
    'accepts any version': [{ ...all, takesAnyVersion: true }, 'wrong version'],
    'writes when nothing was recorded': [{ ...all, closed: (texts) => [...texts, texts.at(-1) ?? ''] }, 'mismatch'],
    'does not store digests': [
      { ...all, keep: (text) => text.replaceAll(/"digest":"[^"]*"/g, '"digest":null') },
      'kill between every two records',
    ],
  }
  test.each(Object.entries(broken))('%s', async (_name, [sabotage, check]) => {
    const problems = await checkStepEngine(() => memoryStore(sabotage))
    expect(problems.map((problem) => problem.check)).toContain(check)
  })

  test('a custom one: it calls before it synced, repeats unknown steps, answers unasked, takes the last answer, notifies nobody', async () => {
    class Hasty extends DurableStepEngine {
      override run<T>(
        ...[key, effect, options, scope]: Parameters<DurableStepEngine['run']>
      ): MaybePromise<StepResult<T>> {
        return super.run(key, effect, { ...options, sync: 'none' }, scope) as MaybePromise<StepResult<T>>
      }
    }
    class Eager extends DurableStepEngine {
      override run<T>(
        ...[key, effect, options, scope]: Parameters<DurableStepEngine['run']>
      ): MaybePromise<StepResult<T>> {
        return super.run(key, effect, { ...options, onUnfinished: 'rerun' }, scope) as MaybePromise<StepResult<T>>
      }
    }
    class Blind extends DurableStepEngine {
      override run<T>(
        ...[key, effect, { digest: _digest, ...options }, scope]: Parameters<DurableStepEngine['run']>
      ): MaybePromise<StepResult<T>> {
        return super.run(key, effect, options, scope) as MaybePromise<StepResult<T>>
      }
    }
    class Fickle extends DurableStepEngine {
      readonly #last = new Map<string, Json>()
      override answer(key: string, value: Json): void {
        this.#last.set(key, value)
        void Promise.resolve().then(() => super.answer(key, this.#last.get(key) ?? null))
      }
    }
    class Deaf extends DurableStepEngine {
      override control(): undefined {
        return undefined
      }
    }
    const seen: { readonly [check: string]: new (options: StepEngineOptions) => DurableStepEngine } = {
      'counts of effects and order of results': Hasty,
      'kill between every two records': Eager,
      mismatch: Blind,
      'approval twice': Fickle,
      'message from outside': Deaf,
    }
    for (const [check, Driver] of Object.entries(seen)) {
      const problems = await checkStepEngine(() => memoryStore({ ...all, drive: (options) => new Driver(options) }))
      expect([Driver.name, problems.map((problem) => problem.check)]).toEqual([
        Driver.name,
        expect.arrayContaining([check]),
      ])
    }
  })
})
