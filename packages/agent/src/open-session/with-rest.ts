import type { MessageContent } from '@halting/core'

/** What was attached or piped in, behind what a prompt stands for. */
export function withRest(content: MessageContent, rest: string): MessageContent {
  if (rest === '') return content
  return typeof content === 'string' ? content + rest : [...content, { type: 'text', text: rest }]
}
