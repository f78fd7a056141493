import {
  type ContextManager,
  type Guard,
  CallableHook,
  type Hook,
  type HookTrigger,
  type StopHook,
  type OutputSchema,
  type RunOptions,
  StopSignal,
  AgentStopException,
  type Permissions,
  type Tool,
  type FileWork,
  type Verification,
} from '@halting/core'
import { plainContext, type ContextView } from '@halting/core/adapters'
import type { Choices } from './choices.ts'
import type { Snapshots } from './snapshots.ts'
import type { VirtualTime } from './virtual-time.ts'

// The ports that a run calls, other than its model and its tools. Each answers what the path says, and takes some virtual time.

/** What all ports need. */
export interface PathContext {
  readonly choices: Choices
  readonly time: VirtualTime
  readonly snapshots: Snapshots
}

/** What hooks may do: any answer of their trigger, or only replace what the model is shown. */
export type HookAnswers = 'all' | 'replacing'

export function hooksOf(
  triggers: readonly HookTrigger[],
  may: HookAnswers,
  { choices, time, snapshots }: PathContext,
): readonly Hook[] {
  return triggers.map(
    (trigger) =>
      new CallableHook(
        (context) => {
          time.take(2)
          snapshots.track(`a hook on ${trigger}`, context.state())
          snapshots.freeze(context.toolCall)
          const answers = may === 'replacing' ? replacingAnswers : answersOf[trigger]
          const place = `${context.state().transcript.length} ${context.toolCall?.id ?? ''}`
          const answer = choices.choose(`hook ${trigger} ${place}`, answers)
          switch (answer) {
            case 'pass':
              return context
            case 'throw':
              throw new Error('the hook failed')
            case 'stop':
              throw new AgentStopException({ message: 'the hook stops' })
            case 'limit':
              return context.withState(
                context
                  .state()
                  .withStopSignal(new StopSignal({ reason: 'token_limit', message: 'enough', source: 'hook' })),
              )
            case 'continue':
              return context.withState(context.state().withExecutionContinued('go on'))
            case 'message':
              return context.withState(context.state().withUserMessage('a word from the hook'))
            case 'block':
              return context.withBlocked('not this one')
            case 'ask':
            case 'defer':
              return context.withPermission(answer)
            case 'input':
              return context.withToolInput({ of: 'changed' })
            case 'output':
              return context.withToolOutput('replaced')
            case 'prevent':
              return context.withContinuationPrevented('that is all')
            case 'replace':
              return context.withState(context.state().withMessages(summary))
            case 'replace and go on':
              return context.withState(context.state().withMessages(summary).withExecutionContinued())
          }
        },
        { triggers: [trigger], id: `explorer-${trigger}` },
      ),
  )
}

type HookAnswer =
  | 'pass'
  | 'throw'
  | 'stop'
  | 'limit'
  | 'continue'
  | 'message'
  | 'block'
  | 'ask'
  | 'defer'
  | 'input'
  | 'output'
  | 'prevent'
  | 'replace'
  | 'replace and go on'
const replacingAnswers: readonly HookAnswer[] = ['pass', 'replace', 'replace and go on', 'message']
const summary = [{ role: 'user', content: 'so far, so good' }] as const
const common: readonly HookAnswer[] = ['pass', 'throw', 'stop', 'limit', 'continue', 'message']
const answersOf: { readonly [trigger in HookTrigger]: readonly HookAnswer[] } = {
  beforeExecution: common,
  beforeAgent: common,
  afterExecution: common,
  beforeStep: common,
  afterStep: common,
  beforeInference: common,
  afterInference: common,
  beforeToolUse: [...common, 'block', 'ask', 'defer', 'input'],
  afterToolUse: [...common, 'output', 'prevent'],
  onStop: common,
  beforeCompact: [...common, 'block'],
  afterCompact: common,
  onError: common,
}

/** Answers of a person when the run pauses at a limit. `nobody`: no answer comes. */
export type LimitAnswerName = 'raise' | 'double' | 'no limit' | 'end' | 'nobody' | 'fails' | 'nonsense' | 'abort'

export function askLimitOf(
  may: readonly LimitAnswerName[],
  { choices }: Pick<PathContext, 'choices'>,
  abort: (label: string) => void,
): NonNullable<RunOptions['askLimit']> {
  return async ({ id, limit, offers }) => {
    const answer = choices.choose(`limit ${id}`, may)
    switch (answer) {
      case 'raise':
        return { raise: { [limit]: offers[0]?.to ?? null } }
      case 'double':
        return { raise: { [limit]: offers.at(-1)?.to ?? null } }
      case 'no limit':
        return { raise: { [limit]: null } }
      case 'end':
        return { end: true }
      case 'fails':
        throw new Error('nobody can be asked')
      case 'nonsense':
        // Plain JavaScript may answer anything.
        return { raise: { [limit]: 0 } }
      case 'abort':
        abort(`limit ${id}`)
        return new Promise(() => {})
      case 'nobody':
        return new Promise(() => {})
    }
  }
}

export function stopHooksOf({ choices, time, snapshots }: PathContext): readonly StopHook[] {
  return ['first', 'second'].map((id) => ({
    id,
    handle(input) {
      const { messagesForQuery } = input
      time.take(3)
      // The list grows with the conversation; its entries do not change.
      for (const message of messagesForQuery) snapshots.freeze(message)
      snapshots.track('a stop hook', { ...input, messagesForQuery: [] })
      const answer = choices.choose(`stop hook ${id} ${messagesForQuery.length}`, [
        'pass',
        'block',
        'prevent',
        'empty',
        'throw',
        'both',
      ] as const)
      if (answer === 'throw') throw new Error('the stop hook failed')
      if (answer === 'pass') return {}
      if (answer === 'empty') return { block: ' ' }
      if (answer === 'both') return { block: 'not yet', prevent: 'and no further' }
      return answer === 'block' ? { block: 'not yet' } : { prevent: 'no further' }
    },
  }))
}

/** A pure guard: its answer follows from the view and the path. */
export function guardOf({ choices, snapshots }: PathContext): Guard {
  return {
    name: 'explorer-guard',
    checkpoints: ['before_turn', 'after_reply', 'after_tools'],
    evaluate(view) {
      const { checkpoint, steps, totalTokens } = view
      snapshots.track('a guard', view)
      const reason = choices.choose(`guard ${checkpoint} ${steps} ${totalTokens}`, [
        'none',
        'token_limit',
        'finish_reason',
        'error',
      ] as const)
      return reason === 'none'
        ? undefined
        : new StopSignal({ reason, message: 'the guard fires', source: 'explorer-guard' })
    },
  }
}

export function outputOf({ choices }: PathContext): OutputSchema {
  return {
    check(answer) {
      const fits = choices.choose(`output ${answer}`, [true, false])
      return fits ? { fits, value: answer } : { fits, message: 'it is not JSON' }
    },
  }
}

export function permissionsOf({ choices, time, snapshots }: PathContext): Permissions {
  return {
    denies: () => undefined,
    decide({ call }) {
      time.take(1)
      snapshots.freeze(call)
      const behavior = choices.choose(`permission ${call.id}`, ['allow', 'deny', 'ask', 'throw'] as const)
      if (behavior === 'throw') throw new Error('the rules failed')
      return behavior === 'allow' ? { behavior } : { behavior, message: 'a rule says so' }
    },
  }
}

/** Whether a call cannot succeed. The check takes time, during which an abort may come. */
export function precheckOf({ choices, time, snapshots }: PathContext): NonNullable<Tool['precheck']> {
  return async (_input, { callId, signal, state }) => {
    snapshots.track('a check of a tool', state)
    await time.pass(5, signal)
    const found = choices.choose(`precheck ${callId}`, ['nothing', 'fails', 'throws'] as const)
    if (found === 'throws') throw new Error('it could not be found out')
    return found === 'fails' ? 'it cannot be written' : undefined
  }
}

/** A context manager with layers that may each make room, once. */
export function contextOf({ choices, time, snapshots }: PathContext): ContextManager {
  const layer = (name: 'auto' | 'collapse' | 'reactive', view: ContextView) => {
    const { length } = view.state.transcript
    snapshots.track('the context defence', view.state)
    const gives = choices.choose(
      `context ${name} ${length}`,
      name === 'auto'
        ? (['nothing', 'room', 'gives up', 'thrash'] as const)
        : (['room', 'nothing', 'gives up'] as const),
    )
    if (gives === 'nothing') return undefined
    if (gives === 'thrash') return 'thrash' as const
    const trigger = name
    return {
      trigger,
      run: async () => {
        time.take(11)
        return gives === 'room'
          ? ({
              kind: 'compacted',
              messages: [{ role: 'user', content: `summary of ${length}` }],
              preTokens: 100,
              postTokens: 10,
            } as const)
          : ({ kind: 'gave_up', message: 'nothing to leave out' } as const)
      },
    }
  }
  return {
    ...plainContext,
    autoCompact: true,
    beforeRequest: (view) => layer('auto', view),
    drain: (view) => withoutThrash(layer('collapse', view)),
    compact: (view) => withoutThrash(layer('reactive', view)),
  }
}

function withoutThrash<T>(found: T | 'thrash'): T | undefined {
  return found === 'thrash' ? undefined : found
}

// What calls of the writing tool did to files, and which checks the project names, as the path says.

type WorkName = 'changes' | 'changes little' | 'passes' | 'fails' | 'changes and passes' | 'nothing'

/** What the port that names checks may do. `late`: it takes longer than an abort waits. */
type ChecksAnswer = 'named' | 'none' | 'throws' | 'nonsense' | 'late'

/** The file changes of a scenario, and the port that names checks. */
export interface ScenarioVerification {
  /** What a call may have done; the first is the plain answer. */
  readonly work: readonly WorkName[]
  /** Default: `named`. */
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

/** What the call with this key did. */
export function fileWorkAt(key: string, { work }: ScenarioVerification, { choices }: PathContext): FileWork {
  return works[choices.choose(`work ${key}`, work)]
}

export function verificationOf(
  { checks = ['named'] }: ScenarioVerification,
  { choices, time }: PathContext,
): Verification {
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
