import type { AgentState, Goal, GoalFiles, GoalFilesEnd, GoalVerdict, RunOptions } from '@halting/core'
import { circle } from './core-internals.ts'
import type { PathContext } from './answers.ts'
import type { Choices } from './choices.ts'

// Goals whose checks answer whatever the path says, and the files around them.

/** What a check may come to. `hangs` heeds its signal, `is deaf` does not; `asks` has a model judge. */
type CheckAnswer = 'met' | 'unmet' | 'unmet anew' | 'hangs' | 'is deaf' | 'throws' | 'nonsense' | 'unusable' | 'asks'

/** What the port to the files may say. Which one follows from the memo alone: it is asked for nothing else. */
type FilesAnswer = 'as it was' | 'tampered' | 'changed by checks' | 'throws' | 'throws at the end' | 'nonsense'

/** The goals of a scenario. */
export interface ScenarioGoals {
  /** The first is plain. */
  readonly checks: readonly CheckAnswer[]
  /** Names of the goals; one when absent. */
  readonly names?: readonly string[]
  readonly stable?: number
  /** Without it nobody looks after the files. */
  readonly files?: readonly FilesAnswer[]
}

/** Milliseconds of virtual time for a check that may hang: less than one that is deaf takes. */
const timeoutMs = 200

/** The options that a scenario's goals are. A goal that is set by its name answers in the same way. */
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
    // A model that is asked again, or was before a kill, may take any time.
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

/** Another one for each length of the conversation, by more than its numbers. */
function reportAnew({ transcript }: AgentState): string {
  return `${'x'.repeat(transcript.length)} failed`
}

/** Says the same of the same memo: after a kill it is asked again. */
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
