import type { JsonObject, Tool } from '@halting/core'
import { headOf, isJsonObject, type AnyLeafTool } from '@halting/core/adapters'
import { listOf } from './input-list.ts'
import { type Field, filledText, flag, inputForm, optional, text } from './input.ts'
import * as texts from './person-texts.ts'
import { planModeWords } from '@halting/policy'

/** An option of a question. */
export interface QuestionOption {
  /** The text that the user sees. */
  readonly label: string
  /** The effect of choosing the option. */
  readonly description?: string
}

/** A question to the user. */
export interface Question {
  /** The question. */
  readonly question: string
  /** A short title of one or two words. */
  readonly header?: string
  /** The options; without any, the answer is free text. */
  readonly options?: readonly QuestionOption[]
  /** Whether several options can be chosen (default: false). */
  readonly multiSelect?: boolean
}

/** Input of the AskUserQuestion tool. */
export interface AskUserQuestionInput {
  /** The questions, in order. */
  readonly questions: readonly Question[]
  /** The user's answers by question. The frontend adds them with `updatedInput`. */
  readonly answers?: JsonObject
}

/** Input of the ExitPlanMode tool. */
export interface ExitPlanModeInput {
  /** The plan, in Markdown. */
  readonly plan: string
}

// Spec R-PLAN-1.
/**
 * Tools that ask the user, for programs in which a user answers now or later. The rules always require a user's
 * decision about their calls, whatever the mode.
 */
export function createPersonTools({
  planInstructions,
}: {
  /** Instructions for making a plan (default: built-in instructions). */
  readonly planInstructions?: string
} = {}): readonly AnyLeafTool[] {
  const planWords = planModeWords({ instructions: planInstructions, hasExit: true })
  return [createAskUserQuestionTool(), createEnterPlanModeTool(planWords), createExitPlanModeTool()]
}

const longestAnswer = 10_000

const answers: Field<JsonObject, true> = {
  required: true,
  schema: { type: 'object', description: 'Omit', additionalProperties: true },
  expected: 'an object',
  accepts: isJsonObject,
}

function createAskUserQuestionTool(): Tool<AskUserQuestionInput> {
  const form = inputForm<AskUserQuestionInput>('AskUserQuestion', {
    questions: listOf<Question>(
      '1 to 4 questions',
      {
        question: filledText('The complete question'),
        header: optional(text('A label of one or two words')),
        options: optional(
          listOf<QuestionOption>(
            'Choices; the user can also answer in their own words',
            { label: filledText('A few words'), description: optional(text('What this choice means')) },
            { mostItems: 10 },
          ),
        ),
        multiSelect: optional(flag('Several can be chosen (default: false)')),
      },
      { mostItems: 4 },
    ),
    answers: optional(answers),
  })
  return {
    name: 'AskUserQuestion',
    description:
      'Asks the user. Use it only for what the task leaves open, you cannot find out, and would be costly to get wrong.',
    inputSchema: form.schema,
    validate(input) {
      const check = form.validate(input)
      if (!check.valid || check.input.questions.length > 0) return check
      return { valid: false, message: texts.noQuestions }
    },
    // The answers are in the input, so executing the call again gives the same result.
    readOnly: true,
    concurrencySafe: false,
    execute({ questions, answers: userAnswers = {} }) {
      const answered = questions.map(({ question }) => texts.answerTo(question, answerText(userAnswers[question])))
      return {
        content: texts.userAnswered(answered),
        details: { questions: questions.length, answers: userAnswers },
      }
    },
  }
}

/** Returns the user's answer; undefined if there is none. */
function answerText(answer: JsonObject[string]): string | undefined {
  if (answer === undefined || answer === null || answer === '') return undefined
  const all = typeof answer === 'string' ? answer : Array.isArray(answer) ? answer.join(', ') : JSON.stringify(answer)
  return headOf(all, longestAnswer)
}

function createEnterPlanModeTool(planWords: string): Tool<object> {
  const form = inputForm<object>('EnterPlanMode', {})
  return {
    name: 'EnterPlanMode',
    description:
      'Asks the user to switch to plan mode, in which nothing can change until they approve a plan. Use it before large changes.',
    inputSchema: form.schema,
    validate: (input) => form.validate(input),
    readOnly: true,
    concurrencySafe: false,
    execute: () => planWords,
  }
}

function createExitPlanModeTool(): Tool<ExitPlanModeInput> {
  const form = inputForm<ExitPlanModeInput>('ExitPlanMode', {
    plan: filledText('The complete plan as Markdown: what to change, where, and how to check it'),
  })
  return {
    name: 'ExitPlanMode',
    description:
      'Submits a plan for the user to approve, which ends plan mode. In plan mode, nothing can change before that.',
    inputSchema: form.schema,
    // Other agents accept prompts for commands in this field, and an approval then allows these commands. In this
    // program, only rules allow commands.
    canonicalInput: ({ allowedPrompts: _, ...input }) => input,
    validate: (input) => form.validate(input),
    readOnly: true,
    concurrencySafe: false,
    execute: ({ plan }) => ({
      content: texts.planApproved,
      details: { plan },
    }),
  }
}
