import type { JsonObject, Tool } from '@halting/core'
import { headOf, isJsonObject, type AnyLeafTool } from '@halting/core/adapters'
import { listOf } from './input-list.ts'
import { type Field, filledText, flag, inputForm, optional, text } from './input.ts'
import { planModeWords } from '@halting/policy'

/** One thing that a person can choose. */
export interface QuestionOption {
  readonly label: string
  readonly description?: string
}

/** One question to a person. */
export interface Question {
  readonly question: string
  readonly header?: string
  readonly options?: readonly QuestionOption[]
  readonly multiSelect?: boolean
}

/** Input of the AskUserQuestion tool. */
export interface AskUserQuestionInput {
  readonly questions: readonly Question[]
  /** What the person said, by question: whoever asks puts it there with `updatedInput`. */
  readonly answers?: JsonObject
}

/** Input of the ExitPlanMode tool. */
export interface ExitPlanModeInput {
  readonly plan: string
}

/**
 * Tools that put something to a person: for programs in which somebody answers, or comes later. The rules always have a person decide
 * about their calls (spec R-PLAN-1), whatever the mode. `planInstructions`: how a plan is made, in place of ours.
 */
export function createPersonTools({
  planInstructions,
}: { readonly planInstructions?: string } = {}): readonly AnyLeafTool[] {
  const planWords = planModeWords({ instructions: planInstructions, hasExit: true })
  return [createAskUserQuestionTool(), createEnterPlanModeTool(planWords), createExitPlanModeTool()]
}

const longestAnswer = 10_000

const answers: Field<JsonObject, true> = {
  required: true,
  schema: { type: 'object', description: 'Leave it out', additionalProperties: true },
  expected: 'an object',
  accepts: isJsonObject,
}

function createAskUserQuestionTool(): Tool<AskUserQuestionInput> {
  const form = inputForm<AskUserQuestionInput>('AskUserQuestion', {
    questions: listOf<Question>(
      'The questions',
      {
        question: filledText('The whole question'),
        header: optional(text('One or two words for it')),
        options: optional(
          listOf<QuestionOption>(
            'The person may say something else, too',
            { label: filledText('A few words'), description: optional(text('What it means')) },
            { mostItems: 10 },
          ),
        ),
        multiSelect: optional(flag('More than one can be chosen')),
      },
      { mostItems: 4 },
    ),
    answers: optional(answers),
  })
  return {
    name: 'AskUserQuestion',
    description:
      'Asks the person, where the task leaves something open that you cannot find out and that would be costly to get wrong.',
    inputSchema: form.schema,
    validate(input) {
      const check = form.validate(input)
      if (!check.valid || check.input.questions.length > 0) return check
      return { valid: false, message: 'AskUserQuestion: questions is empty: ask at least one.' }
    },
    // What was answered is in the input: it can be told again.
    readOnly: true,
    concurrencySafe: false,
    execute({ questions, answers: said = {} }) {
      const lines = questions.map(({ question }) => `${question}\n${headOf(answerOf(said[question]), longestAnswer)}`)
      return {
        content: `The person was asked.\n\n${lines.join('\n\n')}`,
        details: { questions: questions.length, answers: said },
      }
    },
  }
}

function answerOf(said: JsonObject[string]): string {
  if (said === undefined || said === null || said === '') {
    return 'There was no answer to this. Choose the most sensible reading, and say which one you chose.'
  }
  return `Answer: ${typeof said === 'string' ? said : Array.isArray(said) ? said.join(', ') : JSON.stringify(said)}`
}

function createEnterPlanModeTool(planWords: string): Tool<object> {
  const form = inputForm<object>('EnterPlanMode', {})
  return {
    name: 'EnterPlanMode',
    description:
      'Goes into plan mode, if the person agrees: nothing is changed until a plan is approved. For large changes.',
    inputSchema: form.schema,
    validate: (input) => form.validate(input),
    readOnly: true,
    concurrencySafe: false,
    execute: () => planWords,
  }
}

function createExitPlanModeTool(): Tool<ExitPlanModeInput> {
  const form = inputForm<ExitPlanModeInput>('ExitPlanMode', {
    plan: filledText('The whole plan, as Markdown: what is to be changed, where, and how it is checked'),
  })
  return {
    name: 'ExitPlanMode',
    description: 'Gives a plan to the person to approve. In plan mode nothing is changed before that.',
    inputSchema: form.schema,
    validate: (input) => form.validate(input),
    readOnly: true,
    concurrencySafe: false,
    execute: ({ plan }) => ({
      content: 'The person approved the plan. Plan mode is over: do it now.',
      details: { plan },
    }),
  }
}
