import type { MessageContent } from '@halting/core'
import { isText } from '@halting/core/adapters'

/** The text of a person's message, without attached files, outputs and images. */
export function promptText(content: MessageContent): string {
  return typeof content === 'string' ? content : (content.find(isText)?.text ?? '')
}

/** The line before a mentioned file; the second form is that of earlier versions. */
const mention = /^(?:The )?(?:file|folder) (.+?)(?: \(mentioned by the user\)|, which the user named):$/i

/** The attachments of a message, in a few words each. */
export function attachmentLabels(content: MessageContent): readonly string[] {
  if (typeof content === 'string') return []
  const first = content.findIndex(isText)
  return content.flatMap((block, index) => {
    if (index === first) return []
    if (!isText(block)) return block.type === 'image' || block.type === 'document' ? [block.type] : []
    const [, named] = mention.exec(block.text) ?? []
    if (named !== undefined) return [named]
    const [, command] = /^The user ran this command themselves:\n\$ (.*)/.exec(block.text) ?? []
    return command === undefined ? [] : [`the output of ${command}`]
  })
}
