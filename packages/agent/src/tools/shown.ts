import { isText } from '@halting/core/adapters'
import type { ToolContext } from '@halting/core'

/** Tells whether a text stands at the end of a block of the conversation, as what is carried over a compaction does. */
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
