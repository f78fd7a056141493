import type { ElicitationAnswer } from '@halting/agent/mcp'
import { isJsonObject } from '@halting/core/adapters'

type Field = NonNullable<ElicitationAnswer['content']>[string]

/** Reads the answer of a client to an elicitation. An invalid answer counts as declined, and invalid field values are left out. */
export function readElicitationAnswer(answer: unknown): ElicitationAnswer {
  const { action, content } = isJsonObject(answer) ? answer : {}
  if (action !== 'accept') return { action: action === 'cancel' ? action : 'decline' }
  if (!isJsonObject(content)) return { action }
  const fields = Object.entries(content).flatMap(([name, value]): [string, Field][] => {
    if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return [[name, value]]
    const isTexts = Array.isArray(value) && value.every((one) => typeof one === 'string')
    return isTexts ? [[name, value]] : []
  })
  return { action, content: Object.fromEntries(fields) }
}
