import type { AgentState, Goal, GoalFiles, GoalFilesEnd, GoalVerdict, RunOptions } from '@halting/core'
import { circle } from './core-internals.ts'
import type { PathContext } from './answers.ts'
import type { Choices } from './choices.ts'

// Goals whose checks answer what the path says, and the files around them.

/** Possible outcomes of a check. `hangs` respects its signal, `is deaf` does not; `asks` has a model judge. */
type CheckAnswer = 'met' | 'unmet' | 'unmet anew' | 'hangs' | 'is deaf' | 'throws' | 'nonsense' | 'unusable' | 'asks'

/** Possible answers of the port for files. The answer depends only on the memo, its only input. */
type FilesAnswer = 'as it was' | 'tampered' | 'changed by checks' | 'throws' | 'throws at the end' | 'nonsense'

/** The goals of a scenario. */
export interface ScenarioGoals {
  /** The first is the plain answer. */
  readonly checks: readonly CheckAnswer[]
  /** Names of the goals. Default: one goal. */
  readonly names?: readonly string[]
  readonly stable?: number
  /** Default: no port for files. */
  readonly files?: readonly FilesAnswer[]
}

/** Virtual milliseconds for a check that may hang: less than a deaf one takes. */
const timeoutMs = 200

/** Run options for the goals of a scenario. A goal that is set by name answers in the same way. */
export function goalOptions(goals: ScenarioGoals | undefined, context: PathContext): Partial<RunOptions> {
  if (goals === undefined) return {}
  const { names = ['the check'], files } = goals
  return {
    until: names.map((name) => goalOf(name, goals, context)),
    goalNamed: ({ name, judged }) => (name === 'unknown' ? undefined : goalOf(name, goals, context, judged)),
    ...(files !== undefined && { goalFiles: filesOf(files, context.choices) }),
  }
}

export function goalOf(
  name: string,
  { checks, stable }: ScenarioGoals,
  { choices, time, snapshots }: PathContext,
  judged?: true,
): Goal {
  return {
    name,
    // A question to a model may take any time, because it may be asked again or was asked before a kill.
    ...((checks.includes('hangs') || checks.includes('is deaf')) && { timeoutMs }),
    ...(judged === true && { judged }),
    ...(stable !== undefined && { stable }),
    async check({ idempotencyKey, signal, state, changes, ask }): Promise<GoalVerdict> {
      time.take(3)
      snapshots.track('a check of a goal', state)
      snapshots.freeze(changes)
      const answer = choices.choose(`check ${name} ${idempotencyKey}`, checks)
      switch (answer) {
        case 'met':
          return { met: true, report: 'all is well', exitCode: 0 }
        case 'unmet':
          return { met: false, report: `failed after ${state.transcript.length} ms`, exitCode: 1 }
        case 'unmet anew':
          return { met: false, report: reportAnew(state), exitCode: 2 }
        case 'hangs':
          await time.pass(100_000, signal)
          return { met: true, report: 'it was cut' }
        case 'is deaf':
          await time.pass(500)
          return { met: true }
        case 'throws':
          throw new Error('the check failed')
        case 'nonsense':
          return { met: circle(), report: circle(), exitCode: Number.NaN } as never
        case 'unusable':
          return { met: false, unusable: 'There is no such command.', exitCode: 127 }
        case 'asks': {
          const question = {
            system: 'Judge.',
            messages: [{ role: 'user', content: name }],
            maxOutputTokens: 1_000,
          } as const
          const reply = await ask(question)
          return reply.kind === 'answered' ? { met: true } : { met: false, report: `no verdict: ${reply.kind}` }
        }
      }
    },
  }
}

/** A different report for each length of the conversation, not only in its numbers. */
function reportAnew({ transcript }: AgentState): string {
  return `${'x'.repeat(transcript.length)} failed`
}

/** Answers the same for the same memo, because it is asked again after a kill. */
function filesOf(answers: readonly FilesAnswer[], choices: Choices): GoalFiles {
  return {
    begin(memo) {
      const before = typeof memo === 'number' ? memo : 0
      const answer = choices.choose(`files after ${before}`, answers)
      if (answer === 'throws') throw new Error('the files cannot be read')
      if (answer === 'nonsense') return { tampered: circle(), end: () => ({ memo: circle() }) } as never
      return {
        tampered: answer === 'tampered' ? ['package.json (scripts.test)'] : [],
        end(): GoalFilesEnd {
          if (answer === 'throws at the end') throw new Error('the files cannot be read any more')
          const isChanged = answer === 'changed by checks'
          return {
            memo: isChanged ? before + 1 : before,
            changedByChecks: isChanged ? ['a.snap'] : [],
            changedTests: isChanged ? ['a.test.js'] : [],
          }
        },
      }
    },
  }
}
