import type { PermissionOption, RequestPermissionOutcome } from '@agentclientprotocol/sdk'
import type { LimitAnswer, LimitRequest } from '@halting/core'
import type { Question } from '@halting/core/session'
import {
  cannotAsk,
  deniedByUser,
  type PermissionAnswer,
  type PermissionUpdate,
  userStoppedRun,
} from '@halting/core/adapters'
import { offerLabel } from '../frontends/limit-question.ts'
import { modeWords } from '../frontends/mode-words.ts'
import { oneLine } from '../io/figures.ts'
import { revealHidden, revealHiddenInLine } from '../io/reveal-hidden.ts'
import { fieldsOf } from './fields.ts'

/** Maximum number of suggestions that are shown. */
const maxSuggestions = 3
const maxNameLength = 160

/** The options for a permission request. The name of an option says what it saves. */
export function optionsFor({ toolName, suggestions }: Pick<Question, 'toolName' | 'suggestions'>): PermissionOption[] {
  const saving = savingOptions(suggestions).map(({ optionId, name }): PermissionOption => ({
    optionId,
    kind: 'allow_always',
    name,
  }))
  return [
    { optionId: 'allow_once', kind: 'allow_once', name: 'Allow once' },
    ...saving,
    { optionId: 'reject_once', kind: 'reject_once', name: 'Reject' },
    {
      optionId: 'reject_always',
      kind: 'reject_always',
      name: revealHiddenInLine(`Always reject this ${toolName} call (in this session)`, maxNameLength),
    },
  ]
}

interface SavingOption {
  readonly optionId: string
  readonly name: string
  readonly update: PermissionUpdate
}

/** The suggestions whose names show all that they save. A person should not approve anything permanently without having seen it. */
function savingOptions(suggestions: readonly PermissionUpdate[]): readonly SavingOption[] {
  return suggestions
    .slice(0, maxSuggestions)
    .map((update, index) => ({
      optionId: `allow_always:${index}`,
      name: savingLabel(update),
      update,
    }))
    .filter(({ name }) => oneLine(name, maxNameLength) === name && revealHidden(name) === name)
}

/** What an option changes, and where it is stored. */
function savingLabel(update: PermissionUpdate): string {
  const verb = update.type === 'setMode' ? 'Allow, and switch to' : 'Always allow'
  return `${verb} ${changeIn(update)} (${places[update.destination]})`
}

const places = {
  session: 'in this session',
  localSettings: 'in this project, for you',
  projectSettings: 'in this project, for everyone',
  userSettings: 'in all projects',
} as const

function changeIn(update: PermissionUpdate): string {
  switch (update.type) {
    case 'addRules':
    case 'replaceRules':
    case 'removeRules':
      return update.rules
        .map(({ toolName, ruleContent }) => (ruleContent === undefined ? toolName : `${toolName}(${ruleContent})`))
        .join(', ')
    case 'setMode':
      return `the mode "${modeWords(update.mode).name}"`
    case 'addDirectories':
    case 'removeDirectories':
      return `files in ${update.directories.join(', ')}`
  }
}

/** The outcome that a client returned. @throws Error for an invalid one: clients may send anything, and that allows nothing (spec R-ACP-7b). */
export function outcomeOf(response: unknown, options: readonly PermissionOption[]): RequestPermissionOutcome {
  const { outcome, optionId } = fieldsOf(fieldsOf(response)['outcome'])
  if (outcome === 'cancelled') return { outcome }
  const chosen = options.find((option) => option.optionId === optionId)
  if (outcome !== 'selected' || chosen === undefined)
    throw new Error('the editor gave no answer to the question, or one that it was not offered.')
  return { outcome, optionId: chosen.optionId }
}

/** The options at a limit: each offered value, or ending the run. */
export function limitOptions({ limit, offers }: Pick<LimitRequest, 'limit' | 'offers'>): PermissionOption[] {
  const raises = offers.map(({ to }): PermissionOption => ({
    optionId: `raise:${to}`,
    kind: 'allow_once',
    name: offerLabel({ limit }, to),
  }))
  return [...raises, { optionId: 'end', kind: 'reject_once', name: 'Stop here' }]
}

/** The answer for the chosen option. */
export function limitAnswerOf({ limit, offers }: LimitRequest, outcome: RequestPermissionOutcome): LimitAnswer {
  const chosen = outcome.outcome === 'selected' ? outcome.optionId : undefined
  const offer = offers.find(({ to }) => `raise:${to}` === chosen)
  return offer === undefined ? { end: true } : { raise: { [limit]: offer.to } }
}

export type AnsweredQuestion = { readonly answer: PermissionAnswer; readonly rejectsAlways: boolean }

/** The answer for the outcome of a request. An option that was not offered denies the call. */
export function answerOf(
  outcome: RequestPermissionOutcome,
  { suggestions }: Pick<Question, 'suggestions'>,
): AnsweredQuestion {
  if (outcome.outcome === 'cancelled')
    return {
      answer: { behavior: 'deny', message: userStoppedRun, interrupt: true },
      rejectsAlways: false,
    }
  const { optionId } = outcome
  if (optionId === 'allow_once') return { answer: { behavior: 'allow' }, rejectsAlways: false }
  const update = savingOptions(suggestions).find((saving) => saving.optionId === optionId)?.update
  if (update !== undefined) return { answer: { behavior: 'allow', updatedPermissions: [update] }, rejectsAlways: false }
  return { answer: rejection, rejectsAlways: optionId === 'reject_always' }
}

export const rejection: PermissionAnswer = { behavior: 'deny', message: deniedByUser }

/** A denial because nobody was asked: the client cannot ask, or is gone. */
export function denialWithoutAsking(because: string): PermissionAnswer {
  return { behavior: 'deny', message: cannotAsk(because) }
}
