import type { CreateElicitationRequest, ElicitationPropertySchema, PermissionOption } from '@agentclientprotocol/sdk'
import type { JsonObject } from '@halting/core'
import { oneLine } from '../io/figures.ts'
import type { PersonQuestion } from '../frontends/person-questions.ts'
import { fieldsOf } from './fields.ts'

/** All questions as one form, for clients that show forms. */
export function formFor(
  questions: readonly PersonQuestion[],
  { sessionId, toolCallId }: { readonly sessionId: string; readonly toolCallId: string },
): CreateElicitationRequest {
  return {
    mode: 'form',
    sessionId,
    toolCallId,
    message: questions.map(({ question }) => question).join('\n'),
    requestedSchema: {
      type: 'object',
      properties: Object.fromEntries(questions.map((one, index) => [keyOf(index), fieldFor(one)])),
    },
  }
}

function keyOf(index: number): string {
  return `answer${index + 1}`
}

function fieldFor({ question, header, options, multiSelect }: PersonQuestion): ElicitationPropertySchema {
  const about = { title: header === '' ? question : header, description: question }
  const known = options.map(({ label, description }) => ({
    const: label,
    title: label,
    ...(description !== '' && { description }),
  }))
  if (known.length === 0) return { ...about, type: 'string' }
  return multiSelect ? { ...about, type: 'array', items: { anyOf: known } } : { ...about, type: 'string', oneOf: known }
}

/** The answers of a form, by question. */
export function answersOfForm(questions: readonly PersonQuestion[], content: unknown): JsonObject {
  const fields = fieldsOf(content)
  const answers = questions.flatMap(({ question }, index) => {
    const value = fields[keyOf(index)]
    if (typeof value === 'string') return [[question, value]]
    return Array.isArray(value) ? [[question, value.filter((one) => typeof one === 'string')]] : []
  })
  // This cast is safe: each answer is a string or a list of strings.
  return Object.fromEntries(answers) as JsonObject
}

/** One question as permission options, for clients without forms. */
export function choicesFor({ options }: PersonQuestion): PermissionOption[] {
  return [
    ...options.map(({ label }, index): PermissionOption => ({
      optionId: `choice:${index}`,
      kind: 'allow_once',
      name: oneLine(label, 160) || `Choice ${index + 1}`,
    })),
    { optionId: 'reject_once', kind: 'reject_once', name: 'Skip' },
  ]
}

/** The label of the chosen option; '' for none. */
export function choiceOf({ options }: PersonQuestion, optionId: string): string {
  return options.find((_, index) => optionId === `choice:${index}`)?.label ?? ''
}
