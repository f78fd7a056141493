// Messages and blocks for tests of requests.
import type { ContentBlock, ModelMessage } from '@halting/core'

export const user = (...content: readonly ContentBlock[]): ModelMessage => ({ role: 'user', content })

export const assistant = (content: readonly ContentBlock[], by?: string): ModelMessage => ({
  role: 'assistant',
  content,
  ...(by !== undefined && { by }),
})

export const text = (words: string): ContentBlock => ({ type: 'text', text: words })

export const callOf = (id: string, input: unknown = {}): ContentBlock => ({ type: 'tool_use', id, name: 'Read', input })

export const result = (
  id: string,
  content: string | readonly ContentBlock[],
  is_error: boolean = false,
): ContentBlock => ({ type: 'tool_result', tool_use_id: id, content, ...(is_error && { is_error }) })
