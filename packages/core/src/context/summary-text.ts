import { textOf, type AssistantMessage } from '../model/messages.ts'

/** What a model wrote as a summary, without what it only thought; undefined where that is none. */
export function usableSummary({ content, stop_reason: reason }: AssistantMessage): string | undefined {
  if (reason === 'refusal') return undefined
  const text = textOf(content)
  const analysis = text.indexOf('</analysis>')
  const said = (analysis < 0 ? text : text.slice(analysis + '</analysis>'.length)).trim()
  return said === '' ? undefined : said
}
