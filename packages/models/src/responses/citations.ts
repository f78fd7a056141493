import type { JsonObject } from '@halting/core'
import { stringOf } from '../json-fields.ts'

/**
 * The annotations of a text as citations of the Messages API: an address that was found is a
 * `web_search_result_location`, and `cited_text` is the part of the text that it stands for. Any other stays as it is.
 */
export function citationsOf(annotations: readonly JsonObject[], text: string): readonly JsonObject[] {
  if (annotations.length === 0) return []
  const cut = cutterOf(text)
  return annotations.map((annotation) => {
    if (annotation.type !== 'url_citation') return annotation
    const { url, title, start_index: start, end_index: end } = annotation
    return {
      type: 'web_search_result_location',
      url: stringOf(url),
      title: stringOf(title),
      cited_text: typeof start === 'number' && typeof end === 'number' ? cut(start, end) : '',
    }
  })
}

/** The service counts characters, not the halves that some consist of here. */
function cutterOf(text: string): (start: number, end: number) => string {
  if (!/[\uD800-\uDFFF]/.test(text)) return (start, end) => text.slice(start, end)
  const characters = Array.from(text)
  return (start, end) => characters.slice(start, end).join('')
}
