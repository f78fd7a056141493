import type { FileWork, Verification } from '@halting/core'
import type { Asked } from './answers.ts'

// What calls of the tool that writes did to files, and which checks the project names, as the path says.

type WorkName = 'changes' | 'changes little' | 'passes' | 'fails' | 'changes and passes' | 'nothing'

/** What the port that names checks may do. `late`: it takes longer than an abort waits. */
type ChecksAnswer = 'named' | 'none' | 'throws' | 'nonsense' | 'late'

/** The changes of a scenario, and who names checks. */
export interface ScenarioVerification {
  /** What a call may have done; the first is plain. */
  readonly work: readonly WorkName[]
  /** `named` when absent. */
  readonly checks?: readonly ChecksAnswer[]
}

const works: { readonly [name in WorkName]: FileWork } = {
  changes: { changedLines: 5 },
  'changes little': { changedLines: 1 },
  passes: { check: { command: 'make', passed: true } },
  fails: { check: { command: 'make', passed: false } },
  'changes and passes': { changedLines: 5, check: { command: 'make', passed: true } },
  nothing: {},
}

/** What the call of this key did. */
export function fileWorkAt(key: string, { work }: ScenarioVerification, { choices }: Asked): FileWork {
  return works[choices.choose(`work ${key}`, work)]
}

export function verificationOf({ checks = ['named'] }: ScenarioVerification, { choices, time }: Asked): Verification {
  return {
    mode: 'ask',
    async checks() {
      time.take(2)
      switch (choices.choose('checks of the project', checks)) {
        case 'named':
          return ['npm test']
        case 'none':
          return []
        case 'throws':
          throw new Error('package.json cannot be read')
        case 'nonsense':
          return [{}, 3] as never
        case 'late':
          await time.pass(500)
          return ['npm test']
      }
    },
  }
}
