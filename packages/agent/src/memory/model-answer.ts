import { isJsonObject } from '@halting/core/adapters'
import type { JsonObject } from '@halting/core'

// Answers of a model are checked part by part: only numbers and names from the question are used, never the model's
// words.

export function listIn(answer: unknown, field: string): readonly unknown[] | undefined {
  const list = isJsonObject(answer) ? answer[field] : undefined
  return Array.isArray(list) ? list : undefined
}

export function textsIn(value: JsonObject, field: string): readonly string[] | undefined {
  const list = value[field]
  if (!Array.isArray(list)) return undefined
  return list.every((each) => typeof each === 'string') ? list : undefined
}

/** Frames text in a prompt with tags that the text cannot close. */
export function framedText(tag: string, text: string): string {
  return `<${tag}>\n${withoutTags(text)}\n</${tag.split(' ')[0]}>`
}

export function withoutTags(text: string): string {
  return text.replaceAll(/<(?=\s*\/?\s*(?:memory|person|assistant|notes)\b)/gi, '&lt;')
}
