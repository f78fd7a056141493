import type { CreateElicitationRequest, ElicitationPropertySchema, PermissionOption } from '@agentclientprotocol/sdk'
import type { JsonObject } from '@halting/core'
import { oneLine } from '../io/figures.ts'
import { fieldsOf } from './fields.ts'

/** One question of AskUserQuestion, as its input has it. */
export interface AskedPerson {
  readonly question: string
  readonly header: string
  readonly options: readonly { readonly label: string; readonly description: string }[]
  readonly isMany: boolean
}

/** The questions of a call; none of what is no such call. */
export function questionsOf(toolName: string, input: JsonObject): readonly AskedPerson[] {
  const { questions } = input
  if (toolName !== 'AskUserQuestion' || !Array.isArray(questions)) return []
  return questions.flatMap((given): readonly AskedPerson[] => {
    const { question, header, options, multiSelect } = fieldsOf(given)
    if (typeof question !== 'string') return []
    const known = Array.isArray(options) ? options : []
    return [
      {
        question,
        header: typeof header === 'string' ? header : '',
        options: known.flatMap((option: unknown) => {
          const { label, description } = fieldsOf(option)
          return typeof label === 'string'
            ? [{ label, description: typeof description === 'string' ? description : '' }]
            : []
        }),
        isMany: multiSelect === true,
      },
    ]
  })
}

/** All of them as one form, for a client that shows forms. */
export function formFor(
  asked: readonly AskedPerson[],
  { sessionId, toolCallId }: { readonly sessionId: string; readonly toolCallId: string },
): CreateElicitationRequest {
  return {
    mode: 'form',
    sessionId,
    toolCallId,
    message: asked.map(({ question }) => question).join('\n'),
    requestedSchema: {
      type: 'object',
      properties: Object.fromEntries(asked.map((one, index) => [keyOf(index), fieldFor(one)])),
    },
  }
}

function keyOf(index: number): string {
  return `answer${index + 1}`
}

function fieldFor({ question, header, options, isMany }: AskedPerson): ElicitationPropertySchema {
  const about = { title: header === '' ? question : header, description: question }
  const known = options.map(({ label, description }) => ({
    const: label,
    title: label,
    ...(description !== '' && { description }),
  }))
  if (known.length === 0) return { ...about, type: 'string' }
  return isMany ? { ...about, type: 'array', items: { anyOf: known } } : { ...about, type: 'string', oneOf: known }
}

/** What a form came back with, by question. */
export function answersOfForm(asked: readonly AskedPerson[], content: unknown): JsonObject {
  const given = fieldsOf(content)
  const answers = asked.flatMap(({ question }, index) => {
    const value = given[keyOf(index)]
    if (typeof value === 'string') return [[question, value]]
    return Array.isArray(value) ? [[question, value.filter((one) => typeof one === 'string')]] : []
  })
  // Each is a text or a list of texts.
  return Object.fromEntries(answers) as JsonObject
}

/** One of them as options to choose from, for a client that shows none but these. */
export function choicesFor({ options }: AskedPerson): PermissionOption[] {
  return [
    ...options.map(({ label }, index): PermissionOption => ({
      optionId: `choice:${index}`,
      kind: 'allow_once',
      name: oneLine(label, 160) || `Choice ${index + 1}`,
    })),
    { optionId: 'reject_once', kind: 'reject_once', name: 'No answer' },
  ]
}

/** What was chosen; '' for no answer. */
export function choiceOf({ options }: AskedPerson, optionId: string): string {
  return options.find((_, index) => optionId === `choice:${index}`)?.label ?? ''
}
