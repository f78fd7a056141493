import type { MessageContent } from '@halting/core'
import { isText } from '@halting/core/adapters'

/** What a person said, without what it brought in: files, output of their commands, images. */
export function promptText(content: MessageContent): string {
  return typeof content === 'string' ? content : (content.find(isText)?.text ?? '')
}

/** The line before what was mentioned; its second form is that of sessions of earlier versions. */
const mention = /^(?:The )?(?:file|folder) (.+?)(?: \(mentioned by the user\)|, which the user named):$/i

/** What it brought in, each in a few words. */
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
