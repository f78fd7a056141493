import { isText } from '@halting/core/adapters'
import type { ToolContext } from '@halting/core'

/** Returns a test whether a text ends a block of the conversation, as text carried over a compaction does. */
export function isShownIn({ state }: Pick<ToolContext, 'state'>): (text: string) => boolean {
  return (shown) =>
    state
      .messages()
      .some(
        ({ role, content }) =>
          role === 'user' &&
          typeof content !== 'string' &&
          content.some((block) => isText(block) && block.text.endsWith(shown)),
      )
}
